//! Whoever changes the text of a run takes a turn, so that of many who come at once each makes its change on what the one before
//! left. Only who has come for a run is known, and only as long as somebody has.

use super::answer::No;
use crate::wire::Problem;
use kernel::ids::RunId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::OwnedMutexGuard;

/// Those that may wait for their turn at one run.
const WAITING_MAX: usize = 256;

#[derive(Clone, Default)]
pub struct Turns {
    lines: Arc<Mutex<HashMap<RunId, Line>>>,
}

#[derive(Default)]
struct Line {
    turn: Arc<tokio::sync::Mutex<()>>,
    many: usize,
}

/// One's place in the line; it is left when this is dropped, whether the turn came or not.
pub struct Turn {
    _turn: OwnedMutexGuard<()>,
    _place: Place,
}

struct Place {
    turns: Turns,
    run: RunId,
}

impl Turns {
    /// Waits until all who came before have had theirs.
    pub async fn take(&self, run: RunId) -> Result<Turn, No> {
        let (place, turn) = self.line_up(run)?;
        Ok(Turn { _turn: turn.lock_owned().await, _place: place })
    }

    fn line_up(&self, run: RunId) -> Result<(Place, Arc<tokio::sync::Mutex<()>>), No> {
        let mut lines = self.lines.lock().expect("no holder of the lines panics");
        let line = lines.entry(run).or_default();
        if line.many >= WAITING_MAX {
            let message = format!("{} changes of {run} wait for their turn already", line.many);
            return Err(Problem::new("limited", message, "send it again in a moment").retry_after_ms(1_000).into());
        }
        line.many += 1;
        Ok((Place { turns: self.clone(), run }, line.turn.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut lines = self.turns.lines.lock().expect("no holder of the lines panics");
        if let Some(line) = lines.get_mut(&self.run) {
            line.many -= 1;
            if line.many == 0 {
                lines.remove(&self.run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_for_each_run_and_nothing_is_left_behind() {
        let (turns, run, other) = (Turns::default(), RunId::new(1, 0), RunId::new(2, 0));
        let first = turns.take(run).await.unwrap();
        let _other = turns.take(other).await.unwrap();
        let mut second = Box::pin(turns.take(run));
        assert!(futures_now(&mut second).await.is_none(), "its turn has not come");
        drop(first);
        let second = second.await.unwrap();
        // Whoever goes away while waiting leaves the line.
        let mut third = Box::pin(turns.take(run));
        assert!(futures_now(&mut third).await.is_none());
        drop(third);
        assert_eq!(turns.lines.lock().unwrap()[&run].many, 1);
        drop(second);
        assert!(!turns.lines.lock().unwrap().contains_key(&run));
        let places: Vec<_> = (0..WAITING_MAX).map(|_| turns.line_up(run).unwrap().0).collect();
        assert_eq!(turns.line_up(run).err().unwrap().0.code, "limited");
        drop(places);
        assert!(turns.line_up(run).is_ok());
    }

    /// What it gives without waiting.
    async fn futures_now<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
        tokio::time::timeout(std::time::Duration::ZERO, future).await.ok()
    }
}
