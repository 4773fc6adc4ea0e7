//! Whatever happens, memory is what the rows say and nobody waits for what cannot come.

use crate::bulk::BulkWork;
use crate::ids::TaskId;
use crate::script::walk::{act, cases, walk};
use crate::script::world::{Memory, World};
use crate::task::{Status, Task};
use crate::time::Time;
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn no_walk_leaves_memory_and_rows_apart_or_a_task_behind(ops in walk(), restarts in any::<bool>()) {
        let mut world = World::new(if restarts { Memory::Restarts } else { Memory::Cools });
        for op in &ops {
            act(&mut world, op, &sound);
            sound(&world, world.now);
            world.check_rebuilt();
        }
    }
}

fn sound(world: &World, _: Time) {
    for task in world.state.tasks().filter(|task| matches!(task, Task::Idle(_) | Task::Queued(_))) {
        for blocker in task.card().blocked_by() {
            let status = world.task(*blocker).map(|task| task.status());
            assert!(status.is_some(), "{} waits for {blocker}, which is gone", task.card().id());
            let told = world.state.bulks_open().any(|bulk| *bulk.work() == BulkWork::Unblock { blocker: *blocker });
            assert!(status != Some(Status::Done) || told, "{} waits for {blocker}, which is done", task.card().id());
        }
    }
    let running: Vec<TaskId> =
        world.tasks().filter(|task| task.status() == Status::Running).map(|task| task.card().id()).collect();
    assert_eq!(running, world.state.running().map(|task| task.card().id()).collect::<Vec<_>>());
}
