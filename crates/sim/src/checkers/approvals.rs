//! An answer that was taken ended its approval, and no other answer did.

use super::{Check, Scene, ensure};
use engine::{Answer, Request};
use kernel::command::{Command, Reply};
use kernel::record::{Entry, Owner, Record};
use kernel::run::NodeAt;
use std::collections::BTreeMap;

pub fn once(scene: &Scene<'_>) -> Check {
    let turn = scene.turn;
    let mut taken: BTreeMap<&NodeAt, usize> = BTreeMap::new();
    for (ticket, answer) in &turn.answers {
        if let (Answer::Reply(Ok(Reply::Done)), Some(Request::Command(Command::Answer { at, .. }))) =
            (answer, turn.request(*ticket))
        {
            *taken.entry(at).or_default() += 1;
        }
    }
    for (at, count) in taken {
        let ends = |entry: &&Entry| {
            let ended = matches!(entry.record, Record::NodeDone { .. } | Record::NodeFailed { .. });
            ended && matches!(&entry.owner, Owner::Node(of) if of == at)
        };
        let ended = turn.entries.iter().filter(ends).count();
        ensure(count <= ended, || format!("{} took {count} answers and ended {ended} times", at.show()))?;
    }
    Ok(())
}
