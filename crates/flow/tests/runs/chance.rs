//! Chance from a seed: the same seed, the same choices.

pub struct Chance(u64);

/// A number that depends on all of these and on nothing else.
pub fn hash(seed: u64, text: &str) -> u64 {
    let start = seed ^ 0xcbf2_9ce4_8422_2325;
    let folded = text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    Chance(folded).next()
}

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// From `least` to `most`, both included.
    pub fn from(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    pub fn percent(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub fn one<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// The place of one of the weights, the heavier the likelier.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        weights
            .iter()
            .position(|weight| {
                let here = left < *weight;
                left = left.saturating_sub(*weight);
                here
            })
            .expect("it lies within their sum")
    }
}
