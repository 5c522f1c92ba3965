//! Graphs: small examples with gradients computed by hand, sharing, errors, depth.

use std::cell::RefCell;
use std::sync::LazyLock;

use wyrmling::array::{SliceMut, View, ViewMut};
use wyrmling::graph::{Constant, Independent, Parameter, ops};
use wyrmling::rules::{self, Ex, OpRef, Operator};
use wyrmling::table::Exclusive;
use wyrmling::{Array, DType, Error, Gradient, Input, Result, Table, Type, Variable};

use crate::common::{gradient_numbers, matrix};

#[test]
fn a_linear_regression_has_the_gradient_computed_by_hand() {
    let (slope, intercept) = (Parameter::new(1.0), Parameter::new(0.0));
    let (x, y) = (Input::new(3.0), Input::new(7.0));
    let loss = (y.clone() - (slope.clone() * x.clone() + intercept.clone())).square();
    loss.backward();
    assert_eq!(loss.item().unwrap(), 16.0);
    assert_eq!(gradient_numbers(slope.grad()), [-24.0]);
    assert_eq!(gradient_numbers(intercept.grad()), [-8.0]);
    loss.backward();
    assert_eq!(
        gradient_numbers(slope.grad()),
        [-48.0],
        "gradients accumulate"
    );
    x.set_value(1.0).unwrap();
    assert_eq!(loss.item().unwrap(), 36.0, "no stale numbers");
    slope.zero_grad();
    loss.backward();
    assert_eq!(gradient_numbers(slope.grad()), [-12.0]);
}

#[test]
fn a_relu_of_a_product_has_the_gradient_computed_by_hand() {
    let l1 = Independent::new(matrix(2, 4, (-4..4).map(f64::from).collect())).unwrap();
    let l2 = Independent::new(matrix(4, 1, (-2..2).map(f64::from).collect())).unwrap();
    l1.clone().matmul(l2.clone()).relu().backward();
    assert_eq!(
        gradient_numbers(l1.grad()),
        [-2.0, -1.0, 0.0, 1.0, -2.0, -1.0, 0.0, 1.0]
    );
    assert_eq!(gradient_numbers(l2.grad()), [-4.0, -2.0, 0.0, 2.0]);
}

#[test]
fn the_trace_of_a_product_has_the_gradient_computed_by_hand() {
    let (a, b) = (vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0, 7.0, 8.0]);
    let x1 = Independent::new(matrix(2, 2, a.clone())).unwrap();
    let x2 = Independent::new(matrix(2, 2, b.clone())).unwrap();
    let z = x1.clone().matmul(x2.clone()).trace();
    assert_eq!(z.item().unwrap(), 5.0 + 14.0 + 18.0 + 32.0);
    z.backward();
    assert_eq!(gradient_numbers(x1.grad()), [b[0], b[2], b[1], b[3]]);
    assert_eq!(gradient_numbers(x2.grad()), [a[0], a[2], a[1], a[3]]);
}

#[test]
fn a_diamond_takes_linear_time() {
    let x = Independent::new(1.0).unwrap();
    let mut y: Variable = x.clone().boxed();
    for _ in 0..30 {
        y = (y.clone() + y).boxed();
    }
    y.backward();
    assert_eq!(gradient_numbers(x.grad()), [f64::from(1 << 30)]);
    let program = y.freeze().unwrap();
    let (value, grads) = program.value_and_grad(&[]).unwrap();
    assert_eq!(value.item().unwrap(), f64::from(1 << 30));
    assert_eq!(gradient_numbers(grads[0].clone()), [f64::from(1 << 30)]);
}

/// A small stack, and the depth of a graph for which it has no room if there is a call for each level: two
/// addresses are the least that a call takes.
const STACK: usize = 256 * 1024;
const DEPTH: usize = 200_000;
const _: () = assert!(DEPTH * 16 > STACK);

#[test]
fn deep_graphs_need_no_stack() {
    let work = || {
        let x = Independent::new(0.5).unwrap();
        let mut y: Variable = x.clone().boxed();
        for k in 0..DEPTH {
            y = if k % 2 == 0 {
                (y * 1.000_001).boxed()
            } else {
                (y + 1e-9).boxed()
            };
        }
        x.set_value(0.25).unwrap();
        let value = y.item().unwrap();
        y.backward();
        let grad = gradient_numbers(x.grad())[0];
        assert!((grad - 1.000_001f64.powi(DEPTH as i32 / 2)).abs() < 1e-9);
        let program = y.freeze().unwrap();
        drop(y);
        let (frozen, grads) = program.value_and_grad(&[]).unwrap();
        assert!((frozen.item().unwrap() - value).abs() < 1e-12);
        assert!((gradient_numbers(grads[0].clone())[0] - grad).abs() < 1e-9);
        assert!(program.to_string().len() > DEPTH);
    };
    let thread = std::thread::Builder::new().stack_size(STACK);
    thread.spawn(work).unwrap().join().unwrap();
}

#[test]
fn lookups_leave_rows() {
    let table: Vec<f32> = (0..12).map(|k| k as f32).collect();
    let table = ndarray::Array2::from_shape_vec((4, 3), table).unwrap();
    let users = Parameter::new(table);
    let at = Input::indices(vec![2, 0, 2]);
    let loss = users.clone().gather(at.clone()).square().sum();
    loss.backward();
    let grad = users.grad().unwrap();
    let Gradient::Rows(rows) = &grad else {
        panic!("expected rows");
    };
    assert_eq!(rows.len(), 3);
    assert_eq!(rows.coalesce().len(), 2);
    let expected = [
        0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 24.0, 28.0, 32.0, 0.0, 0.0, 0.0,
    ];
    assert_eq!(grad.to_dense().to_f64(), expected);
    let program = loss.freeze().unwrap();
    for batch in [vec![2u32, 0, 2], vec![1], vec![3, 3, 3, 3]] {
        at.set_value(batch.clone()).unwrap();
        users.zero_grad();
        loss.backward();
        let (value, grads) = program.value_and_grad(&[batch.into()]).unwrap();
        assert_eq!(value.item().unwrap(), loss.item().unwrap());
        assert!(matches!(grads[0], Some(Gradient::Rows(_))));
        assert_eq!(
            gradient_numbers(grads[0].clone()),
            gradient_numbers(users.grad())
        );
    }
}

#[test]
fn a_result_that_no_memory_holds_is_an_error() {
    // More bytes than a process has addresses, whatever the machine.
    const LONG: usize = 1 << 23;
    let ones = |shape: &[usize]| Array::full(&Type::new(DType::F32, shape), 1.0);
    let column = Input::new(ones(&[1, 1]));
    let row = Input::new(ones(&[1, 1]));
    let product = column.clone() * row.clone();
    let program = product.clone().sum().freeze().unwrap();
    column.set_value(ones(&[LONG, 1])).unwrap();
    row.set_value(ones(&[1, LONG])).unwrap();
    assert!(matches!(product.value(), Err(Error::Memory(_))));
    let inputs = [column.value().unwrap(), row.value().unwrap()];
    assert!(matches!(program.run(&inputs), Err(Error::Memory(_))));
    let shape = [1 << 50].as_slice().into();
    let repeat = OpRef::new(rules::BroadcastTo { shape });
    let huge = Variable::apply(repeat, &[Independent::new(1.0).unwrap().boxed()]);
    assert!(matches!(huge, Err(Error::Memory(_))));
}

#[test]
fn backward_needs_something_that_records_a_gradient() {
    let x = Input::new(2.0);
    let constant = Constant::new(3.0);
    for graph in [x.clone().boxed(), (x * constant).boxed()] {
        let error = graph.try_backward().unwrap_err();
        assert!(matches!(error, Error::Type(_)), "{error}");
    }
    assert!(Independent::new(vec![1u32]).is_err());
}

#[test]
fn a_wrong_seed_changes_nothing() {
    let p = Parameter::new(vec![1.0, 2.0]);
    let y = p.clone().square();
    y.backward();
    let error = y.backward_from(vec![1.0, 2.0, 3.0].into()).unwrap_err();
    let expected = "grad: expected shape (2,), got (3,)";
    assert_eq!(error, Error::Shape(expected.into()));
    let error = y.backward_from(vec![1.0f32, 2.0].into()).unwrap_err();
    let expected = "grad: expected float64, got float32";
    assert_eq!(error, Error::Type(expected.into()));
    assert!(y.backward_from(1.0.into()).is_err());
    assert_eq!(gradient_numbers(p.grad()), [2.0, 4.0]);
    y.backward_from(vec![10.0, 0.5].into()).unwrap();
    assert_eq!(gradient_numbers(p.grad()), [22.0, 6.0]);
}

/// The identity, with a rule that asks for what cannot be.
#[derive(Debug, Clone)]
struct Faulty;

impl Operator for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        if let SliceMut::F64(out) = out.data {
            out.copy_from_slice(args[0].real());
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g.matmul(x[0], false, false).trace() + g)
    }
}

#[test]
fn a_rule_that_fails_leaves_gradients_as_they_were() {
    let (p, q) = (
        Parameter::new(vec![1.0, 2.0]),
        Independent::new(5.0).unwrap(),
    );
    let good = p.clone() * q.clone();
    good.backward();
    let bad = Variable::apply(OpRef::new(Faulty), &[p.clone().boxed()]).unwrap();
    let both = good.clone() + bad.clone();
    for _ in 0..2 {
        assert!(matches!(both.try_backward(), Err(Error::Shape(_))));
        let graph = both.clone().boxed().gradients(&[&p.clone().boxed()]);
        assert!(matches!(graph, Err(Error::Shape(_))));
        assert_eq!(gradient_numbers(p.grad()), [5.0, 5.0]);
        assert_eq!(gradient_numbers(q.grad()), [3.0]);
    }
    assert!(matches!(both.freeze(), Err(Error::Shape(_))));
    good.backward();
    assert_eq!(
        gradient_numbers(p.grad()),
        [10.0, 10.0],
        "nothing is left of the failure"
    );
    assert_eq!(gradient_numbers(q.grad()), [6.0]);
}

#[test]
fn typed_and_boxed_graphs_agree() {
    let w = Parameter::new(matrix(3, 2, vec![0.1, -0.2, 0.3, 0.4, -0.5, 0.6]));
    let b = Parameter::new(vec![0.5, -0.25]);
    let x = Input::new(matrix(2, 3, vec![1.0, 2.0, 3.0, -1.0, 0.5, 0.0]));
    let typed = (x.clone().matmul(w.clone()) + b.clone())
        .tanh()
        .square()
        .sum();
    typed.backward();
    let (value, grads) = (
        typed.item().unwrap(),
        [gradient_numbers(w.grad()), gradient_numbers(b.grad())],
    );
    w.zero_grad();
    b.zero_grad();
    let op = OpRef::new(rules::MatMul {
        transpose_a: false,
        transpose_b: false,
    });
    let mut y = Variable::apply(op, &[x.boxed(), w.clone().boxed()]).unwrap();
    y = Variable::apply(OpRef::Static(&rules::Add), &[y, b.clone().boxed()]).unwrap();
    y = y.tanh().boxed().square().boxed().sum().boxed();
    y.backward();
    assert_eq!(y.item().unwrap(), value);
    assert_eq!(
        [gradient_numbers(w.grad()), gradient_numbers(b.grad())],
        grads
    );
}

#[test]
fn graphs_of_any_kind_are_dropped_on_a_small_stack() {
    let work = || {
        let start = || Independent::new(0.0).unwrap().boxed();
        let mut typed = start();
        for _ in 0..DEPTH / 4 {
            typed = ((typed * 0.5).sin() + 1.0).tanh().boxed();
        }
        drop(typed);
        let mut twice = start();
        for _ in 0..DEPTH {
            twice = (twice.clone() + twice).boxed();
        }
        drop(twice);
        let mut listed = start();
        for _ in 0..DEPTH {
            let args = [listed.clone(), listed];
            listed = Variable::apply(OpRef::Static(&rules::Maximum), &args).unwrap();
        }
        listed.backward();
        let parents = listed.parents();
        drop(listed);
        drop(parents);
    };
    let thread = std::thread::Builder::new().stack_size(STACK);
    thread.spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_graph_kept_by_the_thread_itself_is_dropped_with_it() {
    thread_local! {
        static KEPT: std::cell::RefCell<Option<Variable>> = const { std::cell::RefCell::new(None) };
    }
    let keep = || {
        let mut y = Independent::new(0.0).unwrap().boxed();
        for _ in 0..10_000 {
            y = y.sin().boxed();
        }
        KEPT.set(Some(y));
    };
    std::thread::spawn(keep).join().unwrap();
}

#[test]
fn access_kept_by_the_thread_itself_is_given_back_with_it() -> Result<()> {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| Table::new(&Array::from(1.0), None).expect("a number"));
    thread_local! {
        static KEPT: RefCell<Option<Exclusive<'static>>> = const { RefCell::new(None) };
    }
    let keep = || {
        // It is known to the thread before the locks' own variables are, and so dropped after these.
        KEPT.with(|_| ());
        KEPT.set(Some(TABLE.exclusive().unwrap()));
    };
    std::thread::spawn(keep).join().unwrap();
    TABLE.exclusive()?.slice::<f64>()[0] = 2.0;
    assert_eq!(TABLE.try_read()?.item(), Ok(2.0));
    Ok(())
}

#[test]
fn rows_and_arrays_add_up() {
    let table = Parameter::new(matrix(3, 2, vec![1.0; 6]));
    let at = Input::indices(vec![2, 0, 2]);
    let rows = table.clone().gather(at).sum();
    let whole = table.clone().sum();
    rows.backward();
    assert!(matches!(table.grad(), Some(Gradient::Rows(_))));
    whole.backward();
    assert!(matches!(table.grad(), Some(Gradient::Dense(_))));
    assert_eq!(
        gradient_numbers(table.grad()),
        [2.0, 2.0, 1.0, 1.0, 3.0, 3.0]
    );
    rows.backward();
    assert_eq!(
        gradient_numbers(table.grad()),
        [3.0, 3.0, 1.0, 1.0, 5.0, 5.0]
    );
    table.zero_grad();
    (rows.clone() * 2.0 + whole).backward();
    assert_eq!(
        gradient_numbers(table.grad()),
        [3.0, 3.0, 1.0, 1.0, 5.0, 5.0],
        "within one pass"
    );
    table.zero_grad();
    for _ in 0..5000 {
        rows.backward();
    }
    let Some(Gradient::Rows(many)) = table.grad() else {
        panic!("expected rows");
    };
    assert!(many.len() < 5000, "repeats are summed before they pile up");
    assert_eq!(many.to_dense().to_f64(), [5e3, 5e3, 0.0, 0.0, 1e4, 1e4]);
}

#[test]
fn two_nodes_on_one_table_share_its_numbers() {
    let p = Parameter::new(3.0);
    let other = Parameter::shared(p.param().table().clone());
    let loss = p.clone() * other.clone();
    loss.backward();
    assert_eq!(
        (gradient_numbers(p.grad()), gradient_numbers(other.grad())),
        (vec![3.0], vec![3.0])
    );
    let (_, grads) = loss.freeze().unwrap().value_and_grad(&[]).unwrap();
    assert_eq!(grads.len(), 1);
    assert_eq!(
        gradient_numbers(grads[0].clone()),
        [6.0],
        "a program has one gradient a table"
    );
    p.param().table().write(&4.0.into()).unwrap();
    assert_eq!(loss.item().unwrap(), 16.0);
}

#[test]
fn many_are_joined_without_an_operator_that_takes_them_all() {
    let parts: Vec<Variable> = (0..3000)
        .map(|k| Independent::new(vec![f64::from(k); 1 + k as usize % 3]))
        .map(|leaf| leaf.unwrap().boxed())
        .collect();
    let joined = ops::concatenate(&parts, Some(0)).unwrap();
    let expected: Vec<f64> = parts
        .iter()
        .flat_map(|p| p.value().unwrap().to_f64())
        .collect();
    assert_eq!(joined.value().unwrap().to_f64(), expected);
    // The gradient of an operand costs as much as there are operands beside it.
    let nodes = joined.topological().unwrap();
    let most = nodes.iter().map(|n| n.parents().len()).max();
    assert!(most <= Some(64), "{most:?} operands");
    assert!(nodes.len() < parts.len() + parts.len() / 8);
    let seed = Array::from(expected.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
    joined.backward_from(seed).unwrap();
    for part in &parts {
        let value = part.value().unwrap().to_f64();
        let twice: Vec<f64> = value.iter().map(|x| 2.0 * x).collect();
        assert_eq!(gradient_numbers(part.grad()), twice);
    }
}

#[test]
fn gradients_as_graphs_follow_inputs_of_other_lengths() {
    let (w, x) = (Parameter::new(2.0).boxed(), Input::new(vec![1.0, 2.0]));
    let values = (w.clone() * x.clone().boxed()).boxed().square().boxed();
    let slope = |y: &Variable| y.gradients(&[&w]).unwrap().remove(0).unwrap();
    let first = slope(&values);
    let second = slope(&first);
    // The sum of (w x)^2 has the derivatives 2 w x^2 and 2 x^2.
    let found = |node: &Variable| node.item().unwrap();
    assert_eq!([found(&first), found(&second)], [20.0, 10.0]);
    x.set_value(vec![1.0, 2.0, 3.0]).unwrap();
    assert_eq!([found(&first), found(&second)], [56.0, 28.0]);
    let program = first.freeze().unwrap();
    for length in [1, 2, 5] {
        let numbers: Vec<f64> = (1..=length).map(f64::from).collect();
        let squares: f64 = numbers.iter().map(|x| x * x).sum();
        let (value, gradients) = program.value_and_grad(&[numbers.into()]).unwrap();
        assert_eq!(value.item().unwrap(), 4.0 * squares);
        let gradient = gradients[0].as_ref().unwrap().to_dense();
        assert_eq!(gradient.item().unwrap(), 2.0 * squares);
    }
}

#[test]
fn gradients_by_many_leaves_are_those_of_each() -> Result<()> {
    let leaves = (0..60).map(|k| Independent::new(f64::from(k)));
    let leaves: Vec<Independent> = leaves.collect::<Result<_>>()?;
    let below = leaves[..50].iter().map(|x| x.clone().square().boxed());
    let sum = below.reduce(|a, b| (a + b).boxed()).unwrap();
    let boxed: Vec<Variable> = leaves.iter().map(|x| x.clone().boxed()).collect();
    // In another order, some twice, and some that the sum does not depend on.
    let asked: Vec<usize> = (0..90).map(|k| k * 37 % 60).collect();
    let by: Vec<&Variable> = asked.iter().map(|&k| &boxed[k]).collect();
    let found = sum.gradient_values(None, &by)?;
    for (&k, found) in asked.iter().zip(found) {
        let expected = (k < 50).then_some(2.0 * k as f64);
        let found = found.map(|g| g.to_dense().item()).transpose()?;
        assert_eq!(found, expected, "{k}");
    }
    assert!(!sum.captures(&boxed.iter().rev().collect::<Vec<_>>())?);
    assert!(sum.captures(&boxed[1..].iter().collect::<Vec<_>>())?);
    Ok(())
}
