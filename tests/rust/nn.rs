//! Layers against their formulas, written out in numbers, and their gradients against differences.

use std::sync::Arc;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::array::Dense;
use wyrmling::graph::{Constant, IntoDyn, ops};
use wyrmling::nn::{self, Embedding, Gru, Linear, Lstm};
use wyrmling::rules::SliceItem;
use wyrmling::{Array, DType, Error, Input, Parameter, Type, Variable};

fn rng() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(3)
}

fn values(of: &Variable<impl ?Sized + IntoDyn>) -> Vec<f64> {
    of.value().expect("what fits").to_f64()
}

fn vector(phase: f64) -> Vec<f64> {
    (0..3)
        .map(|k| f64::from((f64::from(k) + phase).sin() as f32))
        .collect()
}

fn constant(numbers: &[f64]) -> Variable {
    let numbers = numbers.iter().map(|&x| x as f32).collect();
    Constant::new(Array::F32(Dense::new(&[3], numbers).expect("what fits"))).boxed()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Row `x` times a matrix of so many columns.
fn product(x: &[f64], matrix: &[f64], columns: usize) -> Vec<f64> {
    let column = |c: usize| {
        x.iter()
            .enumerate()
            .map(|(r, x)| x * matrix[r * columns + c])
            .sum()
    };
    (0..columns).map(column).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
}

/// The gradient of the sum of `loss` by each parameter against central differences.
fn assert_gradient(parameters: &[&Parameter], loss: &Variable<impl ?Sized + IntoDyn>) {
    loss.zero_grad();
    loss.backward();
    for parameter in parameters {
        let gradient = parameter.grad().expect("what fits").to_dense().to_f64();
        let start = parameter.value().expect("what fits");
        for k in 0..start.size() {
            let at = |step: f64| {
                let mut moved = start.to_f64();
                moved[k] += step;
                let moved = moved.into_iter().map(|x| x as f32).collect();
                let moved = Dense::new(start.shape(), moved).expect("what fits");
                parameter.set_value(moved).expect("what fits");
                values(loss).iter().sum::<f64>()
            };
            let difference = (at(0.01) - at(-0.01)) / 0.02;
            assert!(
                (difference - gradient[k]).abs() < 2e-3,
                "{k}: {difference} {}",
                gradient[k]
            );
        }
        parameter.set_value(start).expect("what fits");
    }
}

#[test]
fn a_cell_is_what_its_formula_says() {
    const UNITS: usize = 2;
    for coupled in [false, true] {
        let make = if coupled { Lstm::coupled } else { Lstm::new };
        let lstm = make(3, UNITS, &mut rng()).unwrap();
        let parts = if coupled { 3 } else { 4 };
        let [of_vector, of_state, bias] = lstm.parameters().map(values);
        assert_eq!(bias.iter().sum::<f64>(), if coupled { 0.0 } else { 2.0 });
        let (mut state, mut memory) = (vec![0.0; UNITS], vec![0.0; UNITS]);
        let found = lstm
            .states([0.0, 1.0, 2.0].map(|phase| constant(&vector(phase))))
            .unwrap();
        for (step, found) in found.iter().enumerate() {
            let given = product(&vector(step as f64), &of_vector, parts * UNITS);
            let own = product(&state, &of_state, parts * UNITS);
            let all = |part: usize, unit: usize| {
                let k = part * UNITS + unit;
                given[k] + own[k] + bias[k]
            };
            for unit in 0..UNITS {
                let enter = sigmoid(all(0, unit));
                let keep = if coupled {
                    1.0 - enter
                } else {
                    sigmoid(all(1, unit))
                };
                memory[unit] = keep * memory[unit] + enter * all(parts - 1, unit).tanh();
                state[unit] = sigmoid(all(parts - 2, unit)) * memory[unit].tanh();
            }
            assert_close(&values(found), &state);
        }
        assert_gradient(&lstm.parameters(), &found[2]);
    }
}

#[test]
fn a_gated_unit_is_what_its_formula_says() {
    const UNITS: usize = 2;
    let gru = Gru::new(3, UNITS, &mut rng()).unwrap();
    let [of_vector, of_state, bias] = gru.parameters().map(values);
    let mut state = vec![0.0; UNITS];
    let found = gru
        .states([0.0, 1.0, 2.0].map(|phase| constant(&vector(phase))))
        .unwrap();
    for (step, found) in found.iter().enumerate() {
        let given = product(&vector(step as f64), &of_vector, 3 * UNITS);
        let own = product(&state, &of_state, 3 * UNITS);
        for (unit, state) in state.iter_mut().enumerate() {
            let [r, z, n] = [0, 1, 2].map(|part| part * UNITS + unit);
            let reset = sigmoid(given[r] + bias[r] + own[r]);
            let update = sigmoid(given[z] + bias[z] + own[z]);
            let new = (given[n] + bias[n] + reset * own[n]).tanh();
            *state = (1.0 - update) * new + update * *state;
        }
        assert_close(&values(found), &state);
    }
    assert_gradient(&gru.parameters(), &found[2]);
}

#[test]
fn layers_stand_on_parameters_that_are_there() {
    let vectors = || [0.0, 1.0].map(|phase| constant(&vector(phase)));
    let shared = |parameters: [&Parameter; 3]| {
        parameters.map(|parameter| Parameter::shared(Arc::clone(parameter.param().table())))
    };
    for make in [Lstm::new, Lstm::coupled] {
        let lstm = make(3, 2, &mut rng()).unwrap();
        let other = Lstm::from_parameters(shared(lstm.parameters())).unwrap();
        let [found, expected] = [&other, &lstm].map(|lstm| lstm.states(vectors()).unwrap());
        assert_eq!(values(&found[1]), values(&expected[1]));
    }
    let gru = Gru::new(3, 2, &mut rng()).unwrap();
    let other = Gru::from_parameters(shared(gru.parameters())).unwrap();
    let [found, expected] = [&other, &gru].map(|gru| gru.states(vectors()).unwrap());
    assert_eq!(values(&found[1]), values(&expected[1]));

    let zeros = |shapes: [&[usize]; 3]| {
        shapes.map(|shape| Parameter::new(Array::zeros(&Type::new(DType::F32, shape)).unwrap()))
    };
    let wrong: [[&[usize]; 3]; 7] = [
        [&[3, 8], &[2, 8], &[6]],
        [&[3, 6], &[2, 8], &[8]],
        [&[3, 10], &[2, 10], &[10]],
        [&[0, 8], &[2, 8], &[8]],
        [&[3, 0], &[0, 0], &[0]],
        [&[8], &[2, 8], &[8]],
        [&[3, 8], &[2, 8], &[]],
    ];
    for shapes in wrong {
        let refused = Lstm::from_parameters(zeros(shapes)).err();
        assert!(matches!(refused, Some(Error::Shape(_))), "{shapes:?}");
    }
    let refused = Gru::from_parameters(zeros([&[3, 8], &[2, 8], &[8]])).err();
    let Some(Error::Shape(message)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        message,
        "parameters of a GRU: expected shapes (d, n), (h, n) and (n,), where n is 3 h, got (3, 8), (2, 8), (8,)"
    );
}

#[test]
fn several_sequences_are_each_by_itself() {
    let (lstm, gru) = (
        Lstm::new(3, 4, &mut rng()).unwrap(),
        Gru::new(3, 4, &mut rng()).unwrap(),
    );
    let both = |step: usize| {
        let rows = [vector(step as f64), vector(step as f64 + 0.5)].concat();
        let rows = rows.into_iter().map(|x| x as f32).collect();
        Input::new(Array::F32(Dense::new(&[2, 3], rows).unwrap()))
    };
    let inputs = [both(0), both(1)];
    let vectors = || inputs.iter().map(|input| input.clone().boxed());
    let alone = |phase: f64| [0.0, 1.0].map(|step| constant(&vector(step + phase)));
    let of_lstm = lstm.states(vectors()).unwrap();
    let of_gru = gru.states(vectors()).unwrap();
    for (row, phase) in [0.0, 0.5].into_iter().enumerate() {
        let part = |found: &Variable| values(found)[row * 4..(row + 1) * 4].to_vec();
        assert_close(
            &part(&of_lstm[1]),
            &values(&lstm.states(alone(phase)).unwrap()[1]),
        );
        assert_close(
            &part(&of_gru[1]),
            &values(&gru.states(alone(phase)).unwrap()[1]),
        );
    }
    // The same graph for another number of sequences.
    for input in &inputs {
        let row = vector(0.25).into_iter().map(|x| x as f32).collect();
        input
            .set_value(Array::F32(Dense::new(&[1, 3], row).unwrap()))
            .unwrap();
    }
    assert_eq!(of_lstm[1].value().unwrap().shape(), [1, 4]);
    assert_eq!(of_gru[1].value().unwrap().shape(), [1, 4]);
    assert!(lstm.states(None).unwrap().is_empty());
}

#[test]
fn layers_without_a_state() {
    let rng = &mut rng();
    let linear = Linear::new(3, 2, rng).unwrap();
    linear.bias.set_value(vec![1.0_f32, -1.0]).unwrap();
    let x = wyrmling::graph::ops::reshape(&constant(&vector(0.3)), &[1, 3]).unwrap();
    let expected = product(&values(&x), &values(&linear.weights), 2);
    let found = linear.apply(x);
    assert_close(&values(&found), &[expected[0] + 1.0, expected[1] - 1.0]);
    assert_gradient(&[&linear.weights, &linear.bias], &found);
    let embedding = Embedding::new(5, 3, rng).unwrap();
    let rows = embedding.rows(Input::indices(vec![4, 0, 4]));
    let table = values(&embedding.table);
    assert_eq!(
        values(&rows),
        [&table[12..], &table[..3], &table[12..]].concat()
    );
    // Numbers that are computed of others: the last of each sequence.
    let sequences = Input::new([[3_u32, 4], [1, 0]]).boxed();
    let all = SliceItem::Range {
        start: None,
        stop: None,
        step: 1,
    };
    let last = vec![all, SliceItem::At(-1)];
    let rows = embedding.rows(ops::slice(&sequences, last).unwrap());
    assert_eq!(values(&rows), [&table[12..], &table[..3]].concat());
}

#[test]
fn initialisers_have_their_spread() {
    let rng = &mut rng();
    let numbers = |array: wyrmling::Result<Array>| array.unwrap().to_f64();
    let spread = |x: &[f64]| (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64).sqrt();
    let most = |x: &[f64]| x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let shape = [300, 200];
    let found = numbers(nn::normal(&shape, 0.5, rng));
    assert!((spread(&found) - 0.5).abs() < 0.01);
    let found = numbers(nn::uniform(&shape, 0.5, rng));
    assert!(most(&found) <= 0.5 && most(&found) > 0.499);
    assert!((spread(&found) - 0.5 / 3.0_f64.sqrt()).abs() < 0.005);
    let found = numbers(nn::xavier(&shape, rng));
    let bound = (6.0_f64 / 500.0).sqrt();
    assert!(most(&found) <= bound + 1e-7 && most(&found) > 0.99 * bound);
    let found = numbers(nn::he(&shape, rng));
    assert!((spread(&found) - (2.0_f64 / 300.0).sqrt()).abs() < 0.002);
    assert_eq!(numbers(nn::normal(&[0, 3], 1.0, rng)).len(), 0);
    let is_value =
        |result: wyrmling::Result<Array>| assert!(matches!(result, Err(Error::Value(_))));
    is_value(nn::normal(&shape, -1.0, rng));
    is_value(nn::uniform(&shape, f64::NAN, rng));
    is_value(nn::xavier(&[], rng));
    is_value(nn::he(&[3, 0], rng));
    assert!(matches!(Lstm::new(0, 2, rng), Err(Error::Value(_))));
    assert!(matches!(Gru::new(2, 0, rng), Err(Error::Value(_))));
    assert!(matches!(
        Lstm::new(1, usize::MAX / 2, rng),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        Gru::new(usize::MAX / 4, 3, rng),
        Err(Error::Shape(_))
    ));
    is_value(nn::normal(&[2], 1e300, rng));
    is_value(nn::uniform(&[2], f64::MAX, rng));
}

#[test]
fn a_clone_of_a_layer_has_its_parameters() {
    let layer = Linear::new(3, 3, &mut rng()).expect("what fits");
    let again = layer.clone();
    let lstm = Lstm::new(3, 3, &mut rng()).expect("what fits");
    let lstms = [lstm.clone(), lstm];
    let [first, second] = lstms.each_ref().map(Lstm::parameters);
    let pairs = first.into_iter().zip(second);
    let same = |a: &Parameter, b: &Parameter| Arc::ptr_eq(a.param(), b.param());
    assert!(pairs.into_iter().all(|(a, b)| same(a, b)));
    assert!(same(&layer.weights, &again.weights) && same(&layer.bias, &again.bias));
}
