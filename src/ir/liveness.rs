//! Which values are still needed where: live variables, by block.
//!
//! Each use of a value in another block than its own is followed back along the edges to where the
//! value is defined (Boissinot et al., "Computing liveness sets for SSA-form programs", 2011). That
//! costs what the answer is long.

use super::cfg::Cfg;
use super::function::{Function, ValueId};

/// The values that are needed at the ends of blocks.
#[derive(Debug, Clone)]
pub struct Liveness {
    live_in: Vec<Vec<ValueId>>,
    live_out: Vec<Vec<ValueId>>,
}

impl Liveness {
    /// Of a function, with its graph. Blocks that cannot be reached need nothing.
    ///
    /// # Panics
    /// If the function is not well formed ([`Function::check`]), or the graph is another one's.
    pub fn new(function: &Function, graph: &Cfg) -> Self {
        let count = function.blocks.len();
        let mut live = Liveness {
            live_in: vec![Vec::new(); count],
            live_out: vec![Vec::new(); count],
        };
        each_range(
            function,
            graph,
            |_| false,
            |range| {
                let id = range.id;
                range.live_in.iter().for_each(|&b| live.live_in[b].push(id));
                range
                    .live_out
                    .iter()
                    .for_each(|&b| live.live_out[b].push(id));
            },
        );
        live
    }

    /// The values that are defined before a block and needed in it or after it, sorted. The block's
    /// own parameters are not among them.
    pub fn live_in(&self, block: usize) -> &[ValueId] {
        &self.live_in[block]
    }

    /// The values that a block defines or gets and that are needed after it, sorted. What it passes
    /// on as an argument is not among them for that.
    pub fn live_out(&self, block: usize) -> &[ValueId] {
        &self.live_out[block]
    }
}

/// Where one value is needed that other blocks than its own read.
pub(crate) struct LiveRange<'a> {
    pub(crate) id: ValueId,
    /// The block that defines it, and those others that read it.
    pub(crate) home: Option<usize>,
    pub(crate) readers: &'a [(ValueId, usize)],
    /// The blocks before which and after which it is needed.
    pub(crate) live_in: &'a [usize],
    pub(crate) live_out: &'a [usize],
}

/// Calls `f` with each value that another block than its own reads, in the order of their numbers. Those for
/// which `is_passed_over` holds are left out.
pub(crate) fn each_range(
    function: &Function,
    graph: &Cfg,
    mut is_passed_over: impl FnMut(ValueId) -> bool,
    mut f: impl FnMut(LiveRange<'_>),
) {
    let count = function.blocks.len();
    let homes = homes(function);
    let mut uses: Vec<(ValueId, usize)> = Vec::new();
    for &block in graph.order() {
        let mut note = |id: ValueId| {
            if homes[id as usize] != Some(block) && !is_passed_over(id) {
                uses.push((id, block));
            }
        };
        let here = &function.blocks[block];
        for i in &here.instructions {
            i.expression.operands().iter().copied().for_each(&mut note);
        }
        here.terminator.each(note);
    }
    uses.sort_unstable();
    // The value that came by last before and after each block.
    let (mut before, mut after) = (vec![None; count], vec![None; count]);
    let [mut live_in, mut live_out, mut waiting] = [const { Vec::new() }; 3];
    for readers in uses.chunk_by(|(a, _), (b, _)| a == b) {
        let id = readers[0].0;
        let home = homes[id as usize];
        live_in.clear();
        live_out.clear();
        for &(_, block) in readers {
            waiting.push(block);
            while let Some(block) = waiting.pop() {
                if home == Some(block) || before[block].replace(id) == Some(id) {
                    continue;
                }
                live_in.push(block);
                for edge in graph.predecessors(block) {
                    if after[edge.from].replace(id) != Some(id) {
                        live_out.push(edge.from);
                        waiting.push(edge.from);
                    }
                }
            }
        }
        f(LiveRange {
            id,
            home,
            readers,
            live_in: &live_in,
            live_out: &live_out,
        });
    }
}

/// Where a value is defined: the block, and the number of the instruction, if it is no parameter.
pub(super) type Site = (usize, Option<usize>);

/// Where each value is defined.
pub(super) fn sites(function: &Function) -> Vec<Option<Site>> {
    let mut sites = vec![None; function.kinds.len()];
    for (number, block) in function.blocks.iter().enumerate() {
        for &id in &block.parameters {
            sites[id as usize] = Some((number, None));
        }
        for (k, i) in block.instructions.iter().enumerate() {
            for &id in &i.results {
                sites[id as usize] = Some((number, Some(k)));
            }
        }
    }
    sites
}

/// The block that defines each value.
pub(super) fn homes(function: &Function) -> Vec<Option<usize>> {
    let block = |site: Option<Site>| site.map(|(block, _)| block);
    sites(function).into_iter().map(block).collect()
}
