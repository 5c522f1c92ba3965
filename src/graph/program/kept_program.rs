//! A graph that is used again and again: its program takes over from the walks of `backward`.
//!
//! A loop that sets leaves and asks for gradients of one root spends its time on what a graph of any shape
//! needs: orders of nodes, memory for every value, a look at every operator. So a root counts the passes that
//! found other values below, and after [`PASSES`] of them keeps its [`BoundProgram`]. The program takes over only
//! if it gives the gradients of that pass to the bit.
//!
//! The program leaves the nodes as they were: their values are computed when they are read, but for the root's,
//! which is there while nothing has changed ([`value`]). Where the program fails, the walk does, and its error is
//! reported. A hook anywhere in this thread ends all programs, and counting begins anew, to four times as many
//! passes.
//!
//! Limits: graphs of up to [`MOST_NODES`] nodes, on values and shapes of inputs within [`LIMITS`]: of larger
//! values the arithmetic takes most of the time, and other shapes need other plans. Operators that run in the
//! thread that asks for them (Python's), lengths that were asked for, several handles on one table, and arguments
//! of functions that are being differentiated leave a graph to the walk. Where a program adds three terms or more
//! in another order, as those of a node that is used several times or of a row that is looked up several times,
//! the numbers of the pass that is compared need not show it: a later gradient may differ from a walk's in the
//! last digit.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use super::bound_program::{BoundProgram, RunLimits};
use crate::array::{Array, Shared, Slice};
use crate::error::Result;
use crate::exec::{Executor, Leaf, Wrt};
use crate::graph::derivatives::hook;
use crate::graph::derivatives::own_changes::OwnChanges;
use crate::graph::node::{Core, Kind, Node, Variable};
use crate::graph::value::Value;
use crate::table::{Gradient, Param, Table, changes};

/// Passes by a walk before a program takes over, at first. To make one takes as long as some ten passes.
const PASSES: usize = 32;

/// Most nodes of a graph that has a program of its own.
const MOST_NODES: usize = 256;

/// What its program is run for.
const LIMITS: RunLimits = RunLimits {
    plans: 4,
    bytes: 1 << 18,
};

/// Most programs that a thread's graphs keep at a time.
const MOST_PROGRAMS: usize = 64;

thread_local! {
    /// How many there are.
    static PROGRAMS: Cell<usize> = const { Cell::new(0) };
}

/// What a root knows of its passes.
enum BackwardPasses {
    /// So many have found other values below. There is a program after as many as are needed.
    Counted { passes: usize, needed: usize },
    /// The program is run from now on, while this thread has registered so many hooks. So many passes were
    /// needed.
    Program {
        program: Box<KeptProgram>,
        hooks: u64,
        needed: usize,
        /// The value of the root that the last pass has computed, and the change counter then.
        value: Option<(u64, Array)>,
    },
    /// There is no program, or it does not give the same bits.
    Never,
}

/// A leaf that records a gradient.
enum RecorderLeaf {
    Parameter(Arc<Param>),
    Independent(Variable),
}

/// A leaf that records a gradient, and a gradient of it that was forgotten, whose memory the next one takes.
struct Recorder {
    leaf: RecorderLeaf,
    spare: Option<Shared<Gradient>>,
}

impl Recorder {
    /// Adds to the gradient.
    fn add(&mut self, gradient: Shared<Gradient>) -> Result<()> {
        match &self.leaf {
            RecorderLeaf::Parameter(param) => {
                self.spare = param.exchange(gradient)?;
                Ok(())
            }
            RecorderLeaf::Independent(node) => match node.kind() {
                Kind::Independent(_, collected) => collected.add(gradient.unwrap_or_clone()),
                _ => Ok(()),
            },
        }
    }
}

/// A program with the leaves that its gradients go to.
struct KeptProgram {
    bound: BoundProgram,
    tables: Vec<Arc<Table>>,
    /// In the order of the program's gradients.
    recorders: Vec<Recorder>,
}

/// A gradient for each recorder.
type Gradients = SmallVec<[Shared<Gradient>; 4]>;

/// The value of a root, and the gradients.
type ValueAndGradients = (Array, Gradients);

impl Drop for KeptProgram {
    fn drop(&mut self) {
        // The thread may have ended its variables by now.
        let _ = PROGRAMS.try_with(|count| count.set(count.get().saturating_sub(1)));
    }
}

impl KeptProgram {
    /// The program of a graph; `None` for one that is left to the walk.
    fn new(root: &Variable) -> Result<Option<Self>> {
        let nodes = root.topological()?;
        let mut tables = Vec::new();
        let mut is_left = |node: &Variable| match node.kind() {
            Kind::Operation(op) => op.stays_in_thread(),
            Kind::Parameter(param) => {
                let id = param.table().id();
                let is_second = tables.contains(&id);
                tables.push(id);
                is_second
            }
            Kind::Independent(..) | Kind::Input(..) | Kind::Constant => false,
        };
        if nodes.len() > MOST_NODES || nodes.iter().any(&mut is_left) {
            return Ok(None);
        }
        let bound = BoundProgram::new(root, Wrt::All, Some(LIMITS))?;
        let leaf_of = |leaf: &Leaf| {
            nodes.iter().find_map(|node| match (leaf, node.kind()) {
                (Leaf::Parameter(table), Kind::Parameter(param)) => {
                    Arc::ptr_eq(table, param.table())
                        .then(|| RecorderLeaf::Parameter(Arc::clone(param)))
                }
                (Leaf::Independent(id, _), Kind::Independent(other, _)) => {
                    (*id == other).then(|| RecorderLeaf::Independent(node.clone()))
                }
                _ => None,
            })
        };
        let recorder = |leaf| {
            let (leaf, spare) = (leaf_of(leaf)?, None);
            Some(Recorder { leaf, spare })
        };
        let recorders: Option<Vec<Recorder>> =
            bound.program().differentiable().map(recorder).collect();
        let recorders = recorders.filter(|_| !bound.asks_lengths());
        Ok(recorders.map(|recorders| {
            PROGRAMS.set(PROGRAMS.get() + 1);
            KeptProgram {
                tables: bound.program().tables().to_vec(),
                bound,
                recorders,
            }
        }))
    }

    /// What a run computes; `None` if a leaf has no gradient.
    fn pass(&mut self) -> Result<Option<ValueAndGradients>> {
        let _reading = Table::reading(self.tables.iter().map(|table| &**table))?;
        // SAFETY: `_reading` keeps others from plain access until this function returns.
        unsafe {
            self.bound
                .run(|_, executor| results(executor, &mut self.recorders))
        }
    }

    /// Whether a run gives these gradients, of the leaves beside them.
    fn gives<'g>(&mut self, arrived: impl Iterator<Item = (&'g Rc<dyn Node>, &'g Value)>) -> bool {
        let Ok(Some((_, gradients))) = self.pass() else {
            return false;
        };
        let mut count = 0;
        for (leaf, value) in arrived {
            let is_of = |recorder: &Recorder| match (&recorder.leaf, leaf.kind()) {
                (RecorderLeaf::Parameter(param), Kind::Parameter(other)) => {
                    Arc::ptr_eq(param, other)
                }
                (RecorderLeaf::Independent(node), _) => Rc::ptr_eq(&node.0, leaf),
                _ => false,
            };
            let Some(at) = self.recorders.iter().position(is_of) else {
                return false;
            };
            if !value
                .clone()
                .into_gradient()
                .is_ok_and(|walked| is_same(&walked, &gradients[at]))
            {
                return false;
            }
            count += 1;
        }
        count == self.recorders.len()
    }
}

/// What a run has computed, the gradients in the memory of earlier ones; `None` if a leaf has none.
fn results(executor: &Executor, recorders: &mut [Recorder]) -> Result<Option<ValueAndGradients>> {
    let mut gradients = Gradients::new();
    for (k, recorder) in recorders.iter_mut().enumerate() {
        match executor.gradient_in(k, recorder.spare.take())? {
            Some(gradient) => gradients.push(gradient),
            None => return Ok(None),
        }
    }
    Ok(Some((executor.value()?, gradients)))
}

/// Whether two gradients have one form and the same bits, rows in the same order: what is made of them goes by
/// how often a row occurs, and in which order equal ones are added.
fn is_same(a: &Gradient, b: &Gradient) -> bool {
    match (a, b) {
        (Gradient::Dense(a), Gradient::Dense(b)) => has_same_bits(a, b),
        (Gradient::Rows(a), Gradient::Rows(b)) => match (a.try_concat(), b.try_concat()) {
            (Ok((rows, x)), Ok((others, y))) => rows == others && has_same_bits(&x, &y),
            _ => false,
        },
        _ => false,
    }
}

fn has_same_bits(a: &Array, b: &Array) -> bool {
    fn equal<T: Copy, B: PartialEq>(a: &[T], b: &[T], bits: impl Fn(T) -> B) -> bool {
        a.iter().map(|&x| bits(x)).eq(b.iter().map(|&x| bits(x)))
    }
    let numbers = match (a.view().data, b.view().data) {
        (Slice::F32(a), Slice::F32(b)) => equal(a, b, f32::to_bits),
        (Slice::F64(a), Slice::F64(b)) => equal(a, b, f64::to_bits),
        _ => false,
    };
    numbers && a.shape() == b.shape()
}

impl BackwardPasses {
    const COUNTING: BackwardPasses = BackwardPasses::Counted {
        passes: 0,
        needed: PASSES,
    };

    /// The gradients of a pass by the program, and the leaves that they go to. `None`, and nothing is changed,
    /// if there is no program that can.
    fn pass(&mut self) -> Option<(&mut [Recorder], Gradients)> {
        if let BackwardPasses::Program {
            program,
            hooks,
            needed,
            ..
        } = self
            && (*hooks != hook::registered() || program.bound.asks_lengths())
        {
            // Where this happens often, programs are made seldom.
            *self = BackwardPasses::Counted {
                passes: 0,
                needed: 4 * *needed,
            };
        }
        let BackwardPasses::Program { program, value, .. } = self else {
            return None;
        };
        *value = None;
        let (now, own) = (changes(), OwnChanges::begin());
        let (computed, gradients) = program.pass().ok()??;
        if !own.is_unchanged() {
            return None;
        }
        *value = Some((now, computed));
        Some((&mut program.recorders, gradients))
    }

    /// Takes note of a pass by a walk, and of the gradients that arrived.
    fn count<'g>(
        &mut self,
        root: &Rc<dyn Node>,
        arrived: impl Iterator<Item = (&'g Rc<dyn Node>, &'g Value)>,
    ) {
        let BackwardPasses::Counted { passes, needed } = self else {
            return;
        };
        let needed = *needed;
        *passes += 1;
        if *passes < needed {
            return;
        }
        *self = BackwardPasses::Never;
        if root.core().traced() || PROGRAMS.get() >= MOST_PROGRAMS {
            return;
        }
        let program = KeptProgram::new(&Variable(Rc::clone(root)));
        if let Ok(Some(mut program)) = program
            && program.gives(arrived)
        {
            *self = BackwardPasses::Program {
                program: Box::new(program),
                hooks: hook::registered(),
                needed,
                value: None,
            };
        }
    }
}

/// The value of a root whose last pass was by its program, if nothing has changed since. The root and the nodes
/// below it are still to be computed anew.
pub(in crate::graph) fn value(core: &Core) -> Option<Array> {
    let kept = core.kept_for_backward.take()?;
    let found = match kept.downcast_ref() {
        Some(BackwardPasses::Program {
            value: Some((at, value)),
            ..
        }) if *at == changes() => Some(value.clone()),
        _ => None,
    };
    core.kept_for_backward.set(Some(kept));
    found
}

/// Adds the gradients of a root by its program. `false`, and nothing is changed, if there is no program that can.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) as `backward`.
pub(in crate::graph) fn backward(root: &Rc<dyn Node>) -> Result<bool> {
    let core = root.core();
    let Some(mut kept) = core.kept_for_backward.take() else {
        return Ok(false);
    };
    let passes = kept.downcast_mut::<BackwardPasses>();
    let added = match passes.and_then(BackwardPasses::pass) {
        None => Ok(false),
        Some((recorders, gradients)) => {
            let mut both = recorders.iter_mut().zip(gradients);
            both.try_for_each(|(recorder, gradient)| recorder.add(gradient))
                .map(|()| true)
        }
    };
    core.kept_for_backward.set(Some(kept));
    added
}

/// Takes note of a pass by a walk that found other values below `root`, and of the gradients that arrived. After
/// some of them a program takes over.
pub(in crate::graph) fn count<'g>(
    root: &Rc<dyn Node>,
    arrived: impl Iterator<Item = (&'g Rc<dyn Node>, &'g Value)>,
) {
    let core = root.core();
    let kept = core.kept_for_backward.take();
    let mut kept = kept.unwrap_or_else(|| Box::new(BackwardPasses::COUNTING));
    if let Some(passes) = kept.downcast_mut::<BackwardPasses>() {
        passes.count(root, arrived);
    }
    core.kept_for_backward.set(Some(kept));
}

#[cfg(test)]
mod tests;
