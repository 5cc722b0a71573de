//! Tables in snapshots. Rows are read straight into the table: there is no room for a second one.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, SeqAccess, Visitor},
    ser,
};

use super::{Kept, Table, sparse::SparseRow};
use crate::{Format, Storage};

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.users, self.dim, &self.storage, &self.kept).serialize(serializer)
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::F64(numbers) => numbers.get().serialize(serializer),
            Self::F32(numbers) => numbers.get().serialize(serializer),
            Self::Sparse { rows, .. } => rows.serialize(serializer),
            Self::Scalars { scalars, .. } => scalars.serialize(serializer),
            Self::Missing(error) => Err(ser::Error::custom(error)),
        }
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(4, WholeTable)
    }
}

struct WholeTable;

impl<'de> Visitor<'de> for WholeTable {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of last gradients")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Table, A::Error> {
        let short = |found| move || A::Error::invalid_length(found, &"4 parts");
        let users: usize = parts.next_element()?.ok_or_else(short(0))?;
        let dim: usize = parts.next_element()?.ok_or_else(short(1))?;
        let storage: Storage = parts.next_element()?.ok_or_else(short(2))?;
        storage.check_sense(users, dim).map_err(A::Error::custom)?;
        let kept = parts.next_element_seed(Rows { users, dim, storage: &storage })?.ok_or_else(short(3))?;
        Ok(Table { users, dim, storage, kept })
    }
}

/// The rows of a table of which all else is known.
struct Rows<'a> {
    users: usize,
    dim: usize,
    storage: &'a Storage,
}

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = Kept;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kept, D::Error> {
        let Self { users, dim, storage } = self;
        let mut kept = match Kept::zeros(users, dim, storage) {
            Ok(kept) => kept,
            Err(error) => {
                // Serde's errors would lose the reason: read past the rows, and let the table say it.
                match storage.format {
                    Format::F64 | Format::Scalars { .. } => deserializer.deserialize_seq(Skip::<f64>(PhantomData))?,
                    Format::F32 => deserializer.deserialize_seq(Skip::<f32>(PhantomData))?,
                    Format::Sparse { .. } => deserializer.deserialize_seq(Skip::<SparseRow>(PhantomData))?,
                }
                return Ok(Kept::Missing(error));
            }
        };
        match &mut kept {
            Kept::F64(numbers) => deserializer.deserialize_seq(Fill(numbers.get_mut()))?,
            Kept::F32(numbers) => deserializer.deserialize_seq(Fill(numbers.get_mut()))?,
            Kept::Scalars { scalars, .. } => deserializer.deserialize_seq(Fill(scalars))?,
            Kept::Sparse { rows, .. } => {
                deserializer.deserialize_seq(Fill(rows))?;
                if !rows.iter().all(|row| row.fits(dim)) {
                    return Err(D::Error::custom("a sparse row has columns that do not rise or do not exist"));
                }
            }
            Kept::Missing(_) => {}
        }
        Ok(kept)
    }
}

/// Reads exactly as many elements as there are places.
struct Fill<'a, T>(&'a mut [T]);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fill<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements", self.0.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let expected = self.0.len();
        for (place, element) in self.0.iter_mut().enumerate() {
            let missing = || A::Error::custom(format!("{place} elements, expected {expected}"));
            *element = elements.next_element()?.ok_or_else(missing)?;
        }
        match elements.next_element::<T>()? {
            Some(_) => Err(A::Error::custom(format!("more than {expected} elements"))),
            None => Ok(()),
        }
    }
}

/// Reads any number of elements, and keeps none.
struct Skip<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Skip<T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element::<T>()?.is_some() {}
        Ok(())
    }
}
