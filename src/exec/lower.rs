//! From a function of the ir to a [`Plan`].
//!
//! The function is specialised for concrete types, simplified, cut down to what the
//! results read, ordered in steps with elementwise operators fused, and every value gets
//! its place in the arena. Gradients of looked-up parameters stay rows: a gradient that is
//! a sum of `scatter_rows` becomes a list of (index, rows) and no table-sized array is
//! planned. Rows that are a product of a number and a row (the gradient of a dot product)
//! are not computed at all; whoever applies the gradient multiplies in passing.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::place::Placer;
use super::plan::{Plan, RowsPart, Sink, Term};
use super::schedule::{Unit, schedule};
use crate::array::{Array, Shape, Type, broadcast};
use crate::error::{Error, Result};
use crate::ir::{Expression, Function, ValueId, simplify, specialize};
use crate::rules::differentiate::Product;
use crate::rules::{
    Add, Gather, Kernel, OpRef, Operator, Pick, RowScale, ScatterPick, ScatterRows, VecDot,
    check_indices, shares,
};

/// Elements of a fused block: small enough that a few registers stay in the first-level
/// cache.
pub(super) const BLOCK: usize = 512;

/// What to plan.
pub(super) struct Request<'a> {
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
}

/// An instruction that is scheduled. What its operator says of itself is asked once: one of
/// another crate may say something else the next time, and then parts of a plan would not fit
/// each other.
pub(super) struct Node<'f> {
    pub(super) result: ValueId,
    pub(super) op: &'f OpRef,
    pub(super) args: &'f [ValueId],
    /// For each operand, whether its value is read.
    pub(super) reads: SmallVec<[bool; 4]>,
    /// The kernel by which it may join a group.
    pub(super) kernel: Option<Kernel>,
}

pub(super) struct Lowering<'f> {
    pub(super) function: &'f Function,
    pub(super) request: &'f Request<'f>,
    /// Which parameter a value is.
    pub(super) leaf: HashMap<ValueId, usize>,
    pub(super) constant: HashMap<ValueId, usize>,
    pub(super) constants: Vec<Array>,
    /// The instructions in program order.
    pub(super) nodes: Vec<Node<'f>>,
    /// Which instruction defines a value.
    pub(super) node_of: Vec<Option<usize>>,
    /// The value whose memory holds a value's elements.
    pub(super) base: Vec<ValueId>,
    /// How often a value is read, results included.
    pub(super) uses: Vec<u32>,
}

/// A sum of terms, as values.
struct RowsValue {
    index: ValueId,
    terms: Vec<(Option<ValueId>, ValueId)>,
}

enum Gradient {
    Dense(ValueId),
    Rows(Vec<RowsValue>),
}

impl<'f> Lowering<'f> {
    fn new(function: &'f Function, request: &'f Request<'f>) -> Result<Self> {
        let (block, results) = function.straight()?;
        let count = function.types.len();
        let mut low = Lowering {
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
            match &i.expression {
                Expression::Constant(a) => {
                    low.constant.insert(i.result, low.constants.len());
                    low.constants.push(a.clone());
                }
                Expression::Apply(op, args) => {
                    for &a in args {
                        low.uses[a as usize] += 1;
                    }
                    let types: SmallVec<[&Type; 4]> =
                        args.iter().map(|&a| function.ty(a)).collect();
                    if shares(&**op, &types, function.ty(i.result)) {
                        low.base[i.result as usize] = low.base[args[0] as usize];
                    }
                    low.node_of[i.result as usize] = Some(low.nodes.len());
                    let out = function.ty(i.result);
                    let kernel = match request.fuse {
                        true => elementwise(&**op, &types, out),
                        false => None,
                    };
                    // A kernel is given all its operands.
                    let reads = (0..args.len()).map(|k| kernel.is_some() || op.reads(k));
                    low.nodes.push(Node {
                        result: i.result,
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

    pub(super) fn node(&self, value: ValueId) -> Option<&Node<'f>> {
        self.node_of[value as usize].map(|n| &self.nodes[n])
    }

    /// The operands of `value`'s definition, if that is an operator of type `O`.
    pub(super) fn args_of<O: Operator>(&self, value: ValueId) -> Option<&'f [ValueId]> {
        let node = self.node(value)?;
        node.op.downcast::<O>().map(|_| node.args)
    }

    /// The summands of a value that is read once, each read once.
    fn summands(&self, value: ValueId) -> Vec<ValueId> {
        let mut out = Vec::new();
        let mut stack = vec![value];
        while let Some(v) = stack.pop() {
            match self.args_of::<Add>(v) {
                Some(&[a, b])
                    if self.uses[v as usize] == 1
                        && [a, b]
                            .iter()
                            .all(|&x| self.function.ty(x) == self.function.ty(v)) =>
                {
                    stack.push(b);
                    stack.push(a);
                }
                _ => out.push(v),
            }
        }
        out
    }

    /// Whether a value's indices are compared with their bounds before a run.
    fn is_bounded(&self, index: ValueId) -> bool {
        self.leaf.contains_key(&index) || self.constant.contains_key(&index)
    }

    /// A parameter's gradient: as rows if every summand is.
    fn gradient(&self, parameter: ValueId, value: ValueId) -> Gradient {
        let mut parts = Vec::new();
        // A row of the table is a row of the product in tables of two axes only.
        let is_matrix = self.function.ty(parameter).ndim() == 2;
        for summand in self.summands(value) {
            match self.args_of::<ScatterRows>(summand) {
                Some(&[rows, index, like])
                    if self.function.ty(like) == self.function.ty(parameter)
                        && self.is_bounded(index) =>
                {
                    let term = |v| match self.args_of::<RowScale>(v) {
                        Some(&[scale, rows]) if is_matrix => (Some(scale), rows),
                        _ => (None, v),
                    };
                    let terms = self.summands(rows).into_iter().map(term);
                    // Lookups written twice are one part.
                    match parts.iter_mut().find(|p: &&mut RowsValue| p.index == index) {
                        Some(part) => part.terms.extend(terms),
                        None => parts.push(RowsValue {
                            index,
                            terms: terms.collect(),
                        }),
                    }
                }
                _ => return Gradient::Dense(value),
            }
        }
        Gradient::Rows(parts)
    }

    /// Operands whose values `node` reads.
    pub(super) fn read<'n>(
        &self,
        node: &'n Node<'f>,
    ) -> impl Iterator<Item = ValueId> + use<'n, 'f> {
        let args = node.args.iter().zip(&node.reads);
        args.filter(|(_, reads)| **reads).map(|(&a, _)| a)
    }

    /// Whether a node renames another value's memory.
    fn is_alias(&self, node: &Node<'f>) -> bool {
        self.base[node.result as usize] != node.result
    }

    /// Whether a node looks up rows of a table directly.
    pub(super) fn is_table_gather(&self, node: &Node<'f>) -> Option<usize> {
        node.op.downcast::<Gather>()?;
        let table = self.table_of(node.args[0])?;
        self.is_bounded(node.args[1]).then_some(table)
    }

    pub(super) fn table_of(&self, value: ValueId) -> Option<usize> {
        let leaf = self.leaf.get(&value)?;
        self.request.tables[*leaf]
    }

    /// Lookups whose rows a dot product is the first to read: they wait for it, and both are
    /// one step.
    fn in_passing(&self, units: &[Unit]) -> HashSet<usize> {
        let mut waiting: HashSet<usize> = HashSet::new();
        let mut met: HashSet<ValueId> = HashSet::new();
        if !self.request.fuse {
            return waiting;
        }
        for unit in units {
            let members = match unit {
                Unit::One(n) => std::slice::from_ref(n),
                Unit::Group(members) => members,
            };
            for node in members.iter().map(|&n| &self.nodes[n]) {
                let is_dot = node.op.downcast::<VecDot>().is_some() && node.args[0] != node.args[1];
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
    fn needed(&self, roots: &[ValueId]) -> Vec<bool> {
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

    /// For each leaf that holds indices, the least number of rows it is used on.
    ///
    /// # Errors
    /// [`Error::Index`] if a constant index is out of range.
    fn bounds(&self) -> Result<Vec<Option<usize>>> {
        let mut bounds = vec![None; self.request.leaves.len()];
        for node in &self.nodes {
            let shape = |v: ValueId| &self.function.ty(v).shape;
            let (at, n) = if node.op.downcast::<Gather>().is_some() {
                (node.args[1], shape(node.args[0]).first())
            } else if node.op.downcast::<Pick>().is_some() {
                (node.args[1], shape(node.args[0]).last())
            } else if node.op.downcast::<ScatterRows>().is_some() {
                (node.args[1], shape(node.args[2]).first())
            } else if node.op.downcast::<ScatterPick>().is_some() {
                (node.args[1], shape(node.args[2]).last())
            } else {
                continue;
            };
            if let (Some(&leaf), Some(&n)) = (self.leaf.get(&at), n) {
                let bound: &mut Option<usize> = &mut bounds[leaf];
                *bound = Some(bound.map_or(n, |old| old.min(n)));
            }
            if let (Some(&k), Some(&n)) = (self.constant.get(&at), n)
                && let Array::U32(indices) = &self.constants[k]
            {
                check_indices(|| node.op.name().to_owned(), indices.as_slice(), n)?;
            }
        }
        Ok(bounds)
    }

    /// The units in order.
    fn order(&self, needed: &[bool]) -> Vec<Unit> {
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
fn elementwise(op: &dyn Operator, args: &[&Type], out: &Type) -> Option<Kernel> {
    let kernel = Kernel::of(op, out.dtype, args.len())?;
    let shapes = args.iter().map(|t| &t.shape[..]);
    let fits = args.iter().all(|t| t.dtype == out.dtype)
        && broadcast("", shapes).is_ok_and(|s| s == out.shape);
    fits.then_some(kernel)
}

/// Plans a function of one block.
///
/// # Errors
/// Whatever an operator reports about the leaves' types, and [`Error::Shape`] if a rule gives a
/// product of the wrong type for them.
pub(super) fn lower(request: Request<'_>) -> Result<Plan> {
    let products = request.products.into_iter().flatten();
    let special = specialize(request.function, &request.leaves, products)?;
    let function = simplify(&special)?;
    let (_, results) = function.straight()?;
    let low = Lowering::new(&function, &request)?;
    let Some(&result) = results.first() else {
        return Err(Error::Value("the program has no result".into()));
    };
    let mut gradients = Vec::new();
    let mut roots = vec![result];
    for &(leaf, at) in &request.gradients {
        let gradient = at.map(|at| {
            let parameter = function.parameters()[leaf];
            match request.tables[leaf] {
                Some(_) => low.gradient(parameter, results[at]),
                None => Gradient::Dense(results[at]),
            }
        });
        match &gradient {
            None => {}
            Some(Gradient::Dense(v)) => roots.push(*v),
            Some(Gradient::Rows(parts)) => {
                for part in parts {
                    roots.push(part.index);
                    for &(scale, rows) in &part.terms {
                        roots.extend(scale);
                        roots.push(rows);
                    }
                }
            }
        }
        gradients.push(gradient);
    }
    let needed = low.needed(&roots);
    let units = low.order(&needed);
    let mut placer = Placer::new(&low, low.in_passing(&units));
    for (u, unit) in units.iter().enumerate() {
        let members = match unit {
            Unit::One(n) => std::slice::from_ref(n),
            Unit::Group(members) => members,
        };
        for &n in members {
            for a in low.read(&low.nodes[n]) {
                placer.last.insert(low.base[a as usize], u);
            }
        }
    }
    for r in &roots {
        placer.last.insert(low.base[*r as usize], usize::MAX);
    }
    for (u, unit) in units.iter().enumerate() {
        match unit {
            Unit::One(n) if placer.in_passing.contains(n) => {}
            Unit::One(n) => placer.one(u, *n),
            Unit::Group(members) => placer.group(u, members),
        }
    }
    let result = placer.place(result);
    let mut sinks = Vec::new();
    for gradient in gradients {
        sinks.push(gradient.map(|g| {
            match g {
                Gradient::Dense(v) => Sink::Dense(placer.place(v)),
                Gradient::Rows(parts) => Sink::Rows(
                    parts
                        .into_iter()
                        .map(|part| RowsPart {
                            index: placer.place(part.index),
                            terms: part
                                .terms
                                .into_iter()
                                .map(|(scale, rows)| Term {
                                    scale: scale.map(|s| placer.place(s)),
                                    rows: placer.place(rows),
                                })
                                .collect(),
                        })
                        .collect(),
                ),
            }
        }));
    }
    let bounds = low.bounds()?;
    let (steps, peak, registers) = (placer.steps, placer.peak, placer.registers);
    let constants = low.constants;
    let gradients = request.gradients.iter().map(|&(leaf, _)| leaf).collect();
    Ok(Plan {
        steps,
        gradients,
        constants,
        arena_bytes: peak,
        registers,
        leaves: request.leaves,
        tables: request.tables,
        inputs: request.inputs,
        result,
        sinks,
        bounds,
    })
}
