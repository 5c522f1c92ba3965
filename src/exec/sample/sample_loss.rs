//! The loss of one sample as a function of the ir, ready to run with its gradient.
//!
//! Parameters are arrays to the function. Where it only looks rows up in one, by integers, neither is
//! the array made nor a gradient of its shape: rows are copied of the table, and the gradient is records
//! of rows ([`table_rows`](crate::exec::plan::table_rows)). So it is with a slice of at most half of the rows
//! ([`slices`]). Any other parameter is passed as an array, a copy that serves a batch, and has a gradient
//! of its shape. That is how graphs do it, too.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::loss_argument::{LossArgument, check_parameters};
use super::sample_program::SampleProgram;
use crate::exec::plan::repeated_lookups::{Indices, LookupSite};
use crate::exec::plan::slices;
use crate::exec::plan::table_rows::{RowCollection, TableRows, collecting};
use crate::exec::{Compiled, Outcome};
use smallvec::SmallVec;

use crate::array::{Array, DType};
use crate::error::{Error, Result};
use crate::ir::{
    Datum, Exit, Expression, Function, Instruction, Lengths, ScalarOperator, Terminator, ValueId,
    ValueKind, simplify, vjp,
};
use crate::rules::{Gather, OpRef, TakeAt};
use crate::table::Table;

/// Which form the gradient of a parameter has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TableGradient {
    /// Records of rows.
    Rows,
    /// The sum of these results.
    Dense(Vec<usize>),
}

/// What became of a sample.
#[derive(Debug)]
pub(crate) enum SampleResult {
    /// The loss, and the gradients that are arrays, as [`TableGradient::Dense`] numbers them.
    Loss(f64, Vec<Datum>),
    /// The function was left by this exit.
    Left(u32),
}

/// A loss of one sample with its gradients by parameters. It never changes, and runs in any number of
/// threads at once.
#[derive(Debug)]
pub struct SampleLoss {
    compiled: Compiled,
    /// The same as a program of plans, if there is one.
    program: Option<SampleProgram>,
    arguments: Vec<LossArgument>,
    tables: Vec<Arc<Table>>,
    gradients: Vec<TableGradient>,
    /// Whether each parameter of the function stands for a table whose rows are looked up.
    stands: Vec<bool>,
    /// The cotangent of the loss.
    seed: Datum,
}

impl SampleLoss {
    /// The loss that a function computes of its parameters, which are what `arguments` says: a number.
    /// `trained` are the tables with what errors call them, each the name of an argument.
    ///
    /// # Errors
    /// [`Error::Type`] if the result is no floating-point number or an operator has to call its caller,
    /// [`Error::Value`] if the loss does not depend on a parameter or an argument is none of those that are
    /// trained, and as [`Function::check`] and [`vjp`].
    pub fn new(
        function: &Function,
        arguments: Vec<LossArgument>,
        trained: Vec<(String, Arc<Table>)>,
    ) -> Result<Self> {
        let (names, tables): (Vec<String>, Vec<Arc<Table>>) = trained.into_iter().unzip();
        if arguments.len() != function.parameters().len() {
            return Err(Error::Value(format!(
                "{}: expected what its {} parameters are, got {}",
                function.name,
                function.parameters().len(),
                arguments.len()
            )));
        }
        function.check()?;
        check_parameters(&arguments, tables.len())?;
        let mut function = function.clone();
        know_lengths(&mut function, &arguments, &tables);
        rows_first(&mut function);
        let mut function = simplify(&function, Lengths::Seen)?;
        let stays = |op: OpRef| op.stays_in_thread().then(|| op.name().to_owned());
        if let Some(name) = function.operators().cloned().find_map(stays) {
            return Err(Error::Type(format!(
                "{}: {name} is an operator of your own, which needs Python; a loss of one sample runs \
                 without it",
                function.name
            )));
        }
        let seed = seed(&function)?;
        let program = SampleProgram::new(&function, &arguments, &tables)?;
        slices::look_up(&mut function, |at| {
            matches!(arguments[at], LossArgument::Parameter(_))
        });
        let mut stands = vec![false; arguments.len()];
        let mut wrt = Vec::new();
        let (indices, mut sites) = (Indices::of(&function), 0..);
        for (number, table) in tables.iter().enumerate() {
            let places = places(&arguments, number);
            let ids: Vec<ValueId> = places.iter().map(|&at| function.parameters()[at]).collect();
            if ids.iter().all(|&id| is_looked_up(&function, id)) {
                for (&at, &id) in places.iter().zip(&ids) {
                    look_up(&mut function, id, (table, number), &indices, &mut sites);
                    stands[at] = true;
                }
            }
            wrt.extend(places.into_iter().zip(ids).map(|(at, id)| (number, at, id)));
        }
        let ids: Vec<ValueId> = wrt.iter().map(|&(.., id)| id).collect();
        let pullback = vjp(&function, &ids)?;
        let mut gradients = Vec::with_capacity(tables.len());
        for (number, name) in names.iter().enumerate() {
            let own = wrt.iter().zip(&pullback.gradients);
            let own = own.filter(|((other, ..), _)| *other == number);
            let found: Vec<(usize, usize)> = own
                .filter_map(|(&(_, at, _), place)| Some((at, (*place)?)))
                .collect();
            gradients.push(match found.first() {
                None => {
                    return Err(Error::Value(format!(
                        "loss: {} does not depend on the parameter '{}': there is nothing to train",
                        function.name, name
                    )));
                }
                Some(&(at, _)) if stands[at] => TableGradient::Rows,
                Some(_) => TableGradient::Dense(found.iter().map(|&(_, place)| place).collect()),
            });
        }
        Ok(SampleLoss {
            compiled: Compiled::new(simplify(&pullback.function, Lengths::Seen)?)?,
            program,
            arguments,
            tables,
            gradients,
            stands,
            seed,
        })
    }

    /// The trained parameters.
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    /// The same as a program of plans, if there is one.
    pub(crate) fn program(&self) -> Option<&SampleProgram> {
        self.program.as_ref()
    }

    /// Why the function is left by an exit, and the line; `None` if there is no such exit.
    pub fn exit(&self, number: u32) -> Option<&Exit> {
        self.compiled.function().notes.exits.get(number as usize)
    }

    /// The form of each parameter's gradient.
    pub(crate) fn gradients(&self) -> &[TableGradient] {
        &self.gradients
    }

    /// What the function is given, where parts of samples are still to be filled in; the place of each
    /// of these, and of each table that is passed as an array.
    pub(crate) fn arguments(&self) -> (Vec<Datum>, Vec<(usize, LossArgument)>) {
        let mut data = Vec::with_capacity(self.arguments.len() + 1);
        let mut open = Vec::new();
        for (at, argument) in self.arguments.iter().enumerate() {
            data.push(match argument {
                LossArgument::Constant(datum) => datum.clone(),
                LossArgument::Parameter(number) if self.stands[at] => {
                    number_of(self.tables[*number].ty().dtype, 0.0)
                }
                other => {
                    open.push((at, other.clone()));
                    Datum::Bool(false)
                }
            });
        }
        data.push(self.seed.clone());
        (data, open)
    }

    /// Runs the function on these arguments. Gradients that are rows are appended to `records`, which
    /// has an entry for each table.
    ///
    /// # Errors
    /// As [`Compiled::run`].
    ///
    /// # Safety
    /// The locks of all tables are held, for this thread alone or shared with others that reach the
    /// tables by moves.
    pub(crate) unsafe fn run(
        &self,
        args: &[Datum],
        records: &mut Vec<RowCollection>,
    ) -> Result<SampleResult> {
        records.iter_mut().for_each(RowCollection::begin_sample);
        Ok(match collecting(records, || self.compiled.run(args))? {
            Outcome::Left(exit) => SampleResult::Left(exit),
            Outcome::Returned(results) => {
                let loss = results.first().map_or(Ok(0.0), Datum::item)?;
                SampleResult::Loss(loss, results)
            }
        })
    }
}

/// A single number.
fn number_of(dtype: DType, x: f64) -> Datum {
    match dtype {
        DType::F32 => Array::from(x as f32).into(),
        _ => Array::from(x).into(),
    }
}

/// Where parameter `number` is passed.
fn places(arguments: &[LossArgument], number: usize) -> Vec<usize> {
    let is =
        |argument: &LossArgument| matches!(argument, LossArgument::Parameter(n) if *n == number);
    let places = arguments.iter().enumerate();
    places.filter_map(|(at, a)| is(a).then_some(at)).collect()
}

/// The cotangent of a loss.
fn seed(function: &Function) -> Result<Datum> {
    let returned = function.blocks.iter().find_map(|b| match &b.terminator {
        Terminator::Return(values) => Some(values.as_slice()),
        _ => None,
    });
    match returned {
        Some(&[loss]) => match function.kind(loss).as_number() {
            Some(dtype) if dtype.is_real() => Ok(number_of(dtype, 1.0)),
            _ => Err(Error::Type(format!(
                "{}: expected one floating-point number as the loss of a sample, got {}",
                function.name,
                match function.kind(loss) {
                    // Lengths may stand for others.
                    ValueKind::Array(ty) => match ty.ndim() {
                        1 => "an array of 1 axis".into(),
                        axes => format!("an array of {axes} axes"),
                    },
                    kind => kind.to_string(),
                }
            ))),
        },
        Some(values) => Err(Error::Type(format!(
            "{}: expected one floating-point number as the loss of a sample, got {} values",
            function.name,
            values.len()
        ))),
        None => {
            let ends = function.blocks.iter().find_map(|b| match b.terminator {
                Terminator::Leave(exit) => function.notes.exits.get(exit as usize),
                _ => None,
            });
            let why = ends.map_or(String::new(), |exit| {
                format!(": line {}, {}", exit.line, exit.text)
            });
            Err(Error::Value(format!(
                "{} never returns{why}",
                function.name
            )))
        }
    }
}

/// Puts numbers in the place of lengths of tables, which never change.
fn know_lengths(function: &mut Function, arguments: &[LossArgument], tables: &[Arc<Table>]) {
    let parameters = function.parameters().iter().zip(arguments);
    let tables: HashMap<ValueId, &Table> = parameters
        .filter_map(|(&id, argument)| match argument {
            LossArgument::Parameter(number) => Some((id, &*tables[*number])),
            _ => None,
        })
        .collect();
    for i in function.blocks.iter_mut().flat_map(|b| &mut b.instructions) {
        let Expression::Compute(ScalarOperator::Length(axis), args, _) = &i.expression else {
            continue;
        };
        let table = args.first().and_then(|id| tables.get(id));
        let length = table.and_then(|table| table.ty().shape.get(usize::from(*axis)));
        if let Some(&length) = length {
            i.expression = Expression::Constant(Datum::Int(length as i64));
        }
    }
}

/// Puts lookups of rows, and of rows or elements of these, in the place of lookups by several indices in
/// parameters and constants, which may be tables: rows are what is looked up in those.
fn rows_first(function: &mut Function) {
    let mut tables: HashSet<ValueId> = function.parameters().iter().copied().collect();
    for i in function.blocks.iter().flat_map(|b| &b.instructions) {
        if let Expression::Constant(_) = i.expression {
            tables.insert(i.result());
        }
    }
    for block in &mut function.blocks {
        for mut i in std::mem::take(&mut block.instructions) {
            if let Expression::Apply(op, args) = &mut i.expression
                && let Some(TakeAt { axes }) = op.downcast::<TakeAt>()
                && axes.iter().copied().eq(0..axes.len())
                && args.len() == 1 + axes.len()
                && tables.contains(&args[0])
                && let ValueKind::Array(ty) = &function.kinds[args[0] as usize]
                && axes.len() <= ty.ndim()
            {
                *op = OpRef::Static(&Gather);
                let mut ty = ty.clone();
                while args.len() > 2 {
                    ty.shape.remove(0);
                    let row = function.kinds.len() as ValueId;
                    function.kinds.push(ValueKind::Array(ty.clone()));
                    let lookup = Expression::Apply(op.clone(), args[..2].into());
                    args.remove(0);
                    args[0] = row;
                    let line = i.line;
                    let results = SmallVec::from_buf([row]);
                    block.instructions.push(Instruction {
                        results,
                        expression: lookup,
                        line,
                    });
                }
            }
            block.instructions.push(i);
        }
    }
}

/// Whether all that a function does with a parameter, which is an array, is to look rows up.
fn is_looked_up(function: &Function, id: ValueId) -> bool {
    let fits = |expression: &Expression| match expression {
        Expression::Apply(op, args) if op.downcast::<Gather>().is_some() => {
            args.first() == Some(&id) || !args.contains(&id)
        }
        other => !other.operands().contains(&id),
    };
    function.blocks.iter().all(|block| {
        let mut passed = false;
        block.terminator.each(|used| passed |= used == id);
        !passed && block.instructions.iter().all(|i| fits(&i.expression))
    })
}

/// Lets a function look rows up in a table, whose records have a number, in the place of an array. The
/// parameter becomes a number that stands for the table.
fn look_up(
    function: &mut Function,
    id: ValueId,
    (table, record): (&Arc<Table>, usize),
    indices: &Indices,
    sites: &mut impl Iterator<Item = usize>,
) {
    for block in &mut function.blocks {
        for i in &mut block.instructions {
            let new = match &i.expression {
                Expression::Apply(op, args)
                    if op.downcast::<Gather>().is_some() && args.first() == Some(&id) =>
                {
                    let site = LookupSite {
                        record,
                        number: sites.next().unwrap_or(usize::MAX),
                        index: indices.numbers[args[1] as usize],
                        turns: !indices.same_in_all_turns[args[1] as usize],
                    };
                    // SAFETY: it is run by `SampleLoss::run`, whose caller holds the locks, and given to
                    // nobody.
                    let op = unsafe { TableRows::new(Arc::clone(table), site) };
                    Expression::Apply(OpRef::new(op), args.clone())
                }
                _ => continue,
            };
            i.expression = new;
        }
    }
    function.kinds[id as usize] = ValueKind::number(table.ty().dtype);
}
