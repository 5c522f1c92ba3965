//! The control flow graph of a function: edges, an order, dominators and loops.
//!
//! Passes over blocks ask here what they would otherwise find out each by itself. Nothing here
//! reads instructions, and nothing recurses: a function may have as many blocks as memory holds.
//!
//! Dominators are those of Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001).
//! Block `a` dominates `b` if every way from the entry to `b` passes through `a`. A loop is a natural
//! one: its header dominates the blocks that jump back to it. Cycles that can be entered at several
//! places have no header; [`in_cycle`](Cfg::in_cycle) knows them, [`loops`](Cfg::loops) does not.
//!
//! Limit: a graph is of the function as it was; a pass that changes jumps makes a new one.

use crate::order;
use smallvec::SmallVec;

use super::function::Function;

/// A jump: the block it leaves, and which of the targets of that block's terminator it is. Two edges
/// may join the same two blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The block that jumps.
    pub from: usize,
    /// The number of the target among those of its terminator.
    pub slot: usize,
}

/// A natural loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NaturalLoop {
    /// The block through which it is entered.
    pub header: usize,
    /// Its blocks in the graph's order, so the header first, with those of the loops inside.
    pub blocks: Vec<usize>,
    /// The edges that lead back to the header.
    pub back: Vec<Edge>,
    /// The number of the loop around it.
    pub parent: Option<usize>,
    /// How many loops a block of it is in that is in none inside: 1 for an outermost loop.
    pub depth: usize,
}

/// What is known of a block that can be reached.
#[derive(Debug, Clone, Copy)]
struct BlockPlace {
    /// Its position in the order.
    position: u32,
    /// When a walk over the dominator tree comes to the block and when it leaves it for good.
    walk: (u32, u32),
    /// The block that dominates it and is dominated by all others that do; itself for the entry.
    dominator: usize,
    /// The innermost loop that it is in.
    within: Option<u32>,
    in_cycle: bool,
}

/// The control flow graph of a function.
#[derive(Debug, Clone)]
pub struct Cfg {
    successors: Vec<SmallVec<[usize; 2]>>,
    predecessors: Vec<SmallVec<[Edge; 2]>>,
    order: Vec<usize>,
    by_dominance: Vec<usize>,
    places: Vec<Option<BlockPlace>>,
    loops: Vec<NaturalLoop>,
}

impl Cfg {
    /// The graph of a function.
    ///
    /// # Panics
    /// If a block jumps to one that does not exist, which [`Function::check`] refuses.
    pub fn new(function: &Function) -> Self {
        let blocks = function.blocks.iter();
        let targets = blocks.map(|b| {
            let targets = b.terminator.targets();
            targets.into_iter().map(|to| to.block).collect()
        });
        Self::of(targets.collect())
    }

    /// The graph in which block `b` jumps to `successors[b]`; 0 is the entry.
    fn of(successors: Vec<SmallVec<[usize; 2]>>) -> Self {
        let order = reverse_postorder(&successors);
        let mut places: Vec<Option<BlockPlace>> = vec![None; successors.len()];
        for (position, &block) in order.iter().enumerate() {
            places[block] = Some(BlockPlace {
                position: position as u32,
                walk: (0, 0),
                dominator: 0,
                within: None,
                in_cycle: false,
            });
        }
        let mut predecessors = vec![SmallVec::new(); successors.len()];
        for &from in &order {
            for (slot, &to) in successors[from].iter().enumerate() {
                predecessors[to].push(Edge { from, slot });
            }
        }
        let mut graph = Cfg {
            successors,
            predecessors,
            order,
            by_dominance: Vec::new(),
            places,
            loops: Vec::new(),
        };
        graph.find_dominators();
        graph.find_loops();
        graph
    }

    /// By the number of a block, the next block through which all ways from it to `exit` pass: its
    /// immediate post-dominator. `None` for the exit, and where no way leads there.
    pub fn post_dominators(&self, exit: usize) -> Vec<Option<usize>> {
        // The dominators of the reversed graph, in which the exit is the entry: 0.
        let renamed = |block: usize| match block {
            0 => exit,
            _ if block == exit => 0,
            _ => block,
        };
        let mut reversed = vec![SmallVec::new(); self.successors.len()];
        for &from in &self.order {
            for &to in &self.successors[from] {
                reversed[renamed(to)].push(renamed(from));
            }
        }
        let reversed = Self::of(reversed);
        (0..self.successors.len())
            .map(|block| Some(renamed(reversed.dominator(renamed(block))?)))
            .collect()
    }

    /// The blocks that can be reached, each before those that it jumps to but for jumps back:
    /// reverse postorder. The entry is first, and a block comes after those that dominate it.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The blocks that can be reached, as a walk over the dominator tree comes to them: right after
    /// a block come all that it dominates.
    pub fn by_dominance(&self) -> &[usize] {
        &self.by_dominance
    }

    /// Where a block's terminator jumps, target by target.
    pub fn successors(&self, block: usize) -> &[usize] {
        &self.successors[block]
    }

    /// The edges to a block from blocks that can be reached.
    pub fn predecessors(&self, block: usize) -> &[Edge] {
        &self.predecessors[block]
    }

    /// Whether there is a way from the entry to a block.
    pub fn is_reachable(&self, block: usize) -> bool {
        self.places[block].is_some()
    }

    /// The position of a block in the order; `None` if it cannot be reached.
    pub fn position(&self, block: usize) -> Option<usize> {
        Some(self.places[block]?.position as usize)
    }

    /// The closest block that dominates another one: none for the entry, and for blocks that cannot
    /// be reached.
    pub fn dominator(&self, block: usize) -> Option<usize> {
        let place = self.places[block]?;
        (place.position > 0).then_some(place.dominator)
    }

    /// Whether every way from the entry to `b` passes through `a`, which may be `b`. What cannot be
    /// reached dominates nothing, and everything dominates it.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        let Some(b) = self.places[b] else {
            return true;
        };
        self.places[a].is_some_and(|a| a.walk.0 <= b.walk.0 && b.walk.1 <= a.walk.1)
    }

    /// The natural loops, each after the one around it.
    pub fn loops(&self) -> &[NaturalLoop] {
        &self.loops
    }

    /// The number of the innermost natural loop that a block is in.
    pub fn innermost(&self, block: usize) -> Option<usize> {
        Some(self.places[block]?.within? as usize)
    }

    /// How many natural loops a block is in.
    pub fn depth(&self, block: usize) -> usize {
        self.innermost(block).map_or(0, |l| self.loops[l].depth)
    }

    /// Whether a block may run more than once in a run of the function. Of cycles that can be
    /// entered at several places more blocks may be told so than are in them.
    pub fn in_cycle(&self, block: usize) -> bool {
        self.places[block].is_some_and(|place| place.in_cycle)
    }

    fn place(&self, block: usize) -> BlockPlace {
        let place = self.places[block];
        place.expect("edges from blocks that can be reached lead to such blocks")
    }

    fn place_mut(&mut self, block: usize) -> &mut BlockPlace {
        let place = self.places[block].as_mut();
        place.expect("edges from blocks that can be reached lead to such blocks")
    }

    fn find_dominators(&mut self) {
        // By positions in the order, in which a dominator has the smaller one.
        let mut of: Vec<Option<u32>> = vec![None; self.order.len()];
        if let Some(entry) = of.first_mut() {
            *entry = Some(0);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (k, &block) in self.order.iter().enumerate().skip(1) {
                let mut common: Option<u32> = None;
                for edge in &self.predecessors[block] {
                    let mut a = self.place(edge.from).position;
                    if of[a as usize].is_none() {
                        continue;
                    }
                    if let Some(mut b) = common {
                        // Two ways meet where the dominators of both are one.
                        while a != b {
                            let higher = if a > b { &mut a } else { &mut b };
                            *higher = of[*higher as usize].unwrap_or(0);
                        }
                    }
                    common = Some(a);
                }
                if common != of[k] {
                    of[k] = common;
                    changed = true;
                }
            }
        }
        let mut children: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); self.order.len()];
        for k in (1..self.order.len()).rev() {
            let dominator = of[k].unwrap_or(0) as usize;
            children[dominator].push(k);
            let block = self.order[k];
            self.place_mut(block).dominator = self.order[dominator];
        }
        let mut time = 0;
        let mut open: Vec<usize> = Vec::new();
        let mut next = (!self.order.is_empty()).then_some(0);
        loop {
            while let Some(k) = next {
                let block = self.order[k];
                self.by_dominance.push(block);
                self.place_mut(block).walk.0 = time;
                time += 1;
                open.push(k);
                next = children[k].pop();
            }
            let Some(&k) = open.last() else {
                break;
            };
            next = children[k].pop();
            if next.is_none() {
                let block = self.order[k];
                self.place_mut(block).walk.1 = time;
                open.pop();
            }
        }
    }

    fn find_loops(&mut self) {
        let mut back: Vec<SmallVec<[Edge; 1]>> = vec![SmallVec::new(); self.order.len()];
        let mut headers: Vec<usize> = Vec::new();
        for k in 0..self.order.len() {
            let from = self.order[k];
            for slot in 0..self.successors[from].len() {
                let to = self.successors[from][slot];
                let at = self.place(to).position as usize;
                if at > k {
                    continue;
                }
                // A cycle goes back somewhere, and stays between there and where it comes from, or
                // goes back again.
                if self.dominates(to, from) {
                    if back[at].is_empty() {
                        headers.push(at);
                    }
                    back[at].push(Edge { from, slot });
                } else {
                    for position in at..=k {
                        let block = self.order[position];
                        self.place_mut(block).in_cycle = true;
                    }
                }
            }
        }
        // A header comes after those of the loops around it.
        headers.sort_unstable();
        for (number, at) in headers.into_iter().enumerate() {
            let header = self.order[at];
            let back = std::mem::take(&mut back[at]);
            let parent = self.innermost(header);
            let mut waiting: Vec<usize> = back.iter().map(|edge| edge.from).collect();
            let mut blocks = Vec::new();
            let mut enter = |graph: &mut Cfg, block: usize| {
                let place = graph.place_mut(block);
                place.in_cycle = true;
                let new = place.within != Some(number as u32);
                place.within = Some(number as u32);
                if new {
                    blocks.push(block);
                }
                new
            };
            enter(self, header);
            while let Some(block) = waiting.pop() {
                if enter(self, block) {
                    waiting.extend(self.predecessors[block].iter().map(|edge| edge.from));
                }
            }
            order::sort_by_key(&mut blocks, |&block| self.place(block).position as usize);
            self.loops.push(NaturalLoop {
                header,
                blocks,
                back: back.into_vec(),
                parent,
                depth: 1 + parent.map_or(0, |p| self.loops[p].depth),
            });
        }
    }
}

/// The blocks that can be reached from block 0, the last first to be left by a walk in depth.
fn reverse_postorder(successors: &[SmallVec<[usize; 2]>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(successors.len());
    let mut seen = vec![false; successors.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    if let Some(entry) = seen.first_mut() {
        *entry = true;
        open.push((0, 0));
    }
    while let Some((block, next)) = open.last_mut() {
        // The last target first, so that the first one follows its block in the order.
        let targets = &successors[*block];
        let Some(k) = targets.len().checked_sub(*next + 1) else {
            order.push(*block);
            open.pop();
            continue;
        };
        *next += 1;
        let to = targets[k];
        if !seen[to] {
            seen[to] = true;
            open.push((to, 0));
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests;
