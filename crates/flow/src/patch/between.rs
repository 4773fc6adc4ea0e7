//! What was changed in an edited text, as operations. In a list the values before and after those that differ stay as they
//! are, so that one more or less is one operation; the order of keys means nothing, and changes nothing.

use super::json::Json;
use super::operation::{Act, Operation, Operations};
use super::pointer::Pointer;

pub fn between(old: &Json, new: &Json) -> Operations {
    let mut operations = Vec::new();
    compare(&Pointer::default(), old, new, &mut operations);
    Operations(operations)
}

fn compare(path: &Pointer, old: &Json, new: &Json, operations: &mut Vec<Operation>) {
    match (old, new) {
        (Json::Map(old), Json::Map(entries)) => {
            for (key, value) in old {
                match new.get(key) {
                    Some(new) => compare(&path.child(key), value, new, operations),
                    None => operations.push(Operation { path: path.child(key), act: Act::Remove }),
                }
            }
            for (key, value) in entries {
                if !old.iter().any(|(known, _)| known == key) {
                    operations.push(Operation { path: path.child(key), act: Act::Add(value.clone()) });
                }
            }
        }
        (Json::List(old), Json::List(new)) => compare_lists(path, old, new, operations),
        (old, new) if old == new => {}
        (_, new) => operations.push(Operation { path: path.clone(), act: Act::Replace(new.clone()) }),
    }
}

fn compare_lists(path: &Pointer, old: &[Json], new: &[Json], operations: &mut Vec<Operation>) {
    let same = |pairs: &mut dyn Iterator<Item = (&Json, &Json)>| pairs.take_while(|(old, new)| old == new).count();
    let head = same(&mut old.iter().zip(new));
    let (old, new) = (&old[head..], &new[head..]);
    let tail = same(&mut old.iter().rev().zip(new.iter().rev()));
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let both = old.len().min(new.len());
    for (at, (old, new)) in old.iter().zip(new).enumerate() {
        compare(&path.child((head + at).to_string()), old, new, operations);
    }
    // From behind, so that no place moves before its turn.
    for at in (both..old.len()).rev() {
        operations.push(Operation { path: path.child((head + at).to_string()), act: Act::Remove });
    }
    for (at, value) in new.iter().enumerate().skip(both) {
        operations.push(Operation { path: path.child((head + at).to_string()), act: Act::Add(value.clone()) });
    }
}
