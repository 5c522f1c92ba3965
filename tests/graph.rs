//! Graphs: the posts' examples, sharing, staleness, depth.

use wyrmling::graph::{Leaf, Parameter};
use wyrmling::{Array, Gradient, Input, Variable};

fn dense(g: Option<Gradient>) -> Vec<f64> {
    g.map(|g| g.to_dense().to_f64()).unwrap_or_default()
}

fn matrix(rows: usize, columns: usize, data: Vec<f64>) -> Array {
    ndarray::Array2::from_shape_vec((rows, columns), data)
        .unwrap()
        .into()
}

#[test]
fn the_regression_of_the_wyrm_post() {
    let (slope, intercept) = (Parameter::new(1.0), Parameter::new(0.0));
    let (x, y) = (Input::new(3.0), Input::new(7.0));
    let loss = (y.clone() - (slope.clone() * x.clone() + intercept.clone())).square();
    loss.backward();
    assert_eq!(loss.item().unwrap(), 16.0);
    assert_eq!(dense(slope.grad()), [-24.0]);
    assert_eq!(dense(intercept.grad()), [-8.0]);
    loss.backward();
    assert_eq!(dense(slope.grad()), [-48.0], "gradients accumulate");
    x.set_value(1.0).unwrap();
    assert_eq!(loss.item().unwrap(), 36.0, "no stale numbers");
    slope.zero_grad();
    loss.backward();
    assert_eq!(dense(slope.grad()), [-12.0]);
}

#[test]
fn the_relu_of_the_numpy_autograd_post() {
    let l1 = Leaf::new(matrix(2, 4, (-4..4).map(f64::from).collect())).unwrap();
    let l2 = Leaf::new(matrix(4, 1, (-2..2).map(f64::from).collect())).unwrap();
    l1.clone().matmul(l2.clone()).relu().backward();
    assert_eq!(
        dense(l1.grad()),
        [-2.0, -1.0, 0.0, 1.0, -2.0, -1.0, 0.0, 1.0]
    );
    assert_eq!(dense(l2.grad()), [-4.0, -2.0, 0.0, 2.0]);
}

#[test]
fn the_trace_of_the_yaad_post() {
    let (a, b) = (vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0, 7.0, 8.0]);
    let x1 = Leaf::new(matrix(2, 2, a.clone())).unwrap();
    let x2 = Leaf::new(matrix(2, 2, b.clone())).unwrap();
    let z = x1.clone().matmul(x2.clone()).trace();
    assert_eq!(z.item().unwrap(), 5.0 + 14.0 + 18.0 + 32.0);
    z.backward();
    assert_eq!(dense(x1.grad()), [b[0], b[2], b[1], b[3]]);
    assert_eq!(dense(x2.grad()), [a[0], a[2], a[1], a[3]]);
}

#[test]
fn a_diamond_takes_linear_time() {
    let x = Leaf::new(1.0).unwrap();
    let mut y: Variable = x.clone().boxed();
    for _ in 0..30 {
        y = (y.clone() + y).boxed();
    }
    y.backward();
    assert_eq!(dense(x.grad()), [f64::from(1 << 30)]);
    let program = y.freeze().unwrap();
    let (value, grads) = program.value_and_grad(&[]).unwrap();
    assert_eq!(value.item().unwrap(), f64::from(1 << 30));
    assert_eq!(dense(grads[0].clone()), [f64::from(1 << 30)]);
}

#[test]
fn deep_graphs_need_no_stack() {
    const DEPTH: usize = 200_000;
    let work = || {
        let x = Leaf::new(0.5).unwrap();
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
        let grad = dense(x.grad())[0];
        assert!((grad - 1.000_001f64.powi(DEPTH as i32 / 2)).abs() < 1e-9);
        let program = y.freeze().unwrap();
        drop(y);
        let (frozen, grads) = program.value_and_grad(&[]).unwrap();
        assert!((frozen.item().unwrap() - value).abs() < 1e-12);
        assert!((dense(grads[0].clone())[0] - grad).abs() < 1e-9);
        assert!(program.to_string().len() > DEPTH);
    };
    let thread = std::thread::Builder::new().stack_size(256 * 1024);
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
        assert_eq!(dense(grads[0].clone()), dense(users.grad()));
    }
}
