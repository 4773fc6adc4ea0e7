//! Every bound of the kernel, in one place, with the relations between them checked at compile time.
//! A bound that is hit is a `Rejection`, never a panic and never silence.

/// Requests one batch may take from the inbox.
pub const BATCH_REQUESTS_MAX: usize = 1_024;
/// Items (tasks, results, leases) one batch may touch before it is closed.
pub const BATCH_ITEMS_MAX: usize = 4_096;
/// Requests that may wait in the inbox's lane for new work.
pub const INBOX_ADDS_MAX: usize = 8 * BATCH_REQUESTS_MAX;
/// Items a bulk, a cascade or an index sweep touches in one batch before it leaves a cursor.
pub const CHUNK_ITEMS_MAX: usize = 1_000;

/// Records, and bytes of payload, after which what goes on in runs waits for the next batch.
pub const STEP_RECORDS_MAX: usize = 2 * BATCH_ITEMS_MAX;
pub const STEP_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Steps of evaluation after which it does, too: some tens of milliseconds. One node may ask for as much.
pub const STEP_COST_MAX: u64 = 400_000;

/// Bytes of payload one batch takes before it is closed, and the inbox before it is full.
pub const BATCH_BYTES_MAX: usize = 4 * 1_024 * 1_024;
pub const INBOX_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// Tasks in one add.
pub const ADD_TASKS_MAX: usize = 1_000;
/// Blockers named in one add, by all its tasks together: each may have to be looked up.
pub const ADD_BLOCKERS_MAX: usize = 4_096;
/// Ids in one reprioritize or redrive by ids.
pub const IDS_MAX: usize = 1_000;
/// Tasks one poll may ask for, results it may report, leases it may hold.
pub const POLL_TASKS_MAX: usize = 1_000;
pub const POLL_TYPES_MAX: usize = 64;
pub const POLL_QUEUES_MAX: usize = 64;

pub const NAME_BYTES_MAX: usize = 128;
pub const NODE_ID_BYTES_MAX: usize = 64;
pub const KEY_VALUE_BYTES_MAX: usize = 256;
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 256;
pub const REASON_BYTES_MAX: usize = 500;
pub const TASK_KEYS_MAX: usize = 8;
/// Keys of a task that an event made: its queue's, and its handler's own.
pub const HANDLED_KEYS_MAX: usize = 2 * TASK_KEYS_MAX;
pub const TASK_TAGS_MAX: usize = 16;
pub const TASK_BLOCKERS_MAX: usize = 64;
/// Queues with a configuration, a pause or a boost; all of them are in memory.
pub const QUEUES_MAX: usize = 10_000;
pub const QUEUE_KEYS_MAX: usize = 256;
pub const QUEUE_WEIGHTS_MAX: usize = 1_000;
pub const QUEUE_BOOSTS_MAX: usize = 256;
/// Events in one emit.
pub const EMIT_EVENTS_MAX: usize = 1_000;
/// Handlers that may take one event.
pub const EVENT_HANDLERS_MAX: usize = 64;
/// How often one event may be handled again: what became of it stands in its row.
pub const EVENT_REPLAYS_MAX: u32 = 100;
/// Runs that are noted with the event they heard.
pub const EVENT_HEARD_MAX: usize = 16;
pub const EVENT_SOURCE_BYTES_MAX: usize = 256;
/// Events that one look for old ones takes.
pub const EXPIRED_EVENTS_MAX: usize = 1_000;
/// Events that one batch may gather, and the longest a window may be open.
pub const WINDOW_EVENTS_MAX: u32 = 1_000;
pub const WINDOW_MS_MAX: u64 = 30 * 24 * 3_600 * 1_000;
/// What the events of one batch may weigh together: it is delivered whole.
pub const WINDOW_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Patterns of families that something is said about.
pub const FAMILIES_MAX: usize = 256;
/// Patterns of families that one shed names.
pub const SHED_FAMILIES_MAX: usize = 64;
/// Queues and handlers one registry may state, and bytes of its text.
pub const REGISTRY_QUEUES_MAX: usize = 1_000;
pub const REGISTRY_HANDLERS_MAX: usize = 1_000;
pub const REGISTRY_BYTES_MAX: usize = 1_024 * 1_024;
/// Versions of all workflows together, and bytes of their texts: these are in memory.
pub const WORKFLOW_VERSIONS_MAX: usize = 10_000;
pub const WORKFLOW_TEXTS_BYTES_MAX: usize = 256 * 1_024 * 1_024;
/// Bytes of the texts of those that are there compiled, beside those of live runs: that takes many times the room.
pub const COMPILED_TEXTS_BYTES_MAX: usize = 32 * 1_024 * 1_024;
/// Nodes, turns and items that one run may begin.
pub const RUN_STEPS_DEFAULT: u32 = 1_000_000;
pub const RUN_STEPS_MAX: u32 = 100_000_000;
/// How often the definition of one run may be changed, and what one change may add to it.
pub const RUN_REVISIONS_MAX: u32 = 100;
pub const PATCH_NODES_ADDED_MAX: usize = 100;
pub const PATCH_AGENTS_ADDED_MAX: usize = 5;
/// Nodes, turns and items that the answer to one names.
pub const PATCH_TOLD_MAX: usize = 50;
/// Turns and items under way that it looks at for that, and of these such in which something might begin.
pub const PATCH_LOOKED_MAX: usize = 20_000;
pub const PATCH_SEARCHED_MAX: usize = 4 * PATCH_TOLD_MAX;
/// Nodes that are put in their places in another text in one batch.
pub const PATCH_SLOTS_MAX: usize = 10_000;
/// Records of another run that a fork takes along.
pub const FORK_PARTS_MAX: usize = BATCH_ITEMS_MAX;
/// Runs that call one another.
pub const SUB_RUNS_DEPTH_MAX: u16 = 8;
/// Runs that one look for old ones takes, and runs that may be on their way out before it takes no more.
pub const EXPIRED_RUNS_MAX: usize = 1_000;
pub const LEAVING_RUNS_MAX: usize = 4 * EXPIRED_RUNS_MAX;
/// Runs that were called and are tried again with their callers, in one batch: each is loaded whole.
pub const RECALLS_MAX: usize = 32;
/// Bulks that may be under way at once.
pub const BULKS_OPEN_MAX: usize = 64;
/// Runs that a bulk changes in one batch: each may be loaded whole.
pub const BULK_RUNS_MAX: usize = 64;
/// Of the runs that a bulk left as they were, so many are told with the reason.
pub const BULK_REFUSALS_MAX: usize = 10;
/// Bytes of the expression that says which runs.
pub const BULK_FILTER_BYTES_MAX: usize = 4_096;
/// Bytes of what one changes in each text: it stands in the bulk's row, which is written with every chunk.
pub const BULK_PATCH_BYTES_MAX: usize = 64 * 1_024;

/// Input or output of a task, as JSON text.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1024;
/// What somebody puts beside, to be mentioned by values.
pub const BLOB_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Outputs up to this ride in their records; larger ones lie in the blob store.
pub const INLINE_BYTES_MAX: usize = 4 * 1_024;
/// What the inputs in one answer to a worker may weigh; what is left comes with the next. One input is always let through.
pub const DELIVERY_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// What it may cost to work them out, in steps of evaluation; likewise.
pub const DELIVERY_COST_MAX: u64 = 5_000_000;
/// As much of that as may be done where others wait meanwhile.
pub const HANDY_COST_MAX: u64 = 20_000;
/// What the values may weigh that are read for one question of a run, or one input of a task, because they were not at hand.
/// A value weighs more than its text, as much as it takes in memory.
pub const FETCHED_BYTES_MAX: usize = 128 * 1_024 * 1_024;
/// Values that are on their way from the store to the writer, and bytes of them that are handed over at once.
pub const FETCHING_VALUES_MAX: usize = 256;
pub const FETCHING_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Runs that may wait for one event by nothing that tells them apart: each event is held against every one of them.
pub const WAITS_UNKEYED_MAX: usize = 1_000;
/// Events that one who looks back sees at once, and how many look back at once.
pub const LOOK_EVENTS_MAX: usize = 64;
pub const LOOK_VALUES_MAX: usize = 16;
pub const LOOKS_MAX: usize = 256;
/// Names whose newest event is remembered.
pub const NAMES_REMEMBERED_MAX: usize = 4_096;
/// Of what an event has to be, to be kept as it is.
pub const WAIT_KEY_BYTES_MAX: usize = 256;
/// How long a node waits for a value that cannot be read.
pub const VALUE_WAIT_MS_MAX: u64 = 10 * 60 * 1_000;
/// Steps of evaluation that holding an input against its schema may take.
pub const INPUT_COST_MAX: u64 = 250_000;
pub const ERROR_CODE_BYTES_MAX: usize = 64;
pub const ERROR_MESSAGE_BYTES_MAX: usize = 2_048;

pub const ATTEMPTS_MAX: u16 = 1_000;
pub const BACKOFF_MS_MAX: u64 = 24 * 3_600 * 1_000;
pub const BACKOFF_DOUBLINGS_MAX: u32 = 40;
pub const RETRY_AFTER_MS_MAX: u64 = 7 * 24 * 3_600 * 1_000;

pub const HEARTBEAT_MS_MIN: u32 = 100;
pub const HEARTBEAT_MS_DEFAULT: u32 = 30_000;
pub const HEARTBEAT_MS_MAX: u32 = 3_600_000;
pub const BUDGET_MS_DEFAULT: u64 = 24 * 3_600 * 1_000;
pub const BUDGET_MS_MAX: u64 = 366 * 24 * 3_600 * 1_000;

pub const CONCURRENCY_MAX: u32 = 1_000_000;
pub const RATE_COUNT_MAX: u32 = 1_000_000;
pub const RATE_BURST_MAX: u32 = 1_000_000;
pub const RATE_PER_MS_MAX: u64 = 366 * 24 * 3_600 * 1_000;
/// A whole burst, paid back: a thousand years, so that arrivals stay instants.
pub const RATE_BURST_US_MAX: i64 = 1_000 * 366 * 24 * 3_600 * 1_000_000;
pub const OVERRIDE_SLOTS_DEFAULT: u32 = 2;
pub const OVERRIDE_SLOTS_MAX: u32 = 1_000;
pub const BACKLOG_MAX: u32 = 100_000_000;
pub const FAIR_STEP_MS_DEFAULT: u64 = 60_000;
pub const FAIR_STEP_MS_MAX: u64 = 24 * 3_600 * 1_000;
pub const FAIR_WEIGHT_MAX: u32 = 10_000;
pub const IDEMPOTENCY_WINDOW_MS_DEFAULT: u64 = 24 * 3_600 * 1_000;
pub const IDEMPOTENCY_WINDOW_MS_MAX: u64 = 366 * 24 * 3_600 * 1_000;

/// Head starts and boosts, in seconds either way: ten years.
pub const HEAD_START_S_MAX: i32 = 10 * 366 * 24 * 3_600;
/// Latest instant anything may be scheduled for: the end of the year 9999.
pub const TIME_US_MAX: i64 = 253_402_300_799_999_999;

/// Ids and record numbers are promised to the store in blocks, so that the hot path does not write the shard's row.
pub const ID_BLOCK: u64 = 1_024;
pub const RECORD_BLOCK: u64 = 65_536;

const _: () = assert!(BATCH_REQUESTS_MAX <= INBOX_ADDS_MAX);
const _: () = assert!(ADD_TASKS_MAX <= BATCH_ITEMS_MAX && POLL_TASKS_MAX <= BATCH_ITEMS_MAX);
const _: () = assert!(CHUNK_ITEMS_MAX <= BATCH_ITEMS_MAX && IDS_MAX <= CHUNK_ITEMS_MAX);
const _: () = assert!(EXPIRED_RUNS_MAX <= CHUNK_ITEMS_MAX && EXPIRED_RUNS_MAX <= LEAVING_RUNS_MAX);
const _: () = assert!(RUN_STEPS_DEFAULT <= RUN_STEPS_MAX && INPUT_COST_MAX <= STEP_COST_MAX);
const _: () = assert!(HANDY_COST_MAX < DELIVERY_COST_MAX);
const _: () = assert!(INLINE_BYTES_MAX < PAYLOAD_BYTES_MAX && PAYLOAD_BYTES_MAX < BLOB_BYTES_MAX);
const _: () = assert!(PAYLOAD_BYTES_MAX < DELIVERY_BYTES_MAX && FETCHING_BYTES_MAX < FETCHED_BYTES_MAX);
const _: () = assert!(HEARTBEAT_MS_MIN < HEARTBEAT_MS_DEFAULT && HEARTBEAT_MS_DEFAULT < HEARTBEAT_MS_MAX);
const _: () = assert!(BUDGET_MS_DEFAULT <= BUDGET_MS_MAX && BACKOFF_MS_MAX <= RETRY_AFTER_MS_MAX);
// The sum of every offset a score can carry stays far inside an i64 of microseconds.
const _: () = assert!((HEAD_START_S_MAX as i64) * 1_000_000 * 4 + TIME_US_MAX < i64::MAX / 2);
const _: () = assert!(TIME_US_MAX + RATE_BURST_US_MAX < i64::MAX / 2);
// A handler's name and the digest of a key's value are a key together.
const _: () = assert!(NODE_ID_BYTES_MAX + 2 + 32 <= IDEMPOTENCY_KEY_BYTES_MAX);
const _: () = assert!(EMIT_EVENTS_MAX <= BATCH_ITEMS_MAX && EXPIRED_EVENTS_MAX <= CHUNK_ITEMS_MAX);
const _: () = assert!(ADD_BLOCKERS_MAX <= BATCH_ITEMS_MAX && BATCH_BYTES_MAX < INBOX_BYTES_MAX);
// A batch can never write more records than one block holds, so a block is renewed at most once per record.
const _: () = assert!(RECORD_BLOCK > 8 * BATCH_ITEMS_MAX as u64);
