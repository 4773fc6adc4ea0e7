//! Every bound of a definition, in one place. One that is hit is a `Problem` with its line, never a panic.

use kernel::limits::BUDGET_MS_MAX;

/// Bytes of one file.
pub const SOURCE_BYTES_MAX: usize = 1_024 * 1_024;
/// Lists and maps inside each other; everything that walks a file by recursion relies on it.
pub const SOURCE_DEPTH_MAX: usize = 64;
/// Definitions in one file.
pub const DOCUMENTS_MAX: usize = 100;
/// Problems told at once; how many more there are is counted.
pub const PROBLEMS_MAX: usize = 100;

/// Bytes of one patch, and how many operations it has.
pub const PATCH_BYTES_MAX: usize = SOURCE_BYTES_MAX;
pub const PATCH_OPERATIONS_MAX: usize = 1_000;
/// Bytes that its operations copy and move, all together.
pub const PATCH_MOVED_BYTES_MAX: usize = 8 * SOURCE_BYTES_MAX;

pub const NODES_MAX: usize = 10_000;
/// Out-edges of all nodes together.
pub const EDGES_MAX: usize = 100_000;
/// Bodies inside each other; the workflow's own is not counted.
pub const BODIES_DEEP_MAX: usize = 8;
/// Loops of the edge-list form: the region of each is searched for in the whole graph.
pub const LISTED_LOOPS_MAX: usize = 256;
pub const RULES_MAX: usize = 1_000;
pub const ITERATIONS_MAX: i64 = 10_000;
pub const EACH_CONCURRENCY_DEFAULT: u32 = 8;
pub const EACH_CONCURRENCY_MAX: i64 = 10_000;
pub const EACH_TOLERATE_MAX: i64 = 1_000_000;
pub const WHO_MAX: usize = 64;
pub const VERSION_MAX: i64 = 1_000_000_000;
pub const DESCRIPTION_BYTES_MAX: usize = 4_096;

/// What all expressions of one handler may cost for one event, in steps and in bytes of values: every event pays it.
pub const ROUTE_COST_MAX: u64 = 10_000;
pub const ROUTE_BUILT_BYTES_MAX: u64 = 512 * 1_024;
/// Patterns of one handler.
pub const HANDLER_PATTERNS_MAX: usize = 64;
/// Headers that are sent with an event that is passed on, bytes of its URL and of each, and how long that may take.
pub const FORWARD_HEADERS_MAX: usize = 32;
pub const URL_BYTES_MAX: usize = 2_048;
pub const FORWARD_TIMEOUT_MS_DEFAULT: u64 = 30_000;
/// Webhooks and crons of one registry.
pub const WEBHOOKS_MAX: usize = 256;
pub const CRONS_MAX: usize = 1_000;
/// A slot that fires no later than this is on time; others were missed. How many of these are made up for, and how old they may be.
pub const CRON_LATE_MS: u64 = 60 * 1_000;
pub const CRON_CATCH_UP_DEFAULT: u32 = 100;
pub const CRON_CATCH_UP_MAX: u32 = 1_000;
pub const CRON_WITHIN_MS_DEFAULT: u64 = 24 * 3_600 * 1_000;
/// A slot fires no later than this after its time: that many are looked at when one may be held back.
pub const CRON_JITTER_MS_MAX: u64 = 3_600 * 1_000;
/// Secrets of one webhook, the old ones with the new.
pub const WEBHOOK_SECRETS_MAX: usize = 8;
pub const WEBHOOK_TOLERANCE_MS_DEFAULT: u64 = 5 * 60 * 1_000;

/// A time budget, a sleep, a deadline.
pub const DURATION_MS_MAX: u64 = BUDGET_MS_MAX;
/// Long enough for a queue that is paused over night; work that is leased, and people, are never counted.
pub const STALL_MS_DEFAULT: u64 = 24 * 3_600 * 1_000;

const _: () = assert!(RULES_MAX <= u16::MAX as usize && EDGES_MAX <= u32::MAX as usize);
const _: () = assert!(EACH_CONCURRENCY_DEFAULT as i64 <= EACH_CONCURRENCY_MAX && STALL_MS_DEFAULT <= DURATION_MS_MAX);
