//! Optimizers: how a gradient changes a parameter.
//!
//! An [`Optimizer`] is a rule with its settings and the state it has built up for each
//! table. State is laid out like the table and touched by rows, so that rows which never
//! get a gradient never change and cost nothing; threads share it as they share the
//! table. [`Optimizer::step`] applies collected gradients by hand; training applies them
//! straight from a program's memory, with the same code.
//!
//! Every rule first clips each element of the gradient to `±clip`, then adds `l2` times
//! the parameter, both only on rows that have a gradient. Rows that occur several times in
//! a gradient are summed first, unless a plain step of SGD comes to the same.
//!
//! A step too large for the numbers of a parameter, or for what a rule adds up beside it,
//! makes the parameter NaN or infinite and is reported: by [`Optimizer::step`], which takes
//! it back, and by training, when a loss shows it or at the end.

pub(crate) mod apply;
mod by_name;
mod collected;
mod distinct;
pub(crate) mod gradient;
mod grouped;
mod ordinary;
mod pass;
mod penalty;
mod powers;
mod rule;
mod settings;
mod sgd;
mod snapshot;
mod state;
mod undo;
mod update;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

pub use penalty::Penalized;
pub use rule::Rule;
pub use settings::{L2Per, Settings};
pub(crate) use snapshot::check_numbers;
pub use snapshot::{Resumed, Snapshot};

use crate::array::{Array, Typed, with_real};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::process::{Mutex, QuickMutex};
use crate::table::{BRIEF, Param, Table};
use collected::{Collected, collect, given_twice, in_one_piece};
use distinct::DistinctRows;
use gradient::{Access, OnePart, Scratch, StepTarget};
use penalty::OwnL2;
use powers::Powers;
use settings::{check, check_clip, check_lr};
pub(crate) use state::State;
use state::{BorrowedState, States};
use undo::RowsCopy;
pub(crate) use undo::Touched;

/// A gradient to apply to a table: rows, or of the table's shape.
struct Work<'w> {
    table: &'w Arc<Table>,
    state: BorrowedState<'w>,
    /// Read once: another thread may set the learning rate meanwhile.
    settings: Settings,
    rows: Option<&'w [u32]>,
    values: &'w Array,
}

impl Work<'_> {
    /// The parameter, as far as it will change.
    fn touched(&self) -> Touched<'_> {
        Touched {
            table: self.table,
            rows: self.rows,
        }
    }

    /// The parameter and its state, as far as they will change.
    fn all_touched(&self) -> impl Iterator<Item = Touched<'_>> {
        let touched = self.touched();
        let state = self.state.slots.iter();
        std::iter::once(touched).chain(state.map(move |table| Touched { table, ..touched }))
    }

    /// What to report if the step was too large for the numbers of the parameter's type.
    fn error(&self, changed: &str) -> Error {
        Error::NotFinite(format!(
            "{}: the step leads to NaN or infinity ({changed}); a smaller learning rate, l2 or \
             clip may help",
            self.table.label()
        ))
    }
}

/// A rule, its settings and its state. See the [module documentation](self).
#[derive(Debug)]
pub struct Optimizer {
    rule: Rule,
    /// The settings that it was made with, of which the learning rate may have changed.
    settings: Settings,
    /// The bits of the learning rate.
    lr: AtomicU64,
    own_l2: OwnL2,
    /// The state of every table, of a rule that remembers nothing.
    common_state: Option<Arc<State>>,
    /// Of a rule that counts steps.
    powers: Option<Arc<[Powers; 2]>>,
    states: Mutex<States>,
    /// How many states were put in the place of others. It grows while their table is locked.
    replaced: AtomicU64,
    /// Memory in which a step by hand groups rows, kept from one step to the next.
    grouping: QuickMutex<DistinctRows>,
}

/// For how many rows memory for grouping is kept, some 90 bytes a row: allocating is what steps of a
/// few rows would spend their time on.
const KEPT: usize = 4096;

impl Optimizer {
    /// An optimizer without state.
    ///
    /// # Errors
    /// [`Error::Value`] naming the setting that is out of range.
    pub fn new(rule: Rule, settings: Settings) -> Result<Self> {
        let Settings { lr, l2, clip, .. } = settings;
        check_lr(lr)?;
        penalty::check_l2(l2)?;
        if let Some(clip) = clip {
            check_clip(clip)?;
        }
        rule.check()?;
        Ok(Optimizer {
            rule,
            settings,
            lr: AtomicU64::new(lr.to_bits()),
            own_l2: OwnL2::default(),
            common_state: State::nothing(rule),
            powers: State::powers(rule),
            states: Mutex::new(States::default()),
            replaced: AtomicU64::new(0),
            grouping: QuickMutex::new(DistinctRows::default()),
        })
    }

    /// The rule.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The settings. Parameters may have another `l2`: [`settings_of`](Self::settings_of).
    pub fn settings(&self) -> Settings {
        Settings {
            lr: f64::from_bits(self.lr.load(Ordering::Relaxed)),
            ..self.settings
        }
    }

    /// Changes the learning rate, and nothing of the state. It counts from the next step, and in a run
    /// of training from the next epoch. So a schedule is a call of this between two steps, or by the
    /// [observer](crate::train::Observer) of a run.
    ///
    /// ```
    /// use wyrmling::{Parameter, optim::Optimizer};
    /// let (w, sgd) = (Parameter::new(4.0), Optimizer::sgd(0.25)?);
    /// for step in 0..3 {
    ///     sgd.set_lr(0.25 * 0.5_f64.powi(step))?;
    ///     w.clone().square().backward();
    ///     sgd.step_and_clear(&[&w])?;
    /// }
    /// assert_eq!(w.item()?, 1.3125);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Value`] if it is negative or not finite; it is not changed then.
    pub fn set_lr(&self, lr: f64) -> Result<()> {
        check_lr(lr)?;
        self.lr.store(lr.to_bits(), Ordering::Relaxed);
        Ok(())
    }

    /// Applies the collected gradient of every parameter; those without one are left alone.
    /// The gradients are kept: clear them with [`Param::zero_grad`].
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a gradient holds NaN or infinity or the step leads there,
    /// [`Error::State`] if a parameter is being trained, [`Error::Memory`] if there is not the
    /// memory to take the step back, [`Error::Interrupted`] if the caller asked to stop; no parameter
    /// is changed then.
    pub fn step<P: AsRef<Param>>(&self, params: &[P]) -> Result<()> {
        let mut gradients = Collected::new();
        collect(params, Param::shared_gradient, &mut gradients)?;
        self.step_all(&mut gradients)
    }

    /// As [`step`](Self::step), and clears the gradients.
    ///
    /// # Errors
    /// As [`step`](Self::step); the gradients are kept then.
    pub fn step_and_clear<P: AsRef<Param>>(&self, params: &[P]) -> Result<()> {
        let mut gradients = Collected::new();
        collect(params, Param::take_gradient, &mut gradients)?;
        let done = self.step_all(&mut gradients);
        for (param, gradient) in gradients {
            match done {
                Ok(()) => param.keep(gradient),
                Err(_) => param.put_back(gradient),
            }
        }
        done
    }

    fn step_all(&self, gradients: &mut Collected<'_>) -> Result<()> {
        let mut work = SmallVec::new();
        let replaced = self.replaced.load(Ordering::Relaxed);
        self.prepare(gradients, &mut work)?;
        interrupt::check()?;
        if work.iter().all(|item| item.values.size() <= BRIEF)
            && let Some(_alone) = Table::alone(tables(&work))
        {
            self.renew(&mut work, replaced)?;
            // SAFETY: `_alone` is exclusive access to the tables; their state is reached through the same optimizer
            // and table only; `Rows` checked its indices against the table.
            if let Some(done) = unsafe { self.ordinary_step(&work) } {
                return done;
            }
        }
        let _locks = Table::exclusive_all(tables(&work))?;
        self.renew(&mut work, replaced)?;
        interrupt::check()?;
        // SAFETY: `_locks` holds exclusive access to the tables; the rest is as above.
        if let Some(done) = unsafe { self.ordinary_step(&work) } {
            return done;
        }
        check_finite(&work)?;
        let touched = || work.iter().flat_map(Work::all_touched);
        // SAFETY: `_locks` holds exclusive access to the tables; their state is reached through
        // the same optimizer and table only; `Rows` checked its indices against the table.
        let copy = |touched: Touched<'_>| unsafe { touched.copy() };
        let before: Vec<RowsCopy> = touched().map(copy).collect::<Result<_>>()?;
        interrupt::check()?;
        let apply = |item: &Work<'_>| {
            // SAFETY: nobody else uses the table, since `_locks` holds exclusive access until this function
            // returns, nor its state, which is reached through the same optimizer and table only.
            unsafe { self.apply(Access::Alone, item) }?;
            // What was left half-way is taken back.
            interrupt::check()?;
            // SAFETY: `_locks` holds exclusive access to the table until this function returns; the rows
            // touched are those of `item`, whose indices `Rows` checked against the table.
            match unsafe { item.touched().is_finite() } {
                true => Ok(()),
                false => Err(item.error("no parameter was changed")),
            }
        };
        let applied = work.iter().try_for_each(apply);
        if applied.is_err() {
            for (touched, copy) in touched().zip(&before) {
                // SAFETY: `_locks` holds exclusive access to the tables until this function returns, and
                // `copy` was made of the same rows, which `touched()` names in the same order.
                unsafe { touched.restore(copy) };
            }
        }
        applied
    }

    /// As [`step`](Self::step), beside other workers of one training run. Since they see each
    /// change at once, a step that leads to NaN or infinity is reported and not taken back.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a gradient holds NaN or infinity, [`Error::State`] if a
    /// parameter is not being trained; no parameter is changed then. [`Error::NotFinite`] if
    /// the step leads to NaN or infinity.
    pub(crate) fn step_shared(&self, params: &[&Param]) -> Result<()> {
        let (mut gradients, mut work) = (Collected::new(), SmallVec::new());
        collect(params, Param::shared_gradient, &mut gradients)?;
        self.prepare(&mut gradients, &mut work)?;
        check_finite(&work)?;
        let _locks = Table::beside(tables(&work))?;
        for item in &work {
            // SAFETY: the table is being trained and `_locks` excludes plain access to it, so
            // everybody moves rows; state is reached by the optimizer of that training only.
            unsafe { self.apply(Access::Shared, item) }?;
            Table::touch_beside(std::iter::once(&**item.table));
        }
        // SAFETY: `_locks` excludes plain access to the tables until this function returns, so everybody
        // moves rows; the rows' indices were checked against their table by `Rows`.
        match work.iter().find(|w| !unsafe { w.touched().is_finite() }) {
            Some(failed) => Err(failed.error("other workers have seen it")),
            None => Ok(()),
        }
    }

    /// Applies gradients, if the step is surely finite; else `None`, and nothing is changed.
    ///
    /// # Safety
    /// Nobody else uses the tables and their states until this returns, and rows are those of their tables.
    // Called in two places, and large.
    #[inline(never)]
    unsafe fn ordinary_step(&self, work: &[Work<'_>]) -> Option<Result<()>> {
        // SAFETY: the conditions are those of this function.
        unsafe { self.is_ordinary(work) }.then(|| {
            // SAFETY: nobody else uses the tables and their states, by the conditions of this function.
            let apply = |item| unsafe { self.apply(Access::Alone, item) };
            work.iter().try_for_each(apply)
        })
    }

    /// Adds what there is to apply to `work`, which the caller has, so that it is not moved. Gradients are checked
    /// against the types of their tables, and those of rows are put in one piece.
    fn prepare<'w>(
        &'w self,
        gradients: &'w mut Collected<'_>,
        work: &mut SmallVec<[Work<'w>; 4]>,
    ) -> Result<()> {
        for (param, gradient) in gradients {
            interrupt::check()?;
            let table = param.table();
            // What follows writes to the table without looking.
            gradient.check(table.ty(), || table.label())?;
            let (rows, values) = in_one_piece(gradient)?;
            work.push(Work {
                table,
                state: self.borrowed_state(table)?,
                settings: self.settings_of(table),
                rows,
                values,
            });
            // A pass has just read the parameter, and nobody the state.
            let touched = work.last().into_iter().flat_map(Work::all_touched);
            touched.skip(1).for_each(Touched::prefetch);
        }
        match work.windows(2).any(|w| w[0].table.id() == w[1].table.id()) {
            true => Err(given_twice()),
            false => Ok(()),
        }
    }

    /// Looks the states up again if any were put in the place of others when `replaced` had been already: they are
    /// those of the tables' numbers. The tables are locked.
    fn renew<'w>(&'w self, work: &mut [Work<'w>], replaced: u64) -> Result<()> {
        if self.replaced.load(Ordering::Relaxed) != replaced {
            for item in work {
                item.state = self.borrowed_state(item.table)?;
            }
        }
        Ok(())
    }

    /// What a gradient is applied to.
    fn target<'w>(&self, work: &'w Work<'_>) -> StepTarget<'w> {
        StepTarget {
            table: work.table,
            state: &work.state,
            rule: self.rule,
            settings: work.settings,
        }
    }

    /// Applies one gradient.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory; nothing is changed then.
    ///
    /// # Safety
    /// The table and its state are reached by others as `access` says.
    unsafe fn apply(&self, access: Access, work: &Work<'_>) -> Result<()> {
        let target = self.target(work);
        with_real!(work.table.ty().dtype, T => {
            let numbers = <T as Typed>::slice(work.values.view().data);
            match work.rows {
                None => {
                    let mut scratch = match access {
                        Access::Alone => Scratch::<T>::none(),
                        Access::Shared => Scratch::new(work.table.width(), 0)?,
                    };
                    // SAFETY: others reach the table and its state as `access` says, by the condition of
                    // this function; a gradient has its table's type and so its shape.
                    unsafe { apply::dense(access, &target, numbers, 1, &mut scratch) };
                }
                Some(indices) => {
                    let (width, count) = (work.table.width(), indices.len());
                    let groups = target.groups(count);
                    let mut scratch = match access {
                        Access::Alone if groups => {
                            let kept = std::mem::take(&mut *self.grouping.lock());
                            Scratch::alone(kept.with_room(count)?, width, count)?
                        }
                        // Beside others a row is copied to be changed, also if it is the only one.
                        Access::Shared if groups || !target.adds() => Scratch::new(width, count)?,
                        Access::Alone | Access::Shared => Scratch::<T>::none(),
                    };
                    let parts = OnePart { indices, rows: numbers };
                    // SAFETY: others reach the table and its state as `access` says, by the condition of
                    // this function; `Rows` checked its indices against the table.
                    unsafe { apply::rows(access, &target, &parts, &mut scratch) };
                    if groups && access == Access::Alone && count <= KEPT {
                        *self.grouping.lock() = scratch.distinct;
                    }
                }
            }
        });
        Ok(())
    }
}

fn tables<'w>(work: &[Work<'w>]) -> impl Iterator<Item = &'w Table> {
    work.iter().map(|item| &**item.table)
}

/// # Errors
/// [`Error::NotFinite`] if a gradient holds NaN or infinity.
fn check_finite(work: &[Work<'_>]) -> Result<()> {
    match work.iter().find(|item| !item.values.is_finite()) {
        Some(item) => Err(Error::NotFinite(format!(
            "{}: the gradient holds NaN or infinity",
            item.table.label()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::array::{DType, Dense, Type};
    use crate::table::{Gradient, Rows};

    #[test]
    fn memory_for_grouping_is_kept_for_few_rows_only() {
        let optimizer = Optimizer::new(Rule::Adagrad { eps: 1e-10 }, Settings::new(0.5)).unwrap();
        let ty = Type::new(DType::F32, &[10, 2]);
        let param = Param::on(Arc::new(Table::zeros(&ty, None).unwrap()));
        for (count, kept) in [(3, 3), (2, 3), (KEPT, KEPT), (KEPT + 1, 0), (5, 5)] {
            let indices = Dense::new(&[count], vec![7_u32; count]).unwrap();
            let ones = Dense::new(&[count, 2], vec![1.0_f32; 2 * count]).unwrap();
            let rows = Rows::new(ty.clone(), indices, ones.into()).unwrap();
            param.accumulate(Gradient::Rows(rows)).unwrap();
            let before = param.table().read().to_f64();
            optimizer.step_and_clear(&[&param]).unwrap();
            assert_eq!(optimizer.grouping.lock().room(), kept, "{count} rows");
            let after = param.table().read().to_f64();
            for (number, (&before, &after)) in before.iter().zip(&after).enumerate() {
                assert_eq!(
                    after < before,
                    number / 2 == 7,
                    "number {number}, {count} rows"
                );
            }
        }
    }

    #[test]
    fn no_part_of_a_step_is_long_before_it_looks() {
        const COUNT: usize = 3 * grouped::PIECE;
        let (asked, mut rules) = (AtomicBool::new(true), Vec::new());
        rules.extend([0.0, 0.5].map(|momentum| Rule::Sgd { momentum }));
        rules.push(Rule::Adagrad { eps: 1e-10 });
        rules.push(Rule::Adam {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
        });
        for rule in rules {
            for shape in [&[COUNT][..], &[COUNT / 48, 48], &[12, COUNT / 12]] {
                let param = Param::on(Arc::new(
                    Table::zeros(&Type::new(DType::F32, shape), None).unwrap(),
                ));
                let ones = Dense::new(shape, vec![1.0_f32; COUNT]).unwrap();
                param.accumulate(Gradient::Dense(ones.into())).unwrap();
                let optimizer = Optimizer::new(rule, Settings::new(0.5)).unwrap();
                let params = [&param];
                let mut gradients = Collected::new();
                collect(&params, Param::shared_gradient, &mut gradients).unwrap();
                let mut work = SmallVec::new();
                optimizer.prepare(&mut gradients, &mut work).unwrap();
                for touched in work[0].all_touched() {
                    // The counts of steps are few, but for rows of one number.
                    let few = touched.table.size() < grouped::PIECE;
                    // SAFETY: `work` was prepared for this table, which this thread alone has.
                    let copy = interrupt::with_stop_flag(&asked, || unsafe { touched.copy() });
                    assert_eq!(copy.is_ok(), few, "{rule:?} {shape:?}");
                }
                // SAFETY: `work` was prepared for this table and by this optimizer, and this thread
                // alone has both, as `Access::Alone` says.
                interrupt::with_stop_flag(&asked, || unsafe {
                    optimizer.apply(Access::Alone, &work[0])
                })
                .unwrap();
                let changed = param.table().read().to_f64();
                let changed = changed.iter().filter(|&&x| x != 0.0).count();
                assert!(changed <= grouped::PIECE, "{rule:?} {shape:?}: {changed}");
            }
        }
    }
}
