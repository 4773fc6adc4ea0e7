//! Held: whoever it belongs to is paused. A task is held by its run, a run by the run that called it. Pauses are numbered by
//! the one that is paused, and being let go of a pause comes after being held by it, so a word that comes late, twice or in
//! the wrong order changes nothing.

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Hold {
    /// The last pause it heard of; 0: of none.
    pub(crate) pause: u32,
    pub(crate) held: bool,
}

impl Hold {
    pub(crate) fn is_news(self, pause: u32) -> bool {
        pause > self.pause || crate::defect("late_hold_counts")
    }

    pub(crate) fn is_over_by(self, pause: u32) -> bool {
        pause > self.pause || (pause == self.pause && self.held)
    }

    /// What it heard of stays known.
    pub(crate) fn ended(self) -> Hold {
        Hold { held: false, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::Hold;

    /// In whatever order and however often they are heard, the last pause and the last word about it count.
    #[test]
    fn the_order_of_words_does_not_matter() {
        let words = [(1, true), (1, false), (2, true), (3, true), (3, false)];
        for seed in 0..500_usize {
            let (mut hold, mut last) = (Hold::default(), (0, false));
            for turn in 0..12 {
                let (pause, held) = words[(seed * 7 + turn * (seed % 11 + 1) + turn * turn) % words.len()];
                let counts = if held { hold.is_news(pause) } else { hold.is_over_by(pause) };
                if counts {
                    hold = Hold { pause, held };
                }
                // Later pauses are greater, and being let go is the last word of each.
                if (pause, !held) > (last.0, !last.1) || last.0 == 0 {
                    last = (pause, held);
                }
                assert_eq!((hold.pause, hold.held), last, "seed {seed}");
            }
        }
    }
}
