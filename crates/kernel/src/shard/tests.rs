use crate::command::Command;
use crate::limits::ID_BLOCK;
use crate::names::Actor;
use crate::record::Record;
use crate::script::say;
use crate::script::tell;
use crate::script::world::{Memory, World};

#[test]
fn no_id_is_given_twice_whatever_memory_forgets() {
    // World refuses an id or a record number that was given before; here every command starts from the rows alone.
    let told = tell(Memory::Restarts, "add x*1500; delete x1500; add a; clear q; add b; lease w; finish b done; delete b; add c");
    let ids: Vec<u64> = told.world.tasks().map(|task| task.card().id().sequence()).collect();
    assert!(ids.is_sorted() && ids.last() > Some(&(4 * ID_BLOCK)), "{:?}", ids.last());
}

#[test]
fn adding_a_task_does_not_write_the_shards_row_but_once_a_block() {
    let mut blocks = 0;
    let mut told = tell(Memory::Cools, "add a");
    for n in 0..3 * ID_BLOCK {
        told.statement(&format!("add x{n} idle"));
        blocks += told.world.stepped.iter().filter(|entry| matches!(entry.record, Record::IdsReserved { .. })).count();
    }
    assert_eq!(blocks, 3);
}

#[test]
fn a_block_of_record_numbers_is_renewed_before_it_ends() {
    for left in 0..6 {
        let mut world = World::new(Memory::Cools);
        let by = Actor::parse("ann").unwrap();
        let boost = |world: &mut World, seconds: i64| {
            let boost = crate::priority::Priority::seconds(seconds).unwrap();
            let on = crate::queue::BoostOn { key: None };
            world.run(&Command::BoostQueue { queue: say::queue("q"), on, boost, by: by.clone() }).unwrap();
            let shard = world.state.shard();
            assert!(shard.records_next <= shard.records_reserved, "{left} left");
        };
        boost(&mut world, 1);
        world.state.shard.records_next = world.state.shard.records_reserved - left;
        (2..10).for_each(|seconds| boost(&mut world, seconds));
        world.check_rebuilt();
    }
}
