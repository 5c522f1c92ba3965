//! Plans: a program for concrete shapes, ready to run.
//!
//! A plan is plain data (`Send + Sync`) and says where every value lives and in which
//! order which kernels run. It is made by [`lower`] and run by any number of
//! [`Executor`](super::Executor)s at once, each with its own arena.

pub(super) mod analysis;
pub(super) mod arena;
pub(super) mod bags;
pub(super) mod check;
pub(super) mod fused_group;
pub(super) mod last_uses;
pub(super) mod link;
pub(super) mod lookup;
pub(super) mod lower;
pub(super) mod memory;
pub(super) mod place;
pub(super) mod repeated_lookups;
pub(super) mod rows;
pub(super) mod rows_in_place;
pub(super) mod schedule;
pub(super) mod slices;
pub(super) mod table_rows;
pub(super) mod tiles;

use smallvec::SmallVec;

use crate::array::{Array, Type};
use crate::rules::{Kernel, OpRef};
use rows::{Bags, RowTerms};

/// Elements of a fused block: small enough that a few registers stay in the first-level
/// cache.
pub(super) const BLOCK: usize = 512;

/// Where a value lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// At a byte offset of the arena.
    Arena(usize),
    /// In what was bound to a leaf.
    Leaf(usize),
    /// Among the plan's constants.
    Constant(usize),
    /// Nowhere: only the type is read.
    Nowhere,
}

/// A value's location and type.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub location: Location,
    pub ty: Type,
}

/// One operand or result of a fused operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FusedOperand {
    /// One of the group's external values.
    External(usize),
    /// A block-sized register.
    Register(usize),
}

/// One elementwise operator of a fused group.
#[derive(Debug, Clone)]
pub(super) struct Fused {
    pub kernel: Kernel,
    pub args: SmallVec<[FusedOperand; 3]>,
    pub out: FusedOperand,
}

/// An operand of a group that is repeated in a register (see [`tiles`]).
#[derive(Debug, Clone, Copy)]
pub(super) struct RowTile {
    /// Among the group's externals.
    pub external: usize,
    pub register: usize,
}

/// Elementwise operators over one shape, run block by block.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Values read from or written to memory.
    pub externals: Vec<Place>,
    pub ops: Vec<Fused>,
    /// Values that are repeated in registers before the operators run.
    pub tiles: Vec<RowTile>,
    /// Element type and shape of the space.
    pub ty: Type,
}

/// Rows that a dot product reads.
#[derive(Debug, Clone)]
pub(super) struct DotRows {
    /// The table and the indices, if they are looked up on the way.
    pub lookup: Option<(usize, Place)>,
    /// Where they are, or are copied to.
    pub place: Place,
}

/// One step of a plan.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Copies a whole table. A copy that is kept is there in the next run: no other step writes to its
    /// memory.
    Load {
        table: usize,
        out: Place,
        is_kept: bool,
    },
    /// Copies rows of a table.
    Gather {
        table: usize,
        index: Place,
        out: Place,
    },
    /// Sums rows of a table in bags.
    Bag {
        table: usize,
        index: Place,
        bags: Bags<Place>,
        out: Place,
    },
    /// Copies rows of a table, and multiplies them with others, row by row.
    GatherDot {
        rows: DotRows,
        others: DotRows,
        out: Place,
    },
    /// Multiplies rows of a table, which stay where they are, with others, row by row.
    DotInPlace {
        table: usize,
        index: Place,
        others: Place,
        out: Place,
    },
    /// Elementwise operators.
    Group(Group),
    /// Any other operator.
    Kernel {
        op: OpRef,
        args: SmallVec<[Place; 3]>,
        out: Place,
    },
}

/// The gradient of one parameter; what names a value is `V`.
#[derive(Debug, Clone)]
pub(crate) enum Sink<V = Place> {
    /// An array.
    Dense(V),
    /// Rows; equal indices add up.
    Rows(Vec<RowTerms<V>>),
}

impl<V: Copy> Sink<V> {
    /// All that it is made of.
    pub(super) fn values(&self) -> Vec<V> {
        match self {
            Sink::Dense(value) => vec![*value],
            Sink::Rows(parts) => parts.iter().flat_map(RowTerms::values).copied().collect(),
        }
    }
}

impl<V> Sink<V> {
    /// The same gradient by other names.
    pub(super) fn map<W>(&self, mut name: impl FnMut(&V) -> W) -> Sink<W> {
        match self {
            Sink::Dense(value) => Sink::Dense(name(value)),
            Sink::Rows(parts) => Sink::Rows(parts.iter().map(|part| part.map(&mut name)).collect()),
        }
    }
}

/// Which gradients a plan computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrt {
    /// None: the value alone.
    Nothing,
    /// Those of the trained parameters.
    Parameters,
    /// Those of parameters and variables.
    All,
}

/// A program for concrete shapes.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) constants: Vec<Array>,
    pub(super) arena_bytes: usize,
    pub(super) registers: usize,
    /// Types of the leaves, tables included.
    pub(super) leaves: Vec<Type>,
    /// Which leaves are tables, and which one.
    pub(super) tables: Vec<Option<usize>>,
    /// Which leaves are inputs.
    pub(super) inputs: Vec<bool>,
    pub(crate) result: Place,
    /// For each gradient asked for, the leaf.
    pub(super) gradients: Vec<usize>,
    /// One for each gradient asked for; `None` if it is zero.
    pub(crate) sinks: Vec<Option<Sink>>,
    /// For each leaf that holds indices, the number of rows it must stay below.
    pub(crate) bounds: Vec<Option<usize>>,
}

impl Plan {
    /// Calls `f` with every operator that this holds but for elementwise ones.
    #[cfg(feature = "python")]
    pub(super) fn operators(&self, f: &mut dyn FnMut(&OpRef)) {
        for step in &self.steps {
            if let Step::Kernel { op, .. } = step {
                f(op);
            }
        }
    }

    /// Number of steps, for tests of fusion and for the curious.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Number of operators, those of groups included.
    pub(super) fn operators_in_all(&self) -> usize {
        let count = |step: &Step| match step {
            Step::Group(group) => group.ops.len(),
            _ => 1,
        };
        self.steps.iter().map(count).sum()
    }

    /// Bytes of the arena that one executor needs.
    pub fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    /// Rows that are looked up straight from a table: the table, and the number of the input
    /// that names them.
    pub(crate) fn lookups(&self) -> Vec<(usize, usize)> {
        let looked_up = self.steps.iter().flat_map(|s| match s {
            Step::Gather { table, index, .. } | Step::DotInPlace { table, index, .. } => {
                [Some((*table, index)), None]
            }
            Step::GatherDot { rows, others, .. } => {
                [rows, others].map(|r| r.lookup.as_ref().map(|(table, index)| (*table, index)))
            }
            _ => [None, None],
        });
        let input = |leaf: usize| self.inputs[..leaf].iter().filter(|&&i| i).count();
        let by_input = looked_up
            .flatten()
            .filter_map(|(table, index)| match index.location {
                Location::Leaf(leaf) => Some((table, input(leaf))),
                _ => None,
            });
        by_input.collect()
    }

    /// For each input, the number of rows that its indices must stay below.
    pub(crate) fn input_bounds(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        let both = self.bounds.iter().zip(&self.inputs);
        both.filter(|(_, input)| **input).map(|(bound, _)| *bound)
    }

    /// Bytes that a run is on: of the arena and of all leaves but tables, of which what is read is
    /// copied to the arena.
    pub(crate) fn bytes(&self) -> usize {
        let leaves = self.leaves.iter().zip(&self.tables);
        let arrays = leaves.filter(|(_, table)| table.is_none());
        let bytes = arrays.map(|(ty, _)| ty.size() * ty.dtype.size());
        bytes.fold(self.arena_bytes, usize::saturating_add)
    }

    /// Bytes of the registers of groups, which a run is on too.
    pub(crate) fn register_bytes(&self) -> usize {
        self.registers * BLOCK * size_of::<f64>()
    }

    /// Types that the leaves must have, in order.
    pub fn leaves(&self) -> &[Type] {
        &self.leaves
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::array::{DType, Dense};
    use crate::exec::{Leaf, Program, Wrt};
    use crate::ir::{Builder, Terminator, ValueId};
    use crate::rules::{Add, Algebra, BasicSlice, Gather, Sin, SliceItem, Square, Sum, VecDot};
    use crate::table::Table;

    /// Bytes that one executor needs.
    fn memory(plan: &Plan) -> usize {
        plan.arena_bytes + plan.register_bytes()
    }

    fn program(leaves: Vec<Leaf>, build: impl Fn(&Builder, &[ValueId]) -> ValueId) -> Program {
        let b = Builder::new();
        let parameter = |leaf: &Leaf| match leaf {
            Leaf::Parameter(table) => b.parameter(table.ty().clone()),
            Leaf::Independent(_, value) => b.parameter(value.ty()),
            Leaf::Input { ty, .. } => b.parameter(ty.clone()),
        };
        let parameters: Vec<ValueId> = leaves.iter().map(parameter).collect();
        b.terminate(Terminator::Return(vec![build(&b, &parameters)]));
        Program::new(b.finish("f").unwrap(), leaves).unwrap()
    }

    #[test]
    fn a_long_chain_needs_the_memory_of_a_short_one() {
        const LENGTH: usize = 1000;
        const BUFFER: usize = 10_000 * size_of::<f64>();
        let leaf = Leaf::Independent(0, Array::full(&Type::new(DType::F64, &[10_000]), 0.5));
        let chain = || {
            program(vec![leaf.clone()], |b, x| {
                let sine = |x, _| b.try_apply(OpRef::Static(&Sin), &[x]).unwrap();
                (0..LENGTH).fold(x[0], sine)
            })
        };
        let forward = chain().plan(&[], Wrt::Nothing).unwrap();
        assert_eq!(forward.steps(), 1, "one fused loop");
        assert!(memory(&forward) < 2 * BUFFER, "{}", memory(&forward));
        // The gradient needs every value of the chain, but only a block of each at a time.
        let gradient = chain().plan(&[], Wrt::All).unwrap();
        assert!(memory(&gradient) < 100 * BUFFER, "{}", memory(&gradient));
        let unfused = chain().unfused().plan(&[], Wrt::Nothing).unwrap();
        assert_eq!(unfused.steps(), LENGTH);
        assert!(memory(&unfused) < 3 * BUFFER, "{}", memory(&unfused));
    }

    #[test]
    fn dot_products_look_up_their_rows_in_passing() {
        let table = || {
            let ty = Type::new(DType::F32, &[5, 3]);
            let numbers: Vec<f32> = (0..15).map(|k| k as f32).collect();
            let value: Array = Dense::new(&ty.shape, numbers).unwrap().into();
            Leaf::Parameter(Arc::new(Table::new(&value, None).unwrap()))
        };
        let index = |id| Leaf::Input {
            id,
            ty: Type::new(DType::U32, &[2]),
            name: "rows".into(),
        };
        let apply =
            |b: &Builder, op, args: &[ValueId]| b.try_apply(OpRef::Static(op), args).unwrap();
        // The products of a user with two items, and of an item with itself.
        let scores = program(vec![table(), table(), index(0), index(1)], |b, x| {
            let (user, item) = (
                apply(b, &Gather, &[x[0], x[2]]),
                apply(b, &Gather, &[x[1], x[3]]),
            );
            let other = apply(b, &Gather, &[x[1], x[2]]);
            let [first, second] = [item, other].map(|item| apply(b, &VecDot, &[user, item]));
            let itself = apply(b, &VecDot, &[item, item]);
            let both = apply(b, &Add, &[first, second]);
            apply(b, &Add, &[both, itself])
        });
        let shapes = [[2].as_slice().into(), [2].as_slice().into()];
        let plan = scores.plan(&shapes, Wrt::Nothing).unwrap();
        let steps = plan.steps.iter().map(|s| match s {
            Step::GatherDot { others, .. } if others.lookup.is_some() => "two lookups",
            Step::GatherDot { .. } => "one lookup",
            Step::Kernel { .. } => "dot",
            Step::Group(_) => "sums",
            _ => "other",
        });
        assert_eq!(
            steps.collect::<Vec<_>>(),
            ["two lookups", "dot", "one lookup", "sums"]
        );
        assert_eq!(plan.lookups(), [(0, 0), (1, 1), (1, 0)]);
        let rows: [Array; 2] = [vec![4u32, 0].into(), vec![1u32, 2].into()];
        let fused = scores.run(&rows).unwrap();
        assert_eq!(fused.to_f64(), [158.0 + 509.0 + 50.0, 23.0 + 5.0 + 149.0]);
        let unfused = scores.unfused().run(&rows).unwrap();
        assert_eq!(fused.to_f64(), unfused.to_f64());
    }

    #[test]
    fn lookups_in_a_large_table_need_little_memory() {
        let ty = Type::new(DType::F32, &[1_000_000, 64]);
        let table = Arc::new(Table::zeros(&ty, None).unwrap());
        let index = Leaf::Input {
            id: 0,
            ty: Type::new(DType::U32, &[64]),
            name: "rows".into(),
        };
        let lookup = program(vec![Leaf::Parameter(table), index], |b, args| {
            let rows = b.try_apply(OpRef::Static(&Gather), args).unwrap();
            b.try_apply(OpRef::Static(&Square), &[rows]).unwrap()
        });
        let plan = lookup.plan(&[[64].as_slice().into()], Wrt::All).unwrap();
        assert!(matches!(plan.sinks[..], [Some(Sink::Rows(_))]));
        assert!(memory(&plan) < 100_000, "{}", memory(&plan));
        // And the run does not count as a long one.
        assert!(plan.bytes() < 100_000, "{}", plan.bytes());
    }

    #[test]
    fn slices_of_a_large_table_need_little_memory() {
        let ty = Type::new(DType::F32, &[1_000_000, 64]);
        let table = Arc::new(Table::zeros(&ty, None).unwrap());
        let range = |start, stop, step| SliceItem::Range { start, stop, step };
        let part = range(Some(2), Some(4), 1);
        for items in [
            vec![SliceItem::At(5)],
            vec![SliceItem::At(-1)],
            vec![SliceItem::NewAxis, SliceItem::At(5)],
            vec![range(Some(5), Some(8), 1)],
            vec![range(Some(-1), Some(-4), -2)],
            vec![SliceItem::At(5), part],
            vec![part, SliceItem::At(-1)],
        ] {
            // Twice, and another part of the same rows: one lookup.
            let mut other = items.clone();
            other.push(SliceItem::NewAxis);
            let slices = || {
                program(vec![Leaf::Parameter(Arc::clone(&table))], |b, w| {
                    let take = |items: &Vec<_>| {
                        let items = items.clone();
                        b.try_apply(OpRef::new(BasicSlice { items }), w).unwrap()
                    };
                    let all = [take(&items), take(&items), take(&other)];
                    let square = all.map(|x| b.try_apply(OpRef::Static(&Square), &[x]).unwrap());
                    let sum = square.map(|x| {
                        let all = (0..b.ty(x).ndim()).collect();
                        let sum = Sum {
                            axes: all,
                            keepdims: false,
                        };
                        b.try_apply(OpRef::new(sum), &[x]).unwrap()
                    });
                    let [x, y, z] = sum;
                    let both = b.try_apply(OpRef::Static(&Add), &[x, y]).unwrap();
                    b.try_apply(OpRef::Static(&Add), &[both, z]).unwrap()
                })
            };
            for program in [slices(), slices().unfused()] {
                for wrt in [Wrt::Nothing, Wrt::All] {
                    let plan = program.plan(&[], wrt).unwrap();
                    let lookups = plan.steps.iter().filter(|s| match s {
                        Step::Load { .. } => panic!("{items:?} loads the table"),
                        step => matches!(step, Step::Gather { .. }),
                    });
                    assert_eq!(lookups.count(), 1, "{items:?}");
                    assert!(memory(&plan) < 100_000, "{items:?} {}", memory(&plan));
                }
            }
        }
    }
}
