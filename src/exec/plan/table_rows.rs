//! Rows of a table as an operator, and its gradient as records of rows.
//!
//! A function of one sample looks rows up in tables that are too large to be passed as arrays and may be
//! changed by other workers meanwhile. [`TableRows`] copies the rows that it is asked for. Operand 0 is a
//! number that stands for the table: what depends on the table depends on it, so that a function is
//! differentiated by the table in being differentiated by this number, and looking up by a constant index
//! is no constant. The product
//! of the reverse mode is [`CollectRows`], which appends the rows and their indices to the records of the
//! thread ([`collecting`]), and whose result, a zero, is the "gradient" of that number.
//!
//! Nothing between a rule and a run may do [`CollectRows`] more or less often than the rule is: it has no
//! key, so that it is never shared; one of its operands is no constant, so that it is never folded; its
//! result is summed to what the function returns, so that it is never dropped; and only operators with
//! kernels for single elements move out of loops.
//!
//! Where a penalty counts each lookup of a sample, the gradient of one that it repeats is added to that of the first
//! ([`repeated_lookups`](super::repeated_lookups)).
//!
//! Limits: both are for functions that the trainer runs while it holds the tables' locks. There is no
//! forward mode and no second derivative of them.

use std::cell::RefCell;
use std::sync::Arc;

use super::lookup;
use super::repeated_lookups::{LookupSite, SeenLookups};
use crate::array::{DType, Slice, SliceMut, Type, Typed, View, ViewMut, element_count, with_real};
use crate::error::{Error, Result};
use crate::reserve;
use crate::rules::{Ex, Gather, Operator, arity, check_indices};
use crate::table::Table;

/// Copies of rows of a table at the indices of operand 1. See the [module documentation](self).
#[derive(Debug)]
pub(in crate::exec) struct TableRows {
    table: Arc<Table>,
    site: LookupSite,
}

impl TableRows {
    /// The operator of a table.
    ///
    /// # Safety
    /// It is evaluated only while the lock of the table is held, for this thread alone or shared with
    /// others that reach the table by moves.
    pub(in crate::exec) unsafe fn new(table: Arc<Table>, site: LookupSite) -> Self {
        TableRows { table, site }
    }
}

impl Operator for TableRows {
    fn name(&self) -> &str {
        "table_rows"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [_, index] = arity::<2>("table_rows", args)?;
        Gather.infer(&[self.table.ty(), index])
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let indices = args[1].indices();
        check_indices(|| self.table.label(), indices, self.table.rows())?;
        with_real!(out.data.dtype(), T => {
            // Every index was just found to be a row of the table, whose element type `infer` gave the
            // result, with a row for each index; the lock is held, as `new` was promised.
            lookup::gather::<T>(&self.table, indices, T::slice_mut(&mut out.data));
        });
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let site = self.site;
        (i == 0).then(|| x[0].with_new(CollectRows { site }, &[g, x[1]]))
    }
}

/// Appends the rows that are operand 1, at the indices of operand 2, to records of the thread.
#[derive(Debug)]
struct CollectRows {
    site: LookupSite,
}

impl Operator for CollectRows {
    fn name(&self) -> &str {
        "collect_rows"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [stands, ..] = arity::<3>("collect_rows", args)?;
        Ok((*stands).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        with_real!(out.data.dtype(), T => T::slice_mut(&mut out.data).fill(T::default()));
        RECORDS.with_borrow_mut(|records| match records.get_mut(self.site.record) {
            Some(collected) => collected.append(self.site, args[2].indices(), &args[1]),
            None => Err(Error::State(
                "collect_rows: nothing is collected here".into(),
            )),
        })
    }

    fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

/// Rows of the gradient of one table: each has an index.
#[derive(Debug)]
pub(crate) enum RowRecords {
    F32(Vec<u32>, Vec<f32>),
    F64(Vec<u32>, Vec<f64>),
}

impl RowRecords {
    /// None, of a table with this element type.
    pub(crate) fn new(dtype: DType) -> Self {
        match dtype {
            DType::F32 => RowRecords::F32(Vec::new(), Vec::new()),
            _ => RowRecords::F64(Vec::new(), Vec::new()),
        }
    }

    /// Forgets all; the memory stays.
    pub(crate) fn clear(&mut self) {
        match self {
            RowRecords::F32(indices, rows) => {
                indices.clear();
                rows.clear();
            }
            RowRecords::F64(indices, rows) => {
                indices.clear();
                rows.clear();
            }
        }
    }

    /// So many rows of `width` numbers, whatever they are.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub(in crate::exec) fn resize(&mut self, count: usize, width: usize) -> Result<()> {
        fn all<T: Copy + Default>(to: &mut Vec<T>, count: usize) -> Result<()> {
            reserve::grow(to, count.saturating_sub(to.len()))?;
            to.resize(count, T::default());
            Ok(())
        }
        let numbers = count.saturating_mul(width);
        match self {
            RowRecords::F32(i, r) => all(i, count).and_then(|()| all(r, numbers)),
            RowRecords::F64(i, r) => all(i, count).and_then(|()| all(r, numbers)),
        }
    }

    /// The rows' numbers.
    pub(in crate::exec) fn indices(&self) -> &[u32] {
        match self {
            RowRecords::F32(indices, _) | RowRecords::F64(indices, _) => indices,
        }
    }

    /// The rows, of type `T`.
    pub(in crate::exec) fn rows<T: Typed>(&self) -> &[T] {
        T::slice(match self {
            RowRecords::F32(_, rows) => Slice::F32(rows),
            RowRecords::F64(_, rows) => Slice::F64(rows),
        })
    }

    /// The rows' numbers and the rows, for writing.
    pub(in crate::exec) fn parts_mut(&mut self) -> (&mut [u32], SliceMut<'_>) {
        match self {
            RowRecords::F32(indices, rows) => (indices, SliceMut::F32(rows)),
            RowRecords::F64(indices, rows) => (indices, SliceMut::F64(rows)),
        }
    }

    /// Adds rows to those from the one that begins at this number on.
    fn add(&mut self, start: usize, rows: &View<'_>) {
        fn all<T: Copy + std::ops::AddAssign>(to: &mut [T], from: &[T]) {
            to.iter_mut().zip(from).for_each(|(to, &x)| *to += x);
        }
        match self {
            RowRecords::F32(_, to) => all(&mut to[start..], rows.real::<f32>()),
            RowRecords::F64(_, to) => all(&mut to[start..], rows.real::<f64>()),
        }
    }

    fn append(&mut self, indices: &[u32], rows: &View<'_>) -> Result<()> {
        fn all<T: Copy>(to: &mut Vec<T>, from: &[T]) -> Result<()> {
            reserve::grow(to, from.len())?;
            to.extend_from_slice(from);
            Ok(())
        }
        match self {
            RowRecords::F32(i, r) => all(i, indices).and_then(|()| all(r, rows.real::<f32>())),
            RowRecords::F64(i, r) => all(i, indices).and_then(|()| all(r, rows.real::<f64>())),
        }
    }
}

/// The rows of the gradient of one table that samples of a batch have left.
#[derive(Debug)]
pub(crate) struct RowCollection {
    pub records: RowRecords,
    /// The lookups of a sample, if what it repeats counts once.
    lookups: Option<SeenLookups>,
}

impl RowCollection {
    /// None, of a table with this element type; whether what a sample repeats counts once.
    pub(crate) fn new(dtype: DType, counts_once: bool) -> Self {
        RowCollection {
            records: RowRecords::new(dtype),
            lookups: counts_once.then(SeenLookups::default),
        }
    }

    /// What comes is of another sample.
    pub(in crate::exec) fn begin_sample(&mut self) {
        if let Some(lookups) = &mut self.lookups {
            lookups.clear();
        }
    }

    fn append(&mut self, site: LookupSite, indices: &[u32], rows: &View<'_>) -> Result<()> {
        if let Some(lookups) = &mut self.lookups
            && !indices.is_empty()
            && let Some(start) = lookups.before(site, indices, self.records.indices().len())?
        {
            let width = element_count(rows.shape)? / indices.len();
            self.records.add(start * width, rows);
            return Ok(());
        }
        self.records.append(indices, rows)
    }
}

thread_local! {
    /// What is collected by the function that runs in this thread, for each of its tables.
    static RECORDS: RefCell<Vec<RowCollection>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work`, in which the rows of gradients are appended to `records`.
pub(in crate::exec) fn collecting<R>(
    records: &mut Vec<RowCollection>,
    work: impl FnOnce() -> R,
) -> R {
    /// Gives the records back, also if the work panics.
    struct Collecting<'r>(&'r mut Vec<RowCollection>);
    impl Drop for Collecting<'_> {
        fn drop(&mut self) {
            RECORDS.with_borrow_mut(|here| std::mem::swap(here, self.0));
        }
    }
    RECORDS.with_borrow_mut(|here| std::mem::swap(here, records));
    let _collecting = Collecting(records);
    work()
}
