//! One run: from a seed to its end or its failure.

use crate::coverage::Coverage;
use crate::failure::Failure;
use crate::turn::Turn;
use crate::world::{Found, World};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// How a world is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ticks of the engine, nearly.
    pub steps: usize,
    /// Events told with a failure.
    pub events_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { steps: 1_000, events_max: 30 }
    }
}

/// Runs one world to its end. What fails is run again, to tell what led to it.
pub fn run(seed: u64, options: &Options) -> Result<Coverage, Failure> {
    run_once(seed, options, 0).or_else(|_| run_once(seed, options, options.events_max))
}

fn run_once(seed: u64, options: &Options, events_max: usize) -> Result<Coverage, Failure> {
    let mut world = World::new(seed, events_max);
    for step in 0..options.steps {
        world.step = step;
        let last = step + 1 == options.steps;
        let lived = quietly(|| {
            world.live()?;
            if last {
                world.calm_down()?;
                end(&mut world)
            } else {
                Ok(())
            }
        });
        if let Err((checker, why)) = lived {
            let events = world.events.take().unwrap_or_default().into();
            let step = world.step.max(step);
            return Err(Failure { seed, step, steps: options.steps, checker, why, events });
        }
    }
    Ok(world.coverage)
}

/// Looks at everything once more.
fn end(world: &mut World) -> Result<(), Found> {
    let core = world.core.take();
    let turn = Turn { now: world.now, reloaded: true, ..Turn::default() };
    world.look(&turn, core.as_ref(), true, true)
}

thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });

/// A broken invariant of the engine stops it; here it is one more way to fail, told with the others.
fn quietly(live: impl FnOnce() -> Result<(), Found>) -> Result<(), Found> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let lived = catch_unwind(AssertUnwindSafe(live));
    QUIET.set(false);
    lived.unwrap_or_else(|panic| {
        let said = panic.downcast::<String>().map(|said| *said);
        let said = said.or_else(|panic| panic.downcast::<&str>().map(|said| (*said).to_owned()));
        Err(("no invariant is broken", said.unwrap_or_else(|_| "it panicked".into())))
    })
}
