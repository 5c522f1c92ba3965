//! Functions of several blocks: the check that they are well formed, what is live where, and forms
//! that passes bring them into.

use wyrmling::exec::interpret;
use wyrmling::ir::{
    Builder, Cfg, Datum, Function, Liveness, Target, Terminator, ValueId, ValueKind, merge_returns,
    thread_values,
};
use wyrmling::rules::{self, OpRef};
use wyrmling::{DType, Error};

use crate::common::functions::random_function;
use crate::common::outcomes::outcomes;

fn to(block: usize, args: &[ValueId]) -> Target {
    Target {
        block,
        args: args.to_vec(),
    }
}

#[test]
fn random_functions_return_and_leave_and_loop() {
    let (mut returned, mut left, mut loops) = (0, 0, 0);
    for seed in 0..200 {
        let function = random_function(seed, 60);
        loops += Cfg::new(&function).loops().len();
        for outcome in outcomes(&function, seed) {
            match outcome {
                Ok(_) => returned += 1,
                Err(_) => left += 1,
            }
        }
    }
    assert!(
        returned > 300 && left > 30 && loops > 200,
        "{returned} {left} {loops}"
    );
}

/// Liveness by its definition: a way from the block to a use on which the value is not defined.
#[test]
fn what_is_live_is_what_a_way_leads_to_a_use_of() {
    for seed in 0..60 {
        let f = random_function(seed, 40);
        let graph = Cfg::new(&f);
        let live = Liveness::new(&f, &graph);
        let defines = |b: usize, id: ValueId| {
            let block = &f.blocks[b];
            let mut results = block.instructions.iter().flat_map(|i| &i.results);
            block.parameters.contains(&id) || results.any(|&r| r == id)
        };
        let uses = |b: usize, id: ValueId| {
            let block = &f.blocks[b];
            let mut read = false;
            block.terminator.each(|other| read |= other == id);
            let mut operands = block
                .instructions
                .iter()
                .flat_map(|i| i.expression.operands());
            read || operands.any(|&other| other == id)
        };
        for &block in graph.order() {
            let after = graph.successors(block).to_vec();
            for (starts, found) in [
                (vec![block], live.live_in(block)),
                (after, live.live_out(block)),
            ] {
                let is_live = |id: ValueId| {
                    let mut seen = vec![false; f.blocks.len()];
                    let mut waiting = starts.clone();
                    while let Some(b) = waiting.pop() {
                        if defines(b, id) || std::mem::replace(&mut seen[b], true) {
                            continue;
                        }
                        if uses(b, id) {
                            return true;
                        }
                        waiting.extend(graph.successors(b));
                    }
                    false
                };
                let all = 0..f.kinds.len() as ValueId;
                assert_eq!(
                    all.filter(|&id| is_live(id)).collect::<Vec<_>>(),
                    found,
                    "{f}"
                );
            }
        }
    }
}

#[test]
fn threaded_values_cross_blocks_as_parameters_only() {
    for seed in 0..150 {
        let function = random_function(seed, 40);
        for all in [true, false] {
            let chosen = |f: &Function, id| all || f.kind(id).is_differentiable();
            let threaded = thread_values(&function, chosen);
            threaded.check().expect("well formed");
            let live = Liveness::new(&threaded, &Cfg::new(&threaded));
            for block in 0..threaded.blocks.len() {
                let crossing = live.live_in(block);
                assert!(
                    crossing.iter().all(|&id| !chosen(&threaded, id)),
                    "{threaded}"
                );
            }
            assert_eq!(outcomes(&threaded, seed), outcomes(&function, seed));
        }
    }
}

#[test]
fn merged_returns_are_one() {
    for seed in 0..150 {
        let function = random_function(seed, 40);
        let (merged, exit) = merge_returns(&function).expect("it returns");
        merged.check().expect("well formed");
        let graph = Cfg::new(&merged);
        let returns = graph.order().iter().copied();
        let returns =
            returns.filter(|&b| matches!(merged.blocks[b].terminator, Terminator::Return(_)));
        assert_eq!(returns.collect::<Vec<_>>(), [exit]);
        assert_eq!(outcomes(&merged, seed), outcomes(&function, seed));
    }
    // A function that never returns has no such block.
    let b = Builder::new();
    let start = b.block();
    b.terminate(Terminator::Jump(to(start, &[])));
    b.switch_to(0).unwrap();
    b.terminate(Terminator::Jump(to(start, &[])));
    assert!(merge_returns(&b.finish("forever").unwrap()).is_none());
}

#[test]
fn a_value_that_some_way_does_not_define_is_an_error() {
    let b = Builder::new();
    let x = b.parameter(ValueKind::number(DType::F64));
    let condition = b.parameter(ValueKind::Bool);
    let (then, join) = (b.block(), b.block());
    b.switch_to(then).unwrap();
    let sine = b.try_apply(OpRef::Static(&rules::Sin), &[x]).unwrap();
    b.terminate(Terminator::Jump(to(join, &[])));
    b.switch_to(join).unwrap();
    b.terminate(Terminator::Return(vec![sine]));
    b.switch_to(0).unwrap();
    b.terminate(Terminator::Branch {
        condition,
        then: to(then, &[]),
        otherwise: to(join, &[]),
    });
    let f = b.finish("f").unwrap();
    let error = f.check().unwrap_err();
    let expected = "f: value %2 is used in block 2, and not defined on every way there";
    assert_eq!(error, Error::Value(expected.into()));
    let ran = interpret(&f, &[1.0.into(), Datum::Bool(true)], 10);
    assert_eq!(ran.unwrap_err(), error);
}
