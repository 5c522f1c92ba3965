//! Operators over a batch against the same operator on each entry.

use super::*;

#[test]
fn over_a_batch_each_entry_is_as_alone() {
    let mut rng = Rng::seed_from_u64(12);
    let mut found = HashSet::new();
    for (name, case) in cases() {
        let Some(over) = case.op.over_batch() else {
            continue;
        };
        assert_eq!(case.args.len(), 1, "{name}: over_batch is for one operand");
        found.insert(case.op.name().to_owned());
        let entries: Vec<Array> = (0..3)
            .map(|_| operands(&case, DType::F64, &mut rng).unwrap().remove(0))
            .collect();
        let one = entries[0].shape();
        let shape: Vec<usize> = std::iter::once(3).chain(one.iter().copied()).collect();
        let all = entries.iter().flat_map(Array::to_f64).collect();
        let batch = evaluate(&over, &[Dense::new(&shape, all).unwrap().into()]).unwrap();
        let alone = |x: &Array| evaluate(&case.op, std::slice::from_ref(x)).unwrap();
        let results: Vec<Array> = entries.iter().map(alone).collect();
        assert_eq!(batch.shape()[0], 3, "{name}");
        assert_eq!(&batch.shape()[1..], results[0].shape(), "{name}");
        let expected: Vec<f64> = results.iter().flat_map(Array::to_f64).collect();
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-15 * b.abs().max(1.0);
        let computed = batch.to_f64();
        assert!(computed.iter().zip(&expected).all(close), "{name}");
    }
    for name in ["sum", "mean", "max", "logsumexp", "softmax", "squeeze"] {
        assert!(found.contains(name), "{name} has no form over a batch");
    }
}
