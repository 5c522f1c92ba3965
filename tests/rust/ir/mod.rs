//! Functions: blocks, branches and loops, printing, the adjoint.

mod kinds;

use wyrmling::exec::interpret;
use wyrmling::ir::{Builder, Datum, Function, Target, Terminator, ValueId, adjoint};
use wyrmling::rules::{self, Operator};
use wyrmling::{Array, DType, Error, Result, Type, rules::OpRef};

const NUMBER: DType = DType::F64;

fn number() -> Type {
    Type::scalar(NUMBER)
}

fn apply(b: &Builder, op: &'static dyn Operator, args: &[ValueId]) -> ValueId {
    b.try_apply(OpRef::Static(op), args).expect("fitting types")
}

fn to(block: usize, args: &[ValueId]) -> Target {
    Target {
        block,
        args: args.to_vec(),
    }
}

fn run(function: &Function, args: &[f64], steps: usize) -> Result<Vec<f64>> {
    let args: Vec<Datum> = args.iter().map(|&x| x.into()).collect();
    let results = interpret(function, &args, steps)?.arrays()?;
    results.iter().map(Array::item).collect()
}

/// `power(x, n)`: `n` times `y = y * x`, by a loop.
fn power() -> Function {
    let b = Builder::new();
    let (x, n) = (b.parameter(number()), b.parameter(number()));
    let one = b.fixed(1.0.into());
    b.terminate(Terminator::Jump(to(1, &[n, one])));

    b.block();
    let (left, y) = (b.parameter(number()), b.parameter(number()));
    b.terminate(Terminator::Branch {
        condition: left,
        then: to(2, &[]),
        otherwise: to(3, &[y]),
    });

    b.block();
    let fewer = apply(&b, &rules::Sub, &[left, one]);
    let product = apply(&b, &rules::Mul, &[y, x]);
    b.terminate(Terminator::Jump(to(1, &[fewer, product])));

    b.block();
    let result = b.parameter(number());
    b.terminate(Terminator::Return(vec![result]));
    b.finish("power").expect("fitting types")
}

/// `largest(x, y)`: the larger of two and how much larger it is, by a branch.
fn largest() -> Function {
    let b = Builder::new();
    let (x, y) = (b.parameter(number()), b.parameter(number()));
    let greater = apply(&b, &rules::Greater, &[x, y]);
    b.terminate(Terminator::Branch {
        condition: greater,
        then: to(1, &[x, y]),
        otherwise: to(1, &[y, x]),
    });
    b.block();
    let (high, low) = (b.parameter(number()), b.parameter(number()));
    let more = apply(&b, &rules::Sub, &[high, low]);
    b.terminate(Terminator::Return(vec![high, more]));
    b.finish("largest").expect("fitting types")
}

/// `f(x, y) = sin(x y) + x`.
fn straight() -> (Function, [ValueId; 2]) {
    straight_of(number())
}

fn straight_of(ty: Type) -> (Function, [ValueId; 2]) {
    let b = Builder::new();
    let (x, y) = (b.parameter(ty.clone()), b.parameter(ty));
    let product = apply(&b, &rules::Mul, &[x, y]);
    let sine = apply(&b, &rules::Sin, &[product]);
    let sum = apply(&b, &rules::Add, &[sine, x]);
    b.terminate(Terminator::Return(vec![sum]));
    (b.finish("f").expect("fitting types"), [x, y])
}

#[test]
fn a_loop_runs_as_often_as_it_says() {
    let power = power();
    for (x, n) in [(2.0, 10), (1.5, 3), (-3.0, 1), (7.0, 0)] {
        let results = run(&power, &[x, f64::from(n)], 1000).unwrap();
        assert_eq!(results, [x.powi(n)]);
    }
}

#[test]
fn a_branch_goes_where_its_condition_says() {
    let largest = largest();
    assert_eq!(run(&largest, &[3.0, 1.0], 10).unwrap(), [3.0, 2.0]);
    assert_eq!(run(&largest, &[1.0, 4.0], 10).unwrap(), [4.0, 3.0]);
    assert_eq!(run(&largest, &[2.0, 2.0], 10).unwrap(), [2.0, 0.0]);
}

#[test]
fn functions_run_on_arrays_of_any_length() {
    let (f, _) = straight_of(Type::new(NUMBER, &[7]));
    let args = [vec![1.0, 2.0].into(), vec![0.5, 0.25].into()];
    let results = interpret(&f, &args, 10).unwrap().arrays().unwrap();
    let expected = [0.5f64.sin() + 1.0, 0.5f64.sin() + 2.0];
    for (x, e) in results[0].to_f64().iter().zip(expected) {
        assert!((x - e).abs() < 1e-15);
    }
}

#[test]
fn a_loop_without_end_stops_at_the_step_limit() {
    let power = power();
    // A step is an instruction or a jump.
    let error = run(&power, &[1.0, -1.0], 100).unwrap_err();
    assert_eq!(
        error,
        Error::Value("power did not finish in 100 steps".into())
    );
    run(&power, &[1.0, 3.0], 16).unwrap();
    assert!(run(&power, &[1.0, 3.0], 10).is_err());

    let b = Builder::new();
    b.terminate(Terminator::Jump(to(0, &[])));
    let idle = b.finish("idle").unwrap();
    let error = interpret(&idle, &[], 1000).unwrap_err();
    assert_eq!(
        error,
        Error::Value("idle did not finish in 1000 steps".into())
    );
}

#[test]
fn malformed_functions_are_errors() {
    assert!(matches!(run(&power(), &[1.0], 10), Err(Error::Value(_))));

    let b = Builder::new();
    b.terminate(Terminator::Jump(to(7, &[])));
    let nowhere = b.finish("nowhere").unwrap();
    assert!(matches!(interpret(&nowhere, &[], 10), Err(Error::Value(_))));

    // A value of a block that was not passed through.
    let b = Builder::new();
    b.terminate(Terminator::Jump(to(2, &[])));
    b.block();
    let skipped = b.fixed(1.0.into());
    b.terminate(Terminator::Jump(to(2, &[])));
    b.block();
    b.terminate(Terminator::Return(vec![skipped]));
    let undefined = b.finish("undefined").unwrap();
    let error = interpret(&undefined, &[], 10).unwrap_err();
    let expected = format!(
        "undefined: value %{skipped} is used in block 2, and not defined on every way there"
    );
    assert_eq!(error, Error::Value(expected));

    // An argument, and a condition, that is no single number.
    let given = interpret(&largest(), &[vec![1.0, 2.0].into(), 0.0.into()], 10);
    assert!(matches!(given, Err(Error::Type(_))));
    let b = Builder::new();
    let condition = b.parameter(Type::new(NUMBER, &[2]));
    b.terminate(Terminator::Branch {
        condition,
        then: to(0, &[condition]),
        otherwise: to(0, &[condition]),
    });
    let unsure = b.finish("unsure").unwrap();
    let run = interpret(&unsure, &[vec![1.0, 2.0].into()], 10);
    assert!(matches!(run, Err(Error::Type(_))));

    let b = Builder::new();
    let x = b.parameter(Type::new(NUMBER, &[2]));
    let y = b.parameter(Type::new(NUMBER, &[3]));
    let add = OpRef::Static(&rules::Add);
    assert!(matches!(
        b.try_apply(add.clone(), &[x, y]),
        Err(Error::Shape(_))
    ));
    assert!(matches!(b.try_apply(add, &[x, 99]), Err(Error::Value(_))));
}

/// Blocks stand in any order: one may use what another defines that stands behind it.
#[test]
fn blocks_stand_in_any_order() -> Result<()> {
    let b = Builder::new();
    let x = b.parameter(number());
    b.terminate(Terminator::Jump(to(2, &[])));
    assert_eq!(b.block(), 1);
    // The value that block 2 defines, by its number.
    let later = x + 1;
    b.terminate(Terminator::Return(vec![later]));
    assert_eq!(b.block(), 2);
    assert_eq!(apply(&b, &rules::Square, &[x]), later);
    b.terminate(Terminator::Jump(to(1, &[])));
    let function = b.finish("backwards")?;
    function.check()?;
    assert_eq!(run(&function, &[3.0], 10)?, [9.0]);
    Ok(())
}

#[test]
fn functions_print() {
    let expected = "\
fn power
0(%0: f64[], %1: f64[]):
  %2: f64[] = constant 1
  jump 1(%1, %2)
1(%3: f64[], %4: f64[]):
  branch %3 to 2() else 3(%4)
2():
  %5: f64[] = sub(%3, %2)
  %6: f64[] = mul(%4, %0)
  jump 1(%5, %6)
3(%7: f64[]):
  return %7
";
    assert_eq!(power().to_string(), expected);

    let b = Builder::new();
    let x = b.parameter(Type::new(DType::F32, &[4, 3]));
    let axes = [1].as_slice().into();
    let sum = rules::Sum {
        axes,
        keepdims: true,
    };
    let total = b.try_apply(OpRef::new(sum), &[x]).unwrap();
    let table = b.fixed(vec![1.0f32, 2.0, 3.0].into());
    b.terminate(Terminator::Return(vec![total, table]));
    let expected = "\
fn totals
0(%0: f32[4, 3]):
  %1: f32[4, 1] = sum[axes: [1], keepdims: true](%0)
  %2: f32[3] = constant
  return %1, %2
";
    assert_eq!(b.finish("totals").unwrap().to_string(), expected);
}

#[test]
fn the_adjoint_prints_and_gives_the_gradient() {
    let (f, [x, y]) = straight();
    let adjoint = adjoint(&f, &[x, y]).unwrap();
    let expected = "\
fn f_adjoint
0(%0: f64[], %1: f64[]):
  %2: f64[] = mul(%0, %1)
  %3: f64[] = sin(%2)
  %4: f64[] = add(%3, %0)
  %5: f64[] = constant 1
  %6: f64[] = sum_to(%5, %3)
  %7: f64[] = sum_to(%5, %0)
  %8: f64[] = cos(%2)
  %9: f64[] = mul(%6, %8)
  %10: f64[] = sum_to(%9, %2)
  %11: f64[] = mul(%10, %1)
  %12: f64[] = sum_to(%11, %0)
  %13: f64[] = add(%7, %12)
  %14: f64[] = mul(%10, %0)
  %15: f64[] = sum_to(%14, %1)
  return %4, %13, %15
";
    assert_eq!(adjoint.function.to_string(), expected);
    assert_eq!(adjoint.gradients, [Some(1), Some(2)]);
    let (x, y) = (0.7f64, -1.3);
    let results = run(&adjoint.function, &[x, y], 100).unwrap();
    let cosine = (x * y).cos();
    for (result, e) in results
        .iter()
        .zip([(x * y).sin() + x, y * cosine + 1.0, x * cosine])
    {
        assert!((result - e).abs() < 1e-15, "{results:?}");
    }
}

#[test]
fn an_adjoint_can_be_differentiated_again() {
    // d²/dx² (sin(x y) + x) = -y² sin(x y), by the adjoint of the gradient alone.
    let (f, [x, y]) = straight();
    let first = adjoint(&f, &[x]).unwrap();
    let mut gradient = first.function;
    let Terminator::Return(results) = &mut gradient.blocks[0].terminator else {
        panic!("a return");
    };
    results.remove(0);
    let second = adjoint(&gradient, &[x, y]).unwrap();
    let (x, y) = (0.7f64, -1.3);
    let results = run(&second.function, &[x, y], 100).unwrap();
    let (sine, cosine) = (x * y).sin_cos();
    let expected = [y * cosine + 1.0, -y * y * sine, cosine - x * y * sine];
    for (result, e) in results.iter().zip(expected) {
        assert!((result - e).abs() < 1e-15, "{results:?}");
    }
}

#[test]
fn a_parameter_without_influence_has_no_gradient() {
    let b = Builder::new();
    let (x, y) = (b.parameter(number()), b.parameter(number()));
    let sign = apply(&b, &rules::Sign, &[y]);
    let product = apply(&b, &rules::Mul, &[x, sign]);
    b.terminate(Terminator::Return(vec![product]));
    let f = b.finish("f").unwrap();
    let adjoint = adjoint(&f, &[y, x]).unwrap();
    assert_eq!(adjoint.gradients, [None, Some(1)]);
    assert_eq!(
        run(&adjoint.function, &[3.0, -2.0], 100).unwrap(),
        [-3.0, -1.0]
    );
}

#[test]
fn the_adjoint_refuses_what_it_cannot_differentiate() {
    for (function, blocks) in [(power(), 4), (largest(), 2)] {
        let error = adjoint(&function, &[0]).unwrap_err();
        let expected = format!(
            "{}: expected a function without branches, got {blocks} blocks",
            function.name
        );
        assert_eq!(error, Error::Value(expected));
    }
    let b = Builder::new();
    b.terminate(Terminator::Jump(to(0, &[])));
    let idle = b.finish("idle").unwrap();
    assert!(matches!(adjoint(&idle, &[]), Err(Error::Value(_))));
    let (f, _) = straight();
    assert!(matches!(adjoint(&f, &[99]), Err(Error::Value(_))));
}
