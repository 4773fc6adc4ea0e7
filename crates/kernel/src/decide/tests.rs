//! Whatever happens, memory is what the rows say and nobody waits for what cannot come.

use crate::bulk::BulkWork;
use crate::explain::{Facts, explain};
use crate::ids::TaskId;
use crate::lanes::model::Model;
use crate::script::walk::{act, cases, walk};
use crate::script::world::{Memory, World};
use crate::task::{Status, Task};
use crate::time::Time;
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn no_walk_leaves_memory_and_rows_apart_or_a_task_behind(ops in walk(), memory in 0usize..3) {
        let mut world = World::new([Memory::Cools, Memory::Stays, Memory::Restarts][memory]);
        for op in &ops {
            act(&mut world, op, &sound);
            sound(&world, world.now);
            explained(&world);
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

/// A task that waits has a cause, and one that could run at once has none but the want of a worker.
fn explained(world: &World) {
    let model = Model::new(&world.state, world.now);
    for task in world.state.tasks() {
        let Task::Queued(queued) = task else { continue };
        let told = explain(&world.state, task, &Facts::default(), world.now);
        let free = |code: &str| ["no_worker", "workers_busy", "behind", "run_now"].contains(&code);
        assert_eq!(
            told.blocked_on.iter().all(|cause| free(cause.code)),
            !task.card().is_held() && (queued.is_run_now() || model.may_run(task, queued)),
            "{told:?}"
        );
        assert!(!told.blocked_on.is_empty() && told.eta.is_some() != told.eta_reason.is_some(), "{told:?}");
        assert!(told.eta.is_none_or(|eta| eta > world.now), "{told:?}");
    }
}
