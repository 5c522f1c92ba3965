//! What a downstream crate may say or build, however wrong: the answer is an error or a number,
//! never a panic of ours and never memory that is not ours. Memory checkers (`make check-address`
//! and its like) run these too, since reading out of bounds need not show.

mod functions;
mod indices;
mod liar;
mod models;

use std::panic::{AssertUnwindSafe, catch_unwind};

use wyrmling::array::{Dense, Slice, SliceMut, View, ViewMut};
use wyrmling::graph;
use wyrmling::ir::{Builder, Function, Terminator};
use wyrmling::rules::{self, Ex, OpRef, Operator};
use wyrmling::{Array, DType, Result, Table, Type, Variable};

use crate::common::numbers;

/// Runs `f`; a panic is reported with what was being tried.
#[track_caller]
fn without_panic<R>(what: &dyn std::fmt::Debug, f: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => result,
        Err(_) => panic!("{what:?}: a panic"),
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
