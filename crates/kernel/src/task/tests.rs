use crate::script::check;

#[test]
fn a_task_goes_in_and_gets_done() {
    check("add a; lease w; finish a done", "leased a | a done");
}
