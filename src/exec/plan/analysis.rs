//! What lowering knows of a function: who computes and reads a value, what shares memory, which
//! operators may run together, which lookups are of tables.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::rows::{Bags, ReturnedRows, RowTerms};
use super::schedule::{Unit, schedule};
use crate::array::{Array, Shape, Slice, Type, View, broadcast};
use crate::error::Result;
use crate::ir::{Function, Straight, ValueId};
use crate::optim::gradient::Term;
use crate::rules::differentiate::Product;
use crate::rules::{
    Bag, Form, Gather, Kernel, OpRef, Operator, VecDot, check_indices, is_one_of, shares,
};

/// What to plan.
pub(in crate::exec) struct Request<'a> {
    pub function: &'a Function,
    /// What rules made in it.
    pub products: [&'a [Product]; 2],
    /// The type of every parameter of the function.
    pub leaves: Vec<Type>,
    /// Which of them are tables, and which one.
    pub tables: Vec<Option<usize>>,
    /// Which of them are inputs.
    pub inputs: Vec<bool>,
    /// For each gradient asked for: the parameter, and which result holds it.
    pub gradients: Vec<(usize, Option<usize>)>,
    /// Whether to fuse elementwise operators.
    pub fuse: bool,
    /// Whether copies of tables are kept from run to run.
    pub keeps_tables: bool,
}

/// An instruction that is scheduled. What its operator says of itself is asked once: one of
/// another crate may say something else the next time, and then parts of a plan would not fit
/// each other.
pub(in crate::exec) struct Scheduled<'f> {
    pub(in crate::exec) result: ValueId,
    pub(in crate::exec) op: &'f OpRef,
    pub(in crate::exec) args: &'f [ValueId],
    /// For each operand, whether its value is read.
    pub(in crate::exec) reads: SmallVec<[bool; 4]>,
    /// The kernel by which it may join a group.
    pub(in crate::exec) kernel: Option<Kernel>,
}

pub(in crate::exec) struct Analysis<'f> {
    pub(in crate::exec) function: &'f Function,
    pub(in crate::exec) request: &'f Request<'f>,
    /// Which parameter a value is.
    pub(in crate::exec) leaf: HashMap<ValueId, usize>,
    pub(in crate::exec) constant: HashMap<ValueId, usize>,
    pub(in crate::exec) constants: Vec<Array>,
    /// The instructions in program order.
    pub(in crate::exec) nodes: Vec<Scheduled<'f>>,
    /// Which instruction defines a value.
    pub(in crate::exec) node_of: Vec<Option<usize>>,
    /// The value whose memory holds a value's elements.
    pub(in crate::exec) base: Vec<ValueId>,
    /// How often a value is read, results included.
    pub(in crate::exec) uses: Vec<u32>,
}

impl<'f> Analysis<'f> {
    pub(in crate::exec) fn new(function: &'f Function, request: &'f Request<'f>) -> Result<Self> {
        let (block, results) = function.straight()?;
        let count = function.kinds.len();
        let mut low = Analysis {
            function,
            request,
            leaf: HashMap::new(),
            constant: HashMap::new(),
            constants: Vec::new(),
            nodes: Vec::new(),
            node_of: vec![None; count],
            base: (0..count as ValueId).collect(),
            uses: vec![0; count],
        };
        for (k, &p) in block.parameters.iter().enumerate() {
            low.leaf.insert(p, k);
        }
        for &r in results {
            low.uses[r as usize] += 1;
        }
        for i in &block.instructions {
            match i.straight() {
                Straight::Constant(a) => {
                    low.constant.insert(i.result(), low.constants.len());
                    low.constants.push(a.clone());
                }
                Straight::Apply(op, args) => {
                    for &a in args {
                        low.uses[a as usize] += 1;
                    }
                    let types: SmallVec<[&Type; 4]> =
                        args.iter().map(|&a| function.ty(a)).collect();
                    let out = function.ty(i.result());
                    if shares(&**op, &types, out) {
                        low.base[i.result() as usize] = low.base[args[0] as usize];
                    } else if let Some(value) = low.repeated(op, args, &types, out) {
                        low.constant.insert(i.result(), low.constants.len());
                        low.constants.push(value);
                        continue;
                    }
                    low.node_of[i.result() as usize] = Some(low.nodes.len());
                    let kernel = match request.fuse {
                        true => elementwise(&**op, &types, out),
                        false => None,
                    };
                    // A kernel is given all its operands.
                    let reads = (0..args.len()).map(|k| kernel.is_some() || op.reads(k));
                    low.nodes.push(Scheduled {
                        result: i.result(),
                        op,
                        args,
                        reads: reads.collect(),
                        kernel,
                    });
                }
            }
        }
        Ok(low)
    }

    /// A constant repeated, if that is small: the plan has it, and no run writes it anew.
    fn repeated(&self, op: &OpRef, args: &[ValueId], types: &[&Type], out: &Type) -> Option<Array> {
        const MOST: usize = 1024;
        if !is_one_of!(op: BroadcastLike, BroadcastTo) || out.size() > MOST {
            return None;
        }
        let &of = self.constant.get(args.first()?)?;
        let views = types.iter().enumerate().map(|(k, ty)| match k {
            0 => View::new(&ty.shape, self.constants[of].view().data),
            _ => View::new(&ty.shape, Slice::F64(&[])),
        });
        let views: SmallVec<[View<'_>; 2]> = views.collect();
        let mut value = Array::zeros(out).ok()?;
        op.eval(&views, value.view_mut()?).ok()?;
        Some(value)
    }

    fn node(&self, value: ValueId) -> Option<&Scheduled<'f>> {
        self.node_of[value as usize].map(|n| &self.nodes[n])
    }

    /// The operands of `value`'s definition, if that is an operator of two and of this form.
    fn args_of(&self, value: ValueId, form: Form) -> Option<[ValueId; 2]> {
        let node = self.node(value)?;
        let args = <[ValueId; 2]>::try_from(node.args).ok()?;
        (node.op.form() == form).then_some(args)
    }

    /// The summands of a value that is read once, each read once. A sum with a number that is repeated is one:
    /// where there is one row, operators read the number itself, and bits do not depend on how many rows there are.
    fn summands(&self, value: ValueId) -> Vec<ValueId> {
        let mut out = Vec::new();
        let mut stack = vec![value];
        while let Some(v) = stack.pop() {
            let is_repeated = |x: ValueId| {
                self.node(x)
                    .is_some_and(|node| node.op.form() == Form::Repeated)
            };
            let alike =
                |&x: &ValueId| self.function.ty(x) == self.function.ty(v) && !is_repeated(x);
            match self.args_of(v, Form::Sum) {
                Some([a, b]) if self.uses[v as usize] == 1 && [a, b].iter().all(alike) => {
                    stack.push(b);
                    stack.push(a);
                }
                _ => out.push(v),
            }
        }
        out
    }

    /// Rows with their terms. A sum of rows is several terms, and rows that are a product of a number
    /// and a row each (the gradient of a dot product) are not computed: whoever applies the gradient
    /// multiplies in passing.
    pub(in crate::exec) fn rows(
        &self,
        parameter: &Type,
        returned: &[ReturnedRows],
    ) -> Vec<RowTerms<ValueId>> {
        let ty = |v: ValueId| self.function.ty(v);
        let mut parts: Vec<RowTerms<ValueId>> = Vec::new();
        let mut part_of: HashMap<(ValueId, &Option<Bags<ValueId>>), usize> = HashMap::new();
        for &ReturnedRows {
            index,
            rows,
            ref bags,
        } in returned
        {
            let term = |v| match self.args_of(v, Form::RowProduct) {
                // A row of the table is a row of the product in tables of two axes only.
                Some([scale, rows])
                    if parameter.ndim() == 2
                        && ty(rows) == ty(v)
                        && ty(scale).size() == ty(index).size() =>
                {
                    Term::new(Some(scale), rows)
                }
                _ => Term::new(None, v),
            };
            let terms = self.summands(rows).into_iter().map(term);
            // Lookups written twice are one part.
            match part_of.entry((index, bags)) {
                Entry::Occupied(known) => parts[*known.get()].terms.extend(terms),
                Entry::Vacant(place) => {
                    place.insert(parts.len());
                    let terms = terms.collect();
                    let bags = bags.clone();
                    parts.push(RowTerms { index, terms, bags });
                }
            }
        }
        parts
    }

    /// Operands whose values `node` reads.
    pub(in crate::exec) fn read<'n>(
        &self,
        node: &'n Scheduled<'f>,
    ) -> impl Iterator<Item = ValueId> + use<'n, 'f> {
        let args = node.args.iter().zip(&node.reads);
        args.filter(|(_, reads)| **reads).map(|(&a, _)| a)
    }

    /// Whether a node renames another value's memory.
    fn is_alias(&self, node: &Scheduled<'f>) -> bool {
        self.base[node.result as usize] != node.result
    }

    /// Whether a node looks up rows of a table directly.
    pub(in crate::exec) fn is_table_gather(&self, node: &Scheduled<'f>) -> Option<usize> {
        let &[table, index] = node.args else {
            return None;
        };
        let types = [table, index].map(|v| self.function.ty(v));
        let fits = node.op.form() == Form::RowLookup
            && Gather
                .infer(&types)
                .is_ok_and(|ty| ty == *self.function.ty(node.result));
        self.table_of(table).filter(|_| fits)
    }

    /// Whether a node sums rows of a table directly, in bags that an index chooses: the table, the index
    /// and the bags.
    pub(in crate::exec) fn is_table_bag(
        &self,
        node: &Scheduled<'f>,
    ) -> Option<(usize, ValueId, Bags<ValueId>)> {
        let &[table, index, ids, offsets, ref weights @ ..] = node.args else {
            return None;
        };
        let types: SmallVec<[&Type; 5]> = node.args.iter().map(|&v| self.function.ty(v)).collect();
        let bag = Bag {
            chosen: true,
            weighted: !weights.is_empty(),
        };
        let fits = node.op.form() == Form::BagLookup
            && bag
                .infer(&types)
                .is_ok_and(|ty| ty == *self.function.ty(node.result));
        let table = self.table_of(table).filter(|_| fits)?;
        let weights = weights.first().copied();
        let bags = Bags {
            ids,
            offsets,
            weights,
        };
        Some((table, index, bags))
    }

    pub(in crate::exec) fn table_of(&self, value: ValueId) -> Option<usize> {
        let leaf = self.leaf.get(&value)?;
        self.request.tables[*leaf]
    }

    /// The tables that are read whole and whose copies are kept, each with the value that it is. A small
    /// table is copied as fast as its version is compared, and large ones would fill the memory: a copy
    /// belongs to each executor.
    pub(in crate::exec) fn kept_tables(
        &self,
        units: &[Unit],
        roots: &[ValueId],
    ) -> Vec<(usize, ValueId)> {
        const LEAST: usize = 64;
        const MOST: usize = 1 << 24;
        let (mut kept, mut met) = (Vec::new(), HashSet::new());
        if !self.request.keeps_tables {
            return kept;
        }
        let nodes = units.iter().flat_map(Unit::members);
        let read = nodes.map(|&n| &self.nodes[n]).flat_map(|node| {
            let is_lookup =
                self.is_table_gather(node).is_some() || self.is_table_bag(node).is_some();
            self.read(node).skip(usize::from(is_lookup))
        });
        let mut room = MOST;
        for value in read.chain(roots.iter().copied()) {
            let value = self.base[value as usize];
            let Some(table) = self.table_of(value) else {
                continue;
            };
            let ty = self.function.ty(value);
            let bytes = ty.size() * ty.dtype.size();
            if met.insert(value) && (LEAST..=room).contains(&bytes) {
                room -= bytes;
                kept.push((table, value));
            }
        }
        kept
    }

    /// Lookups whose rows a dot product is the first to read: they wait for it, and both are
    /// one step.
    pub(in crate::exec) fn in_passing(&self, units: &[Unit]) -> HashSet<usize> {
        let mut waiting: HashSet<usize> = HashSet::new();
        let mut met: HashSet<ValueId> = HashSet::new();
        if !self.request.fuse {
            return waiting;
        }
        for unit in units {
            for node in unit.members().iter().map(|&n| &self.nodes[n]) {
                let is_dot = self.is_row_dot(node) && node.args[0] != node.args[1];
                for &a in node.args {
                    let first = met.insert(self.base[a as usize]);
                    if let Some(n) = self.node_of[a as usize]
                        && first
                        && is_dot
                        && self.is_table_gather(&self.nodes[n]).is_some()
                        && self.function.ty(self.nodes[n].args[0]).ndim() == 2
                    {
                        waiting.insert(n);
                    }
                }
            }
        }
        waiting
    }

    /// The nodes whose values the roots need.
    pub(in crate::exec) fn needed(&self, roots: &[ValueId]) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        let mark = |v: ValueId, needed: &mut Vec<bool>| {
            if let Some(n) = self.node_of[self.base[v as usize] as usize] {
                needed[n] = true;
            }
        };
        for &r in roots {
            mark(r, &mut needed);
        }
        for n in (0..self.nodes.len()).rev() {
            if needed[n] {
                for a in self.read(&self.nodes[n]) {
                    mark(a, &mut needed);
                }
            }
        }
        needed
    }

    /// Whether a node is the dot products of the rows of two operands.
    fn is_row_dot(&self, node: &Scheduled<'f>) -> bool {
        let types: SmallVec<[&Type; 4]> = node.args.iter().map(|&a| self.function.ty(a)).collect();
        node.op.form() == Form::RowDot
            && VecDot
                .infer(&types)
                .is_ok_and(|ty| ty == *self.function.ty(node.result))
    }

    /// For each leaf that holds indices, the least number that they must stay below where it is
    /// used. `gradients` are those of rows, each with the number of rows that its table has.
    ///
    /// # Errors
    /// [`Index`](crate::Error::Index) if a constant index is out of range.
    pub(in crate::exec) fn bounds<'r>(
        &self,
        gradients: impl Iterator<Item = (&'r Vec<RowTerms<ValueId>>, usize)>,
    ) -> Result<Vec<Option<usize>>> {
        let mut bounds = vec![None; self.request.leaves.len()];
        let mut bound = |name: &str, at: ValueId, n: usize| {
            // What is a leaf under another shape has its elements.
            let at = self.base[at as usize];
            if let Some(&leaf) = self.leaf.get(&at) {
                let bound: &mut Option<usize> = &mut bounds[leaf];
                *bound = Some(bound.map_or(n, |old| old.min(n)));
            }
            if let Some(&k) = self.constant.get(&at)
                && let Array::U32(indices) = &self.constants[k]
            {
                check_indices(|| name.to_owned(), indices.as_slice(), n)?;
            }
            Ok(())
        };
        for node in &self.nodes {
            let types: SmallVec<[&Type; 4]> =
                node.args.iter().map(|&a| self.function.ty(a)).collect();
            for (k, &at) in node.args.iter().enumerate() {
                if !types[k].dtype.is_real()
                    && let Some(n) = node.op.limit(k, &types)
                {
                    bound(node.op.name(), at, n)?;
                }
            }
        }
        for (rows, n) in gradients {
            for part in rows {
                match &part.bags {
                    None => bound("the gradient of a lookup", part.index, n)?,
                    Some(bags) => {
                        let count = self.function.ty(bags.offsets).size().saturating_sub(1);
                        bound("the gradient of a bag", part.index, count)?;
                        bound("the gradient of a bag", bags.ids, n)?;
                    }
                }
            }
        }
        Ok(bounds)
    }

    /// The units in order.
    pub(in crate::exec) fn order(&self, needed: &[bool]) -> Vec<Unit> {
        let mut users = vec![Vec::new(); self.nodes.len()];
        let mut waits = vec![0; self.nodes.len()];
        let scheduled = |n: usize| needed[n] && !self.is_alias(&self.nodes[n]);
        for n in (0..self.nodes.len()).filter(|&n| scheduled(n)) {
            for a in self.read(&self.nodes[n]) {
                if let Some(m) = self.node_of[self.base[a as usize] as usize] {
                    users[m].push(n);
                    waits[n] += 1;
                }
            }
        }
        let shape = |n: usize| {
            let node = &self.nodes[n];
            node.kernel.map(|_| {
                // Groups are of one element type, so make it part of the key.
                let ty = self.function.ty(node.result);
                let mut key: Shape = ty.shape.clone();
                key.push(ty.dtype as usize);
                key
            })
        };
        schedule(&users, waits, scheduled, shape)
    }
}

/// The kernel of an operator that may join a group: one that computes each element alone, from
/// operands that broadcast to its result and have its element type.
pub(in crate::exec) fn elementwise(
    op: &dyn Operator,
    args: &[&Type],
    out: &Type,
) -> Option<Kernel> {
    let kernel = Kernel::of(op, out.dtype, args.len())?;
    let shapes = args.iter().map(|t| &t.shape[..]);
    let fits = args.iter().all(|t| t.dtype == out.dtype)
        && broadcast("", shapes).is_ok_and(|s| s == out.shape);
    fits.then_some(kernel)
}
