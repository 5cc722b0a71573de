//! A small hash that is the same with every compiler and on every machine.

/// The mixing step of SplitMix64 over a running state, as `sgq` derives its seeds. The build script uses it too.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// Takes in a number.
    pub(crate) fn add(&mut self, word: u64) {
        let mut mixed = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = mixed ^ (mixed >> 31);
    }

    /// Takes in a text and its length: `ab` and `c` are not `a` and `bc`.
    pub(crate) fn add_text(&mut self, text: &[u8]) {
        self.add(text.len() as u64);
        for eight in text.chunks(8) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            self.add(u64::from_le_bytes(word));
        }
    }

    /// What all of it comes to.
    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}
