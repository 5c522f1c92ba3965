//! Forward mode of functions with blocks, branches and loops.
//!
//! [`jvp`] computes tangents beside the values, in the same blocks: what a block gets as a parameter
//! comes with its tangent, and so does what is kept on a tape. Nothing else is kept, so forward mode
//! takes no memory that grows with the number of turns. The rules are those that graphs are
//! differentiated by ([`differentiate`](crate::rules::differentiate)).
//!
//! A value may have a tangent on some ways and none on others, as a variable has that begins as a
//! constant. Such a tangent goes with a flag of kind Bool, and is a zero where there is none. It is
//! multiplied only if the flag is set, so that an infinite derivative makes no NaN of the zero.

use std::collections::HashMap;

use super::activity::Activity;
use super::builder::Builder;
use super::cfg::Cfg;
use super::ends::{Prepared, prepared};
use super::flagged::{keeps_zero, zeros};
use super::function::{Expression, Function, Instruction, Target, Terminator, ValueId};
use super::kind::{Datum, ValueKind};
use super::scalar::ScalarOperator;
use crate::error::Result;
use crate::interrupt::Poller;
use crate::rules::differentiate::{Applied, Tangents};
use crate::rules::{Add, Id, OpRef};

/// About how many nanoseconds the rule of an instruction takes.
const RULE: usize = 1000;

/// A function with tangents.
#[derive(Debug, Clone)]
pub struct Pushforward {
    /// Takes the original parameters, then one tangent for each value that moves, of its kind.
    /// Returns the original results, then the tangents that exist.
    pub function: Function,
    /// For each original result, which of the results is its tangent; `None` if it does not move.
    pub tangents: Vec<Option<usize>>,
}

/// Extends a function so that it also takes a tangent for each of the parameters `wrt`, and returns
/// the tangents of its results.
///
/// # Errors
/// As [`vjp`](super::vjp()).
pub fn jvp(function: &Function, wrt: &[ValueId]) -> Result<Pushforward> {
    let name = format!("{}_tangent", function.name);
    let Prepared {
        function: forward,
        exit,
        wrt,
    } = prepared(function, wrt)?;
    let graph = Cfg::new(&forward);
    let activity = Activity::new(&forward, &graph, &wrt)?;
    let always = Always::new(&forward, &graph, &activity, &wrt)?;
    let builder = Builder::resume(&forward);
    builder.switch_to(0)?;
    let truth = [false, true].map(|b| builder.literal(Datum::Bool(b)));
    let values: Vec<Id> = (0..forward.kinds.len() as Id).collect();
    let mut pass = Pushing {
        tangents: Tangents::new(&values),
        function: &forward,
        activity,
        always,
        truth,
        flags: HashMap::new(),
        tapes: Vec::new(),
        builder,
    };
    pass.declare(&graph, &wrt)?;
    for &block in graph.order() {
        pass.block(block)?;
    }
    let mut tangents = Vec::new();
    if let Some(exit) = exit {
        let results = forward.blocks[exit].terminator.operands();
        let mut count = results.len();
        for &id in results {
            let moves = pass.activity.is_active(id);
            count += usize::from(moves);
            tangents.push(moves.then(|| count - 1));
        }
    }
    Ok(Pushforward {
        function: pass.builder.finish(&name)?,
        tangents,
    })
}

/// Which of the active values have a tangent on all ways. [`presence`](super::presence) says so of
/// cotangents, along the ways of the reverse pass; tangents go the function's own ways, from what a value is
/// computed from to the value.
struct Always {
    values: Vec<bool>,
    /// For each tape and what its records have.
    records: Vec<Vec<bool>>,
}

impl Always {
    fn new(function: &Function, graph: &Cfg, activity: &Activity, wrt: &[ValueId]) -> Result<Self> {
        let tapes = function.tapes.iter();
        let mut always = Always {
            values: vec![true; function.kinds.len()],
            records: tapes.map(|kinds| vec![true; kinds.len()]).collect(),
        };
        for &id in function.parameters() {
            always.values[id as usize] = false;
        }
        for &id in wrt {
            always.values[id as usize] = true;
        }
        let mut poller = Poller::default();
        let mut changed = true;
        while changed {
            changed = false;
            for &number in graph.order() {
                let block = &function.blocks[number];
                poller.step(20 * (block.instructions.len() + 1))?;
                for (k, i) in block.instructions.iter().enumerate() {
                    changed |= always.instruction(activity, (number, k), i);
                }
                for target in block.terminator.targets() {
                    let parameters = &function.blocks[target.block].parameters;
                    for (&p, &a) in parameters.iter().zip(&target.args) {
                        let holds = always.has(activity, a);
                        changed |= always.lower(p, holds);
                    }
                }
            }
        }
        Ok(always)
    }

    /// Whether a value has a tangent on all ways.
    fn has(&self, activity: &Activity, id: ValueId) -> bool {
        activity.is_active(id) && self.values[id as usize]
    }

    /// Says that a value has none on some way, unless one `holds`; whether that is new.
    fn lower(&mut self, id: ValueId, holds: bool) -> bool {
        let known = &mut self.values[id as usize];
        let new = *known && !holds;
        *known &= holds;
        new
    }

    fn instruction(
        &mut self,
        activity: &Activity,
        (block, k): (usize, usize),
        i: &Instruction,
    ) -> bool {
        let mut changed = false;
        match &i.expression {
            Expression::Apply(_, args) => {
                let mut args = args.iter().enumerate();
                let holds =
                    args.any(|(n, &a)| activity.flows(block, k, n, a) && self.has(activity, a));
                changed = self.lower(i.results[0], holds);
            }
            Expression::Push(tape, args) => {
                for (n, &a) in args.iter().enumerate() {
                    let holds = self.has(activity, a);
                    let known = &mut self.records[*tape as usize][n];
                    changed |= *known && !holds;
                    *known &= holds;
                }
            }
            Expression::Pop(tape) => {
                for (n, &id) in i.results.iter().enumerate() {
                    let holds = self.records[*tape as usize][n];
                    changed |= self.lower(id, holds);
                }
            }
            Expression::Constant(_) | Expression::Compute(..) | Expression::Guard(..) => {}
        }
        changed
    }
}

struct Pushing<'f> {
    function: &'f Function,
    activity: Activity,
    always: Always,
    builder: Builder,
    tangents: Tangents,
    /// The constants false and true.
    truth: [ValueId; 2],
    /// The flags of tangents that there are on some ways alone.
    flags: HashMap<ValueId, ValueId>,
    /// For each tape the one of tangents, and which of a record it has.
    tapes: Vec<Option<(u32, Vec<bool>)>>,
}

impl Pushing<'_> {
    /// Adds parameters for tangents to all blocks, and tapes.
    fn declare(&mut self, graph: &Cfg, wrt: &[ValueId]) -> Result<()> {
        for &block in graph.order() {
            self.builder.switch_to(block)?;
            let own = &self.function.blocks[block].parameters;
            for &id in if block == 0 { wrt } else { own } {
                if block == 0 || self.activity.is_active(id) {
                    self.parameter(id);
                }
            }
        }
        for (t, kinds) in self.function.tapes.iter().enumerate() {
            let popped = |id: &ValueId| self.activity.is_active(*id);
            let mut moves = vec![false; kinds.len()];
            for i in self.function.blocks.iter().flat_map(|b| &b.instructions) {
                match &i.expression {
                    Expression::Pop(tape) if *tape as usize == t => {
                        let active = i.results.iter().map(popped);
                        moves.iter_mut().zip(active).for_each(|(m, on)| *m |= on);
                    }
                    _ => {}
                }
            }
            let mut record = Vec::new();
            for (n, kind) in kinds.iter().enumerate().filter(|(n, _)| moves[*n]) {
                record.push(kind.clone());
                if !self.always.records[t][n] {
                    record.push(ValueKind::Bool);
                }
            }
            let tape = (!record.is_empty()).then(|| (self.builder.tape(record), moves));
            self.tapes.push(tape);
        }
        Ok(())
    }

    /// A parameter of the current block for the tangent of a value, and one for its flag.
    fn parameter(&mut self, id: ValueId) {
        let kind = self.function.kind(id).clone();
        let tangent = self.builder.parameter(kind);
        self.tangents.set(id, Some(tangent));
        if !self.always.has(&self.activity, id) {
            let flag = self.builder.parameter(ValueKind::Bool);
            self.flags.insert(id, flag);
        }
    }

    /// Appends the tangents of a block to it.
    fn block(&mut self, block: usize) -> Result<()> {
        self.builder.switch_to(block)?;
        let here = &self.function.blocks[block];
        let mut poller = Poller::default();
        for (k, i) in here.instructions.iter().enumerate() {
            poller.step(RULE)?;
            self.builder.line(i.line);
            match &i.expression {
                Expression::Apply(op, args) if self.activity.is_active(i.results[0]) => {
                    self.apply((block, k), i.results[0], &(op.clone(), args.clone()))?;
                }
                Expression::Push(tape, args) => {
                    if let Some((tangents, moves)) = self.tapes[*tape as usize].clone() {
                        let mut record = Vec::new();
                        for (n, &id) in args.iter().enumerate().filter(|(n, _)| moves[*n]) {
                            record.push(self.tangent(id));
                            if !self.always.records[*tape as usize][n] {
                                record.push(self.flag(id));
                            }
                        }
                        self.builder.push(tangents, &record)?;
                    }
                }
                Expression::Pop(tape) => {
                    if let Some((tangents, moves)) = self.tapes[*tape as usize].clone() {
                        let mut parts = self.builder.pop(tangents)?.into_iter();
                        for (n, &id) in i.results.iter().enumerate().filter(|(n, _)| moves[*n]) {
                            self.tangents.set(id, parts.next());
                            if !self.always.records[*tape as usize][n] {
                                self.flags.extend(parts.next().map(|flag| (id, flag)));
                            }
                        }
                    }
                }
                Expression::Apply(..)
                | Expression::Constant(_)
                | Expression::Compute(..)
                | Expression::Guard(..) => {}
            }
        }
        self.builder.line(0);
        let mut terminator = here.terminator.clone();
        if let Terminator::Return(results) = &mut terminator {
            for id in results.clone() {
                if self.activity.is_active(id) {
                    results.push(self.tangent(id));
                }
            }
        }
        for target in terminator.targets_mut() {
            let parameters = &self.function.blocks[target.block].parameters;
            for (&p, a) in parameters.iter().zip(target.args.clone()) {
                if self.activity.is_active(p) {
                    target.args.push(self.tangent(a));
                    if !self.always.has(&self.activity, p) {
                        target.args.push(self.flag(a));
                    }
                }
            }
            for a in &mut target.args {
                *a = self.tangents.now(*a);
            }
        }
        self.builder.terminate(terminator);
        Ok(())
    }

    /// The tangent of a value; zeros if it does not move.
    fn tangent(&self, id: ValueId) -> ValueId {
        let known = self.tangents.get(id);
        known.unwrap_or_else(|| zeros(&self.builder, id))
    }

    /// Whether a value moves, as a value.
    fn flag(&self, id: ValueId) -> ValueId {
        let moves = self.tangents.get(id).is_some();
        let flag = self.flags.get(&id).copied();
        flag.unwrap_or(self.truth[usize::from(moves)])
    }

    /// The tangent of the result of an operator.
    fn apply(&mut self, (block, k): (usize, usize), y: ValueId, applied: &Applied) -> Result<()> {
        let (op, args) = applied;
        let flows = |n: &usize| self.activity.flows(block, k, *n, args[*n]);
        let moving: Vec<usize> = (0..args.len()).filter(flows).collect();
        let mut flags: Vec<ValueId> = Vec::new();
        for &n in &moving {
            if let Some(&flag) = self.flags.get(&args[n])
                && !flags.contains(&flag)
            {
                flags.push(flag);
            }
        }
        if flags.is_empty() || keeps_zero(&self.builder, op, args) {
            self.tangents.push(&self.builder, y, applied, &mut ())?;
        } else {
            self.conditional(y, applied, &moving, &flags)?;
        }
        if self.tangents.get(y).is_none() {
            let zeros = zeros(&self.builder, y);
            self.tangents.set(y, Some(zeros));
        }
        if !self.always.has(&self.activity, y) {
            let mut either = self.truth[0];
            for (n, flag) in flags.into_iter().enumerate() {
                either = match n {
                    0 => flag,
                    _ => self
                        .builder
                        .compute(ScalarOperator::BoolOr, &[either, flag], None)?,
                };
            }
            self.flags.insert(y, either);
        }
        Ok(())
    }

    /// The tangent of a result as the sum of what is always there, and of what there is if a flag is
    /// set, which is found in blocks of their own.
    fn conditional(
        &mut self,
        y: ValueId,
        applied: &Applied,
        moving: &[usize],
        flags: &[ValueId],
    ) -> Result<()> {
        let all: Vec<(ValueId, Option<ValueId>)> = moving
            .iter()
            .map(|&n| (applied.1[n], self.tangents.get(applied.1[n])))
            .collect();
        let mut total: Option<ValueId> = None;
        let groups = std::iter::once(None).chain(flags.iter().copied().map(Some));
        for flag in groups {
            let mut some = false;
            for &(id, tangent) in &all {
                let within = self.flags.get(&id).copied() == flag;
                some |= within;
                self.tangents.set(id, tangent.filter(|_| within));
            }
            if !some {
                continue;
            }
            let part = match flag {
                None => {
                    self.tangents.push(&self.builder, y, applied, &mut ())?;
                    self.tangents.get(y)
                }
                Some(flag) => Some(self.in_block(flag, y, applied)?),
            };
            total = match (total, part) {
                (Some(a), Some(b)) => Some(self.builder.try_apply(OpRef::Static(&Add), &[a, b])?),
                (a, b) => a.or(b),
            };
        }
        for (id, tangent) in all {
            self.tangents.set(id, tangent);
        }
        self.tangents.set(y, total);
        Ok(())
    }

    /// The tangent of a result in a block that is run if a flag is set, and zeros else.
    fn in_block(&mut self, flag: ValueId, y: ValueId, applied: &Applied) -> Result<ValueId> {
        let from = self.builder.current();
        let [set, unset, after] = [(); 3].map(|()| self.builder.block());
        let to = |block, args| Target { block, args };
        let before = self.tangents.now(y);
        self.builder.switch_to(from)?;
        self.builder.terminate(Terminator::Branch {
            condition: flag,
            then: to(set, Vec::new()),
            otherwise: to(unset, Vec::new()),
        });
        self.builder.switch_to(set)?;
        self.tangents.push(&self.builder, y, applied, &mut ())?;
        let tangent = self.tangent(y);
        let aligned = self.tangents.now(y);
        let mut found = vec![tangent];
        found.extend((aligned != before).then_some(aligned));
        self.builder.terminate(Terminator::Jump(to(after, found)));
        self.builder.switch_to(unset)?;
        let mut none = vec![zeros(&self.builder, y)];
        none.extend((aligned != before).then_some(before));
        self.builder.terminate(Terminator::Jump(to(after, none)));
        self.builder.switch_to(after)?;
        let kind = self.function.kind(y).clone();
        let tangent = self.builder.parameter(kind.clone());
        if aligned != before {
            let aligned = self.builder.parameter(kind);
            self.tangents.replace(y, aligned);
        }
        Ok(tangent)
    }
}
