//! Memory that begins on a cache line.

use serde::{Deserialize, Serialize, Serializer};

/// Numbers that begin on a cache line: loads that straddle two lines would slow the scan by a sixth.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Vec<f64>")]
pub(super) struct Aligned {
    memory: Vec<f64>,
    skip: usize,
    length: usize,
}

impl Aligned {
    pub(super) fn zeros(length: usize) -> Self {
        const LINE: usize = 64;
        const MOST: usize = LINE / size_of::<f64>() - 1;
        let memory = vec![0.0; length + MOST];
        let skip = memory.as_ptr().align_offset(LINE).min(MOST);
        Self { memory, skip, length }
    }

    pub(super) fn numbers(&self) -> &[f64] {
        &self.memory[self.skip..][..self.length]
    }

    pub(super) fn numbers_mut(&mut self) -> &mut [f64] {
        &mut self.memory[self.skip..][..self.length]
    }
}

impl PartialEq for Aligned {
    fn eq(&self, other: &Self) -> bool {
        self.numbers() == other.numbers()
    }
}

impl From<Vec<f64>> for Aligned {
    fn from(numbers: Vec<f64>) -> Self {
        let mut table = Self::zeros(numbers.len());
        table.numbers_mut().copy_from_slice(&numbers);
        table
    }
}

impl Serialize for Aligned {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.numbers().serialize(serializer)
    }
}
