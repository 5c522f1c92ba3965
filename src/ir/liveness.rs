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
        let homes = homes(function);
        let mut live = Liveness {
            live_in: vec![Vec::new(); count],
            live_out: vec![Vec::new(); count],
        };
        let mut uses: Vec<(usize, usize)> = Vec::new();
        for &block in graph.order() {
            let mut note = |id: ValueId| {
                if homes[id as usize] != Some(block) {
                    uses.push((id as usize, block));
                }
            };
            let here = &function.blocks[block];
            for i in &here.instructions {
                i.expression.operands().iter().copied().for_each(&mut note);
            }
            here.terminator.each(note);
        }
        // All uses of one value together, so that the last entry of a list says whether it is there.
        uses.sort_unstable();
        let mut waiting = Vec::new();
        for (id, block) in uses {
            let id = id as ValueId;
            waiting.push(block);
            while let Some(block) = waiting.pop() {
                if homes[id as usize] == Some(block) || live.live_in[block].last() == Some(&id) {
                    continue;
                }
                live.live_in[block].push(id);
                for edge in graph.predecessors(block) {
                    if live.live_out[edge.from].last() != Some(&id) {
                        live.live_out[edge.from].push(id);
                        waiting.push(edge.from);
                    }
                }
            }
        }
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
