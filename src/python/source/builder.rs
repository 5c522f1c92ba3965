//! The builder of functions, as Python's front end uses it.
//!
//! A builder serves one call at a time: while one is under way it is taken out of the object, so that
//! another thread, or a handler of signals, that uses it meanwhile raises instead of waiting.

use std::collections::BTreeMap;

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use super::function::PyIrFunction;
use super::{datum, operators};
use crate::ir::{
    Builder, Cfg, Recursion, RegionCall, ScalarOperator, Target, Terminator, ValueId, ValueKind,
    drop_unreachable, without_calls,
};
use crate::process::Mutex;
use crate::python::interop::convert;
use crate::python::interop::items::items;

/// What is being built.
pub(super) struct Building {
    pub(super) builder: Builder,
    /// For each block whether it has its end.
    ended: Vec<bool>,
    pub(super) line: u32,
    /// What calls itself, by the block at which it begins.
    regions: BTreeMap<usize, CalledBlocks>,
}

/// Blocks that are called: the calls, the first from outside, and the block that ends them, with results.
#[derive(Default)]
struct CalledBlocks {
    calls: Vec<RegionCall>,
    end: Option<(usize, Vec<ValueId>)>,
}

enum Stage {
    Ready(Box<Building>),
    Busy,
    Finished,
}

/// Writes a function in the form that is compiled and differentiated: blocks of instructions, whose
/// values are numbered. Block 0 is there from the start, and its parameters are the function's.
///
/// Whatever is wrong with a value, kind or block raises ValueError or TypeError, and changes nothing,
/// but for ``splice``: what it appended before an error stays, and nothing reads it. ``finish`` ends the
/// builder whether or not the function is sound; after it all raise RuntimeError.
#[pyclass(name = "IrBuilder", module = "wyrmling._core", frozen)]
pub(super) struct PyIrBuilder {
    name: String,
    file: String,
    state: Mutex<Stage>,
}

/// Puts a builder back.
struct Lent<'a> {
    owner: &'a PyIrBuilder,
    building: Option<Box<Building>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(building) = self.building.take() {
            *self.owner.state.lock() = Stage::Ready(building);
        }
    }
}

/// Values from a sequence of numbers.
pub(super) fn ids(what: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<ValueId>> {
    items(what, values, None, |value| id(what, &value))
}

/// The number of a value, block or exit.
fn id(what: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    let found = value.cast_exact::<PyInt>().ok();
    found.and_then(|i| i.extract().ok()).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "{what}: expected a number that the builder gave, got {}",
            convert::shown(value)
        ))
    })
}

impl PyIrBuilder {
    /// Runs `f` on what is being built.
    ///
    /// # Errors
    /// RuntimeError if it is finished or in use, and what `f` raises.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Building) -> PyResult<R>) -> PyResult<R> {
        let taken = std::mem::replace(&mut *self.state.lock(), Stage::Busy);
        let mut lent = Lent {
            owner: self,
            building: None,
        };
        match taken {
            Stage::Ready(building) => f(lent.building.insert(building)),
            Stage::Finished => {
                *self.state.lock() = Stage::Finished;
                Err(PyRuntimeError::new_err(format!(
                    "IrBuilder: '{}' is finished",
                    self.name
                )))
            }
            Stage::Busy => Err(PyRuntimeError::new_err(format!(
                "IrBuilder: '{}' is in use by another thread or a handler of signals",
                self.name
            ))),
        }
    }
}

impl Building {
    fn block(&self, block: usize) -> PyResult<usize> {
        match block < self.ended.len() {
            true => Ok(block),
            false => Err(PyValueError::new_err(format!(
                "block {block} does not exist, there are {}",
                self.ended.len()
            ))),
        }
    }

    pub(super) fn kind(&self, value: ValueId) -> PyResult<ValueKind> {
        Ok(self.builder.kind(value)?)
    }

    fn target(&self, block: usize, args: &Bound<'_, PyAny>) -> PyResult<Target> {
        let args = ids("args", args)?;
        for &arg in &args {
            self.kind(arg)?;
        }
        Ok(Target {
            block: self.block(block)?,
            args,
        })
    }

    /// Fails if the current block has its end.
    pub(super) fn open(&self) -> PyResult<()> {
        let block = self.builder.current();
        match self.ended[block] {
            false => Ok(()),
            true => Err(PyValueError::new_err(format!(
                "block {block} has its end; switch to another"
            ))),
        }
    }

    /// Ends the current block.
    fn end(&mut self, terminator: Terminator) -> PyResult<()> {
        self.open()?;
        self.builder.terminate(terminator);
        self.ended[self.builder.current()] = true;
        Ok(())
    }
}

#[pymethods]
impl PyIrBuilder {
    #[new]
    #[pyo3(signature = (name, file=""))]
    fn create(name: &str, file: &str) -> Self {
        let building = Building {
            builder: Builder::new(),
            ended: vec![false],
            line: 0,
            regions: BTreeMap::new(),
        };
        PyIrBuilder {
            name: name.to_owned(),
            file: file.to_owned(),
            state: Mutex::new(Stage::Ready(Box::new(building))),
        }
    }

    /// The number of a new empty block. Instructions still go where they went.
    fn block(&self) -> PyResult<usize> {
        self.with(|b| {
            let current = b.builder.current();
            let block = b.builder.block();
            b.builder.switch_to(current)?;
            b.ended.push(false);
            Ok(block)
        })
    }

    /// Lets instructions go to the end of a block from now on.
    fn switch(&self, block: usize) -> PyResult<()> {
        self.with(|b| Ok(b.builder.switch_to(b.block(block)?)?))
    }

    /// A new parameter of a block, at any time before ``finish``. ``kind`` is ``'float'`` (one float64),
    /// ``'float32'``, ``'int'``, ``'bool'``, ``'index'`` (one uint32) or ``'array'``, of the type that
    /// the array ``like`` has, for any lengths.
    #[pyo3(signature = (block, kind, like=None))]
    fn parameter(
        &self,
        block: usize,
        kind: &str,
        like: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ValueId> {
        let kind = datum::kind(kind, like)?;
        self.with(|b| {
            let current = b.builder.current();
            b.builder.switch_to(b.block(block)?)?;
            let id = b.builder.parameter(kind);
            b.builder.switch_to(current)?;
            Ok(id)
        })
    }

    /// A constant: a bool, an int of 64 bits, a float, a number or array of NumPy's of float64, float32
    /// or uint32. Raises TypeError for others, OverflowError for a larger int.
    fn constant(&self, value: &Bound<'_, PyAny>) -> PyResult<ValueId> {
        let value = datum::constant(value)?;
        self.with(|b| {
            b.open()?;
            Ok(b.builder.literal(value))
        })
    }

    /// An operator of the rule table, by its name (``'mul'``, ``'sin'``) or the function's
    /// (``'multiply'``), on arrays and numbers. Attributes: the order ``n``, and ``dtype`` of ``cast``.
    #[pyo3(signature = (operator, args, **attributes))]
    fn apply(
        &self,
        operator: &str,
        args: &Bound<'_, PyAny>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<ValueId> {
        let args = ids("args", args)?;
        let op = operators::named(operator, attributes)?;
        self.with(|b| {
            b.open()?;
            Ok(b.builder.try_apply(op, &args)?)
        })
    }

    /// An operator on integers, truth and single numbers, as ``'int_add'``, ``'less_number'`` or
    /// ``'length'`` (with ``axis``); ``exit`` is where the function is left if it fails.
    #[pyo3(signature = (name, args, exit=None, *, axis=None))]
    fn compute(
        &self,
        name: &str,
        args: &Bound<'_, PyAny>,
        exit: Option<u32>,
        axis: Option<u8>,
    ) -> PyResult<ValueId> {
        let args = ids("args", args)?;
        let op = match (name, axis) {
            ("length", Some(axis)) => Some(ScalarOperator::Length(axis)),
            (_, Some(_)) => None,
            (_, None) => ScalarOperator::named(name),
        };
        let op = op.ok_or_else(|| {
            PyValueError::new_err(format!("compute: no operator '{name}' of these arguments"))
        })?;
        self.with(|b| {
            b.open()?;
            Ok(b.builder.compute(op, &args, exit)?)
        })
    }

    /// The number of a new exit: a place where the function is left, what is left to the caller as a
    /// sentence, and its line.
    fn exit(&self, text: &str, line: u32) -> PyResult<u32> {
        self.with(|b| Ok(b.builder.exit(text, line)))
    }

    /// Leaves by an exit unless a bool holds.
    fn guard(&self, condition: ValueId, exit: u32) -> PyResult<()> {
        self.with(|b| {
            b.open()?;
            Ok(b.builder.guard(condition, exit)?)
        })
    }

    /// Ends the current block: it always leaves, by this exit.
    fn leave(&self, exit: u32) -> PyResult<()> {
        self.with(|b| {
            b.builder.has_exit("leave", exit)?;
            b.end(Terminator::Leave(exit))
        })
    }

    /// Ends the current block: another follows.
    fn jump(&self, block: usize, args: &Bound<'_, PyAny>) -> PyResult<()> {
        self.with(|b| {
            let target = b.target(block, args)?;
            b.end(Terminator::Jump(target))
        })
    }

    /// Ends the current block: ``then`` follows if a bool holds or a number is not zero, else
    /// ``otherwise``.
    fn branch(
        &self,
        condition: ValueId,
        then: usize,
        then_args: &Bound<'_, PyAny>,
        otherwise: usize,
        otherwise_args: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.with(|b| {
            b.kind(condition)?;
            let terminator = Terminator::Branch {
                condition,
                then: b.target(then, then_args)?,
                otherwise: b.target(otherwise, otherwise_args)?,
            };
            b.end(terminator)
        })
    }

    /// Ends the current block, and the function with these results.
    fn returns(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = ids("values", values)?;
        self.with(|b| {
            for &value in &values {
                b.kind(value)?;
            }
            b.end(Terminator::Return(values))
        })
    }

    /// Ends the current block with a call of the blocks from ``entry`` on, whose parameters become
    /// ``args``, up to the block that ``returns_to`` ends. ``then`` follows, and its parameters are the
    /// results. The first call of an entry is the one from outside; all others are within what it calls.
    fn call(&self, entry: usize, args: &Bound<'_, PyAny>, then: usize) -> PyResult<()> {
        self.with(|b| {
            let target = b.target(entry, args)?;
            let call = RegionCall {
                block: b.builder.current(),
                args: target.args.clone(),
                then: b.block(then)?,
            };
            b.end(Terminator::Jump(target))?;
            b.regions.entry(entry).or_default().calls.push(call);
            Ok(())
        })
    }

    /// Ends the current block: it returns to whoever called ``entry``, with these results.
    fn returns_to(&self, entry: usize, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = ids("values", values)?;
        self.with(|b| {
            let entry = b.block(entry)?;
            for &value in &values {
                b.kind(value)?;
            }
            let region = b.regions.entry(entry).or_default();
            if region.end.is_some() {
                return Err(PyValueError::new_err(format!(
                    "returns_to: what block {entry} begins returns in two places"
                )));
            }
            region.end = Some((b.builder.current(), values.clone()));
            b.end(Terminator::Return(values))
        })
    }

    /// What a value is: a name that ``parameter`` takes.
    fn kind(&self, value: ValueId) -> PyResult<&'static str> {
        self.with(|b| Ok(datum::name(&b.kind(value)?)))
    }

    /// The element type of an array or number, by NumPy's name; None for an int or bool.
    fn dtype(&self, value: ValueId) -> PyResult<Option<&'static str>> {
        self.with(|b| Ok(b.kind(value)?.array().map(|ty| ty.dtype.name())))
    }

    /// How many axes a value has.
    fn ndim(&self, value: ValueId) -> PyResult<usize> {
        self.with(|b| Ok(b.kind(value)?.array().map_or(0, |ty| ty.ndim())))
    }

    /// The lengths that a value had when this was built: another run may have others.
    fn shape(&self, value: ValueId) -> PyResult<Vec<usize>> {
        self.with(|b| {
            let kind = b.kind(value)?;
            Ok(kind.array().map_or_else(Vec::new, |ty| ty.shape.to_vec()))
        })
    }

    /// The name that a value has in the source.
    fn name(&self, value: ValueId, text: &str) -> PyResult<()> {
        self.with(|b| {
            b.kind(value)?;
            b.builder.name(value, text);
            Ok(())
        })
    }

    /// The line that instructions are of from now on; 0 for none.
    fn line(&self, number: u32) -> PyResult<()> {
        self.with(|b| {
            b.line = number;
            b.builder.line(number);
            Ok(())
        })
    }

    /// Appends a function that was built: all its blocks. Instructions go on after it; its exits are
    /// this function's. Gives the values of its results.
    fn inline(
        &self,
        function: &Bound<'_, PyIrFunction>,
        args: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<ValueId>> {
        let args = ids("args", args)?;
        self.with(|b| {
            b.open()?;
            let inner = &function.get().inner;
            let start = b.builder.current();
            let results = b.builder.inline(inner, &args)?;
            // All its blocks have their ends, but the one where instructions go on.
            b.ended[start] = true;
            b.ended.resize(b.builder.count_blocks(), true);
            b.ended[b.builder.current()] = false;
            Ok(results)
        })
    }

    /// The finished function, verified; the builder can do no more. Blocks that nothing jumps to are
    /// dropped. Raises ValueError for a block without an end, and for a function that is not sound, as
    /// one that uses a value where it may not be defined.
    fn finish(&self, py: Python<'_>) -> PyResult<PyIrFunction> {
        // A builder that is in use is put back by its user.
        self.with(|_| Ok(()))?;
        let taken = std::mem::replace(&mut *self.state.lock(), Stage::Finished);
        let Stage::Ready(building) = taken else {
            return Err(PyRuntimeError::new_err(
                "IrBuilder: in use by another thread",
            ));
        };
        let Building {
            builder,
            ended,
            regions,
            ..
        } = *building;
        let mut function = builder.finish(&self.name)?;
        if !regions.is_empty() {
            let regions: Vec<Recursion> = regions.into_iter().filter_map(recursion).collect();
            function = without_calls(&function, &regions)?;
        }
        let graph = Cfg::new(&function);
        if let Some(block) = (0..ended.len()).find(|&b| graph.is_reachable(b) && !ended[b]) {
            return Err(PyValueError::new_err(format!(
                "finish: block {block} of '{}' has no end",
                self.name
            )));
        }
        drop_unreachable(&mut function, &graph);
        py.detach(|| function.check())?;
        Ok(PyIrFunction::new(function, &self.file))
    }
}

/// What calls itself; `None` if nothing calls it, or it never returns.
fn recursion((entry, called): (usize, CalledBlocks)) -> Option<Recursion> {
    let mut calls = called.calls.into_iter();
    let (first, (end, results)) = (calls.next()?, called.end?);
    Some(Recursion {
        entry,
        first,
        inner: calls.collect(),
        end,
        results,
    })
}
