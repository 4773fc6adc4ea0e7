//! Who waits for tasks and runs to end: told when an end is committed, and of nothing else, so that thousands may wait
//! and who decides does not notice.

use kernel::record::{Entry, Owner};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// `None` once the engine has ended, so that whoever waits learns it.
#[derive(Clone)]
pub struct Endings(Arc<Mutex<Option<Awaited>>>);

type Awaited = FxHashMap<Owner, watch::Sender<()>>;

/// One who waits.
pub struct Ending {
    endings: Endings,
    owner: Owner,
    told: Option<watch::Receiver<()>>,
}

impl Default for Endings {
    fn default() -> Endings {
        Endings(Arc::new(Mutex::new(Some(Awaited::default()))))
    }
}

impl Endings {
    pub fn wait_for(&self, owner: Owner) -> Ending {
        let told = self.with(|awaited| awaited.entry(owner.clone()).or_insert_with(|| watch::channel(()).0).subscribe());
        Ending { endings: self.clone(), owner, told }
    }

    pub fn tell(&self, entries: &[Entry]) {
        self.with(|awaited| {
            if awaited.is_empty() {
                return;
            }
            for told in entries.iter().filter(|entry| entry.record.is_end()).filter_map(|entry| awaited.get(&entry.owner)) {
                told.send_replace(());
            }
        });
    }

    /// A commit failed, and ends may be in the store all the same: everyone is to look there.
    pub fn unsure(&self) {
        self.with(|awaited| awaited.values().for_each(|told| told.send_replace(())));
    }

    pub fn close(&self) {
        *self.0.lock().expect("no holder of the endings panics") = None;
    }

    fn with<T>(&self, act: impl FnOnce(&mut Awaited) -> T) -> Option<T> {
        self.0.lock().expect("no holder of the endings panics").as_mut().map(act)
    }
}

impl Ending {
    /// When it has ended, or may have, or the engine is gone and nothing more is told.
    pub async fn told(&mut self) {
        if let Some(told) = &mut self.told {
            _ = told.changed().await;
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let Ending { endings, owner, told } = self;
        drop(told.take());
        endings.with(|awaited| {
            if awaited.get(owner).is_some_and(|told| told.receiver_count() == 0) {
                awaited.remove(owner);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ids::TaskId;

    #[tokio::test]
    async fn whoever_waits_no_more_is_forgotten() {
        let endings = Endings::default();
        let owner = Owner::Task(TaskId::parse("task-1").unwrap());
        let (first, mut second) = (endings.wait_for(owner.clone()), endings.wait_for(owner.clone()));
        let count = || endings.with(|awaited| awaited.len());
        drop(first);
        assert_eq!(count(), Some(1));
        endings.unsure();
        second.told().await;
        drop(second);
        assert_eq!(count(), Some(0));
        let mut last = endings.wait_for(owner.clone());
        endings.close();
        last.told().await;
        endings.wait_for(owner).told().await;
    }
}
