//! Numbers in memory or in a file.
//!
//! Small tables are in memory like everything else, large ones in pages of their own.

use std::{io, path::Path};

use bytemuck::Pod;
use serde::{Serialize, de::DeserializeOwned};

use super::{aligned::Aligned, mapped::Mapped};

/// What a dense table can be made of.
pub(super) trait Number: Pod + Default + PartialEq + Into<f64> + Serialize + DeserializeOwned {}

impl Number for f64 {}
impl Number for f32 {}

/// A fixed count of numbers, in memory or in a file.
pub(super) enum Numbers<T> {
    Small(Aligned<T>),
    Mapped(Mapped<T>),
}

/// Tables with more bytes are in pages of their own: below, a processor's caches hold them anyway.
const LARGE: usize = 4 << 20;

/// Why there are none.
pub(super) enum NoRoom {
    Memory,
    File(io::Error),
}

impl<T: Number> Numbers<T> {
    /// All zeros, in a file in that folder or else in memory.
    pub(super) fn zeros(length: usize, folder: Option<&Path>) -> Result<Self, NoRoom> {
        if length == 0 || (folder.is_none() && length <= LARGE / size_of::<T>()) {
            return Aligned::zeros(length).map(Self::Small);
        }
        Mapped::zeros(length, folder).map(Self::Mapped).map_err(|error| match folder {
            Some(_) => NoRoom::File(error),
            None => NoRoom::Memory,
        })
    }

    pub(super) fn get(&self) -> &[T] {
        match self {
            Self::Small(aligned) => aligned.numbers(),
            Self::Mapped(mapped) => mapped.numbers(),
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut [T] {
        match self {
            Self::Small(aligned) => aligned.numbers_mut(),
            Self::Mapped(mapped) => mapped.numbers_mut(),
        }
    }
}

impl<T: Number> Clone for Numbers<T> {
    /// A file is copied to a new one in the same folder. Where the disk has no room the copy is in memory, and where that has
    /// none either it ends as every clone without memory does.
    fn clone(&self) -> Self {
        let mapped = match self {
            Self::Small(aligned) => return Self::Small(aligned.clone()),
            Self::Mapped(mapped) => mapped,
        };
        match Mapped::zeros(mapped.numbers().len(), mapped.folder()) {
            Ok(mut copy) => {
                copy.numbers_mut().copy_from_slice(mapped.numbers());
                Self::Mapped(copy)
            }
            Err(_) => Self::Small(Aligned::from(mapped.numbers())),
        }
    }
}

impl<T: Number> PartialEq for Numbers<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

/// A vector, unless there is no memory for it.
pub(super) fn zeros<T: Clone + Default>(length: usize) -> Result<Vec<T>, NoRoom> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(length).map_err(|_| NoRoom::Memory)?;
    numbers.resize(length, T::default());
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Number + std::fmt::Debug>(one: T) {
        for folder in [None, Some(std::env::temp_dir())] {
            for length in [0, 1, 1000, LARGE / size_of::<T>() + 1] {
                let mut numbers = Numbers::<T>::zeros(length, folder.as_deref()).ok().unwrap();
                assert_eq!(numbers.get(), vec![T::default(); length]);
                assert!(length == 0 || numbers.get().as_ptr().cast::<u8>().align_offset(64) == 0);
                let copy = numbers.clone();
                assert!(copy == numbers);
                if let Some(last) = numbers.get_mut().last_mut() {
                    *last = one;
                    assert!(copy != numbers && numbers.clone() == numbers);
                }
            }
        }
        assert!(matches!(Numbers::<T>::zeros(usize::MAX / 16, None), Err(NoRoom::Memory)));
    }

    #[test]
    fn numbers_are_the_same_wherever_they_are() {
        check(1.0_f64);
        check(1.0_f32);
    }
}
