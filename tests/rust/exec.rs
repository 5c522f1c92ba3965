//! Programs: other batch lengths, shared tables, large shapes, threads, errors.

use wyrmling::array::{View, ViewMut};
use wyrmling::exec::{self, Program};
use wyrmling::graph::{Constant, Independent, IntoDyn, Parameter, ops};
use wyrmling::ir::{Builder, Terminator};
use wyrmling::rules::{self, Ex, OpRef, SliceItem};
use wyrmling::{Array, DType, Error, Gradient, Input, Result, Type, Variable};

use crate::common::operators::{reals, results};
use crate::common::{self, Frozen, assert_close, dense, rounding};

fn numbers(shape: &[usize], seed: u32) -> Array {
    common::numbers(DType::F64, shape, seed)
}

fn apply<const N: usize>(op: impl rules::Operator, args: [&Variable; N]) -> Result<Variable> {
    Variable::apply(OpRef::new(op), &args.map(Clone::clone))
}

fn matmul(a: &Variable, b: &Variable, transpose_b: bool) -> Result<Variable> {
    let op = rules::MatMul {
        transpose_a: false,
        transpose_b,
    };
    apply(op, [a, b])
}

fn boxed<N: IntoDyn>(all: &[Variable<N>]) -> Vec<Variable> {
    all.iter().cloned().map(Variable::boxed).collect()
}

/// The value and the gradients of the parameters, as a graph computes them now.
fn eager(graph: &Variable, parameters: &[Parameter]) -> Result<(Array, Vec<Array>)> {
    parameters.iter().for_each(Parameter::zero_grad);
    graph.try_backward()?;
    let grads = parameters.iter();
    let grads = grads.map(|p| dense(p.grad(), p.param().table().ty()));
    Ok((graph.value()?, grads.collect()))
}

/// A graph over parameters and inputs.
type Build<'b> = &'b dyn Fn(&[Variable], &[Variable]) -> Result<Variable>;

/// Freezes a graph built for a batch of one and runs it on others: the program, the same
/// graph with new inputs and a graph built for that batch agree. Returns for how many
/// batches they all failed.
#[track_caller]
fn check_batches(parameters: &[Array], inputs: fn(usize) -> Vec<Array>, build: Build) -> usize {
    let run = || -> Result<usize> {
        let parameters: Vec<_> = parameters.iter().cloned().map(Parameter::new).collect();
        let bound: Vec<Input> = inputs(1).into_iter().map(Input::new).collect();
        let graph = build(&boxed(&parameters), &boxed(&bound))?;
        let program = Frozen::new(&graph)?;
        let mut failed = 0;
        for batch in [1, 7, 64, 0, 1] {
            for (input, value) in bound.iter().zip(inputs(batch)) {
                input.set_value(value)?;
            }
            let fresh: Vec<Input> = inputs(batch).into_iter().map(Input::new).collect();
            let fresh = build(&boxed(&parameters), &boxed(&fresh));
            let fresh = fresh.and_then(|graph| eager(&graph, &parameters));
            let again = eager(&graph, &parameters);
            let frozen = program.run(&bound);
            let (Ok(fresh), Ok(again), Ok(frozen)) = (&fresh, &again, &frozen) else {
                let none = fresh.is_err() && again.is_err() && frozen.is_err();
                assert!(none, "batch {batch}: {fresh:?}\n{again:?}\n{frozen:?}");
                failed += 1;
                continue;
            };
            let what = format!("batch {batch}");
            assert_close(&again.0, &fresh.0, 0.0, &what);
            assert_close(&frozen.0, &fresh.0, 0.0, &what);
            for (k, parameter) in parameters.iter().enumerate() {
                let frozen = &frozen.1[&parameter.param().table().id()];
                let tolerance = rounding(frozen.dtype());
                assert_close(&again.1[k], &fresh.1[k], tolerance, &what);
                assert_close(frozen, &fresh.1[k], tolerance, &what);
            }
        }
        Ok(failed)
    };
    run().expect("the graph can be built, frozen and bound")
}

/// One input of three columns.
fn rows(batch: usize) -> Vec<Array> {
    vec![numbers(&[batch, 3], 9)]
}

/// Indices below 5, below 6 and below 6.
fn indices(batch: usize) -> Vec<Array> {
    let column = |step: usize, below: usize| {
        let ids = (0..batch).map(|k| (k * step % below) as u32);
        Array::from(ids.collect::<Vec<u32>>())
    };
    vec![column(3, 5), column(5, 6), column(7, 6)]
}

#[test]
fn slices_follow_the_batch() {
    let range = |start, step| SliceItem::Range {
        start,
        stop: None,
        step,
    };
    let slices = [
        (vec![SliceItem::At(-1)], 1),
        (vec![range(Some(-2), 1)], 0),
        (vec![range(Some(1), 3), SliceItem::At(-1)], 0),
        (vec![range(None, -2), SliceItem::NewAxis], 0),
        (vec![], 0),
    ];
    for (items, failures) in slices {
        let failed = check_batches(&[numbers(&[3], 1)], rows, &|p, x| {
            let scaled = (x[0].clone() * p[0].clone()).boxed();
            let take = rules::BasicSlice {
                items: items.clone(),
            };
            Ok(apply(take, [&scaled])?.square().boxed())
        });
        assert_eq!(failed, failures, "{items:?}: only x[-1] of nothing fails");
    }
}

#[test]
fn reductions_follow_the_batch() {
    for (axes, keepdims) in [
        (&[0][..], false),
        (&[0], true),
        (&[1], false),
        (&[0, 1], false),
    ] {
        let axes: wyrmling::array::Shape = axes.into();
        let of = |p: &[Variable], x: &[Variable]| (x[0].clone() * p[0].clone()).sin().boxed();
        check_batches(&[numbers(&[3], 1)], rows, &|p, x| {
            let axes = axes.clone();
            apply(rules::Mean { axes, keepdims }, [&of(p, x)])
        });
        let failed = check_batches(&[numbers(&[3], 1)], rows, &|p, x| {
            let axes = axes.clone();
            apply(rules::Max { axes, keepdims }, [&of(p, x)])
        });
        assert_eq!(
            failed,
            usize::from(axes.contains(&0)),
            "max of nothing fails"
        );
    }
}

#[test]
fn joined_and_normalised_rows_follow_the_batch() {
    let parameters = [numbers(&[2, 3], 1), numbers(&[3], 2)];
    for axis in [0, 1] {
        check_batches(&parameters, rows, &|p, x| {
            let joined = apply(rules::Concatenate { axis: 0 }, [&p[0], &x[0], &x[0]])?;
            let scores = (joined * p[1].clone()).boxed();
            let weights = apply(rules::Softmax { axis }, [&scores])?;
            let logs = apply(rules::LogSoftmax { axis }, [&scores])?;
            Ok((weights * logs).sum().boxed())
        });
    }
}

#[test]
fn cross_terms_follow_the_batch() {
    // Every row against every other: the loss is not a sum over the batch.
    check_batches(&[numbers(&[3, 4], 1)], rows, &|p, x| {
        let hidden = matmul(&x[0], &p[0], false)?.tanh().boxed();
        let similar = matmul(&hidden, &hidden, true)?;
        let soft = rules::LogSumExp {
            axis: 1,
            keepdims: true,
        };
        let spread = (similar.clone() - apply(soft, [&similar])?).square();
        Ok((spread.sum() + similar.trace()).boxed())
    });
}

#[test]
fn lookups_follow_the_batch() {
    let parameters = [numbers(&[5, 4], 1), numbers(&[6, 4], 2), numbers(&[6], 3)];
    check_batches(&parameters, indices, &|p, x| {
        let user = p[0].clone().gather(x[0].clone());
        let score = |item: &Variable| {
            let row = p[1].clone().gather(item.clone());
            user.clone().vecdot(row) + p[2].clone().gather(item.clone())
        };
        Ok((-(score(&x[1]) - score(&x[2])).logsigmoid().sum()).boxed())
    });
}

#[test]
fn tied_weights_get_both_gradients() {
    // A classifier whose embedding is also its last layer: dense and by rows.
    check_batches(&[numbers(&[6, 4], 1)], indices, &|p, x| {
        let hidden = p[0].clone().gather(x[0].clone()).tanh().boxed();
        let logits = matmul(&hidden, &p[0], true)?;
        let logs = apply(rules::LogSoftmax { axis: 1 }, [&logits])?;
        Ok((-apply(rules::Pick, [&logs, &x[1]])?.sum()).boxed())
    });
}

#[test]
fn one_table_is_looked_up_twice() {
    check_batches(&[numbers(&[6, 4], 1)], indices, &|p, x| {
        let a = p[0].clone().gather(x[1].clone()).boxed();
        let b = p[0].clone().gather(x[2].clone()).boxed();
        let again = p[0].clone().gather(x[1].clone());
        Ok((a.clone().vecdot(b.clone()) + (a - b * again).sum()).boxed())
    });
}

#[test]
fn tables_of_any_number_of_axes_are_looked_up() {
    // The gradient of a product of rows, whatever a row of the table is.
    check_batches(&[numbers(&[6], 1), numbers(&[6], 2)], indices, &|p, x| {
        let a = p[0].clone().gather(x[1].clone());
        Ok(a.vecdot(p[1].clone().gather(x[2].clone())).boxed())
    });
    let tables = [numbers(&[6, 2, 3], 1), numbers(&[6, 2, 3], 2)];
    check_batches(&tables, indices, &|p, x| {
        let a = p[0].clone().gather(x[1].clone());
        Ok(a.vecdot(p[1].clone().gather(x[2].clone())).boxed())
    });
    let nested = |batch| {
        let column = indices(batch).swap_remove(1).to_f64();
        let twice = column.iter().chain(&column).map(|&i| i as u32).collect();
        let twice = wyrmling::array::Dense::new(&[batch, 2], twice);
        vec![twice.expect("two columns").into()]
    };
    check_batches(&[numbers(&[6, 3], 1)], nested, &|p, x| {
        let a = p[0].clone().gather(x[0].clone()).boxed();
        Ok((a.clone().vecdot(a.sin())).boxed())
    });
}

#[test]
fn large_shapes_broadcast_in_every_position() -> Result<()> {
    let shapes: [&[usize]; 9] = [
        &[],
        &[1],
        &[700],
        &[3, 1],
        &[1, 700],
        &[3, 700],
        &[2, 1, 700],
        &[2, 3, 1],
        &[2, 3, 700],
    ];
    for dtype in [DType::F64, DType::F32] {
        for a in shapes {
            for b in shapes {
                let leaf = |shape, seed| Independent::new(common::numbers(dtype, shape, seed));
                let (x, y, z) = (leaf(a, 1)?, leaf(b, 2)?, leaf(&[2, 3, 700], 3)?);
                let product = (x.clone() * y.clone()).sin().boxed();
                let mask = apply(rules::Greater, [&product, &x.clone().boxed()])?;
                let chosen = apply(
                    rules::Where,
                    [&mask, &y.clone().boxed(), &z.clone().boxed()],
                )?;
                let loss = (chosen * product).boxed();
                let (value, grads) = Frozen::new(&loss)?.run(&[])?;
                loss.backward();
                let what = format!("{a:?} with {b:?}");
                assert_close(&value, &loss.value()?, 0.0, &what);
                for leaf in [x, y, z] {
                    let eager = dense(leaf.grad(), &leaf.ty()?);
                    assert_close(&grads[&leaf.id()], &eager, rounding(dtype), &what);
                }
            }
        }
    }
    Ok(())
}

/// BPR, with names for the inputs.
fn ranking(users: &Parameter, items: &Parameter) -> Result<Program> {
    let names = ["user", "liked", "other"];
    let inputs = indices(1).into_iter().zip(names);
    let inputs = inputs.map(|(at, name)| Input::named(at, Some(name.into())));
    let inputs: Vec<Input> = inputs.collect();
    let row = users.clone().gather(inputs[0].clone());
    let score = |k: usize| row.clone().vecdot(items.clone().gather(inputs[k].clone()));
    (-(score(1) - score(2)).logsigmoid().sum()).freeze()
}

#[test]
fn a_program_runs_on_two_threads_at_once() -> Result<()> {
    let users = Parameter::new(numbers(&[5, 16], 1));
    let items = Parameter::new(numbers(&[6, 16], 2));
    let program = &ranking(&users, &items)?;
    let work = |first: usize| {
        move || -> Result<Vec<Array>> {
            let mut values = Vec::new();
            for k in first..first + 400 {
                let (value, grads) = program.value_and_grad(&indices(k % 90))?;
                values.push(value);
                for gradient in grads {
                    values.extend(gradient.map(|g| g.to_dense()));
                }
            }
            Ok(values)
        }
    };
    let alone = work(0)()?;
    let together = std::thread::scope(|scope| {
        let threads = [scope.spawn(work(0)), scope.spawn(work(0))];
        threads.map(|t| t.join().expect("no panic"))
    });
    for values in together {
        for (a, b) in values?.iter().zip(&alone) {
            assert_close(a, b, 0.0, "a thread beside another");
        }
    }
    Ok(())
}

#[test]
fn errors_name_the_input() -> Result<()> {
    let users = Parameter::new(numbers(&[5, 4], 1));
    let items = Parameter::new(numbers(&[6, 4], 2));
    let program = ranking(&users, &items)?;
    let good = || indices(3);
    let with = |k: usize, value: Array| {
        let mut inputs = good();
        inputs[k] = value;
        let (one, other) = (program.run(&inputs), program.value_and_grad(&inputs));
        let error = one.expect_err("a wrong input");
        assert_eq!(Some(&error), other.err().as_ref());
        error
    };
    let type_error = with(1, numbers(&[3], 1));
    assert_eq!(
        type_error,
        Error::Type("input 'liked': expected uint32, got float64 of shape (3,)".into())
    );
    let shape_error = with(0, 3u32.into());
    assert_eq!(
        shape_error,
        Error::Shape("input 'user': expected 1 axes as in shape (1,), got shape ()".into())
    );
    let index_error = with(2, vec![0u32, 5, 6].into());
    assert_eq!(
        index_error,
        Error::Index("input 'other': index 6 at position 2 is out of range for 6 rows".into())
    );
    assert!(matches!(with(2, vec![0u32].into()), Error::Shape(_)));
    let missing = program.run(&good()[1..]);
    assert_eq!(
        missing.expect_err("two inputs of three"),
        Error::Value("the program has 3 inputs, 2 given".into())
    );
    program.run(&good())?;
    Ok(())
}

#[test]
fn inputs_may_not_change_their_number_of_axes() -> Result<()> {
    let x = Input::new(numbers(&[2, 3], 1));
    let program = (x * Independent::new(2.0)?).sum().freeze()?;
    for shape in [&[][..], &[3], &[1, 2, 3]] {
        assert!(matches!(
            program.run(&[numbers(shape, 1)]),
            Err(Error::Shape(_))
        ));
    }
    program.run(&[numbers(&[4, 1], 1)])?;
    Ok(())
}

#[test]
fn a_program_sees_what_tables_hold_now() -> Result<()> {
    let p = Parameter::new(numbers(&[4], 1));
    let program = p.clone().square().sum().freeze()?;
    p.param().table().write(&vec![1.0, 2.0, 3.0, 4.0].into())?;
    let (value, grads) = program.value_and_grad(&[])?;
    assert_eq!(value.item()?, 30.0);
    assert_eq!(
        dense(grads[0].clone(), &p.ty()?).to_f64(),
        [2.0, 4.0, 6.0, 8.0]
    );
    Ok(())
}

#[test]
fn the_gradient_of_a_leaf_itself_is_one() -> Result<()> {
    let p = Parameter::new(numbers(&[2, 3], 1));
    let (value, grads) = p.freeze()?.value_and_grad(&[])?;
    assert_close(&value, &p.value()?, 0.0, "the parameter");
    assert!(matches!(&grads[0], Some(Gradient::Dense(g)) if g.to_f64() == [1.0; 6]));
    let constant = Constant::new(2.0);
    let (value, grads) = constant.freeze()?.value_and_grad(&[])?;
    assert_eq!((value.item()?, grads.len()), (2.0, 0));
    Ok(())
}

#[test]
fn a_program_takes_one_leaf_for_each_parameter() -> Result<()> {
    let b = Builder::new();
    let ty = Type::scalar(DType::F64);
    let (x, y) = (b.parameter(ty.clone()), b.parameter(ty));
    let product = b.try_apply(OpRef::Static(&rules::Mul), &[x, y])?;
    b.terminate(Terminator::Return(vec![product]));
    let function = b.finish("product")?;
    let parameter = Parameter::new(3.0);
    let leaf = || exec::Leaf::Parameter(parameter.param().table().clone());
    for count in [0, 1, 3] {
        let leaves = (0..count).map(|_| leaf()).collect();
        let program = Program::new(function.clone(), leaves);
        assert!(matches!(program, Err(Error::Value(_))), "{count} leaves");
    }
    // One table for both parameters, which have a gradient each.
    let program = Program::new(function, vec![leaf(), leaf()])?;
    let (value, grads) = program.value_and_grad(&[])?;
    let scalar = Type::scalar(DType::F64);
    let grads = grads.into_iter().map(|g| dense(g, &scalar).item());
    assert_eq!(value.item()?, 9.0);
    assert_eq!(grads.collect::<Result<Vec<_>>>()?, [3.0, 3.0]);
    Ok(())
}

/// The sum of the products of rows with `a + b`, where `a` has a number for each row and `b` has one
/// for each column; its gradient is that sum as it is.
#[derive(Debug, Clone)]
struct Weighted;

impl rules::Operator for Weighted {
    fn name(&self) -> &str {
        "weighted"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(Type::new(args[0].dtype, &[]))
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [rows, a, b] = [0, 1, 2].map(|k| reals(&args[k]));
        let products = rows.chunks(b.len()).zip(a).flat_map(|(row, a)| {
            let products = row.iter().zip(b);
            products.map(move |(x, b)| x * (a + b))
        });
        results(&mut out)[0] = products.sum();
        Ok(())
    }
    fn vjp<'t>(&self, i: usize, _: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then(|| x[1] + x[2])
    }
}

/// A program adds the summands of rows to the table one by one, but for summands that are repeated.
#[test]
fn sums_of_what_is_repeated_are_added_to_rows_of_tables() {
    let weighted = |columns: fn(&Variable) -> Result<Variable>| {
        let build = move |p: &[Variable], x: &[Variable]| {
            let rows = ops::gather(&p[0], &x[0])?;
            let a = ops::gather(&p[1], &x[0])?;
            apply(Weighted, [&rows, &a.tanh().boxed(), &columns(&p[2])?])
        };
        let parameters = [numbers(&[9, 3], 1), numbers(&[9, 1], 2), numbers(&[3], 3)];
        check_batches(&parameters, indices, &build)
    };
    assert_eq!(weighted(|b| Ok(b.clone())), 0);
    assert_eq!(weighted(|b| Ok((b.clone() * 2.0).boxed())), 0);
}

#[test]
fn long_programs_print() -> Result<()> {
    const LENGTH: usize = 200_000;
    let mut y = Independent::new(0.5)?.boxed();
    for _ in 0..LENGTH {
        y = y.sin().boxed();
    }
    let program = y.freeze()?;
    let text = program.to_string();
    assert_eq!(
        text.matches("= sin(").count(),
        2 * LENGTH,
        "forward and adjoint"
    );
    assert_eq!(text.matches("= cos(").count(), LENGTH);
    program.value_and_grad(&[])?;
    Ok(())
}

#[test]
fn inputs_are_found_by_their_ids() {
    let (w, x, y) = (Parameter::new(2.0), Input::new(1.0), Input::new(3.0));
    let program = (y.clone() * w + x.clone()).freeze().unwrap();
    let ids: Vec<u64> = [&y, &x].map(|input| input.id()).into();
    let numbers = ids.iter().map(|&id| program.input_number(id));
    assert_eq!(numbers.collect::<Vec<_>>(), [Some(0), Some(1)]);
    for unknown in [Input::new(1.0).id(), u64::MAX] {
        assert_eq!(program.input_number(unknown), None);
    }
    let constant = Parameter::new(1.0).square().freeze().unwrap();
    assert_eq!(constant.input_number(x.id()), None);
}
