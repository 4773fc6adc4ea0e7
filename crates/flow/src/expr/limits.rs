//! Every bound of the expressions, in one place, with the relations between them checked at compile time.
//! A bound of the text is a `Problem`, a bound of the evaluation an `EvalError::TooCostly`; never a panic.

/// Text of one expression.
pub const SOURCE_BYTES_MAX: usize = 2 * 1_024;
/// Nodes of one expression: names, literals, operators, calls.
pub const NODES_MAX: usize = 1_000;
/// How deep brackets, and operators within operators, may nest. Every recursion over an expression ends here.
pub const DEPTH_MAX: usize = 64;
/// `map` in `filter` in `all`.
pub const FOLDS_NESTED_MAX: usize = 3;

/// How deep a value may nest that an expression or a template gives. serde_json reads no text beyond 128.
pub const VALUE_DEPTH_MAX: usize = 100;

/// Units one evaluation may spend: about one per operator, per element and per `BYTES_PER_UNIT` of text.
pub const COST_MAX: u64 = 100_000;
pub const BYTES_PER_UNIT: usize = 32;
/// Bytes of values one evaluation may build, as estimated. The largest payload, copied whole, fits.
pub const BUILT_BYTES_MAX: u64 = 8 * 1_024 * 1_024;
/// What an element of a list, and an entry of a map beside its key, is taken to weigh.
pub const ELEMENT_BYTES: usize = 32;
pub const ENTRY_BYTES: usize = 64;
/// Making an error's message is dearer than a step, and `exists` may absorb one per element.
pub const ERROR_COST: u64 = 32;
/// `range(n)`.
pub const RANGE_MAX: i64 = 10_000;

/// Text of a regular expression, its nesting, its compiled size, and the size of the automaton cached beside it.
pub const PATTERN_BYTES_MAX: usize = 512;
pub const PATTERN_NESTED_MAX: u32 = 32;
pub const PATTERN_COMPILED_BYTES_MAX: usize = 64 * 1_024;
pub const PATTERN_CACHE_BYTES_MAX: usize = 256 * 1_024;
/// Compiling a pattern that is not a literal, at each evaluation.
pub const PATTERN_COST: u64 = 2_000;

/// How much of a value an error shows, of how many values, and how many keys are searched for a near miss.
pub const SHOWN_BYTES_MAX: usize = 200;
pub const SHOWN_VALUES_MAX: usize = 4;
pub const SUGGESTION_NAMES_MAX: usize = 256;
pub const SUGGESTION_BYTES_MAX: usize = 64;

/// Nesting of a template's JSON, and the expressions in it.
pub const TEMPLATE_DEPTH_MAX: usize = 64;
pub const TEMPLATE_EXPRESSIONS_MAX: usize = 1_000;

/// What a filter may cost for one run: a million of them may be looked at.
pub const FILTER_COST_MAX: u64 = 10_000;
pub const FILTER_BUILT_BYTES_MAX: u64 = 256 * 1_024;

const _: () = assert!(NODES_MAX <= SOURCE_BYTES_MAX && DEPTH_MAX < NODES_MAX && FOLDS_NESTED_MAX < DEPTH_MAX);
const _: () = assert!(DEPTH_MAX < VALUE_DEPTH_MAX && TEMPLATE_DEPTH_MAX < VALUE_DEPTH_MAX && VALUE_DEPTH_MAX < 128);
const _: () = assert!((RANGE_MAX as u64) < COST_MAX && (RANGE_MAX as usize * ELEMENT_BYTES) < BUILT_BYTES_MAX as usize);
// One question leaves room in a batch.
const _: () = assert!(COST_MAX < kernel::limits::STEP_COST_MAX);
const _: () = assert!(PATTERN_BYTES_MAX <= SOURCE_BYTES_MAX && PATTERN_COST < COST_MAX);
// At every level of nesting the parser may use 64 KiB and more.
