//! Memory that begins on a cache line.

use super::numbers::{NoRoom, Number, zeros};

/// Numbers that begin on a cache line: loads that straddle two lines would slow the scan by a sixth.
#[derive(Clone, Default)]
pub(super) struct Aligned<T> {
    memory: Vec<T>,
    skip: usize,
    length: usize,
}

impl<T: Number> Aligned<T> {
    pub(super) fn zeros(length: usize) -> Result<Self, NoRoom> {
        const LINE: usize = 64;
        let most = LINE / size_of::<T>() - 1;
        let memory: Vec<T> = zeros(length.saturating_add(most))?;
        let skip = memory.as_ptr().align_offset(LINE).min(most);
        Ok(Self { memory, skip, length })
    }

    pub(super) fn numbers(&self) -> &[T] {
        &self.memory[self.skip..][..self.length]
    }

    pub(super) fn numbers_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.skip..][..self.length]
    }
}

impl<T: Number> From<&[T]> for Aligned<T> {
    /// A copy, wherever it begins.
    fn from(numbers: &[T]) -> Self {
        Self { memory: numbers.to_vec(), skip: 0, length: numbers.len() }
    }
}
