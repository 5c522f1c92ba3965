//! What an optimizer remembers: taken out, put back, and refused where no training leaves it.

use std::sync::Arc;

use wyrmling::array::{Slice, View};
use wyrmling::optim::{Optimizer, Resumed, Rule, Settings, Snapshot};
use wyrmling::{Array, Error, Parameter, Result};

use crate::optim::{ADAM, RULES, bits, collect, column};

/// What an optimizer remembers, put into another one, has it go on as the first does.
#[test]
fn state_is_taken_out_and_put_back() {
    for (rule, arrays) in RULES.into_iter().zip([0, 1, 1, 3]) {
        let new = || Optimizer::new(rule, Settings::new(0.05)).unwrap();
        let w = Parameter::new(column(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2));
        let first = new();
        for rows in [&[0, 1][..], &[1, 1]] {
            collect(&w, 0.5, Some(rows));
            first.step(&[w.param()]).unwrap();
        }
        let snapshots = first.snapshot().unwrap();
        assert_eq!(snapshots.len(), usize::from(arrays > 0));
        let before = w.param().table().read();
        let go_on = |optimizer: &Optimizer| {
            w.param().table().write(&before).unwrap();
            collect(&w, 0.25, Some(&[1, 2]));
            optimizer.step(&[w.param()]).unwrap();
            bits(&w)
        };
        let second = new();
        for snapshot in &snapshots {
            assert_eq!(snapshot.slots.len(), arrays);
            second.restore(snapshot).unwrap();
            // Wrong in one respect each; nothing is changed then.
            let mut fewer = snapshot.clone();
            fewer.slots.pop();
            assert!(matches!(second.restore(&fewer), Err(Error::Shape(_))));
            let mut other = snapshot.clone();
            other.slots[0] = column(&[0.0; 4], 2);
            assert!(matches!(second.restore(&other), Err(Error::Shape(_))));
            other.slots[0] = Array::from(ndarray::Array2::<f64>::zeros((3, 2)));
            assert!(matches!(second.restore(&other), Err(Error::Type(_))));
        }
        let expected = go_on(&first);
        assert_eq!(go_on(&second), expected, "{rule:?}");
        if arrays > 0 {
            assert_ne!(go_on(&new()), expected, "{rule:?}");
        }
    }
}

/// Counts and sums of squares that no training leaves would be taken for others, or end in NaN.
#[test]
fn state_that_no_training_leaves_is_refused() -> Result<()> {
    let w = Parameter::new(vec![1.0, 2.0]);
    let table = w.param().table();
    let refused = |rule, slot: usize, number: f64| -> Result<()> {
        let optimizer = Optimizer::new(rule, Settings::new(0.05))?;
        let mut slots = optimizer.slots_of(table)?;
        slots[slot] = vec![0.0, number].into();
        let snapshot = Snapshot {
            table: Arc::clone(table),
            slots,
        };
        let found = optimizer.restore(&snapshot);
        let kept = optimizer.slots_of(table)?[slot].to_f64();
        assert_eq!(
            kept == [0.0, 0.0],
            found.is_err(),
            "{rule:?} {slot} {number}"
        );
        found
    };
    let adagrad = Rule::Adagrad { eps: 1e-10 };
    for (rule, slot, name, numbers) in [
        (adagrad, 0, "sum", &[-1.0, -5e-324][..]),
        (ADAM, 1, "exp_avg_sq", &[-1.0]),
        (ADAM, 2, "step", &[-1.0, 0.5, f64::NAN, f64::INFINITY]),
    ] {
        for &number in numbers {
            let expected = format!("state of parameter f64[2]: {name} ");
            let found = refused(rule, slot, number);
            assert!(
                matches!(&found, Err(Error::Value(text)) if text.starts_with(&expected)),
                "{rule:?} {name} {number}: {found:?}"
            );
        }
    }
    // Training leaves negative means, and squares that are too large.
    refused(ADAM, 0, -1.0)?;
    refused(RULES[1], 0, -1.0)?;
    refused(adagrad, 0, f64::INFINITY)?;
    refused(ADAM, 2, 3.0)
}

#[test]
fn resuming_is_all_or_nothing_also_of_views_that_are_wrong() -> Result<()> {
    let tables = [[1.0; 4], [2.0; 4]].map(|value| Parameter::new(value.to_vec()));
    let [a, b] = tables.each_ref().map(|p| p.param().table());
    let numbers = [9.0; 4];
    let view = |length: usize| View::new(&[4], Slice::F64(&numbers[..length]));
    let resumed = |table, length| Resumed {
        table,
        slots: Vec::new(),
        value: Some(view(length)),
    };
    let sgd = Optimizer::sgd(0.1)?;
    for lengths in [[4, 1], [1, 4], [4, 0]] {
        let both = [resumed(a, lengths[0]), resumed(b, lengths[1])];
        let found = sgd.resume(0.2, &both);
        assert!(matches!(found, Err(Error::Shape(_))), "{found:?}");
        assert_eq!([a, b].map(|t| t.read().to_f64()[3]), [1.0, 2.0]);
        assert_eq!(sgd.settings().lr, 0.1);
    }
    sgd.resume(0.2, &[resumed(a, 4), resumed(b, 4)])?;
    assert_eq!([a, b].map(|t| t.read().to_f64()[3]), [9.0, 9.0]);
    Ok(())
}
