//! How long things took, in little space: counts by length, in steps that grow with the length. Each power of two has 32
//! steps, so a quantile is off by at most a sixty-fourth; the longest is kept as it was. Histograms of parts add up to that of
//! the whole.

use serde::{Deserialize, Serialize};

/// Steps of one power of two, as bits.
const STEP_BITS: u32 = 5;
const STEPS: u64 = 1 << STEP_BITS;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Text", into = "Text")]
pub struct Histogram {
    /// By step. Thousands are read and added up for one answer, so it is a list that can be walked.
    counts: Vec<(u16, u64)>,
    total: u64,
    max: u64,
}

/// As it is written: the longest, and the steps that are not empty with how many fell into each.
#[derive(Serialize, Deserialize)]
struct Text(u64, Vec<(u16, u64)>);

impl From<Histogram> for Text {
    fn from(histogram: Histogram) -> Text {
        Text(histogram.max, histogram.counts)
    }
}

impl From<Text> for Histogram {
    fn from(Text(max, mut counts): Text) -> Histogram {
        // It was written in order, once each.
        if !counts.is_sorted_by(|a, b| a.0 < b.0) {
            counts.sort_by_key(|(step, _)| *step);
            counts.dedup_by_key(|(step, _)| *step);
        }
        let total = counts.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        Histogram { counts, total, max }
    }
}

/// The step that a value falls into; small values have one each.
fn step_of(value: u64) -> u16 {
    if value < STEPS {
        return value as u16;
    }
    let shift = value.ilog2() - STEP_BITS;
    // Within its power of two the first bit is always set: it moves on by one power for each shift.
    (u64::from(shift) * STEPS + (value >> shift)) as u16
}

/// The middle of a step.
fn middle_of(step: u16) -> u64 {
    let step = u64::from(step);
    if step < 2 * STEPS {
        return step;
    }
    let shift = (step / STEPS - 1).min(u64::from(63 - STEP_BITS));
    let low = (STEPS + step % STEPS) << shift;
    low + ((1u64 << shift) - 1) / 2
}

impl Histogram {
    pub fn add(&mut self, value: u64) {
        self.count(0, step_of(value), 1);
        self.total = self.total.saturating_add(1);
        self.max = self.max.max(value);
    }

    pub fn merge(&mut self, other: &Histogram) {
        let mut at = 0;
        for (step, count) in &other.counts {
            at = self.count(at, *step, *count);
        }
        self.total = self.total.saturating_add(other.total);
        self.max = self.max.max(other.max);
    }

    /// Counts so many more for a step, which stands at `from` or later; gives where that is.
    fn count(&mut self, from: usize, step: u16, more: u64) -> usize {
        let rest = &self.counts[from..];
        // Who adds up walks: mostly it is the next.
        let near = rest.iter().take(4).position(|(known, _)| *known >= step);
        let at = from + near.unwrap_or_else(|| rest.partition_point(|(known, _)| *known < step));
        match self.counts.get_mut(at) {
            Some((known, count)) if *known == step => *count = count.saturating_add(more),
            _ => self.counts.insert(at, (step, more)),
        }
        at
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// How many were added.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The longest, exactly; `None` when there is none.
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max)
    }

    /// The value that `percent` of all do not exceed; `None` when there is none.
    pub fn quantile(&self, percent: u8) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let rank = (u128::from(self.total) * u128::from(percent.min(100))).div_ceil(100).max(1);
        let mut seen = 0u128;
        for (step, count) in &self.counts {
            seen += u128::from(*count);
            if seen >= rank {
                // The last one of all is known exactly, and no middle of a step lies beyond it.
                let exact = rank == u128::from(self.total);
                return Some(if exact { self.max } else { middle_of(*step).min(self.max) });
            }
        }
        Some(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of all sizes alike, or most would be huge.
    fn value() -> impl Strategy<Value = u64> {
        (0u32..64, any::<u64>()).prop_map(|(bits, value)| value >> bits)
    }

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.add(*value));
        histogram
    }

    proptest! {
        #[test]
        fn a_quantile_is_within_three_percent_of_the_sorted_list(
            mut values in proptest::collection::vec(value(), 1..300),
            percent in 0u8..=100,
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = (values.len() * usize::from(percent)).div_ceil(100).max(1);
            let (exact, found) = (values[rank - 1], histogram.quantile(percent).unwrap());
            prop_assert!(found.abs_diff(exact) as f64 <= exact as f64 * 0.03, "{found} for {exact}");
            prop_assert_eq!(histogram.max(), values.last().copied());
            prop_assert_eq!(histogram.quantile(100), values.last().copied());
        }

        #[test]
        fn parts_add_up_to_the_whole_and_read_back(
            values in proptest::collection::vec(value(), 0..100),
            cut in any::<prop::sample::Index>(),
        ) {
            let whole = of(&values);
            let (left, right) = values.split_at(cut.index(values.len() + 1));
            let mut sum = of(left);
            sum.merge(&of(right));
            prop_assert_eq!(&sum, &whole);
            let text = serde_json::to_string(&whole).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Histogram>(&text).unwrap(), &whole);
        }
    }

    #[test]
    fn steps_rise_with_values_and_hold_the_ends_of_the_line() {
        let edges = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX - 1, u64::MAX]);
        let mut sorted: Vec<u64> = edges.collect();
        sorted.sort_unstable();
        assert!(sorted.iter().map(|value| step_of(*value)).is_sorted());
        for value in sorted {
            assert!(middle_of(step_of(value)).abs_diff(value) <= value / 32, "{value}");
        }
        assert_eq!((Histogram::default().quantile(50), Histogram::default().max()), (None, None));
    }
}
