//! Comparisons of integers that always come out the same.
//!
//! A counter that begins at 0 and goes up is never negative, and below a length where the loop's
//! condition says so. So an index within the bounds of its array needs no guard, and no other way for
//! counting from the end.
//!
//! Method: ABCD (Bodik, Gupta and Sarkar, "ABCD: eliminating array bounds checks on demand", 2000).
//! `x <= y + c` is derived from sums with constants, from what was compared on all ways to where it is
//! asked, and for a parameter of a block from what it is given, each time. Around a loop it is taken as
//! proven for the turn before if what is asked of that turn is not more. Sums that do not fit 64 bits
//! leave the function, so all sums are those of integers of any size.
//!
//! Limits: functions with loops. A question takes at most [`STEPS`] steps, and goes [`DEEPEST`] deep.
//! Products say nothing.

use rustc_hash::FxHashMap as HashMap;

use crate::error::Result;
use crate::interrupt::Poller;
use crate::ir::cfg::{Cfg, Edge};
use crate::ir::function::{Expression, Function, Terminator, ValueId};
use crate::ir::kind::{Datum, ValueKind};
use crate::ir::scalar::{Comparison, ScalarOperator as S};

/// Steps that a question takes at most.
const STEPS: usize = 100;

/// How many steps one rests on another at most: each is a call.
const DEEPEST: usize = 16;

/// About how many nanoseconds a step takes.
const STEP: usize = 50;

/// An integer value, or 0.
type SumRoot = Option<ValueId>;

/// A point of the function: in a block, behind so many of its instructions.
type RangePoint = (usize, usize);

/// How an integer is defined.
#[derive(Debug, Clone, Copy)]
enum IntegerDefinition {
    Constant(i64),
    /// The number of a block's parameter.
    Parameter(usize, usize),
    Instruction(usize, usize),
}

/// `x <= y + c` from a place on, wherever its block dominates.
#[derive(Debug, Clone, Copy)]
struct Fact {
    from: RangePoint,
    x: SumRoot,
    y: SumRoot,
    c: i128,
}

/// A question that is being answered: whether `x <= y + c`.
#[derive(Debug, Clone, Copy)]
struct Goal {
    x: SumRoot,
    y: SumRoot,
    c: i128,
}

/// What is known of a function's integers.
#[derive(Debug)]
pub(crate) struct Ranges<'f> {
    function: &'f Function,
    graph: &'f Cfg,
    definitions: Vec<Option<IntegerDefinition>>,
    facts: Vec<Fact>,
    /// The facts with a value on either side.
    about: HashMap<ValueId, Vec<usize>>,
    /// Steps left of this question, and how deep the current one is.
    steps: usize,
    depth: usize,
    /// Goals about parameters of blocks that are being proven for every time the block is entered.
    assumed: Vec<Goal>,
}

/// Replaces comparisons of integers that always come out the same. Whether there were any.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub(super) fn decide(function: &mut Function, graph: &Cfg) -> Result<bool> {
    if graph.loops().is_empty() {
        return Ok(false);
    }
    let mut found: Vec<(usize, usize, bool)> = Vec::new();
    let mut poller = Poller::default();
    let mut ranges = Ranges::new(function, graph);
    for &block in graph.order() {
        for (k, i) in function.blocks[block].instructions.iter().enumerate() {
            let Expression::Compute(S::CompareInt(op), args, _) = &i.expression else {
                continue;
            };
            ranges.steps = STEPS;
            if let Some(holds) = ranges.outcome(*op, args[0], args[1], (block, k)) {
                found.push((block, k, holds));
            }
            poller.step(STEP * (1 + STEPS - ranges.steps))?;
        }
    }
    for &(block, k, holds) in &found {
        let constant = Expression::Constant(Datum::Bool(holds));
        function.blocks[block].instructions[k].expression = constant;
    }
    Ok(!found.is_empty())
}

impl Ranges<'_> {
    /// Whether an integer is at least this, in a block behind so many of its instructions.
    pub(crate) fn is_at_least(&mut self, id: ValueId, least: i64, at: (usize, usize)) -> bool {
        let (y, b) = self.root(id);
        let (x, c) = (None, b - i128::from(least));
        self.is_answered(Goal { x, y, c }, at)
    }

    /// Whether an integer is at most this, as [`is_at_least`](Self::is_at_least).
    pub(crate) fn is_at_most(&mut self, id: ValueId, most: i64, at: (usize, usize)) -> bool {
        let (x, a) = self.root(id);
        let (y, c) = (None, i128::from(most) - a);
        self.is_answered(Goal { x, y, c }, at)
    }

    fn is_answered(&mut self, goal: Goal, at: RangePoint) -> bool {
        self.steps = STEPS;
        self.assumed.clear();
        self.is_proven(goal, at, None)
    }
}

impl<'f> Ranges<'f> {
    pub(crate) fn new(function: &'f Function, graph: &'f Cfg) -> Self {
        let mut definitions = vec![None; function.kinds.len()];
        for (number, block) in function.blocks.iter().enumerate() {
            for (k, &p) in block.parameters.iter().enumerate() {
                definitions[p as usize] = Some(IntegerDefinition::Parameter(number, k));
            }
            for (k, i) in block.instructions.iter().enumerate() {
                if let &[result] = i.results.as_slice() {
                    definitions[result as usize] = Some(match &i.expression {
                        Expression::Constant(Datum::Int(x)) => IntegerDefinition::Constant(*x),
                        _ => IntegerDefinition::Instruction(number, k),
                    });
                }
            }
        }
        let mut ranges = Ranges {
            function,
            graph,
            definitions,
            facts: Vec::new(),
            about: HashMap::default(),
            steps: 0,
            depth: 0,
            assumed: Vec::new(),
        };
        ranges.gather();
        ranges
    }

    /// The operator that computes a value, and its operands.
    fn computed(&self, id: ValueId) -> Option<(S, &'f [ValueId])> {
        let Some(IntegerDefinition::Instruction(block, k)) = self.definitions[id as usize] else {
            return None;
        };
        match &self.function.blocks[block].instructions[k].expression {
            Expression::Compute(op, args, _) => Some((*op, args.as_slice())),
            _ => None,
        }
    }

    fn constant(&self, id: ValueId) -> Option<i64> {
        match self.definitions[id as usize] {
            Some(IntegerDefinition::Constant(x)) => Some(x),
            _ => None,
        }
    }

    /// A value as another one, or 0, and what is added to it.
    fn root(&self, mut id: ValueId) -> (SumRoot, i128) {
        let mut sum = 0i128;
        for _ in 0..STEPS {
            if let Some(x) = self.constant(id) {
                return (None, sum + i128::from(x));
            }
            let (next, more) = match self.computed(id) {
                Some((S::IntAdd, &[x, y])) => match (self.constant(x), self.constant(y)) {
                    (_, Some(k)) => (x, i128::from(k)),
                    (Some(k), _) => (y, i128::from(k)),
                    _ => break,
                },
                Some((S::IntSub, &[x, y])) => match self.constant(y) {
                    Some(k) => (x, -i128::from(k)),
                    None => break,
                },
                _ => break,
            };
            (id, sum) = (next, sum + more);
        }
        (Some(id), sum)
    }

    /// Collects what was compared on the way to each block and within it.
    fn gather(&mut self) {
        for &block in self.graph.order() {
            if let &[edge] = self.graph.predecessors(block) {
                let mut facts = Vec::new();
                self.edge_facts(edge, (block, 0), &mut facts);
                facts.into_iter().for_each(|fact| self.note(fact));
            }
            let mut facts = Vec::new();
            for (k, i) in self.function.blocks[block].instructions.iter().enumerate() {
                let from = (block, k + 1);
                match &i.expression {
                    Expression::Guard(condition, _) => {
                        self.condition_facts(*condition, true, from, &mut facts);
                    }
                    // It has a result where the integer is not negative.
                    Expression::Compute(S::IntToIndex, args, _) => {
                        self.at_most((None, 0), self.root(args[0]), from, &mut facts);
                    }
                    _ => {}
                }
            }
            facts.into_iter().for_each(|fact| self.note(fact));
        }
    }

    fn note(&mut self, fact: Fact) {
        for id in [fact.x, fact.y].into_iter().flatten() {
            self.about.entry(id).or_default().push(self.facts.len());
        }
        self.facts.push(fact);
    }

    /// What is known where an edge is passed, as facts from a place on.
    fn edge_facts(&self, edge: Edge, from: RangePoint, facts: &mut Vec<Fact>) {
        if let Terminator::Branch { condition, .. } = &self.function.blocks[edge.from].terminator
            && *self.function.kind(*condition) == ValueKind::Bool
        {
            self.condition_facts(*condition, edge.slot == 0, from, facts);
        }
    }

    /// What follows from a condition that holds, or does not.
    fn condition_facts(
        &self,
        condition: ValueId,
        holds: bool,
        from: RangePoint,
        facts: &mut Vec<Fact>,
    ) {
        let mut waiting = vec![(condition, holds)];
        for _ in 0..STEPS {
            let Some((id, holds)) = waiting.pop() else {
                return;
            };
            match (self.computed(id), holds) {
                (Some((S::BoolNot, &[x])), _) => waiting.push((x, !holds)),
                (Some((S::BoolAnd, &[x, y])), true) | (Some((S::BoolOr, &[x, y])), false) => {
                    waiting.extend([(x, holds), (y, holds)]);
                }
                (Some((S::CompareInt(op), &[x, y])), _) => {
                    let ((x, a), (y, b)) = (self.root(x), self.root(y));
                    let mut less = |more| self.at_most((x, a + more), (y, b), from, facts);
                    match (op, holds) {
                        (Comparison::Less, true) | (Comparison::GreaterEqual, false) => less(1),
                        (Comparison::LessEqual, true) | (Comparison::Greater, false) => less(0),
                        (Comparison::Equal, true) | (Comparison::NotEqual, false) => {
                            less(0);
                            self.at_most((y, b), (x, a), from, facts);
                        }
                        (Comparison::Greater, true) | (Comparison::LessEqual, false) => {
                            self.at_most((y, b + 1), (x, a), from, facts);
                        }
                        (Comparison::GreaterEqual, true) | (Comparison::Less, false) => {
                            self.at_most((y, b), (x, a), from, facts);
                        }
                        (Comparison::NotEqual, true) | (Comparison::Equal, false) => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds that one sum is not above another.
    fn at_most(
        &self,
        (x, a): (SumRoot, i128),
        (y, b): (SumRoot, i128),
        from: RangePoint,
        facts: &mut Vec<Fact>,
    ) {
        let c = b - a;
        facts.push(Fact { from, x, y, c });
    }

    /// Whether a comparison at a place always comes out the same, and how.
    fn outcome(&mut self, op: Comparison, x: ValueId, y: ValueId, at: RangePoint) -> Option<bool> {
        let ((x, a), (y, b)) = (self.root(x), self.root(y));
        let (up, down) = (b - a, a - b);
        let mut most = |x, y, c| {
            self.assumed.clear();
            self.is_proven(Goal { x, y, c }, at, None)
        };
        // Whether x < y, and so on.
        match op {
            Comparison::Less if most(x, y, up - 1) => Some(true),
            Comparison::Less if most(y, x, down) => Some(false),
            Comparison::LessEqual if most(x, y, up) => Some(true),
            Comparison::LessEqual if most(y, x, down - 1) => Some(false),
            Comparison::Greater if most(y, x, down - 1) => Some(true),
            Comparison::Greater if most(x, y, up) => Some(false),
            Comparison::GreaterEqual if most(y, x, down) => Some(true),
            Comparison::GreaterEqual if most(x, y, up - 1) => Some(false),
            Comparison::Equal | Comparison::NotEqual => {
                let differs = most(x, y, up - 1) || most(y, x, down - 1);
                let same = !differs && most(x, y, up) && most(y, x, down);
                let equal = op == Comparison::Equal;
                (differs || same).then_some(same == equal)
            }
            _ => None,
        }
    }

    /// The least and the most that a value can be, by how it is computed.
    fn limits(&self, id: ValueId) -> (Option<i128>, Option<i128>) {
        let index = i128::from(u32::MAX);
        let positive = |id: ValueId| self.constant(id).filter(|k| *k > 0).map(i128::from);
        match self.computed(id) {
            Some((S::Length(_) | S::IntAbs, _)) => (Some(0), None),
            Some((S::IndexToInt, _)) => (Some(0), Some(index)),
            Some((S::BoolToInt, _)) => (Some(0), Some(1)),
            Some((S::IntMod, &[_, n])) => match positive(n) {
                Some(n) => (Some(0), Some(n - 1)),
                None => (None, None),
            },
            _ => (None, None),
        }
    }

    /// Whether a block's parameter, which is one side of a goal, can be followed to what it is given: the
    /// other side is the same value then, since it is defined before the block, on all ways.
    fn given(&self, side: SumRoot, other: SumRoot) -> Option<(usize, usize)> {
        let Some(IntegerDefinition::Parameter(block, k)) = self.definitions[side? as usize] else {
            return None;
        };
        let before = match other.map(|id| self.definitions[id as usize]) {
            None => true,
            Some(Some(
                IntegerDefinition::Parameter(home, _) | IntegerDefinition::Instruction(home, _),
            )) => home != block && self.graph.dominates(home, block),
            Some(_) => false,
        };
        (block != 0 && before).then_some((block, k))
    }

    /// Whether it follows that `x <= y + c` at a place; `edge` was passed just before, if one is given.
    fn is_proven(&mut self, goal: Goal, at: RangePoint, edge: Option<Edge>) -> bool {
        if goal.x == goal.y {
            return goal.c >= 0;
        }
        if self.steps == 0 || self.depth == DEEPEST {
            return false;
        }
        self.steps -= 1;
        self.depth += 1;
        let proven = self.by_limits(goal, at, edge)
            || self.by_facts(goal, at, edge)
            || self.by_arguments(goal, true)
            || self.by_arguments(goal, false);
        self.depth -= 1;
        proven
    }

    /// As [`is_proven`](Self::is_proven), by what a side can be at most or at least.
    fn by_limits(&mut self, goal: Goal, at: RangePoint, edge: Option<Edge>) -> bool {
        // Any integer has 64 bits.
        let least = |x: Option<i128>| x.or(goal.x.is_none().then_some(i128::from(i64::MIN)));
        let most = |x: Option<i128>| x.or(goal.y.is_none().then_some(i128::from(i64::MAX)));
        if let Some(least) = goal.y.and_then(|y| least(self.limits(y).0)) {
            let c = goal.c + least;
            if self.is_proven(Goal { y: None, c, ..goal }, at, edge) {
                return true;
            }
        }
        if let Some(most) = goal.x.and_then(|x| most(self.limits(x).1)) {
            let c = goal.c - most;
            return self.is_proven(Goal { x: None, c, ..goal }, at, edge);
        }
        false
    }

    /// As [`is_proven`](Self::is_proven), by what was compared.
    fn by_facts(&mut self, goal: Goal, at: RangePoint, edge: Option<Edge>) -> bool {
        self.facts_about(goal, at, edge).into_iter().any(|fact| {
            let c = goal.c - fact.c;
            let next = match fact.x == goal.x {
                true => Goal {
                    x: fact.y,
                    y: goal.y,
                    c,
                },
                false => Goal {
                    x: goal.x,
                    y: fact.x,
                    c,
                },
            };
            self.is_proven(next, at, None)
        })
    }

    /// As [`is_proven`](Self::is_proven), by what a block's parameter is given: the goal's `x` or its `y`.
    fn by_arguments(&mut self, goal: Goal, is_x: bool) -> bool {
        let Goal { x, y, c } = goal;
        let (side, other) = if is_x { (x, y) } else { (y, x) };
        let Some((block, k)) = self.given(side, other) else {
            return false;
        };
        if let Some(before) = self.assumed.iter().find(|g| (g.x, g.y) == (x, y)) {
            return before.c <= c;
        }
        self.assumed.push(goal);
        let (graph, function) = (self.graph, self.function);
        let proven = graph.predecessors(block).iter().all(|&edge| {
            let from = &function.blocks[edge.from];
            let arg = from.terminator.targets()[edge.slot].args[k];
            let (arg, more) = self.root(arg);
            let next = match is_x {
                true => Goal {
                    x: arg,
                    y,
                    c: c - more,
                },
                false => Goal {
                    x,
                    y: arg,
                    c: c + more,
                },
            };
            self.is_proven(next, (edge.from, from.instructions.len()), Some(edge))
        });
        self.assumed.pop();
        proven
    }

    /// The facts at a place with the goal's `x` on their left or its `y` on their right.
    fn facts_about(&self, goal: Goal, at: RangePoint, edge: Option<Edge>) -> Vec<Fact> {
        let mut found = Vec::new();
        if let Some(edge) = edge {
            self.edge_facts(edge, at, &mut found);
        }
        for id in [goal.x, goal.y].into_iter().flatten() {
            let facts = self.about.get(&id).into_iter().flatten();
            let facts = facts.rev().take(STEPS).map(|&k| self.facts[k]);
            found.extend(facts.filter(|fact| match fact.from.0 == at.0 {
                true => fact.from.1 <= at.1,
                false => self.graph.dominates(fact.from.0, at.0),
            }));
        }
        let touches = |fact: &Fact| fact.x == goal.x || fact.y == goal.y;
        found.retain(touches);
        found
    }
}
