//! Simplifying functions: what goes, what stays, and that results are the same to the bit.

use wyrmling::exec::{Outcome, interpret};
use wyrmling::ir::{
    Builder, Cfg, Comparison, Datum, Expression, Function, Lengths, ScalarOperator as S,
    Terminator, ValueId, ValueKind, are_exact, simplify, vjp,
};
use wyrmling::rules::{Add, Exp, Mul, OpRef, Operator, Sin, SumTo};
use wyrmling::{Array, DType, Type};

use crate::common::draft::to;
use crate::common::functions::random_function;
use crate::common::outcomes::{bits, outcomes, random_arguments, simple};

/// How many instructions a function has.
fn size(function: &Function) -> usize {
    function.blocks.iter().map(|b| b.instructions.len()).sum()
}

/// What instructions compute, but for constants, block by block.
fn listed(function: &Function) -> Vec<Vec<String>> {
    let name = |expression: &Expression| match expression {
        Expression::Apply(op, _) => Some(op.name().to_owned()),
        Expression::Compute(op, ..) => Some(op.name()),
        Expression::Constant(_) => None,
        Expression::Guard(..) => Some("guard".into()),
        Expression::Push(_, args) => Some(format!("push {}", args.len())),
        Expression::Pop(_) => Some("pop".into()),
    };
    let blocks = function.blocks.iter();
    let names = blocks.map(|b| {
        b.instructions
            .iter()
            .filter_map(|i| name(&i.expression))
            .collect()
    });
    names.collect()
}

#[test]
fn random_functions_give_the_same_to_the_bit() {
    let (mut before, mut after) = (0, 0);
    for seed in 0..cases() {
        let function = random_function(seed, 60);
        let small = simple(&function);
        let (found, expected) = (outcomes(&small, seed), outcomes(&function, seed));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            // Functions without effects are left before or after something else fails, in order.
            assert_eq!(found, expected, "{seed}\n{function}\n{small}");
        }
        let again = simple(&small);
        assert!(size(&again) <= size(&small) && again.blocks.len() <= small.blocks.len());
        before += size(&function);
        after += size(&small);
    }
    assert!(after * 3 < before * 2, "{before} {after}");
}

fn cases() -> u64 {
    let cases = std::env::var("PROPTEST_CASES").ok();
    cases.and_then(|n| n.parse().ok()).unwrap_or(300)
}

fn number() -> ValueKind {
    ValueKind::number(DType::F64)
}

fn apply(b: &Builder, op: &'static dyn Operator, args: &[ValueId]) -> ValueId {
    b.try_apply(OpRef::Static(op), args).expect("fitting types")
}

fn compute(b: &Builder, op: S, args: &[ValueId]) -> ValueId {
    let exit = op.can_fail().then(|| b.exit("fails", 1));
    b.compute(op, args, exit).expect("fitting kinds")
}

/// A loop of `n` rounds over `x` and `y`: `round` gives what they become, in a block that runs in
/// each round. The function returns `x`.
fn repeated(round: impl Fn(&Builder, [ValueId; 2], [ValueId; 2]) -> [ValueId; 2]) -> Function {
    let b = Builder::new();
    let start = [b.parameter(number()), b.parameter(number())];
    let n = b.parameter(ValueKind::Int);
    let (zero, one) = (b.literal(Datum::Int(0)), b.literal(Datum::Int(1)));
    b.terminate(Terminator::Jump(to(1, &[start[0], start[1], zero])));
    b.block();
    let x = [b.parameter(number()), b.parameter(number())];
    let k = b.parameter(ValueKind::Int);
    let less = compute(&b, S::CompareInt(Comparison::Less), &[k, n]);
    b.terminate(Terminator::Branch {
        condition: less,
        then: to(2, &[]),
        otherwise: to(3, &[x[0]]),
    });
    b.block();
    let next = round(&b, start, x);
    let k = compute(&b, S::IntAdd, &[k, one]);
    b.terminate(Terminator::Jump(to(1, &[next[0], next[1], k])));
    b.block();
    let result = b.parameter(number());
    b.terminate(Terminator::Return(vec![result]));
    b.finish("repeated").expect("fitting kinds")
}

fn run(function: &Function, args: &[Datum]) -> Result<Vec<f64>, u32> {
    match interpret(function, args, 10_000).expect("it runs") {
        Outcome::Returned(results) => Ok(results
            .iter()
            .map(|r| r.item().expect("one number"))
            .collect()),
        Outcome::Left(exit) => Err(exit),
    }
}

#[test]
fn what_a_loop_repeats_is_computed_before_it() {
    let f = repeated(|b, [x0, y0], [x, y]| {
        // sin(x0) y0 does not change, its product with x does.
        let fixed = apply(b, &Mul, &[apply(b, &Sin, &[x0]), y0]);
        [apply(b, &Add, &[apply(b, &Mul, &[fixed, x]), y]), y]
    });
    let small = simple(&f);
    let [first, header, body, last] = &listed(&small)[..] else {
        panic!("{small}");
    };
    assert_eq!(first, &["sin", "mul"]);
    assert_eq!(header, &["less_int"]);
    assert_eq!(body, &["mul", "add", "int_add"]);
    assert!(last.is_empty());
    // What stays the same is no parameter of the loop.
    assert_eq!(small.blocks[1].parameters.len(), 2);
    for n in [0, 1, 5] {
        let args = [0.5.into(), 0.25.into(), Datum::Int(n)];
        assert_eq!(run(&small, &args), run(&f, &args));
    }
}

#[test]
fn what_may_leave_stays_in_its_loop_and_in_order() {
    let f = repeated(|b, [x0, _], [x, y]| {
        let far = compute(b, S::Floor, &[x0]);
        let small = compute(b, S::CompareNumber(Comparison::Less), &[x, y]);
        b.guard(small, b.exit("too large", 2)).unwrap();
        // The same again holds; a result that nobody reads may still leave.
        b.guard(small, b.exit("never", 3)).unwrap();
        compute(b, S::IntMul, &[far, far]);
        [apply(b, &Add, &[x, x0]), y]
    });
    let small = simple(&f);
    let body = [
        "floor_to_int",
        "less_number",
        "guard",
        "int_mul",
        "add",
        "int_add",
    ];
    assert_eq!(listed(&small)[2], body);
    let cases = [
        (1.5, 4.0, 2, Ok(vec![4.5])),
        (1.5, 2.0, 5, Err(1)),
        (f64::NAN, 2.0, 0, Ok(vec![f64::NAN])),
        (f64::INFINITY, 2.0, 1, Err(0)),
        (1e15, 1e20, 1, Err(3)),
    ];
    for (x, y, n, expected) in cases {
        let args = [x.into(), y.into(), Datum::Int(n)];
        let found = run(&small, &args);
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        assert_eq!(format!("{:?}", run(&f, &args)), format!("{expected:?}"));
    }
}

#[test]
fn variables_that_a_loop_only_swaps_are_one_if_they_start_as_one() {
    let b = Builder::new();
    let (x, n) = (b.parameter(number()), b.parameter(ValueKind::Int));
    let one = b.literal(Datum::Int(1));
    b.terminate(Terminator::Jump(to(1, &[x, x, n])));
    b.block();
    let (p, q, left) = (
        b.parameter(number()),
        b.parameter(number()),
        b.parameter(ValueKind::Int),
    );
    let fewer = compute(&b, S::IntSub, &[left, one]);
    let more = compute(&b, S::IntToBool, &[fewer]);
    b.terminate(Terminator::Branch {
        condition: more,
        then: to(1, &[q, p, fewer]),
        otherwise: to(2, &[]),
    });
    b.block();
    b.terminate(Terminator::Return(vec![p, q]));
    let f = b.finish("swaps").unwrap();
    let small = simple(&f);
    assert_eq!(small.blocks[1].parameters.len(), 1);
    let last = &small.blocks.last().unwrap().terminator;
    assert_eq!(*last, Terminator::Return(vec![x, x]));
}

#[test]
fn branches_that_are_decided_are_no_branches() {
    let b = Builder::new();
    let (x, c) = (b.parameter(number()), b.parameter(ValueKind::Bool));
    let not = compute(&b, S::BoolNot, &[c]);
    b.terminate(Terminator::Branch {
        condition: c,
        then: to(1, &[]),
        otherwise: to(2, &[]),
    });
    // Where c holds: a branch on c, and one on not c.
    b.block();
    b.terminate(Terminator::Branch {
        condition: c,
        then: to(3, &[x]),
        otherwise: to(4, &[]),
    });
    b.block();
    b.terminate(Terminator::Branch {
        condition: not,
        then: to(3, &[x]),
        otherwise: to(4, &[]),
    });
    b.block();
    let y = b.parameter(number());
    b.terminate(Terminator::Return(vec![apply(&b, &Sin, &[y])]));
    b.block();
    b.terminate(Terminator::Leave(b.exit("never", 0)));
    let small = simple(&b.finish("decided").unwrap());
    assert_eq!(small.blocks.len(), 1);
    assert_eq!(listed(&small), [["sin"]]);
}

#[test]
fn what_surely_fails_leaves() {
    let b = Builder::new();
    let x = b.parameter(number());
    let most = b.literal(Datum::Int(i64::MAX));
    let sum = compute(&b, S::IntAdd, &[most, most]);
    let sine = apply(&b, &Sin, &[x]);
    b.terminate(Terminator::Jump(to(1, &[sum, sine])));
    b.block();
    let (_, y) = (b.parameter(ValueKind::Int), b.parameter(number()));
    b.terminate(Terminator::Return(vec![y]));
    let small = simple(&b.finish("fails").unwrap());
    assert_eq!(small.blocks.len(), 1);
    assert!(listed(&small)[0].is_empty());
    assert_eq!(small.blocks[0].terminator, Terminator::Leave(0));
}

#[test]
fn a_loop_without_end_stays_and_one_without_use_too() {
    let b = Builder::new();
    b.terminate(Terminator::Jump(to(1, &[])));
    b.block();
    b.terminate(Terminator::Jump(to(2, &[])));
    b.block();
    b.terminate(Terminator::Jump(to(1, &[])));
    let small = simple(&b.finish("forever").unwrap());
    assert_eq!(Cfg::new(&small).loops().len(), 1);
    // Its rounds are counted; nothing else is.
    let f = repeated(|b, [x0, _], [x, y]| [x0, apply(b, &Add, &[x, y])]);
    let small = simple(&f);
    assert_eq!(small.blocks[1].parameters.len(), 1);
    assert_eq!(Cfg::new(&small).loops().len(), 1);
}

#[test]
fn tapes_keep_what_is_read() {
    let b = Builder::new();
    let (x, n) = (b.parameter(number()), b.parameter(ValueKind::Int));
    let unread = b.tape(vec![number()]);
    let tape = b.tape(vec![number(), ValueKind::Int, number()]);
    b.push(unread, &[x]).unwrap();
    let (sine, exp) = (apply(&b, &Sin, &[x]), apply(&b, &Exp, &[x]));
    b.push(tape, &[sine, n, exp]).unwrap();
    let popped = b.pop(tape).unwrap();
    b.terminate(Terminator::Return(vec![popped[2]]));
    let f = b.finish("tapes").unwrap();
    let small = simple(&f);
    assert_eq!(listed(&small), [["exp", "push 1", "pop"]]);
    assert_eq!(small.tapes, [vec![number()]]);
    let args = [0.5.into(), Datum::Int(3)];
    assert_eq!(run(&small, &args), Ok(vec![0.5f64.exp()]));
}

/// What is done to arrays that were seen with some lengths holds for all.
#[test]
fn lengths_that_were_seen_are_no_facts() {
    let b = Builder::new();
    let array = Type::new(DType::F64, &[1]);
    let (x, y) = (b.parameter(array.clone()), b.parameter(array.clone()));
    let (one, ones) = (b.fixed(1.0.into()), b.fixed(Array::full(&array, 1.0)));
    let results = [
        apply(&b, &Mul, &[x, one]),
        apply(&b, &Mul, &[x, ones]),
        apply(&b, &SumTo, &[x, y]),
    ];
    // Arrays that do not fit are an error, which somebody may wait for.
    apply(&b, &Add, &[x, y]);
    apply(&b, &Add, &[x, x]);
    apply(&b, &Sin, &[x]);
    b.terminate(Terminator::Return(results.to_vec()));
    let f = b.finish("seen").unwrap();
    assert_eq!(listed(&simple(&f)), [["mul", "sum_to", "add"]]);
    let exact = simplify(&f, Lengths::Exact).unwrap();
    assert!(listed(&exact)[0].is_empty());
    let args = [Array::from(vec![1.0, 2.0]), Array::from(vec![3.0, 4.0])];
    let args = args.map(Datum::from);
    for g in [f.clone(), simple(&f)] {
        let found = interpret(&g, &args, 100).unwrap().arrays().unwrap();
        assert_eq!(found[1].to_f64(), [1.0, 2.0]);
    }
}

/// Integers and truth: identities hold for all operands, also at the ends of 64 bits.
#[test]
fn identities_of_integers_hold_at_the_ends() {
    let points = [i64::MIN, -1, 0, 1, 2, i64::MAX];
    for op in S::all() {
        let (operands, _) = op.signature();
        if operands.len() != 2 || !operands.iter().all(|k| k.accepts(&ValueKind::Int)) {
            continue;
        }
        for constant in points {
            for side in 0..3 {
                let b = Builder::new();
                let x = b.parameter(ValueKind::Int);
                let k = b.literal(Datum::Int(constant));
                let args = [[x, k], [k, x], [x, x]][side];
                let result = compute(&b, op, &args);
                b.terminate(Terminator::Return(vec![result]));
                let f = b.finish("f").unwrap();
                let small = simple(&f);
                for x in points {
                    let args = [Datum::Int(x)];
                    assert_eq!(run(&small, &args), run(&f, &args), "{f} {x}");
                }
            }
        }
    }
}

/// Gradients are ordinary functions: simplified before or after, they are the same to the bit.
#[test]
fn gradients_of_random_functions_are_the_same_to_the_bit() {
    let (mut before, mut after) = (0, 0);
    for seed in 0..cases() {
        let function = random_function(seed, 40);
        let wrt = &function.parameters()[..2];
        let mut gradient = vjp(&function, wrt).expect("it has rules").function;
        if seed.is_multiple_of(4) {
            // A gradient of a gradient, and of one that was simplified.
            let second = vjp(&simple(&gradient), &wrt[..1]).expect("it has rules");
            simple(&second.function);
            gradient = vjp(&gradient, &wrt[..1]).expect("it has rules").function;
        }
        let small = simple(&gradient);
        for k in 0..4 {
            let mut args = random_arguments(seed * 4 + k);
            let cotangents = [1.0, -0.5, 0.25, 2.0, -1.0, 0.5];
            let missing = small.parameters().len() - args.len();
            args.extend(cotangents.map(Datum::from).into_iter().take(missing));
            let found = interpret(&small, &args, 1_000_000).expect("it runs and ends");
            let expected = interpret(&gradient, &args, 1_000_000).expect("it runs and ends");
            match (&found, &expected) {
                (Outcome::Returned(a), Outcome::Returned(b)) => assert_eq!(bits(a), bits(b)),
                (Outcome::Left(a), Outcome::Left(b)) => assert_eq!(a, b),
                _ => panic!("{seed}: {found:?}, {expected:?}"),
            }
        }
        before += size(&gradient);
        after += size(&small);
    }
    assert!(after * 3 < before * 2, "{before} {after}");
}

#[test]
fn what_follows_from_a_record_is_computed_before_it_is_kept() {
    let f = repeated(|b, _, [x, y]| {
        // The derivative of exp is there already, that of sin is not.
        let product = apply(b, &Mul, &[apply(b, &Sin, &[x]), apply(b, &Exp, &[y])]);
        [apply(b, &Exp, &[product]), y]
    });
    let f = simple(&f);
    let gradient = vjp(&f, &f.parameters()[..2])
        .expect("it has rules")
        .function;
    let small = simple(&gradient);
    let computing = |name: &str| -> Vec<usize> {
        let blocks = listed(&small).into_iter().enumerate();
        let blocks = blocks.filter(|(_, names)| names.iter().any(|found| found == name));
        blocks.map(|(number, _)| number).collect()
    };
    // Of y before the loop, of the rest in its body. The loop that goes back computes neither.
    assert_eq!(computing("cos"), [2], "{small}");
    assert_eq!(computing("exp"), [0, 2], "{small}");
    let args = |n| [0.5.into(), 0.25.into(), Datum::Int(n), 1.0.into()];
    for n in [0, 1, 5] {
        let [found, expected] = [&small, &gradient].map(|f| run(f, &args(n)));
        assert_eq!(found, expected);
    }
}

/// Only what a record is made of alone moves, and only if no more is kept for it.
#[test]
fn what_would_have_to_be_kept_beside_it_stays() {
    // The reversed body reads x and its sine: one of them is kept.
    let f = repeated(|b, _, [x, y]| {
        let sine = apply(b, &Sin, &[x]);
        [apply(b, &Mul, &[x, sine]), y]
    });
    let gradient = vjp(&simple(&f), &f.parameters()[..1]);
    let gradient = gradient.expect("it has rules").function;
    let small = simple(&gradient);
    let fields = |f: &Function| f.tapes.iter().map(Vec::len).sum::<usize>();
    assert!(fields(&small) <= fields(&gradient), "{small}");
    let args = [0.5.into(), 0.0.into(), Datum::Int(4), 1.0.into()];
    assert_eq!(run(&small, &args), run(&gradient, &args));
}

#[test]
fn lengths_are_exact_where_all_follow_from_the_arguments() {
    let loops = |given: &[usize]| {
        let b = Builder::new();
        let x = b.parameter(Type::new(DType::F64, &[3]));
        let two = b.literal(Datum::Array(Array::from(vec![1.0, 2.0])));
        let y = b.try_apply(OpRef::Static(&Add), &[x, x]).expect("arrays");
        let header = b.block();
        let p = b.parameter(Type::new(DType::F64, given));
        b.terminate(Terminator::Jump(to(header, &[p])));
        b.switch_to(0).expect("it is there");
        let arg = if given == [2] { two } else { y };
        b.terminate(Terminator::Jump(to(header, &[arg])));
        b.finish("loop").expect("fitting types")
    };
    assert!(are_exact(&loops(&[3])) && are_exact(&loops(&[2])));
    // Seen for an array of another length.
    assert!(!are_exact(&loops(&[4])));
    let mut other = loops(&[3]);
    other.kinds[0] = ValueKind::from(Type::new(DType::F64, &[5]));
    assert!(!are_exact(&other));
}
