//! Rows that are read where they are: products and gradients of a plan that need no copies of them.
//!
//! A lookup copies rows, since an update must see them as they were when its batch began. Where a dot product and
//! gradients are all that reads them, and these are applied before the gradient of the table itself, the rows are in
//! the table until then: [`Plan::with_rows_in_place`] leaves the copies out. Of a pairwise loss it is the rows of
//! items, which the gradient of users reads; an epoch with rows of 128 numbers takes a tenth less, and the numbers are
//! the same. Where several workers train, another may have changed a row between the product and the gradient, as it
//! may between two of its elements.
//!
//! Limits: gradients whose terms are added as they are, of rows that an input or a constant names, with more than
//! one number and not so many that a product is summed by halves. Of two operands of a product one is copied. Linear
//! in the plan.

use std::collections::{BTreeMap, HashMap};

use smallvec::SmallVec;

use super::check::interval;
use super::rows::{Bags, RowTerms};
use super::{Location, Place, Plan, Sink, Step};
use crate::optim::gradient::Term;
use crate::simd::dot::LONG;

/// Passes over a plan after which no copy is left out, if some were found to be needed in each.
const MOST_PASSES: usize = 4;

/// Rows that a dot product copies.
#[derive(Clone, Copy)]
struct CopiedRows<'p> {
    /// The number of the step that copies them.
    step: usize,
    table: usize,
    index: &'p Place,
    /// Numbers in all.
    size: usize,
    /// Where the memory of the copy ends.
    end: usize,
}

/// Copies, by where they start. No two have memory in common.
#[derive(Default)]
struct Copies<'p>(BTreeMap<usize, CopiedRows<'p>>);

impl<'p> Copies<'p> {
    /// Those that have memory in common with a value, the last first.
    fn overlapping(&self, place: &Place) -> Option<usize> {
        let (start, end) = interval(place).ok().flatten()?;
        let (&at, copied) = self.0.range(..end).next_back()?;
        (copied.end > start).then_some(at)
    }

    /// Forgets those that have memory in common with a value.
    fn forget(&mut self, place: &Place) {
        while let Some(at) = self.overlapping(place) {
            self.0.remove(&at);
        }
    }

    /// The one that a value is at the end of a run.
    fn get(&self, place: &Place) -> Option<&CopiedRows<'p>> {
        let Location::Arena(start) = place.location else {
            return None;
        };
        let copied = self.0.get(&start)?;
        (copied.size == place.ty.size()).then_some(copied)
    }

    /// The one that a value of a step is. Another step may have had its copy in the same memory before.
    fn of_step(&self, step: usize, place: &Place) -> Option<&CopiedRows<'p>> {
        self.get(place).filter(|copied| copied.step == step)
    }

    /// Forgets those that a part of a gradient needs. `stays` is whether the rows of a table are as they were when the
    /// part is applied.
    fn forget_needed(&mut self, part: &RowTerms<Place>, stays: impl Fn(usize) -> bool) {
        self.forget(&part.index);
        for place in part.bags.iter().flat_map(Bags::values) {
            self.forget(place);
        }
        for term in &part.terms {
            if let Some(scale) = &term.scale {
                self.forget(scale);
            }
            let is_row_each = |index: &Place| index.ty.size() == part.index.ty.size();
            let is_read_in_time = self.get(&term.rows).is_some_and(|copied| {
                part.bags.is_none() && is_row_each(copied.index) && stays(copied.table)
            });
            if !is_read_in_time {
                self.forget(&term.rows);
            }
        }
    }

    /// Those of a plan that nothing but their product reads among its steps.
    fn of_steps(plan: &'p Plan) -> Self {
        let mut copies = Copies::default();
        for (number, step) in plan.steps.iter().enumerate() {
            for place in places(step) {
                copies.forget(place);
            }
            let Step::GatherDot { rows, others, .. } = step else {
                continue;
            };
            for rows in [rows, others] {
                let Some((table, index)) = &rows.lookup else {
                    continue;
                };
                let Ok(Some((start, end))) = interval(&rows.place) else {
                    continue;
                };
                let size = rows.place.ty.size();
                let width = size / index.ty.size().max(1);
                let is_given = matches!(index.location, Location::Leaf(_) | Location::Constant(_));
                if is_given && (2..=LONG).contains(&width) {
                    let table = *table;
                    copies.0.insert(
                        start,
                        CopiedRows {
                            step: number,
                            table,
                            index,
                            size,
                            end,
                        },
                    );
                }
            }
        }
        copies
    }
}

/// The values that a step reads or writes.
fn places(step: &Step) -> SmallVec<[&Place; 8]> {
    match step {
        Step::Load { out, .. } => SmallVec::from_slice(&[out]),
        Step::Gather { index, out, .. } => SmallVec::from_slice(&[index, out]),
        Step::Bag {
            index, bags, out, ..
        } => bags.values().chain([index, out]).collect(),
        Step::GatherDot { rows, others, out } => {
            let indices = [rows, others]
                .into_iter()
                .filter_map(|r| Some(&r.lookup.as_ref()?.1));
            indices.chain([&rows.place, &others.place, out]).collect()
        }
        Step::DotInPlace {
            index, others, out, ..
        } => SmallVec::from_slice(&[index, others, out]),
        Step::Group(group) => group.externals.iter().collect(),
        Step::Kernel { args, out, .. } => args.iter().chain([out]).collect(),
    }
}

impl Plan {
    /// Whether rows of tables are read where they are.
    pub(in crate::exec) fn reads_rows_in_place(&self) -> bool {
        let parts = self.sinks.iter().flatten().flat_map(parts);
        parts
            .flat_map(|part| &part.terms)
            .any(|term| term.table.is_some())
    }

    /// The same plan with fewer copies, for whoever applies its gradients in their order, right after each run. `adds`
    /// says of each gradient whether its terms are added as they are. `None` if every copy is needed.
    pub(crate) fn with_rows_in_place(&self, adds: impl Fn(usize) -> bool) -> Option<Plan> {
        let mut copies = Copies::of_steps(self);
        copies.forget(&self.result);
        let own = self.gradients_of_tables();
        for (number, sink) in self.sinks.iter().enumerate() {
            match sink {
                None => {}
                Some(Sink::Dense(place)) => copies.forget(place),
                Some(Sink::Rows(parts)) => {
                    let adds = adds(number);
                    for part in parts {
                        copies.forget_needed(part, |table| {
                            adds && own.get(&table).is_none_or(|&own| number < own)
                        });
                    }
                }
            }
        }
        // Of both operands of a product the first is read in place.
        for (number, step) in self.steps.iter().enumerate() {
            if let Step::GatherDot { rows, others, .. } = step
                && [rows, others].map(|r| copies.of_step(number, &r.place).is_some()) == [true; 2]
            {
                copies.forget(&others.place);
            }
        }
        // Two terms are added in one pass if both are in memory or both are in tables.
        for _ in 0..MOST_PASSES {
            if copies.0.is_empty() {
                return None;
            }
            let before = copies.0.len();
            let parts = self.sinks.iter().flatten().flat_map(parts);
            for part in parts.filter(|part| part.terms.len() == 2) {
                let rows = [0, 1].map(|t| &part.terms[t].rows);
                if rows.iter().any(|rows| copies.get(rows).is_none()) {
                    rows.iter().for_each(|rows| copies.forget(rows));
                }
            }
            if copies.0.len() == before {
                return Some(self.without(&copies));
            }
        }
        None
    }

    /// The number of the gradient of each table that has one.
    fn gradients_of_tables(&self) -> HashMap<usize, usize> {
        let tables = self.gradients.iter().map(|&leaf| self.tables[leaf]);
        let numbered = tables.enumerate();
        numbered
            .filter_map(|(k, table)| Some((table?, k)))
            .collect()
    }

    /// The plan without some copies.
    fn without(&self, copies: &Copies<'_>) -> Plan {
        let mut plan = self.clone();
        for (number, step) in std::mem::take(&mut plan.steps).into_iter().enumerate() {
            let Step::GatherDot { rows, others, out } = step else {
                plan.steps.push(step);
                continue;
            };
            let copied = [&rows, &others].map(|r| copies.of_step(number, &r.place));
            let (copied, other) = match (copied[0], copied[1]) {
                (Some(copied), _) => (copied, others),
                (None, Some(copied)) => (copied, rows),
                (None, None) => {
                    plan.steps.push(Step::GatherDot { rows, others, out });
                    continue;
                }
            };
            if let Some((table, index)) = other.lookup {
                let out = other.place.clone();
                plan.steps.push(Step::Gather { table, index, out });
            }
            plan.steps.push(Step::DotInPlace {
                table: copied.table,
                index: copied.index.clone(),
                others: other.place,
                out,
            });
        }
        let terms = plan.sinks.iter_mut().flatten().flat_map(|sink| match sink {
            Sink::Dense(_) => Default::default(),
            Sink::Rows(parts) => parts.iter_mut(),
        });
        for term in terms.flat_map(|part| &mut part.terms) {
            if let Some(copied) = copies.get(&term.rows) {
                *term = Term {
                    scale: term.scale.take(),
                    rows: copied.index.clone(),
                    table: Some(copied.table),
                };
            }
        }
        plan
    }
}

/// The parts of a gradient that is rows.
fn parts(sink: &Sink) -> &[RowTerms<Place>] {
    match sink {
        Sink::Dense(_) => &[],
        Sink::Rows(parts) => parts,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::array::{Array, Dense, Number, Slice};
    use crate::exec::{Executor, Leaf, Program, Wrt};
    use crate::graph::{Input, Parameter, Variable};
    use crate::optim::apply;
    use crate::optim::gradient::{Access, Scratch, StepTarget, adds};
    use crate::optim::{L2Per, Optimizer, Rule, Settings};
    use crate::rules::StopGradient;

    const ROWS: [usize; 2] = [5, 7];
    const SAMPLES: usize = 20;

    type Of = fn(&[Parameter; 2], &[Input; 3]) -> Variable;

    fn score(tables: &[Parameter; 2], user: &Input, item: &Input) -> Variable {
        let [users, items] = tables.each_ref().map(Parameter::clone);
        users
            .gather(user.clone())
            .vecdot(items.gather(item.clone()))
            .boxed()
    }

    fn pairwise(tables: &[Parameter; 2], [user, item, other]: &[Input; 3]) -> Variable {
        (score(tables, user, item) - score(tables, user, other))
            .sigmoid()
            .square()
            .boxed()
    }

    fn squared(tables: &[Parameter; 2], [user, item, _]: &[Input; 3]) -> Variable {
        score(tables, user, item).square().boxed()
    }

    /// The items' rows are read by another operator too.
    fn with_penalty(tables: &[Parameter; 2], inputs: &[Input; 3]) -> Variable {
        let rows = tables[1].clone().gather(inputs[1].clone());
        (pairwise(tables, inputs) + rows.clone().vecdot(rows)).boxed()
    }

    /// The rows of the first product's items are read by nothing else, so that the second's may be copied to the same
    /// memory.
    fn of_products(tables: &[Parameter; 2], [user, item, other]: &[Input; 3]) -> Variable {
        let [users, items] = tables.each_ref().map(Parameter::clone);
        let rows = users.gather(user.clone());
        let fixed = rows.clone().unary(StopGradient).expect("rows");
        let first = fixed.vecdot(items.clone().gather(item.clone()));
        let second = items.gather(other.clone()).vecdot(rows);
        (first * second).sigmoid().boxed()
    }

    /// Both rows are of one table.
    fn of_items(tables: &[Parameter; 2], [_, item, other]: &[Input; 3]) -> Variable {
        let rows = |of: &Input| tables[1].clone().gather(of.clone());
        rows(item).vecdot(rows(other)).square().boxed()
    }

    /// Numbers of tables after a step on samples with repeated rows, and whether copies were left out.
    fn step<T: Number>(
        of: Of,
        width: usize,
        settings: Settings,
        in_place: bool,
    ) -> (Vec<f64>, bool) {
        let table = |rows: usize| {
            let numbers = (0..rows * width).map(|k| (k * 7 % 23) as f64 / 11.0 - 1.0);
            let value = Dense::new(&[rows, width], numbers.collect::<Vec<f64>>()).expect("fits");
            let value = Array::from(value).to_dtype(T::DTYPE);
            Parameter::new(value)
        };
        let tables = ROWS.map(table);
        let indices = |k: usize, rows: usize| -> Vec<u32> {
            (0..SAMPLES)
                .map(|i| ((i * k + i / 3) % rows) as u32)
                .collect()
        };
        let values = [
            indices(3, ROWS[0]),
            indices(5, ROWS[1]),
            indices(2, ROWS[1]),
        ];
        let inputs = values.clone().map(Input::indices);
        let program: Program = of(&tables, &inputs)
            .sum()
            .freeze()
            .expect("it can be frozen");
        let given: Vec<&Vec<u32>> = program
            .inputs()
            .map(|found| {
                let at = inputs
                    .iter()
                    .position(|input| matches!(found, Leaf::Input { id, .. } if *id == input.id()));
                &values[at.expect("one of these")]
            })
            .collect();
        let shapes: Vec<_> = given.iter().map(|_| [SAMPLES].as_slice().into()).collect();
        let plan = program.plan(&shapes, Wrt::Parameters).expect("a plan");
        let sgd = Optimizer::new(Rule::Sgd { momentum: 0.0 }, settings).expect("in range");
        let fewer = plan.with_rows_in_place(|_| adds(sgd.rule(), &settings));
        let found = fewer.is_some();
        let plan = match fewer {
            Some(fewer) if in_place => Arc::new(fewer),
            _ => plan,
        };
        let mut executor = Executor::new(plan, program.tables()).expect("a plan that fits");
        let leaves = executor.plan().inputs.clone();
        let leaves = (0..leaves.len()).filter(|&leaf| leaves[leaf]);
        for (leaf, value) in leaves.zip(&given) {
            executor.bind(leaf, Slice::U32(value));
        }
        // SAFETY: all inputs are bound to indices of rows, and nobody else has the tables.
        unsafe { executor.run() }.expect("finite numbers");
        for (number, table) in program.tables().iter().enumerate() {
            let target = StepTarget {
                table,
                state: &sgd.state(table).expect("no state"),
                rule: sgd.rule(),
                settings,
            };
            let mut scratch = Scratch::<T>::new(width, 3 * SAMPLES).expect("a little");
            // SAFETY: the indices are rows of the tables, which nobody else has.
            unsafe {
                apply::rows(Access::Alone, &target, &executor.rows(number), &mut scratch);
            }
        }
        let numbers = tables
            .iter()
            .flat_map(|w| w.param().table().read().to_f64());
        (numbers.collect(), found)
    }

    fn agree<T: Number>() {
        let cases: [(Of, bool); 5] = [
            (pairwise, true),
            (squared, true),
            (of_products, true),
            (with_penalty, false),
            (of_items, false),
        ];
        for (case, (of, expected)) in cases.into_iter().enumerate() {
            for width in [2, 3, 16, 32, 37, 64, 128, 200] {
                for (l2, l2_per) in [(0.0, L2Per::Step), (0.1, L2Per::Step), (0.1, L2Per::Sample)] {
                    let settings = Settings {
                        lr: 0.1,
                        l2,
                        clip: None,
                        l2_per,
                    };
                    let (copied, _) = step::<T>(of, width, settings, false);
                    let (in_place, found) = step::<T>(of, width, settings, true);
                    assert_eq!(found, expected, "case {case}");
                    let is_finite = copied.iter().all(|x| x.is_finite());
                    let is_same = is_finite && copied == in_place;
                    assert!(is_same, "case {case}, width {width}, l2 {l2} {l2_per:?}");
                }
            }
        }
    }

    /// Steps are the same, bit by bit, whether rows are copied or read in place.
    #[test]
    fn numbers_are_those_of_copies() {
        agree::<f32>();
        agree::<f64>();
    }

    /// Rules that need the whole gradient of a row get copies.
    #[test]
    fn gradients_that_are_not_added_keep_their_copies() {
        let settings = Settings {
            lr: 0.1,
            l2: 0.0,
            clip: Some(1.0),
            l2_per: L2Per::Step,
        };
        assert!(!step::<f32>(pairwise, 16, settings, true).1);
        // A product of rows of one number is no row product, and one of very long rows is summed by halves.
        let settings = Settings {
            clip: None,
            ..settings
        };
        for width in [1, LONG + 1] {
            assert!(!step::<f32>(pairwise, width, settings, true).1, "{width}");
        }
    }
}
