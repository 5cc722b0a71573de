//! Reproducible randomness: one named stream per purpose, our own sampler, and nothing that a dependency's next
//! release could change.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// A stream of random numbers whose state can be saved and restored.
///
/// The same seed gives the same numbers on every machine and in every later version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream that belongs to a seed and a purpose, such as `"choice"`.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(derive_seed(seed, purpose, 0)))
    }

    /// A number in `[0, 1)`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number in `0..below`, each exactly equally likely (Lemire's multiply-and-reject). `below` is at least 1.
    pub fn index(&mut self, below: usize) -> usize {
        let below = below.max(1) as u64;
        loop {
            let wide = u128::from(self.0.next_u64()) * u128::from(below);
            // What is rejected lies below this remainder, and so below `below`: the division is hardly ever needed.
            if wide as u64 >= below || wide as u64 >= below.wrapping_neg() % below {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Puts the items in a uniformly random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

/// The seed of one repetition of one named thing.
///
/// It does not depend on the method, so that methods meet the same random numbers and are compared pairwise.
pub fn derive_seed(seed: u64, name: &str, repetition: u64) -> u64 {
    let mut hash = Fingerprint::default();
    hash.add(seed);
    for byte in name.bytes() {
        hash.add(u64::from(byte));
    }
    hash.add(repetition);
    hash.finish()
}

/// A small, fixed 64-bit hash (the mixing step of SplitMix64 over a running state).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) fn add(&mut self, word: u64) {
        let mut mixed = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = mixed ^ (mixed >> 31);
    }

    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change here breaks every saved session and every published figure: never update these numbers lightly.
    #[test]
    fn the_streams_are_frozen() {
        let mut random = Random::new(7, "choice");
        let indices: Vec<usize> = (0..12).map(|_| random.index(10)).collect();
        assert_eq!(indices, FROZEN_INDICES);
        assert_eq!(random.unit().to_bits(), FROZEN_UNIT);
        assert_eq!(derive_seed(7, "toy", 3), FROZEN_SEED);
        let mut order = [0, 1, 2, 3, 4, 5];
        Random::new(7, "choice").shuffle(&mut order);
        assert_eq!(order, FROZEN_ORDER);
    }

    const FROZEN_INDICES: [usize; 12] = [2, 2, 3, 4, 2, 6, 4, 7, 2, 3, 1, 3];
    const FROZEN_ORDER: [usize; 6] = [2, 0, 3, 4, 5, 1];
    const FROZEN_UNIT: u64 = 4598649039734147386;
    const FROZEN_SEED: u64 = 13314565405488089774;

    #[test]
    fn indices_are_uniform() {
        let mut random = Random::new(1, "test");
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[random.index(7)] += 1;
        }
        // Binomial(70,000, 1/7): a standard deviation of 93.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 5 * 93));
    }

    /// Every order of three is equally likely, the one that leaves an item in place included.
    #[test]
    fn shuffles_are_uniform() {
        let mut random = Random::new(2, "test");
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut order = [0, 1, 2];
            random.shuffle(&mut order);
            *counts.entry(order).or_insert(0u32) += 1;
        }
        // Binomial(6,000, 1/6): a standard deviation of 29.
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| count.abs_diff(1_000) < 5 * 29));
    }

    #[test]
    fn seeds_differ_in_every_part() {
        let seeds = [
            derive_seed(1, "a", 0),
            derive_seed(2, "a", 0),
            derive_seed(1, "b", 0),
            derive_seed(1, "a", 1),
            derive_seed(1, "", 0),
        ];
        for (i, a) in seeds.iter().enumerate() {
            assert!(seeds[i + 1..].iter().all(|b| a != b));
        }
    }
}
