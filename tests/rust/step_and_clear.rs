//! Steps that clear: the gradients are gone where the step was made, and there where it was refused.

use std::sync::Arc;

use wyrmling::optim::Optimizer;
use wyrmling::{Error, Input, Parameter, Result};

/// All, rows in one piece, and rows in several.
const PLACES: [&[&[u32]]; 3] = [&[], &[&[0, 2, 0]], &[&[1], &[2, 1]]];

fn parameter() -> Parameter {
    Parameter::new(vec![1.0, 2.0, 3.0])
}

/// Collects a gradient of rows in several pieces, or of all.
fn collect(w: &Parameter, factor: f64, rows: &[&[u32]]) {
    for rows in rows {
        let rows = Input::indices(rows.to_vec());
        (w.clone().gather(rows) * factor).sum().backward();
    }
    if rows.is_empty() {
        (w.clone() * factor).sum().backward();
    }
}

fn gradient(w: &Parameter) -> Option<Vec<f64>> {
    Some(w.grad()?.to_dense().to_f64())
}

#[test]
fn the_step_is_that_of_a_step_that_keeps_gradients() -> Result<()> {
    for rows in PLACES {
        for new in [Optimizer::sgd, Optimizer::adagrad, Optimizer::adam] {
            let (cleared, kept) = (parameter(), parameter());
            let (a, b) = (new(0.1)?, new(0.1)?);
            for factor in [1.0, -0.5] {
                collect(&cleared, factor, rows);
                collect(&kept, factor, rows);
                a.step_and_clear(&[&cleared])?;
                b.step(&[&kept])?;
                assert_eq!(gradient(&cleared), None);
                kept.zero_grad();
            }
            let [cleared, kept] = [cleared, kept].map(|w| w.param().table().read().to_f64());
            assert_eq!(cleared, kept, "{rows:?}");
        }
    }
    Ok(())
}

#[test]
fn a_step_that_is_refused_keeps_the_gradients_of_all() -> Result<()> {
    let sgd = Optimizer::sgd(1e10)?;
    for rows in PLACES {
        let (fine, large, none) = (parameter(), parameter(), parameter());
        collect(&fine, 1.0, rows);
        collect(&large, 1e300, rows);
        let before = [gradient(&fine), gradient(&large), None];
        for all in [[&fine, &large, &none], [&large, &none, &fine]] {
            let error = sgd.step_and_clear(&all).unwrap_err();
            assert!(matches!(error, Error::NotFinite(_)), "{error}");
            assert_eq!([&fine, &large, &none].map(gradient), before);
            assert_eq!(fine.param().table().read().to_f64(), [1.0, 2.0, 3.0]);
        }
    }
    Ok(())
}

#[test]
fn a_parameter_that_is_given_twice_keeps_its_gradient() -> Result<()> {
    let sgd = Optimizer::sgd(0.1)?;
    let (w, v) = (parameter(), parameter());
    let other = Parameter::shared(Arc::clone(w.param().table()));
    // Without a gradient there is nothing to do twice.
    sgd.step_and_clear(&[&w, &v, &w, &other])?;
    collect(&w, 1.0, &[]);
    collect(&v, 1.0, &[]);
    let before = [gradient(&w), gradient(&v)];
    for all in [&[&w, &v, &w][..], &[&w, &other, &w], &[&v, &w, &other, &w]] {
        for done in [sgd.step(all), sgd.step_and_clear(all)] {
            let error = done.unwrap_err().to_string();
            assert!(error.contains("given twice"), "{error}");
        }
        assert_eq!([gradient(&w), gradient(&v)], before);
    }
    // Two handles on one table, and both have a gradient.
    collect(&other, 1.0, &[]);
    for done in [sgd.step(&[&w, &other]), sgd.step_and_clear(&[&w, &other])] {
        let error = done.unwrap_err().to_string();
        assert!(error.contains("given twice"), "{error}");
    }
    assert_eq!(
        [gradient(&w), gradient(&other)],
        [before[0].clone(), before[0].clone()]
    );
    Ok(())
}

#[test]
fn a_gradient_that_was_read_stays_as_it_was() -> Result<()> {
    let sgd = Optimizer::sgd(0.1)?;
    let (number, w) = (Parameter::new(1.0), parameter());
    let (x, rows) = (Input::new(0.0), Input::indices(vec![0, 0]));
    let loss = w.clone().gather(rows.clone()).sum() * number.clone() * x.clone();
    let mut read = Vec::new();
    // The graph is run as a program before long, which writes gradients where forgotten ones were.
    for k in 0..100_u32 {
        let factor = f64::from(k % 7);
        x.set_value(factor)?;
        rows.set_slice(&[k % 3, 2])?;
        let of_number = factor * (w.param().table().read().to_f64()[k as usize % 3] + of_last(&w));
        let mut of_rows = vec![0.0; 3];
        of_rows[k as usize % 3] += factor * number.item()?;
        of_rows[2] += factor * number.item()?;
        loss.backward();
        if k % 3 > 0 {
            read.push((number.grad(), vec![of_number]));
            read.push((w.grad(), of_rows));
        }
        match k % 2 {
            0 => sgd.step_and_clear(&[&number, &w])?,
            _ => [&number, &w]
                .map(|param| param.zero_grad())
                .into_iter()
                .collect(),
        }
        w.set_value(vec![1.0, 2.0, 3.0])?;
    }
    assert!(read.len() > 100);
    for (gradient, expected) in read {
        assert_eq!(
            gradient.expect("it was there").to_dense().to_f64(),
            expected
        );
    }
    Ok(())
}

/// The last of three numbers.
fn of_last(w: &Parameter) -> f64 {
    w.param().table().read().to_f64()[2]
}
