//! Each check of a plan, with one thing wrong at a time.

use super::*;
use crate::array::Shape;
use crate::exec::Wrt;
use crate::graph::{Constant, Input, Parameter, ops};

mod in_place;
mod tiles;

/// Samples of the plan: values of it fill several cache lines.
const N: usize = 50;

/// Tables that are no leaves of the plan: of another width, and of another element type.
const NARROW: usize = 3;
const SINGLE: usize = 4;

/// A plan with every kind of step and of gradient, changed by `change`: lookups in a dot product
/// and one of their own, a whole table, groups, kernels.
fn checked(change: impl FnOnce(&mut Plan)) -> Result<()> {
    let ones = |shape: &[usize]| Array::full(&Type::new(DType::F64, shape), 1.0);
    let [a, b, whole] = [&[5, 4][..], &[7, 4], &[N, 3]].map(|shape| Parameter::new(ones(shape)));
    let [i, j, twice] = [N, N, 2 * N].map(|n| Input::indices(vec![1; n]));
    let x = Input::new(ones(&[N]));
    let dot = a.gather(i).vecdot(b.clone().gather(j));
    let row = Constant::new(ones(&[3]));
    let loss = (dot.sigmoid() * x).exp().sum() + b.gather(twice).sum() + (whole * row).exp().sum();
    let weights = Constant::new(ones(&[N])).boxed();
    let [ids, offsets] = [vec![1; N], vec![0, N as u32]].map(|n| Constant::new(n).boxed());
    let (features, bags) = (Parameter::new(ones(&[6, 4])), Input::indices(vec![0; N]));
    let sums = ops::bag(
        &features.boxed(),
        &ids,
        &offsets,
        Some(&weights),
        Some(&bags.boxed()),
    )?;
    let loss = loss + sums.sum();
    let program = loss.freeze()?;
    let shape = |leaf: &crate::exec::Leaf| match leaf {
        crate::exec::Leaf::Input { ty, .. } => Some(ty.shape.clone()),
        _ => None,
    };
    let shapes: Vec<Shape> = program.leaves().iter().filter_map(shape).collect();
    let plan = program.plan(&shapes, Wrt::All)?;
    let mut plan = Arc::try_unwrap(plan).expect("nobody else has the plan");
    let mut tables = program.tables().to_vec();
    for ty in [
        Type::new(DType::F64, &[7, 2]),
        Type::new(DType::F32, &[7, 4]),
    ] {
        tables.push(Arc::new(Table::zeros(&ty, None)?));
    }
    change(&mut plan);
    plan.check(&tables)
}

/// Changes every step of a kind; there is one at least.
fn steps<'p, T>(plan: &'p mut Plan, of: impl Fn(&'p mut Step) -> Option<T>) -> Vec<T> {
    let steps: Vec<T> = plan.steps.iter_mut().filter_map(of).collect();
    assert!(!steps.is_empty());
    steps
}

fn dot(plan: &mut Plan) -> (&mut DotRows, &mut DotRows, &mut Place) {
    let mut all = steps(plan, |step| match step {
        Step::GatherDot { rows, others, out } => Some((rows, others, out)),
        _ => None,
    });
    all.swap_remove(0)
}

fn lookup(rows: &mut DotRows) -> &mut (usize, Place) {
    rows.lookup.as_mut().expect("both are looked up")
}

/// A fused operator that reads one value of memory and writes another, and the values.
fn fused(group: &mut Group) -> Option<(usize, usize)> {
    let mut found = group.ops.iter().flat_map(|op| {
        op.args.iter().filter_map(|&arg| match (arg, op.out) {
            (FusedOperand::External(arg), FusedOperand::External(out)) => Some((arg, out)),
            _ => None,
        })
    });
    found.next()
}

fn groups(plan: &mut Plan) -> Vec<&mut Group> {
    steps(plan, |step| match step {
        Step::Group(group) => Some(group),
        _ => None,
    })
}

/// The float64 leaf that is an input, of `N` numbers.
fn x(plan: &Plan) -> Location {
    let is_x = |ty: &Type| *ty == Type::new(DType::F64, &[N]);
    Location::Leaf(plan.leaves.iter().position(is_x).expect("x is a leaf"))
}

/// Refers a value to a constant that is added to the plan.
fn constant(place: &mut Place, constants: usize) {
    place.location = Location::Constant(constants);
}

/// The indices of the first lookup of the dot product as a constant, in a table of 5 rows.
fn constant_index(plan: &mut Plan, index: u32) {
    let mut values = vec![0; N];
    values[N - 1] = index;
    plan.constants.push(values.into());
    let at = plan.constants.len() - 1;
    constant(&mut lookup(dot(plan).0).1, at);
}

type Change = (&'static str, fn(&mut Plan));

const CHANGES: &[Change] = &[
    ("no arena", |plan| plan.arena_bytes = 0),
    ("an arena too short by a byte", |plan| plan.arena_bytes -= 1),
    ("indices without a bound", |plan| plan.bounds.fill(None)),
    ("indices with too high a bound", |plan| {
        plan.bounds.fill(Some(1000))
    }),
    ("bounds of one leaf", |plan| plan.bounds.truncate(1)),
    ("tables of one leaf", |plan| plan.tables.truncate(1)),
    ("leaves of other shapes", |plan| {
        plan.leaves.iter_mut().for_each(|ty| ty.shape[0] += 1)
    }),
    ("no registers", |plan| plan.registers = 0),
    ("a register too few", |plan| plan.registers -= 1),
    ("a long result", |plan| {
        plan.result.ty = Type::new(DType::F64, &[1 << 20])
    }),
    ("a result in the middle of a line", |plan| {
        plan.result.location = Location::Arena(8)
    }),
    ("a result beyond all memory", |plan| {
        plan.result.location = Location::Arena(usize::MAX / LINE * LINE)
    }),
    ("a result that is a leaf of another length", |plan| {
        plan.result.location = x(plan)
    }),
    ("a result that is a leaf of another type", |plan| {
        plan.result.location = x(plan);
        plan.result.ty = Type::new(DType::F32, &[N]);
    }),
    ("a result that is a table", |plan| {
        let table = plan.tables.iter().position(Option::is_some);
        let table = table.expect("there is a table");
        plan.result.ty = plan.leaves[table].clone();
        plan.result.location = Location::Leaf(table);
    }),
    ("a result that is no leaf", |plan| {
        plan.result.location = Location::Leaf(99)
    }),
    ("a result that is a constant of another length", |plan| {
        plan.constants.push(vec![1.0, 2.0].into());
        constant(&mut plan.result, plan.constants.len() - 1);
    }),
    ("a result that is a constant of another type", |plan| {
        plan.constants.push(Array::from(1.0f32));
        constant(&mut plan.result, plan.constants.len() - 1);
    }),
    ("a result that is no constant", |plan| {
        constant(&mut plan.result, 99)
    }),
    ("a gradient of no leaf", |plan| plan.gradients[0] = 99),
    ("a gradient too many", |plan| plan.gradients.push(0)),
    ("a gradient of another leaf", |plan| {
        plan.gradients.reverse()
    }),
    ("an index beyond the table", |plan| constant_index(plan, 5)),
    ("an index that is computed beyond all memory", |plan| {
        lookup(dot(plan).0).1.location = Location::Arena(usize::MAX / LINE * LINE)
    }),
    ("an index that its lookup writes over", |plan| {
        let (rows, ..) = dot(plan);
        let written = rows.place.location;
        lookup(rows).1.location = written;
    }),
    ("an index that another lookup writes over", |plan| {
        let (rows, others, _) = dot(plan);
        lookup(rows).1.location = others.place.location;
    }),
    ("an index that a dot product writes over", |plan| {
        let (_, others, out) = dot(plan);
        lookup(others).1.location = out.location;
    }),
    ("an index that is nowhere", |plan| {
        lookup(dot(plan).0).1.location = Location::Nowhere
    }),
    ("no such table", |plan| lookup(dot(plan).0).0 = 99),
    ("no lookup in a dot product", |plan| {
        dot(plan).0.lookup = None
    }),
    ("a dot product of rows and numbers", |plan| {
        let others = dot(plan).1;
        others.lookup = None;
        others.place.ty.dtype = DType::F32;
    }),
    ("a dot product with too few numbers", |plan| {
        let others = dot(plan).1;
        others.lookup = None;
        others.place.ty = Type::new(DType::F64, &[N, 3]);
    }),
    ("a dot product of other lengths", |plan| {
        let twice = Type::new(DType::U32, &[2 * N]);
        let at = plan.leaves.iter().position(|ty| *ty == twice);
        let at = at.expect("the indices of the other lookup");
        let others = dot(plan).1;
        let (table, index) = lookup(others);
        *table = NARROW;
        *index = Place {
            location: Location::Leaf(at),
            ty: twice,
        };
        others.place.ty = Type::new(DType::F64, &[2 * N, 2]);
    }),
    ("a dot product of other types", |plan| {
        let others = dot(plan).1;
        lookup(others).0 = SINGLE;
        others.place.ty.dtype = DType::F32;
    }),
    ("a dot product of other numbers of rows", |plan| {
        let others = dot(plan).1;
        lookup(others).1.ty = Type::new(DType::U32, &[N / 2]);
        others.place.ty = Type::new(DType::F64, &[N / 2, 4]);
    }),
    ("a dot product with a result of another type", |plan| {
        dot(plan).2.ty.dtype = DType::F32
    }),
    ("a dot product with a result too long", |plan| {
        dot(plan).2.ty = Type::new(DType::F64, &[N + 1])
    }),
    ("a dot product with a result nowhere", |plan| {
        dot(plan).2.location = Location::Nowhere
    }),
    ("a dot product written to a leaf", |plan| {
        let x = x(plan);
        dot(plan).2.location = x;
    }),
    ("rows that two lookups write", |plan| {
        let (rows, others, _) = dot(plan);
        others.place.location = rows.place.location;
    }),
    ("a dot product over its rows", |plan| {
        let (rows, _, out) = dot(plan);
        out.location = rows.place.location;
    }),
    ("a dot product over its other rows", |plan| {
        let (_, others, out) = dot(plan);
        out.location = others.place.location;
    }),
    ("a lookup of too few rows", |plan| {
        for (index, _) in gathers(plan) {
            index.ty = Type::new(DType::U32, &[N]);
        }
    }),
    ("a lookup written to nowhere", |plan| {
        for (_, out) in gathers(plan) {
            out.location = Location::Nowhere;
        }
    }),
    ("a table that is loaded to too little memory", |plan| {
        for out in loads(plan) {
            out.ty = Type::new(DType::F64, &[N, 2]);
        }
    }),
    ("a table that is loaded over an input", |plan| {
        for out in loads(plan) {
            out.location = Location::Nowhere;
        }
    }),
    ("a group that writes what it reads", |plan| {
        let mut changed = 0;
        for group in groups(plan) {
            if let Some((arg, out)) = fused(group) {
                let at = group.externals[out].location;
                group.externals[arg].location = at;
                changed += 1;
            }
        }
        assert!(changed > 0);
    }),
    ("a group that writes to a leaf", |plan| {
        let x = x(plan);
        for group in groups(plan) {
            for op in &group.ops {
                if let FusedOperand::External(out) = op.out {
                    group.externals[out].location = x;
                }
            }
        }
    }),
    ("a group with a result of one number", |plan| {
        for group in groups(plan) {
            for op in &group.ops {
                if let FusedOperand::External(out) = op.out {
                    group.externals[out].ty = Type::scalar(DType::F64);
                }
            }
        }
    }),
    ("a register that is read and written", |plan| {
        let mut changed = 0;
        for group in groups(plan) {
            for op in &mut group.ops {
                for arg in &mut op.args {
                    if let (FusedOperand::Register(_), FusedOperand::Register(_)) = (*arg, op.out) {
                        *arg = op.out;
                        changed += 1;
                    }
                }
            }
        }
        assert!(changed > 0);
    }),
    ("a value of more axes than its group", |plan| {
        for group in groups(plan) {
            for place in &mut group.externals {
                place.ty.shape = [&[1], &place.ty.shape[..]].concat().into();
            }
        }
    }),
    ("a value that does not broadcast to its group", |plan| {
        for group in groups(plan) {
            group.ty.shape = Shape::from_slice(&[N, N + 1]);
        }
    }),
    ("a value of another type than its group", |plan| {
        for group in groups(plan) {
            group.externals[0].ty.dtype = DType::F32;
        }
    }),
    ("a group without its values", |plan| {
        for group in groups(plan) {
            group.externals.clear();
        }
    }),
    ("a kernel for other operands", |plan| {
        for group in groups(plan) {
            group.ops[0].args.push(FusedOperand::External(0));
        }
    }),
    ("a kernel that writes what it reads", |plan| {
        for (args, out) in kernels(plan) {
            out.location = args[0].location;
        }
    }),
    ("a kernel that writes to a leaf", |plan| {
        for (_, out) in kernels(plan) {
            out.location = Location::Nowhere;
        }
    }),
    ("a kernel that reads beyond the arena", |plan| {
        for (args, _) in kernels(plan) {
            args[0].ty = Type::new(DType::F64, &[1 << 20]);
        }
    }),
    ("bags with too few sums", |plan| {
        for (_, _, out) in bags(plan) {
            out.ty = Type::new(DType::F64, &[N / 2, 4]);
        }
    }),
    ("bags with too few weights", |plan| {
        for (_, bags, _) in bags(plan) {
            bags.weights.as_mut().expect("there are weights").ty = Type::new(DType::F64, &[N / 2]);
        }
    }),
    ("bags with ids that are numbers", |plan| {
        for (_, bags, _) in bags(plan) {
            bags.ids = bags.weights.clone().expect("there are weights");
        }
    }),
    ("bags with an index that is nowhere", |plan| {
        for (index, ..) in bags(plan) {
            index.location = Location::Nowhere;
        }
    }),
    ("bags that are summed to a leaf", |plan| {
        for (_, _, out) in bags(plan) {
            out.location = Location::Leaf(0);
        }
    }),
    ("a gradient of bags with too few weights", |plan| {
        let parts = rows(plan).into_iter();
        for bags in parts.filter_map(|part| part.bags.as_mut()) {
            bags.weights.as_mut().expect("there are weights").ty = Type::new(DType::F64, &[N / 2]);
        }
    }),
    ("a gradient of too few numbers", |plan| {
        let mut changed = 0;
        for sink in plan.sinks.iter_mut().flatten() {
            if let Sink::Dense(place) = sink {
                place.ty = Type::new(DType::F64, &[N, 2]);
                changed += 1;
            }
        }
        assert!(changed > 0);
    }),
    ("a gradient of too few rows", |plan| {
        for part in rows(plan) {
            for term in &mut part.terms {
                term.rows.ty = Type::new(DType::F64, &[N / 2, 4]);
            }
        }
    }),
    ("a gradient of rows with too few factors", |plan| {
        let mut changed = 0;
        for part in rows(plan) {
            for scale in part.terms.iter_mut().filter_map(|t| t.scale.as_mut()) {
                scale.ty = Type::new(DType::F64, &[N / 2]);
                changed += 1;
            }
        }
        assert!(changed > 0);
    }),
    (
        "a gradient at indices that are computed beyond all memory",
        |plan| {
            for part in rows(plan) {
                part.index.location = Location::Arena(usize::MAX / LINE * LINE);
            }
        },
    ),
];

fn bags(plan: &mut Plan) -> Vec<(&mut Place, &mut Bags<Place>, &mut Place)> {
    steps(plan, |step| match step {
        Step::Bag {
            index, bags, out, ..
        } => Some((index, bags, out)),
        _ => None,
    })
}

fn gathers(plan: &mut Plan) -> Vec<(&mut Place, &mut Place)> {
    steps(plan, |step| match step {
        Step::Gather { index, out, .. } => Some((index, out)),
        _ => None,
    })
}

fn loads(plan: &mut Plan) -> Vec<&mut Place> {
    steps(plan, |step| match step {
        Step::Load { out, .. } => Some(out),
        _ => None,
    })
}

fn kernels(plan: &mut Plan) -> Vec<(&mut [Place], &mut Place)> {
    steps(plan, |step| match step {
        Step::Kernel { args, out, .. } => Some((&mut args[..], out)),
        _ => None,
    })
}

fn rows(plan: &mut Plan) -> Vec<&mut RowTerms<Place>> {
    let rows = plan.sinks.iter_mut().flatten().filter_map(|s| match s {
        Sink::Rows(parts) => Some(parts),
        Sink::Dense(_) => None,
    });
    let rows: Vec<_> = rows.flatten().collect();
    assert!(!rows.is_empty());
    rows
}

#[test]
fn a_plan_that_does_not_fit_together_is_refused() {
    assert_eq!(checked(|_| ()), Ok(()));
    assert_eq!(checked(|plan| constant_index(plan, 4)), Ok(()));
    assert_eq!(checked(|plan| _ = in_place::product(plan)), Ok(()));
    let more = in_place::CHANGES.iter().chain(tiles::CHANGES);
    for (what, change) in CHANGES.iter().chain(more) {
        let found = checked(change);
        assert!(matches!(found, Err(Error::Value(_))), "{what}: {found:?}");
    }
}
