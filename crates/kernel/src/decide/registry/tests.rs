use crate::script::check;

#[test]
fn a_registry_states_its_queues_and_takes_them_back() {
    check(
        "registry q concurrency=1; add a + b; lease w want=2; queue q concurrency=9; no_registry; lease w want=2",
        "leased a; queue q: queue_in_registry; leased b",
    );
}

#[test]
fn a_bad_registry_changes_nothing() {
    check("registry q backlog=0; emit e a/b revision=0", "registry q: invalid; e: unhandled");
}

#[test]
fn refused_requests_are_a_record() {
    check("refused hub", "");
}
