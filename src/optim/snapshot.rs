//! The state of an optimizer taken out and put back, so that training can go on in another
//! process.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Optimizer, State};
use crate::array::{Array, Slice, View, show_shape, with_real};
use crate::error::{Error, Result};
use crate::order;
use crate::table::Table;

/// What an optimizer remembers about one parameter.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The parameter's table.
    pub table: Arc<Table>,
    /// What the rule keeps: arrays of the parameter's type and shape (SGD with momentum: the
    /// velocity; Adagrad: sums of squares; Adam: first and second moments), then for Adam how
    /// often each row was changed.
    pub slots: Vec<Array>,
}

/// What one parameter goes on from.
#[derive(Debug)]
pub struct Resumed<'a> {
    /// The parameter's table.
    pub table: &'a Arc<Table>,
    /// The arrays that [`Snapshot::slots`] had.
    pub slots: Vec<View<'a>>,
    /// The parameter's numbers; `None` if they stay.
    pub value: Option<View<'a>>,
}

impl Optimizer {
    /// A copy of the state, a part for each parameter that still is and has some, in the order
    /// in which they were made. Waits for whoever changes a parameter just now.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory; [`Error::State`] within a call that changes
    /// one of the parameters.
    pub fn snapshot(&self) -> Result<Vec<Snapshot>> {
        // A map that a panicking thread left behind is whole.
        let states = self.states.lock();
        let mut found: Vec<_> = states
            .by_table
            .values()
            .filter(|(_, state)| !state.slots.is_empty())
            .filter_map(|(table, state)| Some((table.upgrade()?, Arc::clone(state))))
            .collect();
        drop(states);
        order::sort_by_key(&mut found, |(table, _)| table.id() as usize);
        let copy = |(table, state): (Arc<Table>, Arc<State>)| {
            let slots = state.copied(&table)?;
            Ok(Snapshot { table, slots })
        };
        found.into_iter().map(copy).collect()
    }

    /// A copy of what is remembered about one parameter; zeros if that is nothing yet.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub fn slots_of(&self, table: &Arc<Table>) -> Result<Vec<Array>> {
        self.state(table)?.copied(table)
    }

    /// Puts state that [`snapshot`](Self::snapshot) gave, of this optimizer or one with the same
    /// rule, in the place of what there is for its table.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] if the arrays are not those that the rule keeps of such a table,
    /// [`Error::Value`] if they have numbers that no training leaves: negative sums of squares, or numbers of steps
    /// that are not whole; [`Error::State`] if the parameter is being trained, by what goes on with the state that
    /// there is; [`Error::Memory`] if there is not the memory. Nothing is changed then.
    pub fn restore(&self, snapshot: &Snapshot) -> Result<()> {
        let Snapshot { table, slots } = snapshot;
        let slots: Vec<View<'_>> = slots.iter().map(Array::view).collect();
        let state = self.restored(table, &slots)?;
        let _access = table.exclusive()?;
        self.put(table, state);
        Ok(())
    }

    /// Puts back the learning rate, and the state and numbers of some parameters: all or nothing. What
    /// is given is copied once.
    ///
    /// # Errors
    /// As [`restore`](Self::restore), [`set_lr`](Self::set_lr) and [`Table::write`];
    /// [`Error::State`] if a parameter is being trained. Nothing is changed then.
    pub fn resume(&self, lr: f64, parameters: &[Resumed<'_>]) -> Result<()> {
        super::check_lr(lr)?;
        let states = parameters.iter().map(|p| self.restored(p.table, &p.slots));
        let states: Vec<State> = states.collect::<Result<_>>()?;
        let values: Vec<_> = parameters.iter().map(|p| (&**p.table, p.value)).collect();
        let _access = Table::write_all(&values)?;
        for (parameter, state) in parameters.iter().zip(states) {
            self.put(parameter.table, state);
        }
        self.set_lr(lr)
    }

    /// Takes a state in the place of that of a table, which the caller has locked.
    fn put(&self, table: &Arc<Table>, state: State) {
        let mut states = self.states.lock();
        let old = states.insert(table, Arc::new(state));
        self.replaced.fetch_add(1, Ordering::Relaxed);
        drop(states);
        drop(old);
    }

    /// The state of a table that has these numbers, which are checked.
    fn restored(&self, table: &Table, slots: &[View<'_>]) -> Result<State> {
        let state = self.new_state(table)?;
        if slots.len() != state.slots.len() {
            return Err(Error::Shape(format!(
                "state of {}: expected {} arrays, got {}",
                table.label(),
                state.slots.len(),
                slots.len()
            )));
        }
        let names = self.rule().slot_names();
        for ((slot, array), name) in state.slots.iter().zip(slots).zip(names) {
            let what = format!("state of {}: {name}", table.label());
            let (dtype, wanted) = (array.data.dtype(), slot.ty());
            if dtype != wanted.dtype {
                return Err(Error::Type(format!(
                    "{what}: expected {}, got {dtype}",
                    wanted.dtype
                )));
            }
            array.check_length(|| what.clone())?;
            if *array.shape != wanted.shape[..] {
                return Err(Error::Shape(format!(
                    "{what}: expected shape {}, got {}",
                    show_shape(&wanted.shape),
                    show_shape(array.shape)
                )));
            }
            check_numbers(&what, name, *array)?;
            // Not by `write`, which refuses infinity: sums of squares may have overflowed.
            let mut access = slot.exclusive()?;
            with_real!(wanted.dtype, T => {
                access.slice::<T>().copy_from_slice(array.real::<T>());
            });
        }
        Ok(state)
    }
}

/// Refuses numbers beside a parameter that no training leaves. Those that overflowed are left.
///
/// # Errors
/// [`Error::Value`], about `what`.
pub(crate) fn check_numbers(what: &str, slot: &str, view: View<'_>) -> Result<()> {
    let find = |is_bad: fn(f64) -> bool| match view.data {
        Slice::F32(numbers) => numbers.iter().map(|&x| f64::from(x)).find(|&x| is_bad(x)),
        Slice::F64(numbers) => numbers.iter().copied().find(|&x| is_bad(x)),
        Slice::U32(_) => None,
    };
    if matches!(slot, "exp_avg_sq" | "sum" | "step")
        && let Some(number) = find(|x| x < 0.0)
    {
        return Err(Error::Value(format!(
            "{what} has {number:?}, expected numbers of at least 0"
        )));
    }
    // NaN and infinity, which no count reaches, are not whole either.
    if slot == "step" && find(|x| x.fract() != 0.0).is_some() {
        return Err(Error::Value(format!(
            "{what} is not whole, expected numbers of steps"
        )));
    }
    Ok(())
}

impl State {
    /// A copy of the arrays that belong to a table.
    fn copied(&self, table: &Table) -> Result<Vec<Array>> {
        // Whoever changes the state on plain slices holds the parameter's lock exclusively
        // meanwhile.
        let _guard = Table::reading(std::iter::once(table))?;
        self.slots.iter().map(Table::try_read).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::array::{DType, Dense, Type};
    use crate::optim::{Rule, Settings};
    use crate::table::{BRIEF, Gradient, Param};

    #[test]
    fn a_step_that_waited_for_a_restored_parameter_goes_on_from_the_restored_state() {
        let rule = Rule::Sgd { momentum: 0.5 };
        for count in [1, BRIEF + 1] {
            let optimizer = Optimizer::new(rule, Settings::new(1.0)).unwrap();
            let ty = Type::new(DType::F32, &[count]);
            let param = Param::on(Arc::new(Table::zeros(&ty, None).unwrap()));
            let ones = Dense::new(&[count], vec![1.0_f32; count]).unwrap();
            param.accumulate(Gradient::Dense(ones.into())).unwrap();
            optimizer.state(param.table()).unwrap();
            let velocity = Array::full(&ty, 8.0);
            let access = param.table().exclusive().unwrap();
            std::thread::scope(|scope| {
                let step = scope.spawn(|| optimizer.step(&[&param]));
                // It has looked for the state by then, and waits.
                std::thread::sleep(Duration::from_millis(100));
                let state = optimizer
                    .restored(param.table(), &[velocity.view()])
                    .unwrap();
                optimizer.put(param.table(), state);
                drop(access);
                step.join().unwrap().unwrap();
            });
            let after = optimizer.slots_of(param.table()).unwrap();
            assert_eq!(
                after[0].to_f64()[0],
                5.0,
                "half of the velocity and the gradient"
            );
            assert_eq!(param.table().read().to_f64()[0], -5.0);
        }
    }
}
