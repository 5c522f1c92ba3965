//! Tiles: short operands of fused operators, repeated until they fill a block.
//!
//! A kernel takes as many elements at once as all its operands have in one piece. An operand that broadcasts along
//! the first axes, as a bias that is added to each row of a matrix, ends that piece with each row, and on short rows
//! the calls of kernels take longer than the arithmetic. So the group fills a register with copies of such an operand
//! at the beginning of each run, and its blocks have several rows each.
//!
//! Limits: all values of the group have the shape of the group, of one row or of one number; a block has at least two
//! rows. An operand with one number for each row is no tile: such a group runs row by row.

use super::memory::Address;
use super::{BLOCK, FusedOperand, Group, Place, RowTile};
use crate::array::Broadcast;

/// Fewest rows of a group that has tiles: to fill these takes as long as some calls of kernels.
const FEWEST_ROWS: usize = 8;

impl Group {
    /// Whether a value has neither one element nor all.
    fn is_short(&self, place: &Place) -> bool {
        ![1, self.ty.size()].contains(&place.ty.size())
    }

    /// Elements of a row, if tiles can be made of all values that are shorter than the group.
    pub(in crate::exec) fn tiled_row(&self) -> Option<usize> {
        let mut short = self.externals.iter().filter(|place| self.is_short(place));
        let first = short.next()?;
        let row = first.ty.size();
        if row == 0 || row > BLOCK / 2 || self.ty.size() / row < FEWEST_ROWS {
            return None;
        }
        let is_row = |place: &Place| {
            let walk = Broadcast::new(&self.ty.shape, [&place.ty.shape[..]].into_iter());
            place.ty.size() == row && walk.run() == row && !walk.is_splat(0)
        };
        (is_row(first) && short.all(is_row)).then_some(row)
    }

    /// Makes tiles of the values that are shorter than the group, in registers from `registers` on, and returns the
    /// number of registers then.
    pub(in crate::exec) fn tile(&mut self, mut registers: usize) -> usize {
        if self.tiled_row().is_none() {
            return registers;
        }
        for external in 0..self.externals.len() {
            if !self.is_short(&self.externals[external]) {
                continue;
            }
            let register = registers;
            registers += 1;
            self.tiles.push(RowTile { external, register });
            for arg in self.ops.iter_mut().flat_map(|op| &mut op.args) {
                if *arg == FusedOperand::External(external) {
                    *arg = FusedOperand::Register(register);
                }
            }
        }
        registers
    }
}

/// A tile with addresses.
pub(in crate::exec) struct LinkedTile {
    pub row: Address,
    /// Bytes of a row.
    pub bytes: usize,
    pub register: *mut u8,
}

impl LinkedTile {
    /// Fills the register with so many bytes of copies, a multiple of a row's.
    ///
    /// # Safety
    /// The row is live and initialised, and the register has room for the copies, apart from the row.
    pub(in crate::exec) unsafe fn fill(&self, leaves: &[*const u8], room: usize) {
        let row = self.row.start(leaves).cast_const();
        // SAFETY: by the conditions of this function.
        unsafe { row.copy_to_nonoverlapping(self.register, self.bytes) };
        let mut filled = self.bytes;
        while filled < room {
            let more = filled.min(room - filled);
            let end = self.register.wrapping_add(filled);
            // SAFETY: what is copied is filled, and ends where the copy begins, which ends inside the room.
            unsafe { self.register.copy_to_nonoverlapping(end, more) };
            filled += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Array, Dense, Number, Type};
    use crate::exec::Wrt;
    use crate::exec::plan::Step;
    use crate::graph::Independent;

    fn leaf<T: Number>(shape: &[usize], seed: usize) -> Independent {
        let size = Type::new(T::DTYPE, shape).size();
        let numbers = (0..size).map(|k| ((k * 37 + seed * 11) % 101) as f64 / 40.0 - 1.25);
        let value = Dense::new(shape, numbers.collect::<Vec<f64>>()).expect("as many");
        Independent::new(Array::from(value).to_dtype(T::DTYPE)).expect("real numbers")
    }

    /// The number of tiles of a program on values of these shapes, after its numbers were found to be those of
    /// operators that run one by one. The values are leaves, or are computed of such.
    fn tiles<T: Number>(shapes: &[&[usize]], computed: bool) -> usize {
        let mut value = leaf::<T>(shapes[0], 0).exp().boxed();
        for (seed, shape) in shapes.iter().enumerate().skip(1) {
            let leaf = leaf::<T>(shape, seed).boxed();
            let other = match computed {
                true => leaf.cos().boxed(),
                false => leaf,
            };
            value = (value.clone() * other + value.sin()).boxed();
        }
        let program = value.freeze().expect("it has been evaluated");
        let plan = program.plan(&[], Wrt::Nothing).expect("a plan");
        let fused = program.run(&[]).expect("it runs").to_f64();
        let unfused = program.unfused().run(&[]).expect("it runs").to_f64();
        let is_same = fused == unfused && fused.iter().all(|x| x.is_finite());
        assert!(is_same, "{shapes:?}");
        let steps = plan.steps.iter().map(|step| match step {
            Step::Group(group) => group.tiles.len(),
            _ => 0,
        });
        steps.sum()
    }

    /// Compares the number of tiles of programs of both types.
    fn expect(shapes: &[&[usize]], expected: usize, computed: bool) {
        assert_eq!(tiles::<f64>(shapes, computed), expected, "{shapes:?}");
        assert_eq!(tiles::<f32>(shapes, computed), expected, "{shapes:?}");
    }

    #[test]
    fn rows_are_repeated_where_a_block_has_several() {
        let few = FEWEST_ROWS - 1;
        let expect = |shapes: &[&[usize]], expected| {
            expect(shapes, expected, false);
            expect(shapes, expected, true);
        };
        for row in [2, 3, 5, 32, 100, BLOCK / 2] {
            for rows in [few, few + 1, 2 * few + 1, 129] {
                let expected = usize::from(rows > few);
                expect(&[&[rows, row], &[row]], expected);
                expect(&[&[rows, row], &[1, row], &[], &[rows, row]], expected);
                expect(&[&[rows, row], &[row], &[1, row]], 2 * expected);
                expect(&[&[3, rows, row], &[row], &[1, 1, 1]], 1);
            }
        }
        // A row may have several axes.
        expect(&[&[9, 2, 3], &[2, 3]], 1);
        expect(&[&[9, 2, 3], &[1, 2, 3], &[1]], 1);
    }

    #[test]
    fn other_values_end_blocks_with_each_row() {
        let expect = |shapes: &[&[usize]]| expect(shapes, 0, false);
        expect(&[&[20, BLOCK / 2 + 1], &[BLOCK / 2 + 1]]);
        expect(&[&[20, 4], &[20, 1]]);
        expect(&[&[20, 4], &[4], &[20, 1]]);
        expect(&[&[20, 4, 4], &[4], &[4, 4]]);
        expect(&[&[20, 4, 4], &[20, 1, 4]]);
        expect(&[&[4, 20, 4], &[4, 1, 1], &[4]]);
        expect(&[&[0, 4], &[4]]);
        expect(&[&[20, 0], &[0]]);
        expect(&[&[20, 1], &[1]]);
    }
}
