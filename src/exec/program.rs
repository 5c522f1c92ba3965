//! Programs: frozen graphs that any thread can run.
//!
//! A program is a function of one block with its adjoint, both as they were derived. Plans for the shapes of its
//! inputs are made when these first come, and those used last are kept ([`plan_cache`](super::plan_cache)).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::executor::Executor;
#[cfg(feature = "python")]
use super::leaf::check_input;
use super::leaf::{Leaf, Length, check_lengths};
use super::plan::analysis::Request;
use super::plan::lower::lower;
use super::plan::{Plan, Wrt};
use super::plan_cache::Plans;
use super::sample::per_sample::{Lookups, per_sample};
#[cfg(feature = "python")]
use crate::array::Array;
use crate::array::{Shape, Slice, Type};
use crate::error::{Error, Result};
use crate::ir::{Adjoint, Function, adjoint, pushforward};
use crate::rules::check_indices;
use crate::rules::differentiate::Product;
use crate::table::{Table, new_id};

/// A frozen graph, which any thread can run. It keeps the function, its adjoint and its leaves. For every
/// combination of input shapes it makes a plan, once, and keeps it with the memory of finished runs.
pub struct Program {
    forward: Function,
    /// What rules made in `forward`, if it is a derivative.
    products: Vec<Product>,
    adjoint: Adjoint,
    pub(super) leaves: Vec<Leaf>,
    /// The lengths that it is made of, by the number of the leaf.
    lengths: Vec<(usize, Vec<Length>)>,
    /// Which leaves gradients are computed for.
    wrt: Vec<usize>,
    /// Which leaves are inputs.
    pub(super) inputs: Vec<usize>,
    /// The inputs by their ids.
    input_of: HashMap<u64, usize>,
    pub(super) tables: Vec<Arc<Table>>,
    table_of: Vec<Option<usize>>,
    pub(super) plans: Plans,
    fuse: bool,
}

impl Program {
    /// A program from a function of one block and what its parameters stand for.
    ///
    /// # Errors
    /// [`Error::Value`] if there is not one leaf for each parameter, [`Error::Type`] or
    /// [`Error::Shape`] if one has another element type or number of axes than its parameter, as
    /// [`Function::check`], and whatever a rule reports while the adjoint is made.
    pub fn new(forward: Function, leaves: Vec<Leaf>) -> Result<Self> {
        Self::of(forward, leaves, Vec::new())
    }

    /// A program of a function in which rules made some products.
    fn of(forward: Function, leaves: Vec<Leaf>, products: Vec<Product>) -> Result<Self> {
        forward.check()?;
        if forward.parameters().len() != leaves.len() {
            return Err(Error::Value(format!(
                "{} takes {} values, and there are {} leaves",
                forward.name,
                forward.parameters().len(),
                leaves.len()
            )));
        }
        for (&id, leaf) in forward.parameters().iter().zip(&leaves) {
            leaf.check(id, forward.ty(id))?;
        }
        let mut tables: Vec<Arc<Table>> = Vec::new();
        let mut table_of = vec![None; leaves.len()];
        let (mut wrt, mut inputs, mut input_of) = (Vec::new(), Vec::new(), HashMap::new());
        for (k, leaf) in leaves.iter().enumerate() {
            match leaf {
                Leaf::Parameter(table) => {
                    table_of[k] = Some(tables.len());
                    tables.push(Arc::clone(table));
                    wrt.push(k);
                }
                Leaf::Independent(..) => wrt.push(k),
                Leaf::Input { id, .. } => {
                    input_of.entry(*id).or_insert(inputs.len());
                    inputs.push(k);
                }
            }
        }
        let parameters = forward.parameters();
        let values: Vec<_> = wrt.iter().map(|&k| parameters[k]).collect();
        Ok(Program {
            adjoint: adjoint(&forward, &values)?,
            forward,
            products,
            leaves,
            lengths: Vec::new(),
            wrt,
            inputs,
            input_of,
            tables,
            table_of,
            plans: Plans::default(),
            fuse: true,
        })
    }

    /// The program of the value's tangent: how the value moves where the leaves that have gradients
    /// do. Its inputs are those of this program, then one tangent for each of
    /// [`differentiable`](Self::differentiable), of the leaf's type. It has gradients itself.
    ///
    /// ```
    /// use wyrmling::{Input, Parameter};
    ///
    /// let (w, x) = (Parameter::new(vec![2.0, 3.0]), Input::new(vec![0.0, 0.0]));
    /// let program = (w * x).square().sum().freeze()?;
    /// let tangent = program.tangent()?;
    /// let (x, direction) = (vec![1.0, 2.0].into(), vec![1.0, 0.0].into());
    /// assert_eq!(tangent.run(&[x, direction])?.item()?, 4.0);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// Whatever a rule reports.
    pub fn tangent(&self) -> Result<Program> {
        let parameters = self.forward.parameters();
        let moving: Vec<_> = self.wrt.iter().map(|&k| parameters[k]).collect();
        let (function, mut products) = pushforward(&self.forward, &moving)?;
        products.extend_from_slice(&self.products);
        let tangent = |leaf: &Leaf| Leaf::Input {
            id: new_id(),
            ty: leaf.ty(),
            name: format!("tangent of {}", leaf.label()),
        };
        let tangents = self.differentiable().map(tangent);
        let leaves = self.leaves.iter().cloned().chain(tangents).collect();
        let mut program = Program::of(function, leaves, products)?;
        program.fuse = self.fuse;
        program.lengths.clone_from(&self.lengths);
        Ok(program)
    }

    /// The same program with values for some of its inputs, which are then no inputs any more.
    ///
    /// # Errors
    /// [`Error::Type`] or [`Error::Shape`] naming the input that a value does not fit, and whatever a
    /// rule reports.
    #[cfg(feature = "python")]
    pub(crate) fn holding(&self, held: &[(u64, Array)]) -> Result<Program> {
        let mut leaves = self.leaves.clone();
        for leaf in &mut leaves {
            if let Leaf::Input { id, ty, name } = leaf
                && let Some((_, value)) = held.iter().find(|(other, _)| other == id)
            {
                check_input(name, ty, (value.dtype(), value.shape()))?;
                *leaf = Leaf::Independent(*id, value.clone());
            }
        }
        let mut program = Program::of(self.forward.clone(), leaves, self.products.clone())?;
        program.fuse = self.fuse;
        Ok(program.made_of(self.lengths.clone()))
    }

    /// The program of which a batch computes for each sample what a batch of that sample alone computes by
    /// this one, and its lookups, by numbers of table and input; `None` if there is none.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn per_sample(&self) -> Result<Option<(Program, Lookups)>> {
        if !self.products.is_empty() || !self.lengths.is_empty() {
            return Ok(None);
        }
        let Some((function, lookups)) = per_sample(&self.forward, &self.leaves)? else {
            return Ok(None);
        };
        let input = |leaf: usize| self.inputs.partition_point(|&k| k < leaf);
        let table = |leaf: usize| self.table_of[leaf].unwrap_or_default();
        let lookups = lookups
            .into_iter()
            .map(|(parameter, index)| (table(parameter), input(index)));
        let lookups = lookups.collect();
        let mut program = Program::new(function, self.leaves.clone())?;
        program.fuse = self.fuse;
        Ok(Some((program, lookups)))
    }

    /// Whether there is a gradient of every parameter, and one at least.
    pub(super) fn trains_all(&self) -> bool {
        let mut gradients = self.adjoint.gradients.iter();
        !self.wrt.is_empty() && gradients.all(Option::is_some)
    }

    /// The same program, which refuses other lengths than these of some leaves.
    pub(crate) fn made_of(mut self, lengths: Vec<(usize, Vec<Length>)>) -> Self {
        self.lengths = lengths;
        self
    }

    /// The same program with every operator run on its own: slower, and a second way to
    /// the same numbers.
    pub fn unfused(mut self) -> Self {
        self.fuse = false;
        self.plans = Plans::default();
        self
    }

    /// The function that computes the value.
    pub fn forward(&self) -> &Function {
        &self.forward
    }

    /// The function that computes the value and the gradients.
    pub fn adjoint(&self) -> &Function {
        &self.adjoint.function
    }

    /// What the functions' parameters stand for.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The trained parameters, in the order of the leaves.
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    /// The inputs, in the order in which values are bound.
    pub fn inputs(&self) -> impl Iterator<Item = &Leaf> + Clone {
        self.inputs.iter().map(|&k| &self.leaves[k])
    }

    /// The place among [`inputs`](Self::inputs) of the input with this id; `None` if it has none.
    pub fn input_number(&self, id: u64) -> Option<usize> {
        self.input_of.get(&id).copied()
    }

    /// The input at a place among [`inputs`](Self::inputs).
    #[cfg(feature = "python")]
    pub(crate) fn input(&self, number: usize) -> Option<&Leaf> {
        self.inputs.get(number).map(|&k| &self.leaves[k])
    }

    /// The leaves that have gradients (parameters and variables), in the order of
    /// [`value_and_grad`](Self::value_and_grad).
    pub fn differentiable(&self) -> impl Iterator<Item = &Leaf> {
        self.wrt.iter().map(|&k| &self.leaves[k])
    }

    /// The types of all leaves if inputs have the given shapes.
    fn types(&self, shapes: &[Shape]) -> Vec<Type> {
        let mut shapes = shapes.iter();
        let ty = |leaf: &Leaf| match leaf {
            Leaf::Input { ty, .. } => Type {
                dtype: ty.dtype,
                shape: shapes.next().unwrap_or(&ty.shape).clone(),
            },
            leaf => leaf.ty(),
        };
        self.leaves.iter().map(ty).collect()
    }

    /// A plan for inputs of the given shapes.
    ///
    /// # Errors
    /// Whatever an operator reports about them.
    pub(crate) fn plan(&self, shapes: &[Shape], wrt: Wrt) -> Result<Arc<Plan>> {
        let wanted = |leaf: usize| match wrt {
            Wrt::Nothing => false,
            Wrt::Parameters => self.table_of[leaf].is_some(),
            Wrt::All => true,
        };
        let gradients = self.wrt.iter().copied();
        let gradients = gradients.zip(self.adjoint.gradients.iter().copied());
        let gradients: Vec<_> = gradients.filter(|(leaf, _)| wanted(*leaf)).collect();
        let function = match wrt {
            Wrt::Nothing => &self.forward,
            Wrt::Parameters | Wrt::All => &self.adjoint.function,
        };
        let of_adjoint = match wrt {
            Wrt::Nothing => &[][..],
            Wrt::Parameters | Wrt::All => &self.adjoint.products,
        };
        let leaves = self.types(shapes);
        for (leaf, lengths) in &self.lengths {
            check_lengths(&self.leaves[*leaf].label(), lengths, &leaves[*leaf].shape)?;
        }
        let request = Request {
            function,
            products: [&self.products, of_adjoint],
            leaves,
            tables: self.table_of.clone(),
            inputs: self
                .leaves
                .iter()
                .map(|l| matches!(l, Leaf::Input { .. }))
                .collect(),
            gradients,
            fuse: self.fuse,
            // Training changes the parameters after each run, and its executors share their memory.
            keeps_tables: wrt != Wrt::Parameters,
        };
        lower(request).map(Arc::new)
    }

    /// Number of steps in which the value is computed for inputs of the given shapes.
    ///
    /// # Errors
    /// Whatever an operator reports about them.
    pub fn steps(&self, shapes: &[Shape]) -> Result<usize> {
        Ok(self.plan(shapes, Wrt::Nothing)?.steps())
    }

    /// Binds the leaves that keep the value they had.
    ///
    /// # Errors
    /// [`Error::Index`] if one holds indices, some of which are out of range.
    pub(crate) fn bind_variables(&self, executor: &mut Executor) -> Result<()> {
        for (k, leaf) in self.leaves.iter().enumerate() {
            if let Leaf::Independent(_, value) = leaf {
                let data = value.view().data;
                if let (Some(n), Slice::U32(indices)) = (executor.plan().bounds[k], data) {
                    check_indices(|| leaf.label(), indices, n)?;
                }
                executor.bind(k, data);
            }
        }
        Ok(())
    }

    /// Whether it must run in the thread that asks for it: an operator says so.
    pub(crate) fn stays_in_thread(&self) -> bool {
        let functions = [&self.forward, &self.adjoint.function].into_iter();
        let blocks = functions.flat_map(|function| &function.blocks);
        let mut instructions = blocks.flat_map(|block| &block.instructions);
        instructions.any(|i| match &i.expression {
            crate::ir::Expression::Apply(op, _) => op.stays_in_thread(),
            _ => false,
        })
    }

    /// Calls `f` with every operator that this holds, as often as it holds it, but for runs that are
    /// under way.
    #[cfg(feature = "python")]
    pub(crate) fn operators(&self, f: &mut dyn FnMut(&crate::rules::OpRef)) {
        let functions = [&self.forward, &self.adjoint.function];
        functions
            .into_iter()
            .flat_map(|function| function.operators())
            .for_each(&mut *f);
        let products = self.products.iter().chain(&self.adjoint.products);
        products.for_each(|product| f(&product.op));
        self.plans.operators(f);
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, leaf) in self.leaves.iter().enumerate() {
            writeln!(f, "# %{} is {}", self.forward.parameters()[k], leaf.label())?;
        }
        write!(f, "{}{}", self.forward, self.adjoint.function)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
