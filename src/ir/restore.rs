//! Gives the reverse pass the values of the function that it uses.
//!
//! A reversed block runs once for each run of its block, in the opposite order. What the block knew
//! then is not there any more where it was in a loop, or on a way that not every run takes. So it is
//!
//! - used as it is, where it was defined on all ways and not again since;
//! - computed again, where that is cheap and from values that are there;
//! - kept on a tape otherwise: appended at a point of the function and taken where the reverse pass
//!   comes to that point.
//!
//! A variable that a loop changes by a fixed number each turn is followed back through the turns.
//!
//! The points are chosen so that little is kept. A value that does not change in a loop is kept where
//! the loop is left, once for all its turns. What several blocks need is kept at one point, if the
//! reverse pass comes through one before it comes to all of them, and the value is still the same
//! there; an array only where one of the blocks is. All that is kept at a point is one record.
//!
//! Between the point and the blocks, what was taken is handed on as variables are, by parameters of
//! blocks where ways meet (Braun et al., "Simple and efficient construction of static single
//! assignment form", 2013).
//!
//! Limit: what is computed again is found greedily, and from what is kept at the same point alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::availability::Availability;
use super::cfg::Cfg;
use super::function::{
    Block, Expression, Function, Instruction, Operands, Target, Terminator, ValueId,
};
use super::kind::ValueKind;
use super::origins::{Forward, Point};
use super::reversed::Reversed;
use super::shapes::share_lengths;
use crate::error::{Error, Result};
use crate::interrupt::Poller;
use crate::order;

/// About how many nanoseconds a value that is needed takes.
const VALUE: usize = 1000;

/// By how many operators one after the other a value is computed again at most.
const MOST_OPERATORS: usize = 4;

/// Makes what a reverse pass uses available to it.
///
/// # Errors
/// [`Error::Interrupted`].
pub(super) fn restore(forward: &Forward<'_>, reversed: Reversed) -> Result<Function> {
    let Reversed {
        function, points, ..
    } = reversed;
    let mut entrances = BTreeMap::new();
    for (block, point) in points.iter().enumerate() {
        if let Some(point) = point {
            entrances.entry(*point).or_insert(block);
        }
    }
    let mut pass = Restoration {
        graph: Cfg::new(&function),
        available: Availability::new(forward),
        forward,
        function,
        points,
        entrances,
        sites: BTreeMap::new(),
        again: BTreeMap::new(),
        stepped: BTreeSet::new(),
        found: HashMap::new(),
        only: HashMap::new(),
        open: VecDeque::new(),
    };
    share_lengths(&mut pass.function, &pass.points, forward, &pass.available)?;
    pass.choose()?;
    pass.keep();
    pass.rename()?;
    Ok(pass.function)
}

struct Restoration<'f> {
    forward: &'f Forward<'f>,
    /// The function with its reverse pass.
    function: Function,
    /// Its graph, as it was made.
    graph: Cfg,
    available: Availability<'f>,
    points: Vec<Option<Point>>,
    /// The first reversed block of each point.
    entrances: BTreeMap<Point, usize>,
    /// What is needed from each point on.
    sites: BTreeMap<Point, BTreeSet<ValueId>>,
    /// What is computed again at each point, from what need not be kept there.
    again: BTreeMap<Point, BTreeSet<ValueId>>,
    /// Variables that change by a fixed number each turn, and are followed back through a loop.
    stepped: BTreeSet<ValueId>,
    /// What stands for a value from the beginning of a reversed block.
    found: HashMap<(ValueId, usize), ValueId>,
    /// The only block with such a definition, of values that have one alone.
    only: HashMap<ValueId, Option<usize>>,
    /// Parameters that predecessors are yet to give, in the order in which blocks got them: the value
    /// and the block.
    open: VecDeque<(ValueId, usize)>,
}

impl Restoration<'_> {
    /// Finds what is needed, and the points at which to keep it.
    fn choose(&mut self) -> Result<()> {
        // The latest first: what is computed again needs what it is computed from.
        let order = |id: ValueId| (self.available.order_of(id), id);
        let mut needed: BTreeMap<(usize, ValueId), BTreeSet<Point>> = BTreeMap::new();
        for (block, point) in self.points.iter().enumerate() {
            let Some(point) = *point else {
                continue;
            };
            let mut note = |id: ValueId| {
                let there = self.available.home(id).is_none() || self.available.is_constant(id);
                if !there && !self.available.is_there(id, point) {
                    needed.entry(order(id)).or_default().insert(point);
                }
            };
            let here = &self.function.blocks[block];
            for i in &here.instructions {
                i.expression.operands().iter().copied().for_each(&mut note);
            }
            here.terminator.each(note);
        }
        let mut poller = Poller::default();
        let ways = self.available.ways_into();
        while let Some(((_, id), points)) = needed.pop_last() {
            poller.step(VALUE * points.len())?;
            let Some(home) = self.available.home(id) else {
                continue;
            };
            let mut kept: BTreeSet<Point> = BTreeSet::new();
            let mut seen: HashSet<usize> = HashSet::new();
            let mut waiting: Vec<Point> = points.into_iter().collect();
            while let Some(point) = waiting.pop() {
                if self.available.is_computed(id, point, MOST_OPERATORS) {
                    self.again.entry(point).or_default().insert(id);
                    for &a in self
                        .available
                        .definition(id)
                        .iter()
                        .flat_map(|i| i.expression.operands())
                    {
                        if !self.available.is_constant(a) && !self.available.is_there(a, point) {
                            needed.entry(order(a)).or_default().insert(point);
                        }
                    }
                    continue;
                }
                if self.available.induction(id, point).is_some() {
                    self.stepped.insert(id);
                }
                match self.available.loop_to_leave(id, home, point) {
                    // Once for all turns of the loop.
                    Some(l) => {
                        if seen.insert(l) {
                            let into = ways[l].iter().copied();
                            waiting.extend(into.filter(|&p| !self.available.is_there(id, p)));
                        }
                    }
                    None => {
                        kept.insert(point);
                    }
                }
            }
            // An array that is kept is copied where it is changed: not on ways that do not need it.
            let is_number = self
                .function
                .kind(id)
                .array()
                .is_none_or(|ty| ty.ndim() == 0);
            let common = self.common(id, home, &kept);
            if let Some(point) = common.filter(|point| is_number || kept.contains(point)) {
                kept.clear();
                kept.insert(point);
            }
            for point in kept {
                self.sites.entry(point).or_default().insert(id);
            }
        }
        Ok(())
    }

    /// One point at which the reverse pass comes by before it comes to all of these, where a value
    /// that is defined in `home` is still what it was at them.
    fn common(&self, id: ValueId, home: usize, points: &BTreeSet<Point>) -> Option<Point> {
        let mut blocks = points.iter().map(|point| self.entrances[point]);
        let mut common = blocks.next()?;
        for block in blocks {
            while !self.graph.dominates(common, block) {
                common = self.graph.dominator(common)?;
            }
        }
        let point = self.points[common]?;
        let graph = self.forward.graph;
        let last = self.available.ends(point).0;
        if last == self.forward.exit || !graph.dominates(home, last) {
            return None;
        }
        if self.available.loop_to_leave(id, home, point).is_some() {
            return None;
        }
        // On no way from one of the points to this one it is defined again.
        let onward = |block: usize| {
            let to = graph.successors(block).iter().enumerate();
            let to = to.filter(move |(slot, _)| point != Point::Edge(block, *slot));
            to.map(|(_, &to)| to)
        };
        let mut seen = HashSet::new();
        let mut waiting = Vec::new();
        for &p in points.iter().filter(|&&p| p != point) {
            match p {
                Point::Block(b) => waiting.extend(onward(b)),
                Point::Edge(..) => waiting.push(self.available.ends(p).1),
            }
        }
        while let Some(block) = waiting.pop() {
            if block == home {
                return None;
            }
            if point != Point::Block(block) && seen.insert(block) {
                waiting.extend(onward(block));
            }
        }
        Some(point)
    }

    /// Writes what is kept at each point, and what is computed again.
    fn keep(&mut self) {
        for id in self.stepped.clone() {
            let back = self.forward.inductions[&id].back;
            let entrance = self.entrances[&Point::Edge(back.from, back.slot)];
            let new = self.fresh(ValueKind::Int);
            self.define(id, entrance, new);
        }
        // A set that is collected sorts what it is made of, by code of its own for each type.
        let mut points: BTreeSet<Point> = BTreeSet::new();
        points.extend(self.sites.keys().chain(self.again.keys()));
        for point in points {
            let needed = self.sites.remove(&point).unwrap_or_default();
            let (kept, mut again) = self.split(point, needed);
            again.extend(self.again.remove(&point).unwrap_or_default());
            order::sort_by_key(&mut again, |&id| self.available.order_of(id));
            let entrance = self.entrances[&point];
            let kinds = kept.iter().map(|&id| self.function.kind(id).clone());
            let kinds: Vec<_> = kinds.collect();
            let mut written = Vec::new();
            if !kept.is_empty() {
                let tape = self.function.tapes.len() as u32;
                let results = kinds.iter().map(|kind| self.fresh(kind.clone()));
                let results: Vec<ValueId> = results.collect();
                self.function.tapes.push(kinds);
                written.push(Instruction::pop(tape, results));
                for (&id, &new) in kept.iter().zip(&written[0].results) {
                    self.define(id, entrance, new);
                }
                self.append(point, Instruction::push(tape, kept.iter().copied()));
            }
            for id in again {
                let Some(mut i) = self.available.definition(id).cloned() else {
                    continue;
                };
                let new = self.fresh(self.function.kind(id).clone());
                i.results[0] = new;
                for operand in i.expression.operands_mut() {
                    if let Some(&here) = self.found.get(&(*operand, entrance)) {
                        *operand = here;
                    }
                }
                self.define(id, entrance, new);
                written.push(i);
            }
            let block = &mut self.function.blocks[entrance];
            block.instructions.splice(0..0, written);
        }
    }

    /// A new value.
    fn fresh(&mut self, kind: ValueKind) -> ValueId {
        self.function.kinds.push(kind);
        (self.function.kinds.len() - 1) as ValueId
    }

    /// Says what stands for a value from the beginning of a reversed block.
    fn define(&mut self, id: ValueId, block: usize, new: ValueId) {
        self.found.insert((id, block), new);
        let only = self.only.entry(id).or_insert(Some(block));
        if *only != Some(block) {
            *only = None;
        }
    }

    /// Appends an instruction to the function at a point.
    fn append(&mut self, point: Point, instruction: Instruction) {
        match point {
            Point::Block(b) => self.function.blocks[b].instructions.push(instruction),
            Point::Edge(from, slot) => {
                let new = Target {
                    block: self.function.blocks.len(),
                    args: Vec::new(),
                };
                let terminator = &mut self.function.blocks[from].terminator;
                let old = std::mem::replace(&mut *terminator.targets_mut()[slot], new);
                self.function.blocks.push(Block {
                    parameters: Vec::new(),
                    instructions: vec![instruction],
                    terminator: Terminator::Jump(old),
                });
                self.points.push(None);
            }
        }
    }

    /// Of what is needed from a point on, what is kept, and what is computed again.
    fn split(&self, point: Point, needed: BTreeSet<ValueId>) -> (Vec<ValueId>, Vec<ValueId>) {
        let mut kept = needed;
        let mut again = Vec::new();
        let mut latest: Vec<ValueId> = kept.iter().copied().collect();
        order::sort_by_key(&mut latest, |&id| usize::MAX - self.available.order_of(id));
        for id in latest {
            let known = |&a: &ValueId| {
                kept.contains(&a)
                    || self.available.is_constant(a)
                    || self.available.is_there(a, point)
            };
            let cheap = self.available.definition(id).is_some_and(|i| {
                self.available.is_cheap(i) && i.expression.operands().iter().all(known)
            });
            if cheap {
                kept.remove(&id);
                again.push(id);
            }
        }
        (kept.into_iter().collect(), again)
    }

    /// Lets every use of a value that is not there refer to what stands for it.
    fn rename(&mut self) -> Result<()> {
        let mut poller = Poller::default();
        for block in 0..self.points.len() {
            let Some(point) = self.points[block] else {
                continue;
            };
            let mut here = std::mem::take(&mut self.function.blocks[block]);
            let mut constants = Vec::new();
            let mut error = None;
            let mut rename = |id: &mut ValueId| {
                if self.available.home(*id).is_none() {
                    return;
                }
                match self.stands_for(*id, block, point, &mut constants) {
                    Ok(new) => *id = new,
                    Err(e) => error = Some(e),
                }
            };
            for i in &mut here.instructions {
                i.expression.operands_mut().iter_mut().for_each(&mut rename);
            }
            here.terminator.each_mut(rename);
            error.map_or(Ok(()), Err)?;
            poller.step(VALUE)?;
            here.instructions.splice(0..0, constants);
            // Parameters may have been added to it meanwhile.
            let added = std::mem::take(&mut self.function.blocks[block].parameters);
            here.parameters.extend(added);
            self.function.blocks[block] = here;
        }
        for id in self.stepped.clone() {
            self.step_back(id)?;
        }
        while let Some((id, block)) = self.open.pop_front() {
            poller.step(VALUE)?;
            let edges = self.graph.predecessors(block).to_vec();
            for edge in edges {
                let point = self.points[edge.from];
                let new = match point {
                    Some(point) => {
                        let mut constants = Vec::new();
                        self.stands_for(id, edge.from, point, &mut constants)?
                    }
                    None => id,
                };
                let terminator = &mut self.function.blocks[edge.from].terminator;
                terminator.targets_mut()[edge.slot].args.push(new);
            }
        }
        Ok(())
    }

    /// Undoes a turn of a loop for a variable that changes by a fixed number.
    fn step_back(&mut self, id: ValueId) -> Result<()> {
        let induction = &self.forward.inductions[&id];
        let back = induction.back;
        let entrance = self.entrances[&Point::Edge(back.from, back.slot)];
        // The block that jumps there is that of the loop's header.
        let mut constants = Vec::new();
        let mut before = id;
        if let [edge] = self.graph.predecessors(entrance)
            && let (from, Some(point)) = (edge.from, self.points[edge.from])
        {
            before = self.stands_for(id, from, point, &mut constants)?;
            self.function.blocks[from]
                .instructions
                .splice(0..0, constants.drain(..));
        }
        let point = Point::Edge(back.from, back.slot);
        let step = self.stands_for(induction.step, entrance, point, &mut constants)?;
        let args = Operands::from_slice(&[before, step]);
        let undo = Expression::Compute(induction.undo, args, induction.exit);
        constants.push(Instruction::new(self.found[&(id, entrance)], undo));
        let block = &mut self.function.blocks[entrance];
        block.instructions.splice(0..0, constants);
        Ok(())
    }

    /// What a value of the function is in a reversed block, which belongs to a point.
    fn stands_for(
        &mut self,
        id: ValueId,
        block: usize,
        point: Point,
        constants: &mut Vec<Instruction>,
    ) -> Result<ValueId> {
        if let Some(&new) = self.found.get(&(id, block)) {
            return Ok(new);
        }
        if self.available.is_there(id, point) {
            return Ok(id);
        }
        if let Some(i) = self.available.definition(id)
            && matches!(i.expression, Expression::Constant(_))
        {
            let mut i = i.clone();
            i.results[0] = self.fresh(self.function.kind(id).clone());
            let new = i.results[0];
            constants.push(i);
            self.found.insert((id, block), new);
            return Ok(new);
        }
        // Back to where it is known, or to where ways meet.
        let mut passed = vec![block];
        let mut at = block;
        let new = loop {
            if let Some(&new) = self.found.get(&(id, at)) {
                break new;
            }
            match self.points[at] {
                Some(point) if !self.available.is_there(id, point) => {}
                _ => break id,
            }
            if let Some(&Some(only)) = self.only.get(&id)
                && self.graph.dominates(only, at)
            {
                break self.found[&(id, only)];
            }
            passed.push(at);
            match self.graph.predecessors(at) {
                [edge] => at = edge.from,
                [] => {
                    return Err(Error::Value(format!(
                        "{}: value %{id} does not reach the reverse pass",
                        self.function.name
                    )));
                }
                _ => {
                    let new = self.fresh(self.function.kind(id).clone());
                    self.function.blocks[at].parameters.push(new);
                    self.open.push_back((id, at));
                    break new;
                }
            }
        };
        for block in passed {
            self.found.insert((id, block), new);
        }
        Ok(new)
    }
}
