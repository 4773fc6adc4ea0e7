//! What every backend must do, as one list of cases. A backend's test hands over a way to get fresh places; a case
//! opens its place as often as it likes, one store at a time, and finds what it left there.

mod blobs;
mod event_queries;
mod queries;
mod rollups;
mod run_queries;
mod run_writes;
pub mod sample;
mod sample_events;
mod sample_runs;
pub mod scribe;
mod writes;

use crate::store::Store;
use kernel::row::{Row, Table};

/// Opens the same place again and again.
pub type Open<'a> = dyn FnMut() -> Box<dyn Store> + 'a;

pub struct Case {
    pub name: &'static str,
    pub check: fn(&mut Open<'_>),
}

macro_rules! cases {
    ($($module:ident :: $name:ident,)*) => {
        &[$(Case { name: stringify!($name), check: $module::$name },)*]
    };
}

pub const CASES: &[Case] = cases![
    writes::an_empty_store_holds_nothing,
    writes::what_is_live_is_loaded_and_nothing_else,
    writes::the_last_image_wins,
    writes::deleted_rows_are_gone_and_may_come_back,
    writes::a_history_that_is_pruned_is_gone_and_no_other,
    writes::a_batch_is_all_or_nothing,
    writes::an_empty_batch_changes_nothing,
    writes::a_store_opened_again_holds_what_was_committed,
    writes::the_newest_records_time_is_known,
    writes::cold_tasks_are_found_by_id,
    writes::the_youngest_task_of_an_idempotency_key_is_found,
    writes::dead_letters_are_paged,
    writes::the_ends_of_the_number_line_fit,
    writes::any_text_and_large_payloads_fit,
    queries::a_history_is_a_chain,
    queries::payloads_come_in_the_order_asked_for,
    queries::records_follow_a_number,
    queries::dead_letters_are_counted_per_queue,
    queries::tasks_are_listed_by_every_filter,
    queries::tasks_are_listed_in_pages,
    queries::bulks_are_listed_newest_first,
    queries::scans_go_by_key,
    queries::readers_see_whole_batches_while_commits_go_on,
    queries::a_held_moment_stays_as_it_was,
    run_writes::a_run_is_found_with_its_parts,
    run_writes::the_youngest_run_of_an_idempotency_key_is_found,
    run_writes::the_parts_of_runs_come_in_turn_and_tell_what_they_began,
    run_writes::runs_that_have_ended_are_found_oldest_first,
    run_writes::runs_that_end_at_once_are_found_by_id,
    run_writes::the_work_of_a_run_is_no_dead_letter,
    run_writes::the_parts_of_a_run_are_deleted_with_their_histories,
    run_queries::workflows_are_found_by_version_and_name,
    run_queries::runs_are_listed_by_every_filter,
    run_queries::runs_are_listed_in_pages,
    run_queries::frames_and_nodes_are_listed_by_key,
    run_queries::approvals_are_listed_oldest_first,
    run_queries::a_runs_history_is_all_its_chains,
    run_queries::a_runs_records_are_found_by_where_they_stand,
    run_queries::no_record_of_a_run_is_missed_while_commits_go_on,
    blobs::blobs_are_mentioned_as_long_as_a_record_does,
    event_queries::events_are_found_by_id_and_key,
    event_queries::events_are_found_by_name,
    event_queries::an_events_key_may_come_back,
    event_queries::events_are_listed_by_every_filter,
    event_queries::old_events_come_oldest_first,
    rollups::roll_ups_add_up_and_are_found_by_minute_queue_and_family,
    rollups::roll_ups_are_added_where_the_last_ended_or_not_at_all,
    rollups::old_minutes_are_forgotten_and_so_are_old_failures,
    rollups::what_is_deleted_before_it_was_folded_is_told,
];

/// Runs every case, each at a place of its own; `fresh` gives a new, empty place.
pub fn check(mut fresh: impl FnMut() -> Box<Open<'static>>) {
    for case in CASES {
        // Seen when the case fails.
        println!("conformance: {}", case.name);
        (case.check)(&mut *fresh());
    }
}

fn loaded(store: &mut dyn Store) -> Vec<Row> {
    let mut rows = Vec::new();
    store.load(&mut |row| rows.push(row)).expect("the store loads");
    rows
}

fn scanned(store: &dyn Store, table: &'static Table) -> Vec<Row> {
    let mut rows = Vec::new();
    store.reader().and_then(|mut reader| reader.scan(table, &mut |row| rows.push(row))).expect("the store scans");
    rows
}
