//! The ways of a reverse pass through a function, and which cotangents it carries along them.
//!
//! A reverse pass runs the blocks of a run backwards. What it does in a block, and where it goes from
//! there, is settled here, before any code is written:
//!
//! - **Presence.** The cotangent of a value is absent where nothing that was run after it depends on
//!   it: it is no zero. An absent cotangent is not multiplied, so an infinite derivative does not make
//!   a NaN of it, as it does not in a graph, which has no such instruction at all. On some ways a
//!   value may have a cotangent that it has not on others; such a cotangent goes with a flag.
//! - **Ways.** After a block come the blocks that jump to it, in the order in which the run passed
//!   through them. Where blocks have nothing to do for the reverse pass, it goes on at once at the
//!   block that dominates them; where nothing at all is left to do, it ends. It passes over a block
//!   on all ways or on none: what the function keeps there is then taken as often as it is kept.
//!
//! Both are found by iteration over the blocks: the presence of a cotangent where several ways meet
//! is what they agree about.

use std::collections::{BTreeMap, HashSet};

use super::activity::Activity;
use super::cfg::{Cfg, Edge};
use super::function::{Expression, Function, ValueId};
use crate::error::Result;
use crate::interrupt::Poller;

/// About how many nanoseconds an instruction takes.
const INSTRUCTION: usize = 100;

/// Whether there is a cotangent that is not absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// On all ways.
    Always,
    /// On some; a flag tells.
    Sometimes,
}

impl Presence {
    /// Of a sum of two.
    fn or(a: Option<Self>, b: Self) -> Self {
        match a {
            Some(Presence::Always) => Presence::Always,
            _ => b,
        }
    }

    /// Where two ways meet.
    fn and(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (None, None) => None,
            (Some(Presence::Always), Some(Presence::Always)) => Some(Presence::Always),
            _ => Some(Presence::Sometimes),
        }
    }
}

/// The cotangents that there are at a point of the reverse pass. Sorted, so that programs are the
/// same each time.
pub(super) type Present = BTreeMap<ValueId, Presence>;

/// Where the reverse pass goes after a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// To the blocks that jump to this one.
    Predecessors,
    /// Past blocks that have nothing to do, to one that dominates this one.
    Dominator(usize),
    /// Nowhere: all is done.
    Done,
}

/// The plan of a reverse pass.
#[derive(Debug)]
pub(super) struct Ways {
    /// What each block gets: `None` if the pass does not come there.
    pub entering: Vec<Option<Present>>,
    /// What is left of it after each block, with the block's own parameters.
    pub leaving: Vec<Option<Present>>,
    pub next: Vec<Next>,
    /// For each tape of the function, which cotangents a record has.
    pub records: Vec<Vec<Option<Presence>>>,
}

/// The blocks from which the pass comes to block `to`, given what is next after each.
pub(super) fn reached_from<'g>(
    graph: &'g Cfg,
    next: &'g [Next],
    from: usize,
) -> impl Iterator<Item = (usize, Option<Edge>)> + 'g {
    let (edges, dominator) = match next[from] {
        Next::Predecessors => (graph.predecessors(from), None),
        Next::Dominator(d) => (&[][..], Some(d)),
        Next::Done => (&[][..], None),
    };
    let edges = edges.iter().map(|&edge| (edge.from, Some(edge)));
    edges.chain(dominator.map(|d| (d, None)))
}

impl Ways {
    /// The plan for a function that returns in block `exit`, where there are cotangents of `seeds`.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub(super) fn new(
        function: &Function,
        graph: &Cfg,
        activity: &Activity,
        exit: usize,
        seeds: &[ValueId],
    ) -> Result<Self> {
        let mut survey = Survey {
            function,
            graph,
            activity,
            exit,
            seeds,
        };
        let next = vec![Next::Predecessors; function.blocks.len()];
        let all = survey.solve(next)?;
        let next = survey.shortcuts(&all);
        survey.solve(next)
    }
}

/// What a plan is made from.
struct Survey<'f> {
    function: &'f Function,
    graph: &'f Cfg,
    activity: &'f Activity,
    exit: usize,
    seeds: &'f [ValueId],
}

impl Survey<'_> {
    /// Presence everywhere, if these are the ways.
    fn solve(&mut self, next: Vec<Next>) -> Result<Ways> {
        let count = self.function.blocks.len();
        let records = self.function.tapes.iter();
        let mut ways = Ways {
            entering: vec![None; count],
            leaving: vec![None; count],
            next,
            records: records.map(|kinds| vec![None; kinds.len()]).collect(),
        };
        let mut seeds = Present::new();
        for &id in self.seeds {
            if self.activity.is_active(id) {
                seeds.insert(id, Presence::Always);
            }
        }
        ways.entering[self.exit] = Some(seeds);
        // Which records have been filled at least once: what is absent in one of them is not always
        // there.
        let mut filled = vec![false; self.function.tapes.len()];
        let mut poller = Poller::default();
        let mut changed = true;
        while changed {
            changed = false;
            for &block in self.graph.order().iter().rev() {
                let Some(mut present) = ways.entering[block].clone() else {
                    continue;
                };
                let count = self.function.blocks[block].instructions.len();
                poller.step(INSTRUCTION * (count + 1))?;
                changed |= self.through(block, &mut present, &mut ways.records, &mut filled);
                ways.leaving[block] = Some(present.clone());
                let onward: Vec<_> = reached_from(self.graph, &ways.next, block).collect();
                for (to, edge) in onward {
                    let given = self.along(block, edge, &present);
                    changed |= meet(&mut ways.entering[to], given);
                }
            }
        }
        Ok(ways)
    }

    /// Takes what is present past the instructions of a block, from the last to the first. Whether
    /// a record of a tape has changed.
    fn through(
        &self,
        block: usize,
        present: &mut Present,
        records: &mut [Vec<Option<Presence>>],
        filled: &mut [bool],
    ) -> bool {
        let mut changed = false;
        let instructions = self.function.blocks[block].instructions.iter();
        for (k, i) in instructions.enumerate().rev() {
            match &i.expression {
                Expression::Apply(_, args) => {
                    let Some(found) = present.remove(&i.results[0]) else {
                        continue;
                    };
                    for (n, &a) in args.iter().enumerate() {
                        if self.activity.flows(block, k, n, a) {
                            let old = present.get(&a).copied();
                            present.insert(a, Presence::or(old, found));
                        }
                    }
                }
                Expression::Push(tape, args) => {
                    for (&a, &found) in args.iter().zip(&records[*tape as usize]) {
                        if let (Some(found), true) = (found, self.activity.is_active(a)) {
                            let old = present.get(&a).copied();
                            present.insert(a, Presence::or(old, found));
                        }
                    }
                }
                Expression::Pop(tape) => {
                    let tape = *tape as usize;
                    let first = !std::mem::replace(&mut filled[tape], true);
                    for (slot, id) in records[tape].iter_mut().zip(&i.results) {
                        let found = present.remove(id);
                        let together = match first {
                            true => found,
                            false => Presence::and(*slot, found),
                        };
                        changed |= *slot != together;
                        *slot = together;
                    }
                }
                Expression::Constant(_) | Expression::Compute(..) | Expression::Guard(..) => {}
            }
        }
        changed
    }

    /// What is present on the way from a block to another one, by an edge or past blocks.
    fn along(&self, block: usize, edge: Option<Edge>, present: &Present) -> Present {
        let parameters = &self.function.blocks[block].parameters;
        let mut given = present.clone();
        for p in parameters {
            given.remove(p);
        }
        if let Some(edge) = edge {
            let targets = self.function.blocks[edge.from].terminator.targets();
            for (p, &a) in parameters.iter().zip(&targets[edge.slot].args) {
                if let (Some(&found), true) = (present.get(p), self.activity.is_active(a)) {
                    let old = given.get(&a).copied();
                    given.insert(a, Presence::or(old, found));
                }
            }
        }
        given
    }

    /// The ways past what has nothing to do.
    fn shortcuts(&self, all: &Ways) -> Vec<Next> {
        let count = self.function.blocks.len();
        let works: Vec<bool> = (0..count).map(|b| self.works(all, b)).collect();
        // Whether there is work in a block that can come before each.
        let mut above = vec![false; count];
        let mut changed = true;
        while changed {
            changed = false;
            for &block in self.graph.order() {
                let mut before = self.graph.predecessors(block).iter();
                let found = before.any(|edge| works[edge.from] || above[edge.from]);
                changed |= found && !above[block];
                above[block] |= found;
            }
        }
        let mut next = vec![Next::Predecessors; count];
        for &block in self.graph.order() {
            if self.passes_on(all, block) {
                continue;
            }
            if !above[block] {
                next[block] = Next::Done;
            } else if let Some(d) = self.graph.dominator(block)
                && !self.some_before(block, Some(d), |b| works[b])
            {
                next[block] = match next[d] {
                    Next::Dominator(further) if !works[d] => Next::Dominator(further),
                    _ => Next::Dominator(d),
                };
            }
        }
        loop {
            let half = self.half_passed(&next);
            if half.is_empty() {
                return next;
            }
            for block in half {
                next[block] = Next::Predecessors;
            }
        }
    }

    /// The blocks after which the pass goes past one to which it comes on another way.
    fn half_passed(&self, next: &[Next]) -> Vec<usize> {
        let mut entered = vec![false; next.len()];
        let mut waiting = vec![self.exit];
        while let Some(block) = waiting.pop() {
            if !std::mem::replace(&mut entered[block], true) {
                waiting.extend(reached_from(self.graph, next, block).map(|(to, _)| to));
            }
        }
        let passes = |&block: &usize| {
            let others = |b: usize| b != block && entered[b];
            match next[block] {
                Next::Dominator(d) => entered[block] && self.some_before(block, Some(d), others),
                Next::Done => entered[block] && self.some_before(block, None, others),
                Next::Predecessors => false,
            }
        };
        self.graph.order().iter().copied().filter(passes).collect()
    }

    /// Whether something holds for a block that can be run before another one, and after its
    /// dominator if one is given.
    fn some_before(
        &self,
        block: usize,
        dominator: Option<usize>,
        holds: impl Fn(usize) -> bool,
    ) -> bool {
        let mut seen: HashSet<usize> = dominator.into_iter().collect();
        let mut waiting = vec![block];
        while let Some(b) = waiting.pop() {
            for edge in self.graph.predecessors(b) {
                if seen.insert(edge.from) {
                    if holds(edge.from) {
                        return true;
                    }
                    waiting.push(edge.from);
                }
            }
        }
        false
    }

    /// Whether parameters of a block have cotangents to pass on to those who jump to it.
    fn passes_on(&self, all: &Ways, block: usize) -> bool {
        let parameters = &self.function.blocks[block].parameters;
        let left = all.leaving[block].as_ref();
        block != 0 && left.is_some_and(|left| parameters.iter().any(|p| left.contains_key(p)))
    }

    /// Whether the reverse pass has something to do in a block.
    fn works(&self, all: &Ways, block: usize) -> bool {
        let Some(mut present) = all.entering[block].clone() else {
            return false;
        };
        if self.passes_on(all, block) {
            return true;
        }
        let mut works = false;
        let instructions = self.function.blocks[block].instructions.iter();
        for i in instructions.rev() {
            works |= match &i.expression {
                Expression::Apply(..) => present.remove(&i.results[0]).is_some(),
                Expression::Push(tape, _) | Expression::Pop(tape) => {
                    all.records[*tape as usize].iter().any(Option::is_some)
                }
                Expression::Constant(_) | Expression::Compute(..) | Expression::Guard(..) => false,
            };
        }
        works
    }
}

/// Adds what one way gives to what a block gets; whether that has changed.
fn meet(entering: &mut Option<Present>, given: Present) -> bool {
    let Some(known) = entering else {
        *entering = Some(given);
        return true;
    };
    let mut changed = false;
    for (id, found) in known.iter_mut() {
        if *found == Presence::Always && given.get(id) != Some(&Presence::Always) {
            *found = Presence::Sometimes;
            changed = true;
        }
    }
    for id in given.into_keys() {
        known.entry(id).or_insert_with(|| {
            changed = true;
            Presence::Sometimes
        });
    }
    changed
}
