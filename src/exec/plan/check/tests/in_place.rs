//! Each check of rows that are read where they are, with one thing wrong at a time.

use super::*;
use crate::optim::gradient::Term;

/// The plan without copies that it need not make: its dot product, and the term whose rows are in place.
pub(super) fn product(plan: &mut Plan) -> (&mut usize, [&mut Place; 3]) {
    *plan = plan
        .with_rows_in_place(|_| true)
        .expect("of the first table");
    let mut all = steps(plan, |step| match step {
        Step::DotInPlace {
            table,
            index,
            others,
            out,
        } => Some((table, [index, others, out])),
        _ => None,
    });
    all.swap_remove(0)
}

fn term(plan: &mut Plan) -> &mut Term<Place> {
    product(plan);
    let parts = plan.sinks.iter_mut().flatten().flat_map(|sink| match sink {
        Sink::Rows(parts) => parts.as_mut_slice(),
        Sink::Dense(_) => &mut [],
    });
    let mut terms = parts.flat_map(|part| &mut part.terms);
    terms
        .find(|term| term.table.is_some())
        .expect("there is one")
}

pub(super) const CHANGES: &[Change] = &[
    ("an index in place that is nowhere", |plan| {
        product(plan).1[0].location = Location::Nowhere
    }),
    ("rows in place of a table with fewer", |plan| {
        // The other rows are of the table of 5 rows, whose indices have that bound.
        let at = plan.bounds.iter().position(|&bound| bound == Some(5));
        let at = at.expect("the first table's indices");
        product(plan).1[0].location = Location::Leaf(at);
        plan.bounds[at] = Some(8);
    }),
    ("rows in place of no table", |plan| *product(plan).0 = 99),
    ("rows in place of another width", |plan| {
        *product(plan).0 = NARROW
    }),
    ("rows in place of another type", |plan| {
        *product(plan).0 = SINGLE
    }),
    ("rows in place times too few numbers", |plan| {
        product(plan).1[1].ty = Type::new(DType::F64, &[N, 3])
    }),
    ("rows in place times numbers of another type", |plan| {
        product(plan).1[1].ty.dtype = DType::F32
    }),
    ("a product of rows in place that is too long", |plan| {
        product(plan).1[2].ty = Type::new(DType::F64, &[N + 1])
    }),
    (
        "a product of rows in place that is written to a leaf",
        |plan| {
            let x = x(plan);
            product(plan).1[2].location = x;
        },
    ),
    ("a product of rows in place over the other rows", |plan| {
        let [_, others, out] = product(plan).1;
        out.location = others.location;
    }),
    ("a gradient of too few rows in place", |plan| {
        term(plan).rows.ty = Type::new(DType::U32, &[N - 1])
    }),
    ("a gradient of rows in place that nobody compares", |plan| {
        term(plan).rows.location = Location::Arena(0)
    }),
    ("a gradient of rows in place by numbers", |plan| {
        term(plan).rows.ty.dtype = DType::F64
    }),
    ("a gradient of rows in place of another width", |plan| {
        term(plan).table = Some(NARROW)
    }),
    ("a gradient of rows in place of another type", |plan| {
        term(plan).table = Some(SINGLE)
    }),
    ("a gradient of rows in place of no table", |plan| {
        term(plan).table = Some(99)
    }),
];
