//! Chance from a seed (splitmix64): the same seed gives the same world, on every machine and for ever.

pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        // Neighbouring seeds are mixed apart before the first draw.
        let mut chance = Chance(seed ^ 0x5167_6e61_6c6c_6572);
        chance.draw();
        chance
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `bound - 1`.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is nothing below 0");
        ((u128::from(self.draw()) * bound as u128) >> 64) as usize
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + ((u128::from(self.draw()) * (u128::from(high - low) + 1)) >> 64) as u64
    }

    pub fn permille(&mut self, of_thousand: u32) -> bool {
        self.below(1_000) < of_thousand as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn maybe<T>(&mut self, of_thousand: u32, value: impl FnOnce(&mut Chance) -> T) -> Option<T> {
        self.permille(of_thousand).then(|| value(self))
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
