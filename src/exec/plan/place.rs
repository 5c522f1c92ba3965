//! Where a plan's values live: addresses in the arena, registers of fused groups.
//!
//! The units of a schedule are walked once. A value gets memory when it is computed and gives
//! it back after its last reader; a value that only its own group reads lives in a register
//! of one block.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::analysis::Analysis;
use super::arena::Offsets;
use super::{DotRows, Fused, FusedOperand, Group, Location, Place, Step};
use crate::array::Type;
use crate::ir::ValueId;

/// Gives values their places while walking the units.
pub(in crate::exec) struct Placer<'l, 'f> {
    pub(in crate::exec) low: &'l Analysis<'f>,
    pub(in crate::exec) layout: Offsets,
    pub(in crate::exec) peak: usize,
    pub(in crate::exec) places: HashMap<ValueId, usize>,
    /// The last unit that reads each base value; `usize::MAX` for results.
    pub(in crate::exec) last: HashMap<ValueId, usize>,
    pub(in crate::exec) steps: Vec<Step>,
    pub(in crate::exec) registers: usize,
    /// Lookups that wait for the dot product that reads them first.
    pub(in crate::exec) in_passing: HashSet<usize>,
}

impl<'l, 'f> Placer<'l, 'f> {
    pub(in crate::exec) fn new(low: &'l Analysis<'f>, in_passing: HashSet<usize>) -> Self {
        Placer {
            low,
            layout: Offsets::default(),
            peak: 0,
            places: HashMap::new(),
            last: HashMap::new(),
            steps: Vec::new(),
            registers: 0,
            in_passing,
        }
    }

    fn bytes(ty: &Type) -> usize {
        ty.size() * ty.dtype.size()
    }

    fn allocate(&mut self, value: ValueId) -> Place {
        let ty = self.low.function.ty(value).clone();
        let offset = self.layout.allocate(Self::bytes(&ty));
        self.peak = self.peak.max(self.layout.end());
        self.places.insert(value, offset);
        Place {
            location: Location::Arena(offset),
            ty,
        }
    }

    /// Loads a table before anything else is placed, and keeps it. Nothing has been in this memory before,
    /// and nothing else will be.
    pub(in crate::exec) fn keep(&mut self, table: usize, value: ValueId) {
        let out = self.allocate(value);
        self.last.insert(value, usize::MAX);
        self.steps.push(Step::Load {
            table,
            out,
            is_kept: true,
        });
    }

    /// Where a value is; tables read as arrays are loaded on first use.
    pub(in crate::exec) fn place(&mut self, value: ValueId) -> Place {
        let base = self.low.base[value as usize];
        let ty = self.low.function.ty(value).clone();
        let location = if let Some(&offset) = self.places.get(&base) {
            Location::Arena(offset)
        } else if let Some(&k) = self.low.constant.get(&base) {
            Location::Constant(k)
        } else if let Some(table) = self.low.table_of(base) {
            let out = self.allocate(base);
            let location = out.location;
            self.steps.push(Step::Load {
                table,
                out,
                is_kept: false,
            });
            location
        } else if let Some(&leaf) = self.low.leaf.get(&base) {
            Location::Leaf(leaf)
        } else {
            unreachable!("value %{base} is read before it is computed")
        };
        Place { location, ty }
    }

    fn release_after(&mut self, unit: usize, values: impl Iterator<Item = ValueId>) {
        for v in values {
            let base = self.low.base[v as usize];
            if self.last.get(&base) == Some(&unit)
                && let Some(offset) = self.places.remove(&base)
            {
                self.layout
                    .release(offset, Self::bytes(self.low.function.ty(base)));
            }
        }
    }

    /// The rows that a dot product reads in operand `value`.
    fn rows(&mut self, value: ValueId) -> DotRows {
        let low = self.low;
        let waiting = low.node_of[value as usize].filter(|n| self.in_passing.remove(n));
        let lookup = waiting.and_then(|n| {
            let node = &low.nodes[n];
            Some((low.is_table_gather(node)?, self.place(node.args[1])))
        });
        DotRows {
            place: match lookup {
                Some(_) => self.allocate(value),
                None => self.place(value),
            },
            lookup,
        }
    }

    pub(in crate::exec) fn one(&mut self, unit: usize, n: usize) {
        let low = self.low;
        let node = &low.nodes[n];
        let waits =
            |v: &&ValueId| low.node_of[**v as usize].is_some_and(|n| self.in_passing.contains(&n));
        let step = if let Some(&first) = node.args.iter().find(waits) {
            // A dot product: its operands may change places.
            let other = node.args[usize::from(node.args[0] == first)];
            Step::GatherDot {
                rows: self.rows(first),
                others: self.rows(other),
                out: self.allocate(node.result),
            }
        } else if let Some(table) = low.is_table_gather(node) {
            let index = self.place(node.args[1]);
            Step::Gather {
                table,
                index,
                out: self.allocate(node.result),
            }
        } else if let Some((table, index, bags)) = low.is_table_bag(node) {
            Step::Bag {
                table,
                index: self.place(index),
                bags: bags.map(|&value| self.place(value)),
                out: self.allocate(node.result),
            }
        } else {
            // An operand of which only the shape is read has no memory.
            let args = node.args.iter().zip(&node.reads).map(|(&a, &reads)| {
                if reads {
                    self.place(a)
                } else {
                    Place {
                        location: Location::Nowhere,
                        ty: low.function.ty(a).clone(),
                    }
                }
            });
            let args = args.collect();
            Step::Kernel {
                op: node.op.clone(),
                args,
                out: self.allocate(node.result),
            }
        };
        self.steps.push(step);
        self.release_after(unit, low.read(node));
    }

    pub(in crate::exec) fn group(&mut self, unit: usize, members: &[usize]) {
        let low = self.low;
        let inside: HashMap<ValueId, usize> = members
            .iter()
            .enumerate()
            .map(|(at, &n)| (low.nodes[n].result, at))
            .collect();
        // The last member that reads each inner value.
        let mut last_inside = vec![0; members.len()];
        for (at, &n) in members.iter().enumerate() {
            last_inside[at] = at;
            for &a in low.nodes[n].args {
                // An inner value under another shape comes from outside the group.
                if let Some(&from) = inside.get(&low.base[a as usize]) {
                    last_inside[from] = at;
                }
            }
        }
        let ty = low.function.ty(low.nodes[members[0]].result).clone();
        let mut externals: Vec<Place> = Vec::new();
        let mut external_of: HashMap<ValueId, usize> = HashMap::new();
        let mut ops: Vec<Fused> = Vec::with_capacity(members.len());
        let mut register_of: HashMap<ValueId, usize> = HashMap::new();
        let mut free: Vec<usize> = Vec::new();
        let mut expires: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
        let mut count = 0;
        for (at, &n) in members.iter().enumerate() {
            let node = &low.nodes[n];
            let mut args: SmallVec<[FusedOperand; 3]> = SmallVec::new();
            for &a in node.args {
                let base = low.base[a as usize];
                if let Some(&r) = register_of.get(&base) {
                    args.push(FusedOperand::Register(r));
                    continue;
                }
                let key = if inside.contains_key(&base) { base } else { a };
                let next = externals.len();
                let k = *external_of.entry(key).or_insert(next);
                if k == next {
                    let place = self.place(a);
                    externals.push(place);
                }
                args.push(FusedOperand::External(k));
            }
            let leaves = self.last.get(&node.result).is_some_and(|&u| u > unit);
            let out = if leaves {
                let place = self.allocate(node.result);
                externals.push(place);
                external_of.insert(node.result, externals.len() - 1);
                FusedOperand::External(externals.len() - 1)
            } else {
                let r = free.pop().unwrap_or_else(|| {
                    count += 1;
                    count - 1
                });
                register_of.insert(node.result, r);
                expires[last_inside[at]].push(r);
                FusedOperand::Register(r)
            };
            let Some(kernel) = node.kernel else {
                unreachable!("members of a group have kernels");
            };
            ops.push(Fused { kernel, args, out });
            free.append(&mut expires[at]);
        }
        let mut group = Group {
            externals,
            ops,
            tiles: Vec::new(),
            ty,
        };
        self.registers = self.registers.max(group.tile(count));
        self.steps.push(Step::Group(group));
        for &n in members {
            self.release_after(unit, low.read(&low.nodes[n]));
        }
    }
}
