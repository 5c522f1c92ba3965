//! Which values of a function are there when the reverse pass is at a point of it.
//!
//! A value is there as it is where it was defined on all ways, and not again since the run was at that
//! point. Of others it is said here how they are computed, and at which points the reverse pass comes
//! into the loops that a value does not change in.

use super::cfg::Cfg;
use super::function::{Expression, Instruction, ValueId};
use super::induction::Induction;
use super::liveness::{Site, sites};
use super::origins::{Forward, Point};
use super::presence::reached_from;
use crate::rules::{Form, Kernel};

/// What is known of the values of a function that is reversed.
pub(super) struct Availability<'f> {
    forward: &'f Forward<'f>,
    /// Where each value is defined.
    sites: Vec<Option<Site>>,
    /// For each block of the function the cycles that it is in, as one number.
    cycles: Vec<Option<usize>>,
}

impl<'f> Availability<'f> {
    /// Of a function.
    pub(super) fn new(forward: &'f Forward<'f>) -> Self {
        Availability {
            sites: sites(forward.function),
            cycles: cycles(forward.graph),
            forward,
        }
    }

    /// The block that defines a value of the function before the reverse pass was added.
    pub(super) fn home(&self, id: ValueId) -> Option<usize> {
        Some(self.sites.get(id as usize).copied()??.0)
    }

    /// When a value is defined: after those that it is computed from. Halves of the number are for the block
    /// and for the place in it, neither of which have more values than a function.
    pub(super) fn order_of(&self, id: ValueId) -> usize {
        let Some((block, k)) = self.sites.get(id as usize).copied().flatten() else {
            return 0;
        };
        let after = |place: Option<usize>| place.map_or(0, |place| place + 1);
        after(self.forward.graph.position(block)) << 32 | after(k)
    }

    /// How a value of the function is computed, if by an instruction.
    pub(super) fn definition(&self, id: ValueId) -> Option<&'f Instruction> {
        let (block, k) = (*self.sites.get(id as usize)?)?;
        Some(&self.forward.function.blocks[block].instructions[k?])
    }

    pub(super) fn is_constant(&self, id: ValueId) -> bool {
        let expression = self.definition(id).map(|i| &i.expression);
        matches!(expression, Some(Expression::Constant(_)))
    }

    /// Whether a value is there when the reverse pass is at a point: whether it is defined on all ways
    /// and not again after the point.
    pub(super) fn is_there(&self, id: ValueId, point: Point) -> bool {
        let Some(home) = self.home(id) else {
            return false;
        };
        let graph = self.forward.graph;
        if !graph.dominates(home, self.forward.exit) {
            return false;
        }
        let (a, b) = self.ends(point);
        let around = self.cycles[home];
        around.is_none() || self.cycles[a] != around || self.cycles[b] != around
    }

    /// Whether a block is in a loop.
    pub(super) fn is_inside(&self, l: usize, block: usize) -> bool {
        let graph = self.forward.graph;
        let mut around = graph.innermost(block);
        while let Some(inner) = around {
            if inner == l {
                return true;
            }
            around = graph.loops()[inner].parent;
        }
        false
    }

    /// The blocks at whose end and beginning a point is.
    pub(super) fn ends(&self, point: Point) -> (usize, usize) {
        match point {
            Point::Block(b) => (b, b),
            Point::Edge(from, slot) => (from, self.forward.graph.successors(from)[slot]),
        }
    }

    /// The outermost loop that a point is in and a block is not.
    pub(super) fn loop_without(&self, home: usize, point: Point) -> Option<usize> {
        let graph = self.forward.graph;
        let (a, b) = self.ends(point);
        let mut found = None;
        let mut around = graph.innermost(a);
        while let Some(l) = around {
            if self.is_inside(l, b) && !self.is_inside(l, home) {
                found = Some(l);
            }
            around = graph.loops()[l].parent;
        }
        found
    }

    /// The loop around a point whose turns a value can be followed back through without being kept in
    /// each: one that it does not change in, or its own if it changes by a fixed number.
    pub(super) fn loop_to_leave(&self, id: ValueId, home: usize, point: Point) -> Option<usize> {
        match self.induction(id, point) {
            Some(induction) => Some(induction.around),
            None => self.loop_without(home, point),
        }
    }

    /// How a value changes in the loop around a point, if by a fixed number.
    pub(super) fn induction(&self, id: ValueId, point: Point) -> Option<&'f Induction> {
        let induction = self.forward.inductions.get(&id)?;
        let (a, b) = self.ends(point);
        let inside = |block| self.is_inside(induction.around, block);
        (inside(a) && inside(b)).then_some(induction)
    }

    /// Whether a value can be had at a point without keeping it there, by as many operators at most.
    pub(super) fn is_free(&self, id: ValueId, point: Point, operators: usize) -> bool {
        if self.is_constant(id) || self.is_there(id, point) || self.induction(id, point).is_some() {
            return true;
        }
        self.is_computed(id, point, operators)
    }

    /// Whether a value can be computed again at a point from what need not be kept there.
    pub(super) fn is_computed(&self, id: ValueId, point: Point, operators: usize) -> bool {
        let Some(i) = self.definition(id).filter(|_| operators > 0) else {
            return false;
        };
        let mut operands = i.expression.operands().iter();
        self.is_cheap(i) && operands.all(|&a| self.is_free(a, point, operators - 1))
    }

    /// Whether computing an instruction again costs no more than keeping its result.
    pub(super) fn is_cheap(&self, i: &Instruction) -> bool {
        let function = self.forward.function;
        match &i.expression {
            Expression::Compute(..) => true,
            Expression::Apply(op, args) => {
                let ty = function.ty(i.results[0]);
                let arithmetic = matches!(
                    op.form(),
                    Form::Sum | Form::Difference | Form::Product | Form::Negation | Form::Truth
                );
                ty.ndim() == 0 && arithmetic && Kernel::of(&**op, ty.dtype, args.len()).is_some()
            }
            _ => false,
        }
    }

    /// For each loop the points at which the reverse pass comes into it.
    pub(super) fn ways_into(&self) -> Vec<Vec<Point>> {
        let Forward { graph, ways, .. } = self.forward;
        let loops = graph.loops();
        let mut points = vec![Vec::new(); loops.len()];
        for &from in graph.order() {
            if ways.entering[from].is_none() {
                continue;
            }
            let onward: Vec<_> = reached_from(graph, &ways.next, from).collect();
            let several = onward.len() > 1;
            for (to, edge) in onward {
                let point = match edge {
                    Some(edge) if several => Point::Edge(edge.from, edge.slot),
                    _ => Point::Block(from),
                };
                let mut around = graph.innermost(to);
                while let Some(l) = around.filter(|&l| !self.is_inside(l, from)) {
                    points[l].push(point);
                    around = loops[l].parent;
                }
            }
        }
        points
    }
}

/// For each block of a graph the blocks that it reaches and that reach it, as the number of one of
/// them; `None` if that is itself alone and it does not jump to itself (Kosaraju and Sharir).
fn cycles(graph: &Cfg) -> Vec<Option<usize>> {
    let count = graph.order().iter().max().map_or(0, |last| last + 1);
    let mut seen = vec![false; count];
    let mut found = vec![None; count];
    for &first in graph.order() {
        let mut waiting = vec![first];
        let mut members = Vec::new();
        while let Some(block) = waiting.pop() {
            if !std::mem::replace(&mut seen[block], true) {
                members.push(block);
                waiting.extend(graph.predecessors(block).iter().map(|edge| edge.from));
            }
        }
        if members.len() > 1 || graph.successors(first).contains(&first) {
            members
                .into_iter()
                .for_each(|block| found[block] = Some(first));
        }
    }
    found
}
