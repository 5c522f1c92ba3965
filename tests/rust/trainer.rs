//! A trainer of a graph against steps by hand, and what it promises: nothing is changed by a step that is
//! refused, and nobody else changes what it trains.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use wyrmling::array::{Slice, SliceMut, View, ViewMut};
use wyrmling::graph::{Hook, Independent, IntoDyn, ops};
use wyrmling::optim::{L2Per, Optimizer, Penalized, Rule, Settings};
use wyrmling::rules::{Ex, OpRef, Operator};
use wyrmling::train::{self, Fit, Flow, History, Trainer};
use wyrmling::{Array, DType, Error, Gradient, Input, Parameter, Result, Table, Type, Variable};

use crate::common::{matrix, numbers};

/// Every rule, plain and with a penalty and a bound.
fn optimizers() -> impl Iterator<Item = Optimizer> {
    let rules = [
        Rule::Sgd { momentum: 0.0 },
        Rule::Sgd { momentum: 0.9 },
        Rule::Adagrad { eps: 1e-10 },
        Rule::Adam {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
        },
    ];
    rules.into_iter().flat_map(|rule| {
        let plain = Settings::new(0.05);
        let full = Settings {
            l2: 0.1,
            clip: Some(0.5),
            ..plain
        };
        let each = Settings {
            l2_per: L2Per::Sample,
            ..full
        };
        [plain, full, each].map(|settings| Optimizer::new(rule, settings).expect("what fits"))
    })
}

/// A model with a table whose rows are looked up, a matrix and a number.
struct Model<N: ?Sized> {
    parameters: [Parameter; 3],
    rows: Input,
    x: Input,
    loss: Variable<N>,
}

fn model() -> Model<impl IntoDyn> {
    let parameters = [
        Parameter::new(numbers(DType::F64, &[7, 3], 1)),
        Parameter::new(numbers(DType::F64, &[3, 2], 2)),
        Parameter::new(0.5),
    ];
    let [table, weights, offset] = parameters.clone();
    let (rows, x) = (
        Input::indices(vec![0]),
        Input::new(numbers(DType::F64, &[1, 2], 3)),
    );
    let scores = table.gather(rows.clone()).matmul(weights) * x.clone() + offset;
    Model {
        parameters,
        rows,
        x,
        loss: (scores - 1.0).square().sum(),
    }
}

impl<N: ?Sized + IntoDyn> Model<N> {
    /// Other values for each step, of one to three rows, one of which may occur twice.
    fn set(&self, step: usize) {
        let count = 1 + step % 3;
        let rows: Vec<u32> = (0..count)
            .map(|k| ((step * 5 + k / 2) % 7) as u32)
            .collect();
        self.rows.set_slice(&rows).expect("what fits");
        self.x
            .set_value(numbers(DType::F64, &[count, 2], step as u32))
            .expect("what fits");
    }

    fn values(&self) -> Vec<f64> {
        let values = self
            .parameters
            .iter()
            .map(|p| p.value().expect("what fits").to_f64());
        values.flatten().collect()
    }
}

#[test]
fn its_steps_are_those_by_hand() {
    for (by_hand, by_trainer) in optimizers().zip(optimizers()) {
        let (expected, found) = (model(), model());
        let mut trainer = Trainer::new(&found.loss, &by_trainer).unwrap();
        for step in 0..40 {
            if step == 20 {
                by_hand.set_lr(0.01).unwrap();
                by_trainer.set_lr(0.01).unwrap();
            }
            expected.set(step);
            found.set(step);
            let loss = expected.loss.item().unwrap();
            expected.loss.backward();
            by_hand
                .step_and_clear(&expected.loss.parameters().unwrap())
                .unwrap();
            let trained = trainer.step().unwrap();
            assert!(
                (trained - loss).abs() <= 1e-12 * loss.abs().max(1.0),
                "{step}"
            );
            // The graph sees what the trainer did.
            let after = (expected.loss.item().unwrap(), found.loss.item().unwrap());
            assert!(
                (after.0 - after.1).abs() <= 1e-9 * after.0.abs().max(1.0),
                "{step}"
            );
        }
        for (found, expected) in found.values().iter().zip(expected.values()) {
            assert!((found - expected).abs() < 1e-10, "{by_hand:?}");
        }
        assert!(found.parameters.iter().all(|p| p.grad().is_none()));
    }
}

#[test]
fn parameters_are_each_found_once() {
    let model = model();
    let found = (model.loss.clone() + model.loss.clone())
        .parameters()
        .unwrap();
    let expected: Vec<_> = model
        .parameters
        .iter()
        .map(|p| Arc::as_ptr(p.param()))
        .collect();
    let mut found: Vec<_> = found.iter().map(Arc::as_ptr).collect();
    found.sort_by_key(|found| expected.iter().position(|p| p == found));
    assert_eq!(found, expected);
    assert!(Input::new(1.0).square().parameters().unwrap().is_empty());
}

#[test]
fn a_step_that_is_refused_changes_nothing() {
    let model = model();
    let sgd = Optimizer::momentum(0.1, 0.5).unwrap();
    let mut trainer = Trainer::new(&model.loss, &sgd).unwrap();
    let before = model.values();
    let refused = |trainer: &mut Trainer<'_>, expected: &str| {
        let error = trainer.step().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(model.values(), before);
        error
    };
    model.rows.set_slice(&[7_u32]).unwrap();
    assert!(matches!(refused(&mut trainer, "7"), Error::Index(_)));
    model.rows.set_slice(&[1_u32, 2]).unwrap();
    model.x.set_value(numbers(DType::F64, &[3, 2], 0)).unwrap();
    assert!(matches!(refused(&mut trainer, "shape"), Error::Shape(_)));
    for number in [f64::NAN, f64::INFINITY, 1e200] {
        model
            .x
            .set_value(Array::full(&Type::new(DType::F64, &[2, 2]), number))
            .unwrap();
        assert!(matches!(
            refused(&mut trainer, "the loss is"),
            Error::NotFinite(_)
        ));
    }
    model.x.set_value(numbers(DType::F64, &[2, 2], 0)).unwrap();
    trainer.step().unwrap();
    assert_ne!(model.values(), before);
}

#[test]
fn a_step_that_leads_to_infinity_is_reported() {
    let w = Parameter::new(vec![1.0_f32, 1e30]);
    let x = Input::new(vec![1.0_f32, 1e-30]);
    let loss = (w.clone() * x.clone()).sum();
    let sgd = Optimizer::sgd(1.0).unwrap().l2(1e20).unwrap();
    let mut trainer = Trainer::new(&loss, &sgd).unwrap();
    let error = trainer.step().unwrap_err();
    assert!(
        matches!(&error, Error::NotFinite(m) if m.contains("f32[2]")),
        "{error}"
    );
    // A gradient that is not finite, of a loss that is, changes nothing.
    let (w, x) = (Parameter::new(vec![0.0]), Input::new(vec![1.0]));
    let loss = (w.clone() + 1.0 - x.clone()).sqrt().sum();
    let adam = Optimizer::adam(0.1).unwrap();
    let mut trainer = Trainer::new(&loss, &adam).unwrap();
    let error = trainer.step().unwrap_err();
    assert!(
        matches!(&error, Error::NotFinite(m) if m.contains("gradient")),
        "{error}"
    );
    assert_eq!(w.item().unwrap(), 0.0);
    x.set_slice(&[0.0]).unwrap();
    trainer.step().unwrap();
    assert!((w.item().unwrap() + 0.1).abs() < 1e-6);
}

#[test]
fn what_the_optimizer_remembers_is_the_trainers() {
    let w = Parameter::new(1.0);
    let loss = w.clone().square();
    let momentum = Optimizer::momentum(0.1, 0.9).unwrap();
    let snapshot = {
        let mut trainer = Trainer::new(&loss, &momentum).unwrap();
        trainer.step().unwrap();
        let snapshot = momentum.snapshot().unwrap().remove(0);
        assert!(matches!(momentum.restore(&snapshot), Err(Error::State(_))));
        trainer.step().unwrap();
        let velocity = momentum.slots_of(w.param().table()).unwrap();
        assert!((velocity[0].item().unwrap() - 3.4).abs() < 1e-12);
        snapshot
    };
    momentum.restore(&snapshot).unwrap();
    assert_eq!(
        momentum.slots_of(w.param().table()).unwrap()[0]
            .item()
            .unwrap(),
        2.0
    );
    // A penalty for a parameter that is not there is no penalty.
    let penalized = Optimizer::sgd(0.1).unwrap();
    let penalized = penalized
        .with_l2(Penalized::Named("v".into()), 1.0)
        .unwrap();
    assert!(matches!(
        Trainer::new(&loss, &penalized),
        Err(Error::Value(_))
    ));
}

/// A reader in another thread may look while a step records that several tables have changed.
#[test]
fn nothing_is_stale_in_another_thread() {
    const TABLES: usize = 200;
    const ROUNDS: usize = 300;
    let parameters: Vec<Parameter> = (0..TABLES).map(|_| Parameter::new(0.0)).collect();
    let sum = parameters.iter().map(|p| p.clone().boxed());
    let loss = sum.reduce(|sum, p| (sum + p).boxed()).unwrap();
    let sgd = Optimizer::sgd(1.0).unwrap();
    let mut trainer = Trainer::new(&loss, &sgd).unwrap();
    let table = Arc::clone(parameters[TABLES - 1].param().table());
    let (steps, seen) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let double = Parameter::shared(Arc::clone(&table)) * 2.0;
            for round in 1..=ROUNDS {
                while steps.load(Ordering::Acquire) < round {
                    double.item().unwrap();
                }
                let held = table.read().item().unwrap();
                assert_eq!(double.item().unwrap(), 2.0 * held, "round {round}");
                seen.store(round, Ordering::Release);
            }
        });
        for round in 1..=ROUNDS {
            trainer.step().unwrap();
            steps.store(round, Ordering::Release);
            while seen.load(Ordering::Acquire) < round {
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn nobody_else_changes_what_it_trains() {
    let model = model();
    let [table, weights, offset] = &model.parameters;
    let other = Parameter::new(1.0);
    let sgd = Optimizer::sgd(0.1).unwrap();
    let is_state = |result: Result<()>| assert!(matches!(result, Err(Error::State(_))));
    {
        let mut trainer = Trainer::new(&model.loss, &sgd).unwrap();
        is_state(offset.set_value(1.0));
        is_state(Trainer::new(&model.loss, &sgd).map(drop));
        let alone = offset.clone().square();
        is_state(Trainer::new(&alone, &sgd).map(drop));
        alone.backward();
        is_state(sgd.step(&[offset]));
        let fit = Fit {
            sources: Vec::new(),
            epochs: 0..1,
            batch_size: 1,
            threads: 1,
            seed: 0,
            deterministic: false,
        };
        let go_on = &mut |_: usize, _: &History| Flow::Continue;
        let program = alone.freeze().unwrap();
        assert!(train::fit(&program, &fit, &sgd, &AtomicBool::new(false), go_on).is_err());
        // Reading and other parameters are free.
        assert_eq!(table.value().unwrap().shape(), [7, 3]);
        other.set_value(2.0).unwrap();
        trainer.step().unwrap();
    }
    offset.set_value(1.0).unwrap();
    sgd.step(&[offset, weights]).unwrap();
    Trainer::new(&model.loss, &sgd).unwrap().step().unwrap();
}

#[test]
fn what_cannot_be_trained_is_refused() {
    struct Leave;
    impl Hook for Leave {
        fn gradient(&self, _: Gradient) -> Result<Option<Gradient>> {
            Ok(None)
        }
        fn node(&self, _: Variable) -> Result<Option<Variable>> {
            Ok(None)
        }
    }
    let sgd = Optimizer::sgd(0.1).unwrap();
    let is_type = |result: Result<Trainer<'_>>| assert!(matches!(result, Err(Error::Type(_))));
    is_type(Trainer::new(&Input::new(1.0).square(), &sgd));
    is_type(Trainer::new(&Independent::new(1.0).unwrap().square(), &sgd));
    let w = Parameter::new(vec![1.0, 2.0]);
    is_type(Trainer::new(
        &ops::argmax(&w.clone().boxed(), 0, false).unwrap(),
        &sgd,
    ));
    let square = w.clone().square();
    square.register_hook(std::rc::Rc::new(Leave)).unwrap();
    is_type(Trainer::new(&square.sum(), &sgd));
    // Nothing was left marked.
    w.set_value(vec![1.0, 1.0]).unwrap();
}

#[test]
fn leaves_that_are_not_trained_keep_their_meaning() {
    let (w, scale) = (Parameter::new(2.0), Independent::new(3.0).unwrap());
    let loss = (w.clone() * scale.clone()).square();
    let sgd = Optimizer::sgd(0.01).unwrap();
    let mut trainer = Trainer::new(&loss, &sgd).unwrap();
    assert_eq!(trainer.step().unwrap(), 36.0);
    scale.set_value(10.0).unwrap();
    let w = w.item().unwrap();
    assert_eq!(trainer.step().unwrap(), (w * 10.0).powi(2));
    assert!(scale.grad().is_none());
}

/// The identity, which does something while it is computed.
#[derive(Debug)]
struct Meanwhile<F>(F);

thread_local! {
    static SET: RefCell<Option<(Input, Parameter)>> = const { RefCell::new(None) };
}

impl<F: Fn() + Send + Sync + std::fmt::Debug + 'static> Operator for Meanwhile<F> {
    fn name(&self) -> &str {
        "meanwhile"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        (self.0)();
        if let (Slice::F64(from), SliceMut::F64(to)) = (args[0].data, out.data) {
            to.copy_from_slice(from);
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g)
    }
}

/// What it reads while it runs cannot be changed by an operator of the caller's.
fn change_what_is_read() {
    SET.with_borrow(|set| {
        if let Some((x, w)) = set {
            assert!(matches!(x.set_value(vec![9.0]), Err(Error::State(_))));
            assert!(matches!(x.set_slice(&[9.0]), Err(Error::State(_))));
            assert!(matches!(w.set_value(9.0), Err(Error::State(_))));
        }
    });
}

#[test]
fn an_operator_cannot_change_what_a_step_reads() {
    let (w, x) = (Parameter::new(1.0), Input::new(vec![2.0]));
    let product = (w.clone() * x.clone()).boxed();
    let operator = OpRef::new(Meanwhile(change_what_is_read as fn()));
    let loss = Variable::apply(operator, &[product]).unwrap().sum();
    let sgd = Optimizer::sgd(0.1).unwrap();
    let mut trainer = Trainer::new(&loss, &sgd).unwrap();
    SET.set(Some((x.clone(), w.clone())));
    assert_eq!(trainer.step().unwrap(), 2.0);
    SET.set(None);
    x.set_value(vec![1.0, 1.0]).unwrap();
    assert_eq!(trainer.step().unwrap(), 2.0 * (1.0 - 0.1 * 2.0));
}

#[test]
fn workers_have_trainers_beside_each_other() {
    let table = Arc::new(Table::new(&Array::from(vec![0.0_f64; 64]), None).unwrap());
    let shared = [Arc::clone(&table)];
    let sgd = Optimizer::sgd(0.1).unwrap();
    train::parallel(3, 1, &shared, &sgd, |worker| {
        let weights = Parameter::shared(Arc::clone(&shared[0]));
        let row = Input::indices(vec![0]);
        let loss = (weights.gather(row.clone()) - 1.0).square().sum();
        let mut trainer = worker.trainer(&loss)?;
        for k in 0..20_000 {
            row.set_slice(&[(3 * k + worker.number as u32) % 64])?;
            trainer.step()?;
        }
        let foreign = Parameter::new(1.0).square();
        assert!(matches!(worker.trainer(&foreign), Err(Error::State(_))));
        let other = Parameter::new(1.0);
        other.clone().square().backward();
        assert!(matches!(
            worker.step(&[other.param()]),
            Err(Error::State(_))
        ));
        assert_eq!(other.item()?, 1.0);
        Ok(())
    })
    .unwrap();
    assert!(table.read().to_f64().iter().all(|w| (w - 1.0).abs() < 1e-6));
}

/// Beside others a row is copied, changed and copied back, whatever its width and however many there are.
#[test]
fn a_step_of_a_worker_is_one_by_hand() {
    for (number, (optimizer, other)) in optimizers().zip(optimizers()).enumerate() {
        for width in [0, 1, 3] {
            for rows in [&[][..], &[1], &[2, 0], &[1, 1, 3]] {
                let tables = [(); 2].map(|()| {
                    let table = Table::new(&matrix(4, width, vec![1.5; 4 * width]), None);
                    Arc::new(table.unwrap())
                });
                let steps = |table: &Arc<Table>, step: &dyn Fn(&Parameter) -> Result<()>| {
                    let weights = Parameter::shared(Arc::clone(table));
                    let rows = Input::indices(rows.to_vec());
                    let loss = weights.clone().gather(rows).square().sum();
                    (0..3).try_for_each(|_| loss.try_backward().and_then(|()| step(&weights)))
                };
                steps(&tables[0], &|w| optimizer.step_and_clear(&[w])).unwrap();
                train::parallel(1, 1, &tables[1..], &other, |worker| {
                    steps(&tables[1], &|w| worker.step(&[w]))
                })
                .unwrap();
                let [by_hand, by_worker] = tables.map(|table| table.read().to_f64());
                let case = format!("optimizer {number}, {width} numbers, rows {rows:?}");
                assert_eq!(by_hand, by_worker, "{case}");
                let is_changed = by_hand.iter().any(|&w| w != 1.5);
                assert_eq!(is_changed, width > 0 && !rows.is_empty(), "{case}");
            }
        }
    }
}
