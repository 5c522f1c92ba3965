//! Dropping what no result needs: instructions, parameters of blocks, and what tapes keep.
//!
//! Blocks are gone through from the last to the first, from each use to what it uses, until nothing
//! more is found to be needed; a function without loops takes one round. So a value that a loop
//! changes and nobody reads goes, with the parameter that carries it. Of a record of a tape only the
//! values stay that are read where it is taken, and a tape of which none is read goes.
//!
//! A function keeps all ways to leave it, and its loops, whether they end or not. Only a tape that is
//! taken from while it is empty, which is an error in whoever made the function, may no longer be
//! found out.

use super::lengths::Lengths;
use crate::ir::cfg::Cfg;
use crate::ir::function::{Block, Expression, Function, Instruction, ValueId};

/// What is needed of a function.
struct Needs {
    values: Vec<bool>,
    /// For each tape, what of a record is read.
    fields: Vec<Vec<bool>>,
    /// Where in the order of blocks each value is defined, of a function of several blocks. A
    /// parameter of a block that is jumped back to is after that jump, which gives its value.
    defined: Vec<usize>,
    /// The position of the block that is gone through.
    here: usize,
    /// Whether something is needed of a block that was gone through in this round.
    again: bool,
}

impl Needs {
    fn need(&mut self, id: ValueId) {
        if !std::mem::replace(&mut self.values[id as usize], true) {
            let behind = self.defined.get(id as usize);
            self.again |= behind.is_some_and(|&at| at > self.here);
        }
    }

    fn is_needed(&self, id: ValueId) -> bool {
        self.values[id as usize]
    }

    fn block(&mut self, function: &Function, block: &Block, lengths: Lengths) {
        for &id in block.terminator.operands() {
            self.need(id);
        }
        for to in block.terminator.targets() {
            let parameters = &function.blocks[to.block].parameters;
            for (&p, &a) in parameters.iter().zip(&to.args) {
                if self.is_needed(p) {
                    self.need(a);
                }
            }
        }
        for i in block.instructions.iter().rev() {
            match &i.expression {
                Expression::Push(tape, args) => {
                    for (k, &a) in args.iter().enumerate() {
                        if self.fields[*tape as usize][k] {
                            self.need(a);
                        }
                    }
                }
                Expression::Pop(tape) => {
                    for (k, &result) in i.results.iter().enumerate() {
                        if self.is_needed(result) {
                            let field = &mut self.fields[*tape as usize][k];
                            self.again |= !std::mem::replace(field, true);
                        }
                    }
                }
                _ if self.keeps(function, i, lengths) => {
                    for &id in i.expression.operands() {
                        self.need(id);
                    }
                }
                _ => {}
            }
        }
    }

    fn keeps(&self, function: &Function, i: &Instruction, lengths: Lengths) -> bool {
        i.results.iter().any(|&id| self.is_needed(id))
            || !lengths.is_droppable(function, &i.expression)
    }

    /// Whether an instruction stays, and what of a record.
    fn sweep(&self, function: &Function, i: &mut Instruction, lengths: Lengths) -> bool {
        match &mut i.expression {
            Expression::Push(tape, args) => {
                let mut fields = self.fields[*tape as usize].iter();
                args.retain(|_| *fields.next().unwrap_or(&true));
                !args.is_empty()
            }
            Expression::Pop(tape) => {
                let mut fields = self.fields[*tape as usize].iter();
                i.results.retain(|_| *fields.next().unwrap_or(&true));
                !i.results.is_empty()
            }
            _ => self.keeps(function, i, lengths),
        }
    }
}

/// Drops what nobody needs. Blocks that cannot be reached become empty. Values may be used where
/// their definitions do not dominate.
pub(crate) fn drop_dead(function: &mut Function, lengths: Lengths) {
    let mut needs = Needs {
        values: vec![false; function.kinds.len()],
        fields: function
            .tapes
            .iter()
            .map(|t| vec![false; t.len()])
            .collect(),
        defined: Vec::new(),
        here: 0,
        again: true,
    };
    let order = match function.blocks.len() {
        0 => return,
        1 => vec![0],
        _ => {
            let graph = Cfg::new(function);
            needs.defined = positions(function, &graph);
            for block in 0..function.blocks.len() {
                if !graph.is_reachable(block) {
                    function.blocks[block] = Block::default();
                }
            }
            graph.order().to_vec()
        }
    };
    while std::mem::take(&mut needs.again) {
        for (here, &block) in order.iter().enumerate().rev() {
            needs.here = here;
            needs.block(function, &function.blocks[block], lengths);
        }
    }
    for &number in &order {
        let mut block = std::mem::take(&mut function.blocks[number]);
        block
            .instructions
            .retain_mut(|i| needs.sweep(function, i, lengths));
        for to in block.terminator.targets_mut() {
            // What jumps back to this block finds its parameters here.
            let parameters = match to.block {
                own if own == number => &block.parameters,
                other => &function.blocks[other].parameters,
            };
            let mut wanted = parameters
                .iter()
                .map(|&p| to.block == 0 || needs.is_needed(p));
            to.args.retain(|_| wanted.next().unwrap_or(true));
        }
        function.blocks[number] = block;
    }
    for &block in order.iter().skip(1) {
        let parameters = &mut function.blocks[block].parameters;
        parameters.retain(|&p| needs.is_needed(p));
    }
    if !function.tapes.is_empty() {
        drop_fields(function, &needs.fields);
    }
}

/// Where in the order each value is defined; see [`Needs`].
fn positions(function: &Function, graph: &Cfg) -> Vec<usize> {
    let mut positions = vec![0; function.kinds.len()];
    for (k, &number) in graph.order().iter().enumerate() {
        let block = &function.blocks[number];
        for i in &block.instructions {
            for &id in &i.results {
                positions[id as usize] = k;
            }
        }
        let from = graph.predecessors(number).iter();
        let after = from.filter_map(|edge| Some(graph.position(edge.from)? + 1));
        let after = after.filter(|after| *after > k).max();
        for &p in &block.parameters {
            positions[p as usize] = after.unwrap_or(k);
        }
    }
    positions
}

/// Leaves of tapes what is read.
fn drop_fields(function: &mut Function, fields: &[Vec<bool>]) {
    let mut numbers = Vec::with_capacity(fields.len());
    let mut count = 0;
    for read in fields {
        numbers.push(count);
        count += u32::from(read.contains(&true));
    }
    for (kinds, read) in function.tapes.iter_mut().zip(fields) {
        let mut read = read.iter();
        kinds.retain(|_| *read.next().unwrap_or(&true));
    }
    function.tapes.retain(|kinds| !kinds.is_empty());
    for block in &mut function.blocks {
        for i in &mut block.instructions {
            if let Expression::Push(tape, _) | Expression::Pop(tape) = &mut i.expression {
                *tape = numbers[*tape as usize];
            }
        }
    }
}
