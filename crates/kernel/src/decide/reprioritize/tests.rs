use crate::script::check;

#[test]
fn tasks_move_in_place() {
    check("add a; add b; add c; prio c,b 5; lease w want=3", "prio c,b: 2 changed, 0 left; leased b c a");
    check("add a prio=high; add b; prio a normal; show a; lease w", "prio a: 1 changed, 0 left; a queued; leased a");
}

#[test]
fn what_no_longer_waits_is_left() {
    check(
        "add a; add b; add c idle; add d; lease w; lease w; finish a done; prio a,b,c,d,d high; show c",
        "leased a; leased b; prio a,b,c,d,d: 2 changed, 3 left; c idle prio=600",
    );
}

#[test]
fn what_waits_for_something_else_moves_too() {
    check(
        "add a type=u; add b by=a; add c delay=5s; prio b,c high; lease w u; finish a done; advance 5s; add d prio=599; lease w want=3",
        "prio b,c: 2 changed, 0 left; leased a; leased b c d",
    );
}

#[test]
fn tasks_of_another_queue_are_left_alone() {
    check("add a; add b queue=r; prio a,b high in=q; show b", "prio a,b: 1 changed, 1 left; b queued");
}
