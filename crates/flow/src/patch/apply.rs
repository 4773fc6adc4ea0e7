//! Operations done to a document, as RFC 6902 has them. What an operation adds cannot lie deeper than a definition may, and
//! what a patch copies and moves is bounded: a copy of a copy of a copy would be without end.

use super::json::Json;
use super::operation::{Act, Operation, PatchError};
use super::pointer::{Pointer, index};
use crate::limits::{PATCH_MOVED_BYTES_MAX, SOURCE_DEPTH_MAX};
use crate::problem::did_you_mean;
use crate::source::short;

/// Bytes that may still be copied and moved.
pub struct Budget(usize);

impl Budget {
    pub fn new() -> Budget {
        Budget(PATCH_MOVED_BYTES_MAX)
    }

    fn spend(&mut self, value: &Json) -> Result<(), PatchError> {
        let left = self.0.checked_sub(value.weight().0);
        let why = || format!("the patch copies and moves more than {PATCH_MOVED_BYTES_MAX} bytes");
        self.0 = left.ok_or_else(|| PatchError::whole(why()))?;
        Ok(())
    }
}

pub fn apply(document: &mut Json, operation: &Operation, budget: &mut Budget) -> Result<(), PatchError> {
    let path = &operation.path;
    match &operation.act {
        Act::Add(value) => add(document, path, value.clone()),
        Act::Remove => remove(document, path).map(drop),
        Act::Replace(value) => {
            shallow(path, value)?;
            *find(document, path)? = value.clone();
            Ok(())
        }
        Act::Copy { from } => {
            let value = &*find(document, from)?;
            budget.spend(value)?;
            let value = value.clone();
            add(document, path, value)
        }
        Act::Move { from } => {
            if path.is_inside(from) {
                return Err(PatchError::whole(format!("`{}` cannot be moved into itself", short(&from.to_string()))));
            }
            let value = find(document, from)?;
            if path == from {
                return Ok(());
            }
            budget.spend(value)?;
            let value = remove(document, from)?;
            add(document, path, value)
        }
        Act::Test(expected) => {
            let found = &*find(document, path)?;
            if found == expected {
                return Ok(());
            }
            let shown = |value: &Json| short(&value.compact());
            Err(PatchError::whole(format!("it is {}, not {}", shown(found), shown(expected))))
        }
    }
}

fn shallow(path: &Pointer, value: &Json) -> Result<(), PatchError> {
    let deep = path.0.len() + value.weight().1;
    let why = || format!("lists and maps would lie more than {SOURCE_DEPTH_MAX} deep in each other");
    if deep > SOURCE_DEPTH_MAX { Err(PatchError::whole(why())) } else { Ok(()) }
}

/// What a pointer leads to; there must be something.
fn find<'a>(document: &'a mut Json, path: &Pointer) -> Result<&'a mut Json, PatchError> {
    let mut here = document;
    for (at, step) in path.0.iter().enumerate() {
        let above = || Pointer(path.0[..at].to_vec());
        here = match here {
            Json::Map(entries) => match entries.iter().position(|(key, _)| key == step) {
                Some(found) => &mut entries[found].1,
                None => {
                    let keys = entries.iter().map(|(key, _)| key.as_str());
                    return Err(missing(step, &above()).suggest(did_you_mean(step, keys)));
                }
            },
            Json::List(values) => {
                let count = values.len();
                values.get_mut(place(step)?).ok_or_else(|| beyond(step, count, &above()))?
            }
            other => return Err(PatchError::whole(format!("{} is {}: nothing is in it", shown(&above()), other.kind()))),
        };
    }
    Ok(here)
}

fn place(step: &str) -> Result<usize, PatchError> {
    if step == "-" {
        return Err(PatchError::whole("`-` is the place after the last of a list: nothing is there"));
    }
    index(step).map_err(PatchError::whole)
}

fn shown(path: &Pointer) -> String {
    if path.0.is_empty() { "the document".to_owned() } else { format!("`{}`", short(&path.to_string())) }
}

fn missing(step: &str, above: &Pointer) -> PatchError {
    PatchError::whole(format!("there is no `{}` in {}", short(step), shown(above)))
}

fn beyond(step: &str, count: usize, above: &Pointer) -> PatchError {
    PatchError::whole(format!("there is no place {} in {}: it has {count}", short(step), shown(above)))
}

/// Into a map in place of what has its key, else behind the rest; into a list before what stands there.
fn add(document: &mut Json, path: &Pointer, value: Json) -> Result<(), PatchError> {
    shallow(path, &value)?;
    let Some((last, above)) = path.0.split_last() else {
        *document = value;
        return Ok(());
    };
    let above = Pointer(above.to_vec());
    match find(document, &above)? {
        Json::Map(entries) => match entries.iter_mut().find(|(key, _)| key == last) {
            Some((_, old)) => *old = value,
            None => entries.push((last.clone(), value)),
        },
        Json::List(values) => {
            let at = if last == "-" { values.len() } else { place(last)? };
            if at > values.len() {
                return Err(beyond(last, values.len(), &above));
            }
            values.insert(at, value);
        }
        other => return Err(PatchError::whole(format!("{} is {}: nothing can be added to it", shown(&above), other.kind()))),
    }
    Ok(())
}

fn remove(document: &mut Json, path: &Pointer) -> Result<Json, PatchError> {
    let Some((last, above)) = path.0.split_last() else {
        return Err(PatchError::whole("the whole document cannot be removed, only replaced"));
    };
    find(document, path)?;
    match find(document, &Pointer(above.to_vec()))? {
        Json::Map(entries) => {
            let at = entries.iter().position(|(key, _)| key == last).expect("it was found");
            Ok(entries.remove(at).1)
        }
        Json::List(values) => Ok(values.remove(place(last)?)),
        _ => unreachable!("it was found in a list or a map"),
    }
}
