//! What a worker reads on its stream: seed 003's token.

use super::held::{Lease, Mirror, Sent, node_text, run_text};
use engine::Engine;
use jiff::Timestamp;
use kernel::command::Grant;
use kernel::ids::{Fence, TaskId};
use kernel::limits::INLINE_BYTES_MAX;
use kernel::record::Payload;
use serde::Serialize;
use serde_json::value::RawValue;
use store::{Hold, StoreError};

/// How long a mirrored input stays beyond the time that its task may take.
const MIRROR_SPARE_MS: u64 = 3_600_000;

/// A token's id: the lease that it is.
pub fn id_of((task, fence): Lease) -> String {
    format!("{task}:{fence}")
}

pub fn lease_of(id: &str) -> Option<Lease> {
    let (task, fence) = id.split_once(':')?;
    Some((TaskId::parse(task)?, Fence::parse(fence)?))
}

#[derive(Serialize)]
struct Token<'a> {
    id: String,
    run_id: &'a str,
    node_id: &'a str,
    from_node: Option<&'a str>,
    to_node: &'a str,
    /// The input; a large one only by its reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_ref: Option<&'a str>,
    /// What the node's text says, worked out; here that is the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a RawValue>,
    created_at: String,
    sent_at: String,
    workflow_owner: Option<&'a str>,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    task: String,
    fence: String,
    attempt: u16,
    #[serde(rename = "type")]
    kind: &'a str,
    queue: &'a str,
    idempotency_key: String,
    budget_ms: u64,
}

/// A token only names it.
pub fn is_large(input: &Payload) -> bool {
    input.text().len() > INLINE_BYTES_MAX
}

/// Puts it where the worker can get it, for as long as it is held. Blocks.
pub fn keep(engine: &Engine, input: &Payload) -> Result<Hold, StoreError> {
    engine.put_blob(input.text().as_bytes())
}

/// A token for what was granted. Blocks where the input is a large one, which is put where the worker can get it.
pub fn token(engine: &Engine, grant: &Grant, input: &Payload, stream: &str, mirror: bool) -> Result<Sent, StoreError> {
    let hold = if is_large(input) { Some(keep(engine, input)?) } else { None };
    let reference = hold.as_ref().map(|hold| hold.id().to_string());
    let at = grant.node.as_ref().map(|(at, _)| &**at);
    let (run, node) = (run_text(grant.task, at), node_text(grant.kind.as_str(), at));
    let inline: Option<&RawValue> = if hold.is_some() { None } else { serde_json::from_str(input.text()).ok() };
    let (now, created_at) = (Timestamp::now(), Timestamp::from_microsecond(grant.created_at.us()));
    let token = Token {
        id: id_of((grant.task, grant.fence)),
        run_id: &run,
        node_id: &node,
        from_node: None,
        to_node: &node,
        payload: inline,
        payload_ref: reference.as_deref(),
        config: inline,
        created_at: created_at.unwrap_or(now).to_string(),
        sent_at: now.to_string(),
        workflow_owner: None,
        metadata: Metadata {
            task: grant.task.to_string(),
            fence: grant.fence.to_string(),
            attempt: grant.attempt,
            kind: grant.kind.as_str(),
            queue: grant.queue.as_str(),
            idempotency_key: grant.work_key().unwrap_or_else(|| grant.task.to_string()),
            budget_ms: grant.budget_ms,
        },
    };
    let token = serde_json::to_string(&token).expect("it is JSON");
    let mirror =
        hold.as_ref().filter(|_| mirror).map(|hold| Mirror { blob: hold.id(), ttl_ms: grant.budget_ms + MIRROR_SPARE_MS });
    Ok(Sent { stream: stream.to_owned(), run, node, token, mirror, _hold: hold })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ids::RecordSeq;

    #[test]
    fn an_id_reads_back_as_the_lease_it_is() {
        let lease = (TaskId::new(77, 3), Fence(RecordSeq(99)));
        assert_eq!(lease_of(&id_of(lease)), Some(lease));
        for other in ["", "task-1", "task-1:", ":k7", "5f3b6c1e-6a3e-4b7e-9c2d-1f2e3d4c5b6a", "run-1:k7"] {
            assert_eq!(lease_of(other), None, "{other}");
        }
    }
}
