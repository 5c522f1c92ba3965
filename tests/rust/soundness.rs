//! What a downstream crate may say or build, however wrong: the answer is an error or a number,
//! never a panic of ours and never memory that is not ours. Memory checkers (`make check-address`
//! and its like) run these too, since reading out of bounds need not show.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use wyrmling::array::{Dense, Real, Shape, Slice, SliceMut, View, ViewMut};
use wyrmling::exec::{Leaf, Program, interpret};
use wyrmling::graph::{self, Constant, Parameter};
use wyrmling::ir::{Builder, Expression, Function, Instruction, Terminator, adjoint};
use wyrmling::optim::{Optimizer, Rule, Settings};
use wyrmling::rules::{self, Ex, Kernel, Map1, Map2, Map3, OpRef, Operator};
use wyrmling::train::{self, Fit, Flow, History, Source};
use wyrmling::{Array, DType, Error, Input, Result, Table, Type, Variable};

use crate::common::numbers;

/// What an operator says that is not so.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lie {
    /// It tells the truth.
    None,
    /// The type of the result.
    Infer(Wrong),
    /// Whether operand 0, or 1, is read.
    Reads(usize),
    /// Whether the result is operand 0.
    Aliases,
    /// What it is fused by.
    Kernel(Offer),
    /// Whether an operand is transposed.
    Transposes,
    /// The gradient.
    Vjp(Wrong),
    /// The tangent.
    Jvp(Wrong),
    /// The result: an error, or nothing is written.
    Eval(bool),
    /// The name, as text that is nobody's.
    Name,
}

/// Something in place of a type, or of a value of a type.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wrong {
    Longer,
    Shorter,
    Empty,
    Number,
    Indices,
    Single,
    Overflowing,
    Huge,
    ManyAxes,
    Error,
}

const WRONG: [Wrong; 10] = [
    Wrong::Longer,
    Wrong::Shorter,
    Wrong::Empty,
    Wrong::Number,
    Wrong::Indices,
    Wrong::Single,
    Wrong::Overflowing,
    Wrong::Huge,
    Wrong::ManyAxes,
    Wrong::Error,
];

/// A kernel for something else.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Offer {
    Nothing,
    One,
    Three,
    Single,
    Double,
    Called,
}

const OFFERS: [Offer; 6] = [
    Offer::Nothing,
    Offer::One,
    Offer::Three,
    Offer::Single,
    Offer::Double,
    Offer::Called,
];

impl Wrong {
    fn ty(self, right: &Type) -> Result<Type> {
        let shape = |shape: &[usize]| Type::new(right.dtype, shape);
        Ok(match self {
            Wrong::Longer => shape(&[1000, 4]),
            Wrong::Shorter => shape(&[1, 4]),
            Wrong::Empty => shape(&[0, 4]),
            Wrong::Number => shape(&[]),
            Wrong::Indices => Type::new(DType::U32, &right.shape),
            Wrong::Single => Type::new(DType::F32, &right.shape),
            Wrong::Overflowing => shape(&[1 << 32, 1 << 32]),
            Wrong::Huge => shape(&[1 << 24, 1 << 24]),
            Wrong::ManyAxes => shape(&[1; 100]),
            Wrong::Error => return Err(Error::Shape("liar: no".into())),
        })
    }

    /// The same of a gradient: made by operators, so what operators refuse cannot be had.
    fn ex<'t>(self, right: Ex<'t>) -> Option<Ex<'t>> {
        let fixed = |ty: fn(&Type) -> Type| right.with_new(Fixed(ty), &[]);
        Some(match self {
            Wrong::Longer => fixed(|x| Type::new(x.dtype, &[1000, 4])),
            Wrong::Shorter => fixed(|x| Type::new(x.dtype, &[1, 4])),
            Wrong::Empty => fixed(|x| Type::new(x.dtype, &[0, 4])),
            Wrong::Number => right.constant(1.0),
            Wrong::Indices => fixed(|x| Type::new(DType::U32, &x.shape)),
            Wrong::Single => fixed(|x| Type::new(DType::F32, &x.shape)),
            Wrong::Overflowing => fixed(|x| Type::new(x.dtype, &[1 << 32, 1 << 32])),
            Wrong::Huge => fixed(|x| Type::new(x.dtype, &[1 << 24, 1 << 24])),
            Wrong::ManyAxes => fixed(|x| Type::new(x.dtype, &[1; 100])),
            Wrong::Error => return None,
        })
    }
}

/// A gradient of any type: ones.
#[derive(Debug, Clone)]
struct Fixed(fn(&Type) -> Type);

impl Operator for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok((self.0)(args[0]))
    }
    fn eval(&self, _: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        match out.data {
            SliceMut::F32(out) => out.fill(1.0),
            SliceMut::F64(out) => out.fill(1.0),
            SliceMut::U32(out) => out.fill(1),
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(x[0].zeros_like())
    }
}

/// Which calls of a method the lie is told in.
#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    From(usize),
    Once(usize),
    EveryOther,
}

/// `x · y` for two operands of one shape; with `like`, `2 x` in the shape of `x`, where of `y`
/// nothing is read. What it says of itself is wrong in one respect.
#[derive(Debug)]
struct Liar {
    lie: Lie,
    when: When,
    like: bool,
    calls: AtomicUsize,
    /// Not shown by `Debug` of two liars in the same way, or so it seems.
    factor: f64,
}

impl Liar {
    fn new(lie: Lie, when: When, like: bool) -> Self {
        Liar {
            lie,
            when,
            like,
            calls: AtomicUsize::new(0),
            factor: if like { 2.0 } else { 1.0 },
        }
    }

    /// Whether to lie now, in a method that `lie` is about.
    fn lies(&self) -> bool {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.when {
            When::Always => true,
            When::From(first) => call >= first,
            When::Once(only) => call == only,
            When::EveryOther => call % 2 == 1,
        }
    }
}

struct Product;
impl Map1 for Product {
    fn f<T: Real>(x: T) -> T {
        x
    }
}
impl Map2 for Product {
    fn f<T: Real>(x: T, y: T) -> T {
        x * y
    }
}
impl Map3 for Product {
    fn f<T: Real>(x: T, y: T, z: T) -> T {
        x * y * z
    }
}

impl Operator for Liar {
    fn name(&self) -> &str {
        match self.lie {
            Lie::Name if self.lies() => "",
            _ => "liar",
        }
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        match self.lie {
            Lie::Infer(wrong) if self.lies() => wrong.ty(args[0]),
            _ if args.len() == 2 && args[0] == args[1] => Ok(args[0].clone()),
            _ => Err(Error::Shape("liar: two of one type".into())),
        }
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        if let Lie::Eval(fails) = self.lie
            && self.lies()
        {
            return match fails {
                true => Err(Error::Value("liar: no".into())),
                false => Ok(()),
            };
        }
        let SliceMut::F64(out) = out.data else {
            return Ok(());
        };
        let (x, y): (&[f64], &[f64]) = match args {
            // As careless as can be about lengths, without a panic of its own.
            [x, y] => match (x.data, y.data) {
                (Slice::F64(x), Slice::F64(y)) => (x, y),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        for (k, o) in out.iter_mut().enumerate() {
            let y = if self.like {
                Some(&self.factor)
            } else {
                y.get(k)
            };
            *o = x.get(k).unwrap_or(&0.5) * y.unwrap_or(&0.5);
        }
        Ok(())
    }
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let right = match (self.like, i) {
            (true, 0) => g * self.factor,
            (true, _) => return None,
            (false, i) => g * x[1 - i],
        };
        match self.lie {
            Lie::Vjp(wrong) if self.lies() => wrong.ex(right),
            _ => Some(right),
        }
    }
    fn jvp<'t>(&self, i: usize, t: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let right = match (self.like, i) {
            (true, 0) => t * self.factor,
            (true, _) => return None,
            (false, i) => t * x[1 - i],
        };
        match self.lie {
            Lie::Jvp(wrong) if self.lies() => wrong.ex(right),
            _ => Some(right),
        }
    }
    fn reads(&self, i: usize) -> bool {
        let right = i == 0 || !self.like;
        match self.lie {
            Lie::Reads(k) if k == i && self.lies() => !right,
            _ => right,
        }
    }
    fn aliases(&self, _: &[&Type], _: &Type) -> bool {
        self.lie == Lie::Aliases && self.lies()
    }
    fn transposes(&self, _: usize) -> bool {
        self.lie == Lie::Transposes && self.lies()
    }
    fn kernel(&self, dtype: DType) -> Option<Kernel> {
        let right = (!self.like).then(|| Kernel::two::<Product>(dtype));
        match self.lie {
            Lie::Kernel(offer) if self.lies() => match offer {
                Offer::Nothing => None,
                Offer::One => Some(Kernel::one::<Product>(dtype)),
                Offer::Three => Some(Kernel::three::<Product>(dtype)),
                Offer::Single => Some(Kernel::two::<Product>(DType::F32)),
                Offer::Double => Some(Kernel::two::<Product>(DType::F64)),
                Offer::Called => Some(Kernel::call(rules::ScalarFunction::One(f64::exp), dtype)),
            },
            _ => right,
        }
    }
}

/// All lies that there are, but those of gradients.
fn lies() -> Vec<Lie> {
    let mut lies = vec![
        Lie::None,
        Lie::Reads(0),
        Lie::Reads(1),
        Lie::Aliases,
        Lie::Transposes,
        Lie::Eval(true),
        Lie::Eval(false),
        Lie::Name,
    ];
    lies.extend(WRONG.map(Lie::Infer));
    lies.extend(WRONG.map(Lie::Jvp));
    lies.extend(OFFERS.map(Lie::Kernel));
    lies
}

/// Whether the number is right whatever is said: how a result is computed is not what it is.
fn is_harmless(lie: Lie, like: bool) -> bool {
    match lie {
        Lie::None | Lie::Name | Lie::Transposes | Lie::Jvp(_) => true,
        Lie::Reads(1) => like,
        Lie::Kernel(Offer::Double) => !like,
        Lie::Kernel(_) => true,
        _ => false,
    }
}

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
            (self.rows.id(), Source::Column(self.rows.value()?)),
            (self.x.id(), Source::Column(self.x.value()?)),
        ];
        let used = |id: u64| {
            let mut inputs = program.inputs();
            inputs.any(|l| matches!(l, Leaf::Input { id: i, .. } if *i == id))
        };
        let fit = Fit {
            sources: columns.into_iter().filter(|c| used(c.0)).collect(),
            epochs: 1,
            batch_size: 3,
            threads,
            seed: 0,
            deterministic: false,
        };
        let mut watch = |_: usize, _: &History| Flow::Continue;
        let stop = AtomicBool::new(false);
        let sgd = Optimizer::sgd(1e-6)?;
        let history = train::fit(program, &fit, &sgd, &stop, &mut watch);
        for (table, before) in tables.iter().zip(&before) {
            table.write(before)?;
        }
        history
    }
}

/// Runs `f`; a panic is reported with what was being tried.
#[track_caller]
fn without_panic<R>(what: &dyn std::fmt::Debug, f: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => result,
        Err(_) => panic!("{what:?}: a panic"),
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

/// Ones, whatever the numbers of its operand, which are not read; a gradient it has all the same.
#[derive(Debug, Clone)]
struct Unread;

impl Operator for Unread {
    fn name(&self) -> &str {
        "unread"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, _: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        if let SliceMut::F64(out) = out.data {
            out.fill(1.0);
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g)
    }
    fn reads(&self, _: usize) -> bool {
        false
    }
}

/// Numbers rounded down to indices.
#[derive(Debug, Clone)]
struct Floor;

impl Operator for Floor {
    fn name(&self) -> &str {
        "floor"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(Type::new(DType::U32, &args[0].shape))
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        if let SliceMut::U32(out) = out.data {
            for (o, x) in out.iter_mut().zip(args[0].real::<f64>()) {
                *o = *x as u32;
            }
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

/// A gradient is scattered by an index that the program computes, and no lookup has compared the
/// index before: nothing reads what was looked up.
#[test]
fn an_index_that_is_computed_is_compared_before_rows_are_written() {
    let table = Parameter::new(numbers(DType::F64, &[5, 4], 1));
    let before = table.param().table().read();
    let x = Input::new(vec![0.0, 0.0, 0.0]);
    let at = Variable::apply(OpRef::new(Floor), &[x.clone().boxed()]).unwrap();
    let rows = table.clone().gather(at).boxed();
    let ones = Variable::apply(OpRef::new(Unread), &[rows]).unwrap();
    let loss = (ones * 2.0).sum().boxed();
    for fuse in [true, false] {
        let program = loss.freeze().unwrap();
        let program = if fuse { program } else { program.unfused() };
        for optimizer in [
            Optimizer::sgd(0.5).unwrap(),
            Optimizer::new(Rule::Adagrad { eps: 1e-6 }, Settings::new(0.5)).unwrap(),
        ] {
            let train = |column: Vec<f64>, threads| {
                table.param().table().write(&before).unwrap();
                let fit = Fit {
                    sources: vec![(x.id(), Source::Column(column.into()))],
                    epochs: 1,
                    batch_size: 3,
                    threads,
                    seed: 0,
                    deterministic: false,
                };
                let stop = AtomicBool::new(false);
                let mut watch = |_: usize, _: &History| Flow::Continue;
                train::fit(&program, &fit, &optimizer, &stop, &mut watch)
            };
            for threads in [1, 2] {
                train(vec![1.5, 4.0, 1.0, 3.9, 0.0, 1.0], threads).unwrap();
                let after = table.param().table().read().to_f64();
                let changed = |row: usize| after[4 * row] != before.to_f64()[4 * row];
                assert_eq!(
                    [0, 1, 2, 3, 4].map(changed),
                    [true, true, false, true, true]
                );
                for wrong in [5.0, 1e6, 4e9] {
                    let refused = train(vec![1.0, wrong, 0.0], threads);
                    assert!(matches!(refused, Err(Error::Index(_))), "{refused:?}");
                    assert_eq!(table.param().table().read().to_f64(), before.to_f64());
                }
            }
        }
        let run = |values: [f64; 3]| program.value_and_grad(&[values.to_vec().into()]);
        let (_, gradients) = run([1.0, 4.0, 1.0]).unwrap();
        let gradient = gradients[0].as_ref().unwrap().to_dense().to_f64();
        let row = |k: usize| gradient[4 * k];
        assert_eq!([0, 1, 2, 3, 4].map(row), [0.0, 4.0, 0.0, 0.0, 2.0]);
        for wrong in [5.0, 1e6, 4e9] {
            assert!(matches!(run([1.0, wrong, 0.0]), Err(Error::Index(_))));
        }
    }
}

/// A function of `w[i]` for a table and indices, made by hand.
fn lookup(table: &Type, index: &Type) -> Function {
    let b = Builder::new();
    let (w, i) = (b.parameter(table.clone()), b.parameter(index.clone()));
    let right = "the types fit";
    let rows = b.try_apply(OpRef::Static(&rules::Gather), &[w, i]);
    let sum = rules::Sum {
        axes: (0..table.shape.len() + index.shape.len() - 1).collect(),
        keepdims: false,
    };
    let loss = b.try_apply(OpRef::new(sum), &[rows.expect(right)]);
    b.terminate(Terminator::Return(vec![loss.expect(right)]));
    b.finish("lookup").expect(right)
}

#[test]
fn indices_in_a_variable_are_compared_as_those_of_an_input_are() {
    let table = Arc::new(Table::new(&numbers(DType::F64, &[5, 4], 1), None).unwrap());
    let program = |indices: Vec<u32>| {
        let indices = Array::from(indices);
        let function = lookup(table.ty(), &indices.ty());
        let leaves = vec![
            Leaf::Parameter(Arc::clone(&table)),
            Leaf::Variable(7, indices),
        ];
        Program::new(function, leaves)
    };
    let right = program(vec![1, 4, 1]).unwrap();
    let expected = table.read().to_f64();
    let row = |k: usize| expected[4 * k..4 * k + 4].iter().sum::<f64>();
    let (value, gradients) = right.value_and_grad(&[]).unwrap();
    assert!((value.item().unwrap() - (2.0 * row(1) + row(4))).abs() < 1e-12);
    assert!(gradients[0].is_some() && gradients[1].is_none());
    for wrong in [5, 1000, u32::MAX] {
        for fuse in [true, false] {
            let program = program(vec![1, wrong, 1]).unwrap();
            let program = if fuse { program } else { program.unfused() };
            let (value, both) = (program.run(&[]), program.value_and_grad(&[]));
            assert!(matches!(value, Err(Error::Index(_))), "{value:?}");
            assert!(matches!(both, Err(Error::Index(_))), "{both:?}");
        }
    }
}

#[test]
fn indices_in_a_variable_are_compared_before_training() {
    let table = Arc::new(Table::new(&numbers(DType::F64, &[5, 4], 1), None).unwrap());
    let before = table.read();
    for (indices, right) in [
        (vec![1u32, 4], true),
        (vec![1, 5], false),
        (vec![u32::MAX, 0], false),
    ] {
        // loss = Σ w[indices] + Σ x, so that there is a column to train on.
        let indices = Array::from(indices);
        let b = Builder::new();
        let (w, i) = (b.parameter(table.ty().clone()), b.parameter(indices.ty()));
        let x = b.parameter(Type::new(DType::F64, &[2]));
        let rows = b.try_apply(OpRef::Static(&rules::Gather), &[w, i]).unwrap();
        let sum = |axes: &[usize], of| {
            let axes = Shape::from_slice(axes);
            let op = rules::Sum {
                axes,
                keepdims: false,
            };
            b.try_apply(OpRef::new(op), &[of]).unwrap()
        };
        let (rows, x) = (sum(&[0, 1], rows), sum(&[0], x));
        let loss = b.try_apply(OpRef::Static(&rules::Add), &[rows, x]).unwrap();
        b.terminate(Terminator::Return(vec![loss]));
        let input = Leaf::Input {
            id: 9,
            ty: Type::new(DType::F64, &[2]),
            name: "x".into(),
        };
        let leaves = vec![
            Leaf::Parameter(Arc::clone(&table)),
            Leaf::Variable(7, indices),
            input,
        ];
        let program = Program::new(b.finish("loss").unwrap(), leaves).unwrap();
        for threads in [1, 2] {
            let fit = Fit {
                sources: vec![(9, Source::Column(vec![0.0, 1.0, 2.0, 3.0].into()))],
                epochs: 1,
                batch_size: 2,
                threads,
                seed: 0,
                deterministic: false,
            };
            let mut watch = |_: usize, _: &History| Flow::Continue;
            let (stop, sgd) = (AtomicBool::new(false), Optimizer::sgd(0.1).unwrap());
            let trained = train::fit(&program, &fit, &sgd, &stop, &mut watch);
            if right {
                assert!(trained.is_ok());
                assert_ne!(table.read().to_f64(), before.to_f64());
            } else {
                assert!(matches!(trained, Err(Error::Index(_))), "{trained:?}");
                assert_eq!(table.read().to_f64(), before.to_f64());
            }
            table.write(&before).unwrap();
        }
    }
}

/// What can be wrong with a function that is put together by hand.
fn broken() -> Vec<(&'static str, Function)> {
    let (table, index) = (Type::new(DType::F64, &[5, 4]), Type::new(DType::U32, &[3]));
    let right = lookup(&table, &index);
    let mut all = Vec::new();
    let mut add = |what, change: &dyn Fn(&mut Function)| {
        let mut function = right.clone();
        change(&mut function);
        all.push((what, function));
    };
    let constant = |result, value: Array| Instruction {
        result,
        expression: Expression::Constant(value),
    };
    let big = Array::full(&Type::new(DType::F64, &[1000, 4]), 1.0);
    add("a constant that is smaller than its type", &|f| {
        f.types.push(Type::new(DType::U32, &[1000]));
        f.blocks[0]
            .instructions
            .insert(0, constant(4, vec![1u32].into()));
        f.types[2] = Type::new(DType::F64, &[1000, 4]);
        f.blocks[0].instructions[1].expression =
            Expression::Apply(OpRef::Static(&rules::Gather), [0, 4].as_slice().into());
    });
    add("a constant of another element type", &|f| {
        f.types.push(Type::new(DType::U32, &[3]));
        f.blocks[0]
            .instructions
            .insert(0, constant(4, vec![1e9f32; 3].into()));
        f.blocks[0].instructions[1].expression =
            Expression::Apply(OpRef::Static(&rules::Gather), [0, 4].as_slice().into());
    });
    add("a parameter that is defined again, larger", &|f| {
        f.types[0] = Type::new(DType::F64, &[1000, 4]);
        f.blocks[0].instructions.insert(0, constant(0, big.clone()));
    });
    add("a value that is defined again", &|f| {
        let again = f.blocks[0].instructions[0].clone();
        f.blocks[0].instructions.push(again);
    });
    add("a parameter that is there twice", &|f| {
        f.blocks[0].parameters[1] = 0
    });
    add("an operand that does not exist", &|f| {
        f.blocks[0].instructions[0].expression =
            Expression::Apply(OpRef::Static(&rules::Gather), [0, 77].as_slice().into());
    });
    add("an operand of later", &|f| {
        f.blocks[0].instructions.swap(0, 1)
    });
    add("a result that does not exist", &|f| {
        f.blocks[0].terminator = Terminator::Return(vec![77]);
    });
    add("a result that nobody defines", &|f| {
        f.types.push(Type::scalar(DType::F64));
        f.blocks[0].terminator = Terminator::Return(vec![4]);
    });
    add("a value without a type", &|f| f.types.truncate(3));
    add("a parameter without a type", &|f| f.types.clear());
    all
}

#[test]
fn functions_that_are_put_together_wrongly_are_refused() {
    let table = Arc::new(Table::new(&numbers(DType::F64, &[5, 4], 1), None).unwrap());
    let index = Array::from(vec![1u32, 4, 1]);
    let leaves = || {
        vec![
            Leaf::Parameter(Arc::clone(&table)),
            Leaf::Input {
                id: 1,
                ty: index.ty(),
                name: "rows".into(),
            },
        ]
    };
    for (what, function) in broken() {
        without_panic(&what, || {
            assert!(function.check().is_err(), "{what}");
            assert!(
                matches!(
                    Program::new(function.clone(), leaves()),
                    Err(Error::Value(_))
                ),
                "{what}"
            );
            assert!(adjoint(&function, &[0]).is_err(), "{what}");
            assert!(
                interpret(&function, &[table.read(), index.clone()], 99).is_err(),
                "{what}"
            );
        });
    }
    let right = Program::new(lookup(table.ty(), &index.ty()), leaves()).unwrap();
    right.value_and_grad(&[index]).unwrap();
}

#[test]
fn types_in_a_function_are_those_of_its_leaves() {
    let table = Arc::new(Table::new(&numbers(DType::F64, &[5, 4], 1), None).unwrap());
    let single = Arc::new(Table::new(&numbers(DType::F32, &[5, 4], 1), None).unwrap());
    let row = Arc::new(Table::new(&numbers(DType::F64, &[5], 1), None).unwrap());
    let index = |ty: Type| Leaf::Input {
        id: 1,
        ty,
        name: "rows".into(),
    };
    let rows = Type::new(DType::U32, &[3]);
    let function = || lookup(table.ty(), &rows);
    let program = |table: &Arc<Table>, index| {
        Program::new(function(), vec![Leaf::Parameter(Arc::clone(table)), index])
    };
    assert!(program(&table, index(rows.clone())).is_ok());
    assert!(matches!(
        program(&single, index(rows.clone())),
        Err(Error::Type(_))
    ));
    assert!(matches!(
        program(&row, index(rows.clone())),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        program(&table, index(Type::new(DType::F64, &[3]))),
        Err(Error::Type(_))
    ));
    assert!(matches!(
        program(&table, index(Type::new(DType::U32, &[3, 1]))),
        Err(Error::Shape(_))
    ));
    // Types in the middle, and lengths of parameters, are no claims: they are inferred again.
    let mut longer = function();
    longer.types[0] = Type::new(DType::F64, &[1000, 4]);
    let leaves = vec![Leaf::Parameter(Arc::clone(&table)), index(rows)];
    let program = Program::new(longer, leaves).unwrap();
    let wrong = program.run(&[vec![5u32].into()]);
    assert!(matches!(wrong, Err(Error::Index(_))));
    assert!(program.run(&[vec![4u32].into()]).is_ok());
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

#[test]
fn shapes_whose_product_overflows_make_no_array() {
    let shapes: [&[usize]; 4] = [
        &[1 << 32, 1 << 32],
        &[usize::MAX, 2],
        &[0, usize::MAX, 16],
        &[1 << 62],
    ];
    for shape in shapes {
        assert!(Dense::new(shape, vec![1.0f64; 0]).is_err(), "{shape:?}");
        assert!(Dense::<f64>::zeros(shape).is_err(), "{shape:?}");
        let ty = Type::new(DType::F64, shape);
        assert!(Array::zeros(&ty).is_err(), "{shape:?}");
        assert!(Table::zeros(&ty, None).is_err(), "{shape:?}");
        let full = catch_unwind(|| Array::full(&ty, 1.0));
        assert!(full.is_err(), "{shape:?}: {:?}", full.map(|a| a.ty()));
        let rows = wyrmling::Rows::new(ty, vec![0u32; 0].into(), vec![0.0f64; 0].into());
        assert!(rows.is_err(), "{shape:?}");
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

/// Trains `Σ w[u] + Σ v[u]` for tables of five and three rows; `u` is drawn or from a column.
fn train_two(u: Source, column: Vec<u32>) -> Result<()> {
    let tables = [5, 3].map(|n| Parameter::new(numbers(DType::F64, &[n, 4], 1)));
    let before = tables.clone().map(|t| t.param().table().read().to_f64());
    let rows = Input::indices(vec![0, 0]);
    let other = Input::indices(vec![0, 0]);
    let [w, v] = tables.clone().map(|t| t.gather(rows.clone()).sum());
    let both = (w + v + tables[0].clone().gather(other.clone()).sum()).boxed();
    let program = both.freeze()?;
    let fit = Fit {
        sources: vec![(rows.id(), u), (other.id(), Source::Column(column.into()))],
        epochs: 2,
        batch_size: 2,
        threads: 1,
        seed: 0,
        deterministic: false,
    };
    let mut watch = |_: usize, _: &History| Flow::Continue;
    let (stop, sgd) = (AtomicBool::new(false), Optimizer::sgd(0.1)?);
    let trained = train::fit(&program, &fit, &sgd, &stop, &mut watch);
    if trained.is_err() {
        let after = tables.map(|t| t.param().table().read().to_f64());
        assert_eq!(after, before, "nothing is changed");
    }
    trained.map(|_| ())
}

#[test]
fn indices_are_compared_with_the_smallest_table_before_training() {
    let column = |indices: [u32; 3]| Source::Column(indices.to_vec().into());
    let drawn = |n| Source::Sampled {
        sampler: Arc::new(train::Sampler::uniform(n).unwrap()),
        given: None,
    };
    train_two(column([0, 2, 1]), vec![4, 0, 4]).unwrap();
    train_two(drawn(3), vec![4, 0, 4]).unwrap();
    for (source, other) in [
        (column([0, 3, 1]), 4),
        (column([0, 1, 4]), 4),
        (column([u32::MAX, 1, 0]), 4),
        (column([0, 1, 2]), 5),
        (drawn(4), 4),
        (drawn(1 << 31), 4),
    ] {
        let refused = train_two(source, vec![other, 0, 1]);
        assert!(matches!(refused, Err(Error::Index(_))), "{refused:?}");
    }
}

#[test]
fn constant_indices_are_compared_before_a_run() {
    let table = Parameter::new(numbers(DType::F64, &[5, 4], 1));
    let ty = table.ty().unwrap();
    for (index, right) in [(4, true), (5, false), (u32::MAX, false)] {
        let b = Builder::new();
        let (w, i) = (b.parameter(ty.clone()), b.fixed(vec![1, index].into()));
        let rows = b.try_apply(OpRef::Static(&rules::Gather), &[w, i]).unwrap();
        b.terminate(Terminator::Return(vec![rows]));
        let leaves = vec![Leaf::Parameter(Arc::clone(table.param().table()))];
        let program = Program::new(b.finish("constant").unwrap(), leaves).unwrap();
        let (run, both) = (program.run(&[]), program.value_and_grad(&[]));
        if right {
            assert!(run.is_ok() && both.is_ok());
        } else {
            assert!(matches!(run, Err(Error::Index(_))), "{run:?}");
            assert!(matches!(both, Err(Error::Index(_))), "{both:?}");
        }
    }
}

#[test]
fn rows_of_a_gradient_are_rows_of_its_array() {
    let ty = Type::new(DType::F64, &[5, 2]);
    for (index, right) in [(4, true), (5, false), (u32::MAX, false)] {
        let values = Array::from(ndarray::array![[1.0, 2.0], [3.0, 4.0]]);
        let rows = wyrmling::Rows::new(ty.clone(), vec![0, index].into(), values);
        match right {
            true => assert!(rows.is_ok()),
            false => assert!(matches!(rows, Err(Error::Index(_)))),
        }
    }
}
