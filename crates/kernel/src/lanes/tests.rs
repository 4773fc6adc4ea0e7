//! The order is exact: at every instant, whatever happened before, lanes find the very task that brute force finds,
//! and nothing exactly when there is nothing.

use super::model::Model;
use crate::names::*;
use crate::script::walk::{QUEUES, TYPES, act, asked, cases, walk};
use crate::script::world::{Memory, World};
use crate::script::{Script, tell};
use crate::time::Time;
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn lanes_find_what_brute_force_finds(ops in walk()) {
        let mut world = World::new(Memory::Cools);
        for op in &ops {
            act(&mut world, op, &agree);
            agree(&world, world.now);
            world.quiesce();
            agree(&world, world.now);
        }
    }
}

fn agree(world: &World, now: Time) {
    let model = Model::new(&world.state, now);
    let types = |which: usize| asked(&TYPES, which).into_iter().map(|kind| TypeName::parse(kind).unwrap()).collect::<Vec<_>>();
    let queues =
        |which: usize| asked(&QUEUES, which).into_iter().map(|queue| QueueName::parse(queue).unwrap()).collect::<Vec<_>>();
    for (which_types, which_queues) in [(0, 3), (1, 3), (2, 3), (0, 0), (1, 0), (2, 1), (2, 2)] {
        let (types, queues) = (types(which_types), queues(which_queues));
        let (found, expected) = (world.state.pick(&types, &queues), model.pick(&types, &queues));
        assert_eq!(found, expected, "types {types:?}, queues {queues:?}");
        assert_eq!(world.state.has_ready(&types, &queues), expected.is_some());
    }
}

#[test]
fn empty_lanes_are_put_by_and_of_too_many_the_first_go() {
    let mut told = tell(Memory::Cools, "queue q key.a=5");
    let lanes = |told: &Script| told.world.state.lanes.lanes.len();
    for batch in 0..17 {
        let adds: Vec<String> = (0..1_000).map(|n| format!("t{batch}-{n} key.a={batch}-{n}")).collect();
        told.statement(&format!("add {}", adds.join(" + ")));
        told.statement("clear q");
        told.statement("advance 0s");
        assert_eq!(told.world.state.backlog(&QueueName::parse("q").unwrap()), 0);
        assert_eq!(lanes(&told), ((batch + 1) * 1_000).min(16_384));
    }
    // One that was put by, one that went, and a new one.
    told.statement("add x key.a=16-5 + y key.a=0-1 + z key.a=new");
    assert_eq!(lanes(&told), 16_386);
    agree(&told.world, told.world.now);
    told.world.check_rebuilt();
}
