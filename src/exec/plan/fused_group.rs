//! Elementwise operators that run block by block, so that what one computes is in the first-level cache when the
//! next reads it.
//!
//! Limit: where all values are short and in one piece there is nothing to be cut into blocks, and the operators
//! run one by one on whole values (`Linked::Maps`).

use smallvec::SmallVec;

use super::memory::Address;
use super::tiles::LinkedTile;
use crate::array::{Broadcast, DType};
use crate::rules::{Kernel, MOST_OPERANDS, Operand};

/// One operand or result of a fused operator.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) enum Stream {
    /// A block-sized register.
    Register(*mut u8),
    /// Advances with the block; the number is the external's.
    Whole(Address, usize),
    /// The same element for a whole run.
    Splat(Address, usize),
}

/// One fused operator.
pub(in crate::exec) struct Micro {
    pub kernel: Kernel,
    pub args: SmallVec<[Stream; 3]>,
    pub out: Stream,
}

/// A fused group.
pub(in crate::exec) struct LinkedGroup {
    pub ops: Vec<Micro>,
    /// Filled before the operators run.
    pub tiles: Vec<LinkedTile>,
    /// Elements in a block: as many as a register has, or as whole rows of tiles have in it.
    pub block: usize,
    pub walk: Broadcast,
    /// Elements in a run. Where all values lie in the arena this is a whole number of cache
    /// lines, so that kernels have no odd end: what is beyond a value belongs to nobody.
    pub length: usize,
    pub dtype: DType,
}

impl LinkedGroup {
    /// Computes it, block by block.
    pub(in crate::exec) fn run(&self, scratch: &mut [usize], leaves: &[*const u8]) {
        let run = self.length;
        let item = self.dtype.size();
        let start = |address: Address, at: usize| address.start(leaves).wrapping_add(at * item);
        let room = &mut scratch[..self.walk.scratch()];
        for tile in &self.tiles {
            // SAFETY: `Plan::check` found the row to be a live value. A block has whole rows, and a register room
            // for it, apart from all values.
            unsafe { tile.fill(leaves, self.block * item) };
        }
        self.walk.for_each_in(room, |offsets, _| {
            let mut at = 0;
            while at < run {
                let n = self.block.min(run - at);
                let place = |stream: Stream| match stream {
                    Stream::Register(start) => (start, n),
                    Stream::Whole(address, k) => (start(address, offsets[k] + at), n),
                    Stream::Splat(address, k) => (start(address, offsets[k]), 1),
                };
                for op in &self.ops {
                    let mut args = [Operand::NONE; MOST_OPERANDS];
                    for (arg, &stream) in args.iter_mut().zip(&op.args) {
                        let (start, len) = place(stream);
                        *arg = Operand { start, len };
                    }
                    // SAFETY: the walk keeps offsets inside the values, which `Plan::check` found to
                    // broadcast to the group, and a register holds a block. Where `run` goes
                    // beyond a value it ends with the cache line that is the value's. The kernel is
                    // for the group's element type and so many operands, and the result, in the arena
                    // or in a register, is apart from the operands: all by `Plan::check`.
                    unsafe { op.kernel.run(&args, place(op.out).0, n) };
                }
                at += n;
            }
        });
    }
}
