//! Sine and cosine in loops, which machine code computes where they are used: the bits of the interpreter.
#![cfg(all(feature = "jit", unix, target_arch = "x86_64"))]

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::DType;
use wyrmling::exec::{Compiled, Outcome, interpret};
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, ScalarOperator as S, Target, Terminator, ValueKind,
};
use wyrmling::rules::{self, OpRef, Operator};

/// A loop of `n` turns, after which the operators' results at `x` are returned: `f(x, n)`.
fn in_a_loop(operators: &[&'static dyn Operator], more: usize) -> Function {
    let b = Builder::new();
    let x = b.parameter(ValueKind::number(DType::F64));
    let n = b.parameter(ValueKind::Int);
    let (zero, one) = (b.literal(0i64.into()), b.literal(1i64.into()));
    let start = b.literal(0.0.into());
    let exit = b.exit("an integer of more than 64 bits", 0);
    let before = b.current();
    let header = b.block();
    let turn = b.parameter(ValueKind::Int);
    let kept: Vec<_> = operators
        .iter()
        .map(|_| b.parameter(ValueKind::number(DType::F64)))
        .collect();
    let less = S::CompareInt(Comparison::Less);
    let condition = b.compute(less, &[turn, n], None).expect("integers");
    let inside = b.block();
    for _ in 0..more {
        b.try_apply(OpRef::Static(&rules::Cos), &[x])
            .expect("a number");
    }
    // The angle changes from turn to turn, lest the operators leave the loop.
    let index = b.compute(S::IntToFloat, &[turn], None).expect("an integer");
    let of = |op: &'static dyn Operator, args: &[u32]| {
        b.try_apply(OpRef::Static(op), args).expect("numbers")
    };
    let angle = of(&rules::Sub, &[x, index]);
    let mut next = vec![
        b.compute(S::IntAdd, &[turn, one], Some(exit))
            .expect("integers"),
    ];
    next.extend(operators.iter().map(|op| of(*op, &[angle])));
    let to = |block, args: &[u32]| {
        Terminator::Jump(Target {
            block,
            args: args.to_vec(),
        })
    };
    b.terminate(to(header, &next));
    let after = b.block();
    b.terminate(Terminator::Return(kept));
    b.switch_to(header).expect("a block");
    let target = |block| Target {
        block,
        args: vec![],
    };
    let (then, otherwise) = (target(inside), target(after));
    b.terminate(Terminator::Branch {
        condition,
        then,
        otherwise,
    });
    b.switch_to(before).expect("a block");
    let mut first = vec![zero];
    first.extend(operators.iter().map(|_| start));
    b.terminate(to(header, &first));
    b.finish("angles").expect("well formed")
}

/// Angles at which the method changes and beside them, and random ones of any size.
fn angles() -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut all = vec![
        0.0,
        f64::NAN,
        f64::INFINITY,
        f64::MAX,
        1e22,
        5e-324,
        1e-310,
        1e-9,
    ];
    let quarter = std::f64::consts::FRAC_PI_2;
    for limit in [0.785, 0.786, 2.356, 1e5, quarter, quarter / 2.0, 1.0, 355.0] {
        all.extend([limit, limit.next_up(), limit.next_down()]);
    }
    for n in (1..3000).step_by(13) {
        let x = f64::from(n) * quarter;
        all.extend([x, x.next_up(), x + quarter / 2.0]);
    }
    for _ in 0..400 {
        all.push(random.random_range(0.0..4.0));
        all.push(random.random_range(0.0..2e5));
        all.push(f64::from_bits(random.random()));
    }
    let negative: Vec<f64> = all.iter().map(|x| -x).collect();
    all.extend(negative);
    all
}

fn bits(outcome: Outcome) -> Vec<u64> {
    let Outcome::Returned(results) = outcome else {
        panic!("it has no exit for these");
    };
    let number = |d: &Datum| d.item().expect("a number");
    let bits = |x: f64| if x.is_nan() { f64::NAN } else { x }.to_bits();
    results.iter().map(|d| bits(number(d))).collect()
}

#[test]
fn angles_in_loops_have_the_bits_of_the_interpreter() {
    let all = angles();
    // With more angles than a function has written out, they are calls.
    let [sine, cosine]: [&'static dyn Operator; 2] = [&rules::Sin, &rules::Cos];
    for (operators, more) in [
        (vec![sine], 0),
        (vec![cosine], 0),
        (vec![cosine, sine], 0),
        (vec![sine, cosine], 40),
    ] {
        let compiled = Compiled::new(in_a_loop(&operators, more)).expect("well formed");
        assert_eq!(compiled.why_interpreted(), None);
        for &x in &all {
            let args: [Datum; 2] = [x.into(), 1i64.into()];
            let expected = interpret(compiled.function(), &args, 1000).expect("well formed");
            let found = compiled.run(&args).expect("well formed");
            assert_eq!(
                bits(found),
                bits(expected),
                "{} operators of {x:e}",
                operators.len()
            );
        }
    }
}
