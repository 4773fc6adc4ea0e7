//! `PATH=VALUE` of a command line. PATH is a pointer (`/nodes/pay/with/url`) or dotted (`nodes.pay.with.url`,
//! `nodes.route.rules[0].when`); in a list of nodes an id stands for a place. VALUE is JSON if it can be read so, else text:
//! `PATH=` sets an empty text, and never removes by accident. What is missing on the way is made.

use super::Document;
use super::json::Json;
use super::operation::{Act, Operation, Operations, PatchError};
use super::pointer::{Pointer, index};

impl Document {
    /// Adds, or replaces what is there.
    pub fn set(&self, text: &str) -> Result<Operations, PatchError> {
        let Some((path, value)) = text.split_once('=') else {
            let why = format!("`{}` is not PATH=VALUE", crate::source::short(text));
            return Err(PatchError::whole(why).suggest(Some("for example nodes.pay.timeout=1m".to_owned())));
        };
        let path = self.way(path)?;
        let value = value_of(value)?;
        let known = (0..=path.0.len()).rev().find(|length| Pointer(path.0[..*length].to_vec()).find(&self.0).is_some());
        let known = known.expect("the document is there");
        if known == path.0.len() {
            return Ok(Operations(vec![Operation { path, act: Act::Replace(value) }]));
        }
        let made = path.0[known + 1..].iter().rev().fold(value, |value, step| Json::Map(vec![(step.clone(), value)]));
        let path = Pointer(path.0[..=known].to_vec());
        Ok(Operations(vec![Operation { path, act: Act::Add(made) }]))
    }

    /// Takes away what is at a path.
    pub fn unset(&self, path: &str) -> Result<Operations, PatchError> {
        Ok(Operations(vec![Operation { path: self.way(path)?, act: Act::Remove }]))
    }

    /// All of these, each on what the one before left; and the document with them done.
    pub fn set_all(&self, set: &[String], unset: &[String]) -> Result<(Operations, Document), PatchError> {
        let (mut all, mut document) = (Operations::default(), self.clone());
        let sets = set.iter().map(|text| (text, true)).chain(unset.iter().map(|path| (path, false)));
        for (text, is_set) in sets {
            let operations = if is_set { document.set(text)? } else { document.unset(text)? };
            document = document.apply(&operations)?;
            all.extend(operations);
        }
        Ok((all, document))
    }

    fn way(&self, path: &str) -> Result<Pointer, PatchError> {
        let path = path.trim();
        let mut pointer = match path.starts_with('/') {
            true => Pointer::parse(path).map_err(PatchError::whole)?,
            false => dotted(path)?,
        };
        // Nodes in a list are known by their ids.
        let mut here = Some(&self.0);
        for step in &mut pointer.0 {
            if let Some(Json::List(values)) = here
                && index(step).is_err()
                && let Some(at) = values.iter().position(|value| value.get("id").and_then(Json::as_text) == Some(step))
            {
                *step = at.to_string();
            }
            here = here.and_then(|here| Pointer::of([step.as_str()]).find(here));
        }
        Ok(pointer)
    }
}

fn dotted(path: &str) -> Result<Pointer, PatchError> {
    let wrong = || {
        let why = format!("`{}` is no path: an empty name in it", crate::source::short(path));
        PatchError::whole(why).suggest(Some("write it as a pointer, /nodes/pay, if a name is empty or holds a dot".to_owned()))
    };
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (name, places) = part.split_once('[').map_or((part, None), |(name, places)| (name, Some(places)));
        if name.is_empty() {
            return Err(wrong());
        }
        steps.push(name.to_owned());
        for place in places.into_iter().flat_map(|places| places.split('[')) {
            steps.push(place.strip_suffix(']').filter(|place| !place.is_empty()).ok_or_else(wrong)?.to_owned());
        }
    }
    Ok(Pointer(steps))
}

/// JSON if it is, else text; what begins as a list or a map and is none was meant to be one.
pub fn value_of(text: &str) -> Result<Json, PatchError> {
    if let Err(error) = serde_json::from_str::<&serde_json::value::RawValue>(text) {
        if !text.trim_start().starts_with(['{', '[']) {
            return Ok(Json::text(text));
        }
        let why = format!("`{}` begins as JSON does, and is none: {error}", crate::source::short(text));
        let fix = "correct it; a text that begins so is written in quotes of its own: '\"[x]\"'";
        return Err(PatchError::whole(why).suggest(Some(fix.to_owned())));
    }
    Json::read(text.as_bytes()).map_err(|problem| PatchError::whole(problem.to_string()))
}
