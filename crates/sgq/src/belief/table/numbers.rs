//! Numbers in memory or in a file.

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
    Memory(Aligned<T>),
    File(Mapped<T>),
}

/// Why there are none.
pub(super) enum NoRoom {
    Memory,
    File(io::Error),
}

impl<T: Number> Numbers<T> {
    /// All zeros, in a file in that folder or else in memory.
    pub(super) fn zeros(length: usize, folder: Option<&Path>) -> Result<Self, NoRoom> {
        match folder.filter(|_| length > 0) {
            Some(folder) => Mapped::zeros(length, folder).map(Self::File).map_err(NoRoom::File),
            None => Aligned::zeros(length).map(Self::Memory),
        }
    }

    pub(super) fn get(&self) -> &[T] {
        match self {
            Self::Memory(aligned) => aligned.numbers(),
            Self::File(mapped) => mapped.numbers(),
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut [T] {
        match self {
            Self::Memory(aligned) => aligned.numbers_mut(),
            Self::File(mapped) => mapped.numbers_mut(),
        }
    }
}

impl<T: Number> Clone for Numbers<T> {
    /// A file is copied to a new one in the same folder. Where the disk has no room the copy is in memory, and where that has
    /// none either it ends as every clone without memory does.
    fn clone(&self) -> Self {
        let mapped = match self {
            Self::Memory(aligned) => return Self::Memory(aligned.clone()),
            Self::File(mapped) => mapped,
        };
        match Mapped::zeros(mapped.numbers().len(), mapped.folder()) {
            Ok(mut copy) => {
                copy.numbers_mut().copy_from_slice(mapped.numbers());
                Self::File(copy)
            }
            Err(_) => Self::Memory(Aligned::from(mapped.numbers())),
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
