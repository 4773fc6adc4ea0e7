//! The shard's own facts: how far ids and record numbers are promised. They are promised in blocks, so adding a task
//! does not write the shard's row, and a number is never given twice, whatever is pruned or lost in a crash.

use crate::ids::{EventId, RecordSeq};
use crate::record::{Entry, Record};
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shard {
    pub(crate) id: u16,
    pub(crate) last: RecordSeq,
    /// Ids below this may have been given out.
    pub(crate) ids_reserved: u64,
    pub(crate) records_reserved: u64,
    /// When the last block was taken: after a loss of records, time goes on from here.
    pub(crate) at: Time,
    /// Those who wait for an event may not have seen all that came after this one.
    pub(crate) behind: Option<EventId>,
    // What follows is not in the row: after a restart, both go on at the promised mark.
    pub(crate) ids_next: u64,
    pub(crate) records_next: u64,
}

impl Shard {
    pub fn new(id: u16) -> Shard {
        Shard {
            id,
            last: RecordSeq::NONE,
            ids_reserved: 1,
            records_reserved: 1,
            at: Time::ZERO,
            behind: None,
            ids_next: 1,
            records_next: 1,
        }
    }

    pub(crate) fn resumed(id: u16, last: RecordSeq, ids_reserved: u64, records_reserved: u64, at: Time) -> Shard {
        Shard {
            id,
            last,
            ids_reserved,
            records_reserved,
            at,
            behind: None,
            ids_next: ids_reserved,
            records_next: records_reserved,
        }
    }

    pub fn fold(mut self, entry: &Entry) -> Shard {
        match entry.record {
            Record::IdsReserved { ids, records } => {
                self.ids_reserved = ids;
                self.records_reserved = records;
                self.at = entry.at;
            }
            Record::WaitsBehind { after } => self.behind = Some(after),
            Record::WaitsCaughtUp {} => self.behind = None,
            Record::RunsExpired { .. }
            | Record::EventsExpired { .. }
            | Record::RequestsRefused { .. }
            | Record::SignalsRefused { .. } => {}
            Record::WatchdogTripped { .. } | Record::WatchdogRecovered { .. } => {}
            ref other => panic!("{} is not a record of the shard", other.kind()),
        }
        self.last = entry.seq;
        self
    }

    pub fn id(&self) -> u16 {
        self.id
    }

    pub fn at(&self) -> Time {
        self.at
    }
}

#[cfg(test)]
mod tests;
