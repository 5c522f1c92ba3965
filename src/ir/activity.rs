//! Which values of a function depend on those that it is differentiated by.
//!
//! A value is *active* if it holds floating-point numbers and is computed from one of these values by
//! operators that have a derivative by the operand in question, directly or through parameters of
//! blocks and records of tapes. Nothing flows through integers and truth: conditions choose what is
//! computed, and a derivative is that of what was.
//!
//! Whether an operator has a derivative by an operand only its rule knows: the rule is asked once for
//! each instruction, on values that are thrown away.

use smallvec::SmallVec;

use super::builder::Builder;
use super::cfg::Cfg;
use super::function::{Expression, Function, ValueId};
use crate::array::Type;
use crate::error::Result;
use crate::interrupt::Poller;
use crate::rules::{Algebra, Ex, OpRef};

/// About how many nanoseconds the rule of an instruction takes.
const RULE: usize = 1000;

/// What depends on the values that a function is differentiated by.
#[derive(Debug)]
pub(super) struct Activity {
    active: Vec<bool>,
    /// For each block and instruction, the operands by which it is differentiated.
    through: Vec<Vec<SmallVec<[bool; 3]>>>,
}

impl Activity {
    /// What depends on `wrt` in a function whose blocks are connected as in `graph`.
    ///
    /// # Errors
    /// Only [`Error::Interrupted`](crate::Error::Interrupted): what a rule reports, it reports when
    /// it is used.
    pub(super) fn new(function: &Function, graph: &Cfg, wrt: &[ValueId]) -> Result<Self> {
        let through = derivatives(function, graph)?;
        let mut activity = Activity {
            active: vec![false; function.kinds.len()],
            through,
        };
        for &id in wrt {
            activity.mark(function, id);
        }
        let tapes = function.tapes.iter();
        let mut tapes: Vec<Vec<bool>> = tapes.map(|kinds| vec![false; kinds.len()]).collect();
        let mut poller = Poller::default();
        let mut changed = true;
        while changed {
            changed = false;
            for &number in graph.order() {
                let block = &function.blocks[number];
                for (k, i) in block.instructions.iter().enumerate() {
                    poller.step(20)?;
                    match &i.expression {
                        Expression::Apply(_, args) => {
                            let through = &activity.through[number][k];
                            let mut operands = args.iter().zip(through);
                            if operands.any(|(&a, &on)| on && activity.is_active(a)) {
                                changed |= activity.mark(function, i.results[0]);
                            }
                        }
                        Expression::Push(tape, args) => {
                            for (on, &a) in tapes[*tape as usize].iter_mut().zip(args) {
                                changed |= activity.is_active(a) && !*on;
                                *on |= activity.is_active(a);
                            }
                        }
                        Expression::Pop(tape) => {
                            for (&on, &id) in tapes[*tape as usize].iter().zip(&i.results) {
                                changed |= on && activity.mark(function, id);
                            }
                        }
                        Expression::Constant(_)
                        | Expression::Compute(..)
                        | Expression::Guard(..) => {}
                    }
                }
                for target in block.terminator.targets() {
                    let parameters = &function.blocks[target.block].parameters;
                    for (&p, &a) in parameters.iter().zip(&target.args) {
                        changed |= activity.is_active(a) && activity.mark(function, p);
                    }
                }
            }
        }
        Ok(activity)
    }

    /// Marks a value; whether that is new.
    fn mark(&mut self, function: &Function, id: ValueId) -> bool {
        let slot = &mut self.active[id as usize];
        let new = !*slot && function.kind(id).is_differentiable();
        *slot |= new;
        new
    }

    /// Whether a value is active.
    pub(super) fn is_active(&self, id: ValueId) -> bool {
        self.active.get(id as usize).is_some_and(|&on| on)
    }

    /// Whether instruction `k` of a block has a derivative by its operand `i`, the value `id`, that
    /// is wanted.
    pub(super) fn flows(&self, block: usize, k: usize, i: usize, id: ValueId) -> bool {
        self.through[block][k][i] && self.is_active(id)
    }
}

/// For each instruction the operands by which it has a derivative.
fn derivatives(function: &Function, graph: &Cfg) -> Result<Vec<Vec<SmallVec<[bool; 3]>>>> {
    let mut found = vec![Vec::new(); function.blocks.len()];
    let scratch = Builder::new();
    let mut poller = Poller::default();
    for &number in graph.order() {
        for i in &function.blocks[number].instructions {
            let Expression::Apply(op, args) = &i.expression else {
                found[number].push(SmallVec::new());
                continue;
            };
            poller.step(RULE)?;
            let types = args.iter().map(|&a| function.ty(a));
            let types: SmallVec<[&Type; 3]> = types.collect();
            found[number].push(has_derivatives(
                &scratch,
                op,
                &types,
                function.ty(i.results[0]),
            ));
        }
    }
    Ok(found)
}

/// By which operands of these types an operator has a derivative.
fn has_derivatives(
    scratch: &Builder,
    op: &OpRef,
    args: &[&Type],
    result: &Type,
) -> SmallVec<[bool; 3]> {
    if !result.dtype.is_real() {
        return SmallVec::from_elem(false, args.len());
    }
    let value = |ty: &Type| Ex::new(scratch, scratch.parameter(ty.clone()));
    let x: SmallVec<[Ex<'_>; 3]> = args.iter().map(|&ty| value(ty)).collect();
    let (g, y) = (value(result), value(result));
    let number = |i: usize| {
        let found = args[i].dtype.is_real() && op.vjp(i, g, y, &x).is_some();
        scratch.take_error();
        found
    };
    (0..args.len()).map(number).collect()
}
