//! What operators may say of themselves, and rules may answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use wyrmling::array::{Slice, SliceMut, View, ViewMut};
use wyrmling::exec::{Leaf, Program};
use wyrmling::graph::{self, Constant, Parameter};
use wyrmling::ir::Builder;
use wyrmling::optim::{Optimizer, Rule, Settings};
use wyrmling::rules::{self, Ex, OpRef, Operator};
use wyrmling::train::{Fit, History};
use wyrmling::{Array, DType, Input, Result, Type, Variable};

use super::liar::{Liar, Lie, WRONG, When, is_harmless, lies};
use super::without_panic;
use crate::common::fit::{column, fit, once};
use crate::common::numbers;

/// A model that reads rows of a table in an operator, and the whole of another table.
struct Model {
    tables: [Parameter; 2],
    rows: Input,
    x: Input,
    loss: Variable,
}

const ROWS: [u32; 3] = [4, 0, 4];

impl Model {
    fn new(lie: Lie, when: When, like: bool) -> Result<Self> {
        let op = || OpRef::new(Liar::new(lie, when, like));
        Self::of(&op(), &op())
    }

    fn of(first: &OpRef, second: &OpRef) -> Result<Self> {
        let tables = [[5, 4], [3, 4]].map(|shape| numbers(DType::F64, &shape, 1));
        let tables = tables.map(Parameter::new);
        let rows = Input::indices(ROWS.to_vec());
        let x = Input::new(numbers(DType::F64, &[3, 4], 2));
        let looked_up = tables[0].clone().gather(rows.clone()).boxed();
        let (whole, bound) = (tables[1].clone().boxed(), x.clone().boxed());
        let y = Variable::apply(first.clone(), &[looked_up, bound.clone()])?;
        // Not in the notation of typed variables, which panics where shapes do not fit.
        let op = |op: &'static dyn Operator, x, y| Variable::apply(OpRef::Static(op), &[x, y]);
        let three = Constant::new(3.0).boxed();
        let y = op(&rules::Add, op(&rules::Mul, y, three)?, bound)?;
        let y = Variable::apply(second.clone(), &[y, whole])?;
        let square = Variable::apply(OpRef::Static(&rules::Square), &[y])?;
        let axes = (0..square.ty()?.ndim()).collect();
        let keepdims = false;
        let sum = OpRef::new(rules::Sum { axes, keepdims });
        let loss = Variable::apply(sum, &[square])?;
        Ok(Model {
            tables,
            rows,
            x,
            loss,
        })
    }

    /// Every way of running and differentiating the model: the losses, one for each way.
    fn everything(&self) -> Vec<Result<f64>> {
        let mut found = vec![self.loss.item()];
        found.push(self.loss.try_backward().and_then(|()| self.loss.item()));
        let optimizer = Optimizer::new(Rule::Sgd { momentum: 0.5 }, Settings::new(1e-3));
        let params = [self.tables[0].param(), self.tables[1].param()];
        let before = params.map(|p| p.table().read());
        let stepped = optimizer.and_then(|o| o.step(&[&**params[0], &**params[1]]));
        let restored = (params.iter().zip(&before)).try_for_each(|(p, v)| p.table().write(v));
        found.push(stepped.and(restored).and_then(|()| self.loss.item()));
        let leaves = self.tables.clone().map(Variable::boxed);
        let leaves = [&leaves[0], &leaves[1]];
        let gradients = self.loss.gradients(&leaves);
        let again = gradients.and_then(|g| {
            for g in g.into_iter().flatten() {
                g.value()?;
                let sum = Variable::apply(OpRef::Static(&rules::Square), &[g])?;
                for g in sum.gradients(&leaves)?.into_iter().flatten() {
                    g.value()?;
                }
            }
            self.loss.item()
        });
        found.push(again);
        for fuse in [true, false] {
            found.push(self.program(fuse));
        }
        let set = self.x.set_value(numbers(DType::F64, &[3, 4], 2));
        found.push(set.and_then(|()| self.loss.item()));
        found
    }

    fn program(&self, fuse: bool) -> Result<f64> {
        let program = self.loss.freeze()?;
        let program = if fuse { program } else { program.unfused() };
        let mut inputs = Vec::new();
        for leaf in program.inputs() {
            if let Leaf::Input { id, .. } = leaf {
                let is_rows = *id == self.rows.id();
                inputs.push(if is_rows {
                    self.rows.value()?
                } else {
                    self.x.value()?
                });
            }
        }
        let mut loss = program.run(&inputs)?.item()?;
        for _ in 0..2 {
            loss = program.value_and_grad(&inputs)?.0.item()?;
        }
        for threads in [1, 2] {
            self.fit(&program, threads)?;
        }
        Ok(loss)
    }

    /// Trains, and restores what was there before.
    fn fit(&self, program: &Program, threads: usize) -> Result<History> {
        let tables = self.tables.clone().map(|t| Arc::clone(t.param().table()));
        let before = tables.clone().map(|t| t.read());
        let columns = [
            column(&self.rows, self.rows.value()?),
            column(&self.x, self.x.value()?),
        ];
        let used = |id: u64| {
            let mut inputs = program.inputs();
            inputs.any(|l| matches!(l, Leaf::Input { id: i, .. } if *i == id))
        };
        let columns = columns.into_iter().filter(|c| used(c.0)).collect();
        let setting = once(columns, 3);
        let setting = Fit { threads, ..setting };
        let history = fit(program, &setting, &Optimizer::sgd(1e-6)?);
        for (table, before) in tables.iter().zip(&before) {
            table.write(before)?;
        }
        history
    }
}

/// Runs and differentiates models in every way there is, whose operators tell these lies at all
/// times. Returns how many of them gave the right number, and how many were refused.
fn believe(lies: &[Lie]) -> (usize, usize) {
    let times = [
        When::Always,
        When::EveryOther,
        When::From(1),
        When::From(2),
        When::From(4),
        When::From(7),
        When::Once(0),
        When::Once(1),
        When::Once(2),
        When::Once(3),
        When::Once(5),
        When::Once(8),
    ];
    let (mut right, mut refused) = (0, 0);
    for like in [false, true] {
        let truth = Model::new(Lie::None, When::Always, like);
        let truth = truth.and_then(|model| model.loss.item());
        let truth = truth.expect("the model is right where nobody lies");
        for &lie in lies {
            for when in times {
                let what = (lie, when, like);
                let found = without_panic(&what, || {
                    Model::new(lie, when, like).map(|model| model.everything())
                });
                for (way, found) in found.into_iter().flatten().enumerate() {
                    match found {
                        Ok(loss) if is_harmless(lie, like) => {
                            assert!(
                                (loss - truth).abs() < 1e-9 * truth,
                                "{what:?} {way}: {loss}"
                            );
                            right += 1;
                        }
                        Ok(_) => {}
                        Err(error) => {
                            let may = !is_harmless(lie, like);
                            assert!(may, "{what:?} {way}: {error}");
                            refused += 1;
                        }
                    }
                }
            }
        }
    }
    (right, refused)
}

#[test]
fn an_operator_may_say_anything_of_itself_at_any_time() {
    let (right, refused) = believe(&lies());
    assert!(right > 500 && refused > 500, "{right} {refused}");
}

#[test]
fn a_rule_may_give_anything_at_any_time() {
    let (_, refused) = believe(&WRONG.map(Lie::Vjp));
    assert!(refused > 100, "{refused}");
}

/// Two liars of one type that say they are the same: nobody can tell them apart but by what they
/// give.
#[test]
fn operators_that_claim_to_be_the_same_may_give_other_types() {
    #[derive(Clone)]
    struct Rows(usize);
    impl std::fmt::Debug for Rows {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Rows")
        }
    }
    impl Operator for Rows {
        fn name(&self) -> &str {
            "rows"
        }
        fn infer(&self, args: &[&Type]) -> Result<Type> {
            Ok(Type::new(args[0].dtype, &[self.0, 4]))
        }
        fn key(&self) -> Option<&dyn rules::Key> {
            Some(&())
        }
        fn eval(&self, _: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
            if let SliceMut::F64(out) = out.data {
                out.fill(1.0);
            }
            Ok(())
        }
        fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
            Some(x[0].zeros_like())
        }
    }
    let table = Parameter::new(numbers(DType::F64, &[5, 4], 1));
    let x = Input::new(1.0);
    for lengths in [[3, 1000], [1000, 3]] {
        let [few, many] =
            lengths.map(|n| Variable::apply(OpRef::new(Rows(n)), &[x.clone().boxed()]));
        let at = |n: usize| Input::indices((0..n).map(|i| i as u32 % 5).collect());
        let [a, b] = lengths.map(|n| table.clone().gather(at(n)));
        let loss = (a * few.unwrap()).sum() + (b * many.unwrap()).sum();
        loss.try_backward().unwrap();
        let expected = table.grad().unwrap().to_dense();
        table.zero_grad();
        let program = loss.freeze().unwrap();
        let inputs: Vec<Array> = program
            .inputs()
            .map(|leaf| match leaf {
                Leaf::Input { ty, .. } if ty.dtype == DType::U32 => at(ty.size()).value().unwrap(),
                _ => Array::from(1.0),
            })
            .collect();
        let (value, gradients) = program.value_and_grad(&inputs).unwrap();
        assert!((value.item().unwrap() - loss.item().unwrap()).abs() < 1e-9);
        let gradient = gradients[0].as_ref().unwrap().to_dense();
        assert_eq!(gradient.to_f64(), expected.to_f64());
    }
}

/// A rule may answer with a value of an algebra of its own, which names nothing here.
#[test]
fn a_rule_may_answer_with_a_value_of_its_own() {
    #[derive(Debug)]
    struct Stranger(u32);
    impl Operator for Stranger {
        fn name(&self) -> &str {
            "stranger"
        }
        fn infer(&self, args: &[&Type]) -> Result<Type> {
            Ok(args[0].clone())
        }
        fn eval(&self, _: &[View<'_>], _: ViewMut<'_>) -> Result<()> {
            Ok(())
        }
        fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
            let stranger: &'static Builder = Box::leak(Box::new(Builder::new()));
            let mut last = stranger.parameter(Type::scalar(DType::F64));
            for _ in 0..self.0 {
                last = stranger.parameter(Type::new(DType::F32, &[1000]));
            }
            Some(Ex::new(stranger, last))
        }
    }
    for count in [0, 1, 2, 5, 1000] {
        let x = graph::Independent::new(vec![1.0, 2.0]).unwrap();
        let y = Variable::apply(OpRef::new(Stranger(count)), &[x.clone().boxed()]).unwrap();
        let y = y.sum().boxed();
        without_panic(&count, || {
            let _ = y.try_backward();
            let _ = y.freeze().and_then(|p| p.value_and_grad(&[]));
            let _ = y.gradients(&[&x.clone().boxed()]);
        });
    }
}

/// Views are made by this crate alone, so an operator may panic at one whose shape is not that of
/// its elements. Memory stays whole.
#[test]
fn every_operator_takes_views_that_lie() {
    let numbers = numbers(DType::F64, &[7], 3).to_f64();
    let indices = [0u32, 1, u32::MAX, 3];
    let shapes: [&[usize]; 4] = [&[30, 30], &[], &[0], &[3, 1 << 12]];
    let mut tried = 0;
    for case in rules::table().flat_map(|entry| (entry.cases)()) {
        for shape in shapes {
            for kinds in 0..8 {
                let view = |k: usize| match kinds >> k & 1 {
                    0 => View::new(shape, Slice::F64(&numbers)),
                    _ => View::new(shape, Slice::U32(&indices)),
                };
                let views: Vec<View<'_>> = (0..case.args.len()).map(view).collect();
                let mut room = [0.0f64; 5];
                let data = SliceMut::F64(&mut room);
                let shape = &[40, 40];
                let eval = || case.op.eval(&views, ViewMut { shape, data });
                let _ = catch_unwind(AssertUnwindSafe(eval));
                tried += 1;
            }
        }
    }
    assert!(tried > 1000);
}
