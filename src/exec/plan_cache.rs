//! The plan cache of a program: plans by the shapes of its inputs, with executors that are idle. The
//! plan that was unused for longest is dropped first.

use std::sync::Arc;
use std::time::Duration;

use super::executor::Executor;
use super::plan::{Plan, Wrt};
use crate::array::{Array, Shape, equal_shapes};
use crate::process::QuickMutex;
#[cfg(feature = "python")]
use crate::rules::OpRef;

/// A run that takes longer is one that somebody may want to end.
const LONG_TIME: Duration = Duration::from_millis(20);

/// Plans kept; the one unused for longest goes first.
const KEPT: usize = 16;

/// Which runs are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunLength {
    /// All.
    Any,
    /// Those that take little time for certain: there is a plan, and no run of it took long. Of
    /// others somebody may want the end. They are left to a thread of their own; to start one
    /// takes time, and products pack their operands into pages that are new to it.
    #[cfg_attr(
        not(feature = "python"),
        allow(dead_code, reason = "the binding to Python asks for it")
    )]
    Short,
}

/// A plan with executors that are idle.
struct Ready {
    shapes: Vec<Shape>,
    wrt: Wrt,
    plan: Arc<Plan>,
    #[expect(clippy::vec_box, reason = "to hand one out is to move an address")]
    idle: Vec<Box<Executor>>,
    /// How long the longest run took, of those that were timed.
    longest: Duration,
}

impl Ready {
    fn is_for(&self, inputs: &[Array], wrt: Wrt) -> bool {
        let alike = |(a, b): (&Shape, &Array)| equal_shapes(a, b.shape());
        self.wrt == wrt
            && self.shapes.len() == inputs.len()
            && self.shapes.iter().zip(inputs).all(alike)
    }
}

/// What there is for a run.
pub(super) enum Found {
    Executor(Box<Executor>),
    /// All executors are at work.
    Plan(Arc<Plan>),
    /// The run is none of the wanted length.
    Other,
    Nothing,
}

/// The plans of a program, those used last at the end. A forked child that loses them because a
/// thread of its parent was at them plans anew.
#[derive(Default)]
pub(super) struct Plans(QuickMutex<Vec<Ready>>);

impl Plans {
    /// An idle executor for inputs of the shapes of these, or what else there is.
    pub(super) fn take(&self, inputs: &[Array], wrt: Wrt, length: RunLength) -> Found {
        let mut ready = self.0.lock();
        let found = ready.iter().position(|ready| ready.is_for(inputs, wrt));
        let Some(at) = found else {
            return match length {
                RunLength::Any => Found::Nothing,
                RunLength::Short => Found::Other,
            };
        };
        if length == RunLength::Short && ready[at].longest > LONG_TIME {
            return Found::Other;
        }
        let last = ready.len() - 1;
        if at < last {
            ready[at..].rotate_left(1);
        }
        match ready[last].idle.pop() {
            Some(executor) => Found::Executor(executor),
            None => Found::Plan(Arc::clone(&ready[last].plan)),
        }
    }

    /// Calls `f` with every operator that is held here, as often as it is, but for executors at work.
    #[cfg(feature = "python")]
    pub(super) fn operators(&self, f: &mut dyn FnMut(&OpRef)) {
        for ready in self.0.lock().iter() {
            ready.plan.operators(f);
            ready.idle.iter().for_each(|executor| executor.operators(f));
        }
    }

    /// Keeps a plan.
    pub(super) fn keep(&self, shapes: Vec<Shape>, wrt: Wrt, plan: &Arc<Plan>) {
        let mut ready = self.0.lock();
        if ready.len() >= KEPT {
            ready.remove(0);
        }
        ready.push(Ready {
            shapes,
            wrt,
            plan: Arc::clone(plan),
            idle: Vec::new(),
            longest: Duration::ZERO,
        });
    }

    /// Takes an executor back, after a run that took this long, if it was timed.
    pub(super) fn give_back(&self, executor: Box<Executor>, took: Option<Duration>) {
        let mut ready = self.0.lock();
        let plan = executor.plan();
        if let Some(entry) = ready.iter_mut().find(|r| Arc::ptr_eq(&r.plan, plan)) {
            entry.longest = entry.longest.max(took.unwrap_or_default());
            entry.idle.push(executor);
        }
    }
}
