//! The reverse pass over the blocks of a function, as instructions.
//!
//! For each block that the pass comes to ([`Ways`](super::presence::Ways)) there is a reversed block. It
//! takes the cotangents that are present, goes through the instructions from the last to the first by
//! the rules of their operators, and hands the cotangents on to the reversed blocks of those that jump
//! to the block: what a parameter of the block has is added to what its arguments have. Which edge a
//! run took, the block was told ([`origins`](super::origins)). The block that returns is continued: a
//! function of one block stays one.
//!
//! A cotangent that may be absent goes with a flag of kind Bool, and is a zero where it is absent. What
//! would not keep the zero, as a product with a number that may be infinite, is done in a block of its
//! own, if the flag is set.
//!
//! What is made here uses values of the function wherever its rules ask for them, as if they were
//! still there: [`restore`](super::restore) sees to it that they are.

use std::collections::BTreeMap;

use super::builder::Builder;
use super::cfg::Edge;
use super::flagged::{Evidence, Flagged, changed_to, keeps_zero, zeros};
use super::function::{Expression, Function, Target, Terminator, ValueId};
use super::kind::{Datum, ValueKind};
use super::origins::{EdgeOrigin, Forward, Point};
use super::presence::{Next, Presence, Present, reached_from};
use super::scalar::{Comparison, ScalarOperator};
use crate::error::Result;
use crate::interrupt::Poller;

/// About how many nanoseconds the rule of an instruction takes.
const RULE: usize = 1000;

/// What a reverse pass was told and what it made.
pub(super) struct Reversed {
    pub function: Function,
    /// For each block of the function the point that it belongs to, if it is a reversed one.
    pub points: Vec<Option<Point>>,
    /// For each value asked for the number of its gradient among the results.
    pub gradients: Vec<Option<usize>>,
}

/// The reverse pass from cotangents of the results, by the values `wrt`, which are parameters.
/// `seeds` names results with the kind of their cotangents, which become parameters.
///
/// # Errors
/// As [`pull`](crate::rules::differentiate::pull), and
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub(super) fn reverse(
    forward: &Forward<'_>,
    seeds: &[ValueId],
    wrt: &[ValueId],
) -> Result<Reversed> {
    let function = forward.function;
    let builder = Builder::resume(function);
    builder.switch_to(0)?;
    let cotangent = |&id: &ValueId| (id, builder.parameter(function.kind(id).clone()));
    let seeds: Vec<(ValueId, ValueId)> = seeds.iter().map(cotangent).collect();
    let truth = [false, true].map(|b| builder.literal(Datum::Bool(b)));
    let mut pass = Reversal {
        forward,
        points: vec![None; function.blocks.len()],
        reversed: vec![None; function.blocks.len()],
        tapes: Vec::new(),
        cotangents: Flagged::new(function.kinds.len(), truth),
        wrt,
        gradients: Vec::new(),
        builder,
    };
    pass.declare()?;
    for &block in forward.graph.order().iter().rev() {
        if block == forward.exit {
            pass.builder.switch_to(block)?;
            for &(id, seed) in &seeds {
                if forward.activity.is_active(id) {
                    pass.cotangents
                        .add(&pass.builder, id, seed, Evidence::Certain);
                }
            }
        } else if !pass.enter(block)? {
            continue;
        }
        pass.instructions(block)?;
        pass.leave(block)?;
    }
    let returned = forward.function.blocks[forward.exit].terminator.operands();
    let mut count = returned.len();
    let number = |there: &bool| {
        count += usize::from(*there);
        there.then(|| count - 1)
    };
    let gradients = pass.gradients.iter().map(number).collect();
    Ok(Reversed {
        function: pass
            .builder
            .finish(&format!("{}_adjoint", forward.function.name))?,
        points: pass.points,
        gradients,
    })
}

/// A reversed block: its number, and its parameters: a value's cotangent, and the flag that goes
/// with it.
#[derive(Debug, Clone)]
struct Entrance {
    block: usize,
    parameters: Vec<(ValueId, ValueId, Evidence)>,
}

struct Reversal<'f> {
    forward: &'f Forward<'f>,
    builder: Builder,
    points: Vec<Option<Point>>,
    reversed: Vec<Option<Entrance>>,
    /// For each tape the one of its cotangents, if records have any.
    tapes: Vec<Option<u32>>,
    cotangents: Flagged,
    wrt: &'f [ValueId],
    /// Which of `wrt` have a gradient.
    gradients: Vec<bool>,
}

impl Reversal<'_> {
    /// Makes empty reversed blocks with parameters, and tapes.
    fn declare(&mut self) -> Result<()> {
        let forward = self.forward;
        let ways = forward.ways;
        for &block in forward.graph.order() {
            let Some(entering) = &ways.entering[block] else {
                continue;
            };
            if block == forward.exit {
                continue;
            }
            let number = self.block(Point::Block(block));
            let parameters = entering.iter().map(|(&id, presence)| {
                let kind = forward.function.kind(id).clone();
                let cotangent = self.builder.parameter(kind);
                let evidence = match presence {
                    Presence::Always => Evidence::Certain,
                    Presence::Sometimes => Evidence::Flag(self.builder.parameter(ValueKind::Bool)),
                };
                (id, cotangent, evidence)
            });
            self.reversed[block] = Some(Entrance {
                parameters: parameters.collect(),
                block: number,
            });
        }
        for (kinds, record) in forward.function.tapes.iter().zip(&ways.records) {
            let mut parts = Vec::new();
            for (kind, presence) in kinds.iter().zip(record) {
                match presence {
                    None => {}
                    Some(Presence::Always) => parts.push(kind.clone()),
                    Some(Presence::Sometimes) => parts.extend([kind.clone(), ValueKind::Bool]),
                }
            }
            let tape = (!parts.is_empty()).then(|| self.builder.tape(parts));
            self.tapes.push(tape);
        }
        let done = |&&block: &&usize| ways.next[block] == Next::Done;
        let ends: Vec<usize> = forward.graph.order().iter().filter(done).copied().collect();
        let leaving = |block: &usize| ways.leaving[*block].as_ref();
        for id in self.wrt {
            let there = |present: &Present| present.contains_key(id);
            let there = ends.iter().filter_map(leaving).any(there);
            self.gradients.push(there);
        }
        Ok(())
    }

    /// A new block that belongs to a point.
    fn block(&mut self, point: Point) -> usize {
        let number = self.builder.block();
        self.points.resize(number + 1, None);
        self.points[number] = Some(point);
        number
    }

    /// Begins a reversed block; `false` if the pass does not come to it.
    fn enter(&mut self, block: usize) -> Result<bool> {
        let Some(entrance) = self.reversed[block].clone() else {
            return Ok(false);
        };
        self.builder.switch_to(entrance.block)?;
        for (id, cotangent, evidence) in entrance.parameters {
            self.cotangents.add(&self.builder, id, cotangent, evidence);
        }
        Ok(true)
    }

    /// Goes through the instructions of a block.
    fn instructions(&mut self, block: usize) -> Result<()> {
        let instructions = &self.forward.function.blocks[block].instructions;
        let mut poller = Poller::default();
        let mut left = instructions.len();
        while left > 0 {
            left -= 1;
            poller.step(RULE)?;
            let i = &instructions[left];
            self.builder.line(i.line);
            match &i.expression {
                Expression::Apply(op, args) => match self.cotangents.evidence(i.results[0]) {
                    None => {}
                    Some(Evidence::Flag(flag)) if !keeps_zero(&self.builder, op, args) => {
                        left = self.conditional(block, left, flag)?;
                    }
                    Some(evidence) => self.pull(block, left, evidence)?,
                },
                Expression::Push(tape, args) => self.pop(*tape, args)?,
                Expression::Pop(tape) => self.push(*tape, &i.results)?,
                Expression::Constant(_) | Expression::Compute(..) | Expression::Guard(..) => {}
            }
        }
        self.builder.line(0);
        Ok(())
    }

    /// Passes the cotangent of instruction `k` of a block on to its operands.
    fn pull(&mut self, block: usize, k: usize, evidence: Evidence) -> Result<()> {
        let i = &self.forward.function.blocks[block].instructions[k];
        let Expression::Apply(op, args) = &i.expression else {
            return Ok(());
        };
        let activity = self.forward.activity;
        let applied = (i.results[0], (op.clone(), args.clone()));
        let wanted = |n: usize, a: ValueId| activity.flows(block, k, n, a);
        let cotangents = &mut self.cotangents;
        cotangents.pull(&self.builder, applied, wanted, evidence)
    }

    /// Passes on what depends on a flag, from instruction `last` of a block upwards, in a block that
    /// is run if the flag is set: the number of the first instruction that is done.
    fn conditional(&mut self, block: usize, last: usize, flag: ValueId) -> Result<usize> {
        let (done, first, given) = self.depend_on(block, last, flag);
        let instructions = &self.forward.function.blocks[block].instructions;
        let mut before = Vec::with_capacity(given.len());
        for &id in &given {
            let known = self.cotangents.known(&self.builder, id);
            let evidence = self.cotangents.evidence(id);
            // What is absent of it, if nothing is known.
            let like = changed_to(instructions, &done, id);
            let absent = known.or_else(|| self.cotangents.known(&self.builder, like));
            before.push((absent, evidence));
        }
        let from = self.builder.current();
        let point = Point::Block(block);
        let [set, unset, after] = [(); 3].map(|()| self.block(point));
        self.builder.switch_to(from)?;
        let to = |block| Target {
            block,
            args: Vec::new(),
        };
        self.builder.terminate(Terminator::Branch {
            condition: flag,
            then: to(set),
            otherwise: to(unset),
        });
        self.builder.switch_to(unset)?;
        let args = given.iter().zip(&before);
        let cx = &self.builder;
        let args = args.map(|(&id, (absent, _))| absent.unwrap_or_else(|| zeros(cx, id)));
        let args = args.collect();
        cx.terminate(Terminator::Jump(Target { block: after, args }));
        self.builder.switch_to(set)?;
        for k in done {
            let i = &self.forward.function.blocks[block].instructions[k];
            self.builder.line(i.line);
            self.pull(block, k, Evidence::Certain)?;
        }
        let cx = &self.builder;
        let args = given.iter().map(|&id| self.cotangents.cotangent(cx, id));
        let args = args.collect();
        cx.terminate(Terminator::Jump(Target { block: after, args }));
        self.builder.switch_to(after)?;
        for (id, (_, evidence)) in given.into_iter().zip(before) {
            let cx = &self.builder;
            self.cotangents.forget(cx, id);
            let cotangent = cx.parameter(self.forward.function.kind(id).clone());
            if let Some(evidence) = evidence {
                self.cotangents.note(cx, id, evidence);
            }
            let evidence = Evidence::Flag(flag);
            self.cotangents.add(cx, id, cotangent, evidence);
        }
        Ok(first)
    }

    /// The instructions of a block from `last` upwards that pass on what depends on a flag alone, as
    /// far as there is no gap; the first instruction that is gone over; and the values that get
    /// something of it.
    fn depend_on(
        &self,
        block: usize,
        last: usize,
        flag: ValueId,
    ) -> (Vec<usize>, usize, Vec<ValueId>) {
        let instructions = &self.forward.function.blocks[block].instructions;
        let mut within: BTreeMap<ValueId, Evidence> = BTreeMap::new();
        let mut done: Vec<usize> = Vec::new();
        let mut first = last + 1;
        for (k, i) in instructions[..=last].iter().enumerate().rev() {
            if matches!(i.expression, Expression::Push(..) | Expression::Pop(_)) {
                break;
            }
            if let Expression::Apply(_, args) = &i.expression {
                let evidence = |within: &BTreeMap<_, _>, id: ValueId| {
                    let known = within.get(&id).copied();
                    known.or_else(|| self.cotangents.evidence(id))
                };
                match evidence(&within, i.results[0]) {
                    None => {}
                    Some(Evidence::Flag(f)) if f == flag => {
                        done.push(k);
                        within.remove(&i.results[0]);
                        for (n, &a) in args.iter().enumerate() {
                            if self.forward.activity.flows(block, k, n, a) {
                                let together = match evidence(&within, a) {
                                    None => Evidence::Flag(flag),
                                    Some(Evidence::Flag(f)) if f == flag => Evidence::Flag(flag),
                                    // What also depends on another flag is left for later.
                                    Some(_) => Evidence::Certain,
                                };
                                within.insert(a, together);
                            }
                        }
                    }
                    Some(_) => break,
                }
            }
            first = k;
        }
        (done, first, within.into_keys().collect())
    }

    /// The reverse of a record that is appended: its cotangents are taken.
    fn pop(&mut self, tape: u32, args: &[ValueId]) -> Result<()> {
        let Some(reversed) = self.tapes[tape as usize] else {
            return Ok(());
        };
        let mut parts = self.builder.pop(reversed)?.into_iter();
        let ways = self.forward.ways;
        for (&id, presence) in args.iter().zip(&ways.records[tape as usize]) {
            let Some(presence) = presence else {
                continue;
            };
            let cotangent = parts.next();
            let evidence = match presence {
                Presence::Always => Some(Evidence::Certain),
                Presence::Sometimes => parts.next().map(Evidence::Flag),
            };
            if let (Some(cotangent), Some(evidence)) = (cotangent, evidence)
                && self.forward.activity.is_active(id)
            {
                self.cotangents.add(&self.builder, id, cotangent, evidence);
            }
        }
        Ok(())
    }

    /// The reverse of a record that is taken: its cotangents are appended.
    fn push(&mut self, tape: u32, results: &[ValueId]) -> Result<()> {
        let Some(reversed) = self.tapes[tape as usize] else {
            return Ok(());
        };
        let ways = self.forward.ways;
        let mut record = Vec::new();
        for (&id, presence) in results.iter().zip(&ways.records[tape as usize]) {
            if let Some(presence) = presence {
                record.push(self.cotangents.cotangent(&self.builder, id));
                if *presence == Presence::Sometimes {
                    record.push(self.cotangents.flag(id));
                }
                self.cotangents.forget(&self.builder, id);
            }
        }
        self.builder.push(reversed, &record)
    }

    /// Ends a reversed block.
    fn leave(&mut self, block: usize) -> Result<()> {
        let forward = self.forward;
        let ways = forward.ways;
        let onward: Vec<_> = reached_from(forward.graph, &ways.next, block).collect();
        if onward.is_empty() {
            let mut returned = forward.function.blocks[forward.exit]
                .terminator
                .operands()
                .to_vec();
            for (&id, there) in self.wrt.iter().zip(self.gradients.clone()) {
                if there {
                    returned.push(self.cotangents.cotangent(&self.builder, id));
                }
            }
            self.builder.terminate(Terminator::Return(returned));
            self.cotangents.clear(&self.builder);
            return Ok(());
        }
        // All that leaves is one value by then, which all edges share.
        let known = self.cotangents.take(&self.builder);
        if let &[(to, edge)] = &onward[..] {
            self.hand_on(block, to, edge, &known);
        } else {
            let from = self.builder.current();
            let mut targets = Vec::with_capacity(onward.len());
            for (to, edge) in onward {
                let point = edge.map_or(Point::Block(block), |e| Point::Edge(e.from, e.slot));
                targets.push(Target {
                    block: self.block(point),
                    args: Vec::new(),
                });
                self.hand_on(block, to, edge, &known);
            }
            self.builder.switch_to(from)?;
            let origin = forward.origins[block].expect("it is noted where there are several edges");
            let origin = match origin {
                EdgeOrigin::Told(id) => id,
                EdgeOrigin::Counted {
                    counter,
                    start,
                    entry,
                } => {
                    let compare = [Comparison::Equal, Comparison::NotEqual][entry];
                    let compare = ScalarOperator::CompareInt(compare);
                    self.builder.compute(compare, &[counter, start], None)?
                }
            };
            let terminator = match <[Target; 2]>::try_from(targets) {
                Ok([then, otherwise]) => Terminator::Branch {
                    condition: origin,
                    then,
                    otherwise,
                },
                Err(targets) => Terminator::Switch {
                    value: origin,
                    targets,
                },
            };
            self.builder.terminate(terminator);
        }
        Ok(())
    }

    /// Jumps to the reversed block `to` with the cotangents that it takes: those that are known, and
    /// those of the parameters of `block` for what they are by an edge.
    fn hand_on(
        &mut self,
        block: usize,
        to: usize,
        edge: Option<Edge>,
        known: &[(ValueId, ValueId, Evidence)],
    ) {
        let forward = self.forward;
        let parameters = &forward.function.blocks[block].parameters;
        for &(id, cotangent, evidence) in known {
            if !parameters.contains(&id) {
                let cx = &self.builder;
                self.cotangents
                    .add_from_outside(cx, id, cotangent, evidence);
            }
        }
        if let Some(edge) = edge {
            let targets = forward.function.blocks[edge.from].terminator.targets();
            for (p, &a) in parameters.iter().zip(&targets[edge.slot].args) {
                let found = known.iter().find(|(id, ..)| id == p);
                if let (Some(&(_, cotangent, evidence)), true) =
                    (found, forward.activity.is_active(a))
                {
                    let cx = &self.builder;
                    self.cotangents.add_from_outside(cx, a, cotangent, evidence);
                }
            }
        }
        let Some(entrance) = self.reversed[to].clone() else {
            return;
        };
        let mut args = Vec::with_capacity(entrance.parameters.len());
        for (id, _, evidence) in entrance.parameters {
            args.push(self.cotangents.cotangent(&self.builder, id));
            if evidence != Evidence::Certain {
                args.push(self.cotangents.flag(id));
            }
        }
        let block = entrance.block;
        self.builder
            .terminate(Terminator::Jump(Target { block, args }));
        self.cotangents.clear(&self.builder);
    }
}
