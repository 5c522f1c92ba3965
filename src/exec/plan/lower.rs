//! From a function of the ir to a [`Plan`].
//!
//! The function is specialised for concrete types, simplified, cut down to what the
//! results read, ordered in steps with elementwise operators fused, and every value gets
//! its place in the arena. Gradients of rows stay rows ([`rows`]), and slices of tables are lookups
//! ([`slices`]): no array of a table's size is planned for them.

use super::analysis::{Analysis, Request};
use super::place::Placer;
use super::rows::{self, Returned};
use super::schedule::Unit;
use super::slices;
use super::{Plan, Sink};
use crate::array::{DType, Type};
use crate::error::Result;
use crate::ir::{Lengths, ValueId, simplified, specialize};
use crate::reserve;

/// Plans a function of one block.
///
/// # Errors
/// Whatever an operator reports about the leaves' types, and [`Shape`](crate::Error::Shape) if a
/// rule gives a product of the wrong type for them.
pub(in crate::exec) fn lower(request: Request<'_>) -> Result<Plan> {
    let products = request.products.into_iter().flatten();
    let special = specialize(request.function, &request.leaves, products)?;
    // What gradients there are, of which tables.
    let asked = request.gradients.iter().map(|&(leaf, at)| {
        let table = request.tables[leaf].map(|_| &request.leaves[leaf]);
        (at, table)
    });
    let asked: Vec<(Option<usize>, Option<&Type>)> = asked.collect();
    let of_tables: Vec<_> = asked.iter().map(|&(at, table)| at.zip(table)).collect();
    let are_rows = rows::are_rows(&special, &of_tables)?;
    let mut function = simplified(special, Lengths::Exact)?;
    let number = Type::scalar(DType::F64);
    let all = asked
        .iter()
        .map(|&(at, table)| Some((at?, table.unwrap_or(&number))));
    let all: Vec<_> = all.collect();
    let gradients = rows::return_rows(&mut function, &all, &are_rows)?;
    slices::look_up(&mut function, |leaf| request.tables[leaf].is_some());
    reserve::ahead(function.kinds.len(), reserve::bytes::SCHEDULED)?;
    let low = Analysis::new(&function, &request)?;
    let (_, results) = function.straight()?;
    let &result = results.first().ok_or_else(rows::no_result)?;
    let mut roots = vec![result];
    let mut sinks: Vec<Option<Sink<ValueId>>> = Vec::new();
    for (gradient, &(leaf, _)) in gradients.into_iter().zip(&request.gradients) {
        let sink = gradient.map(|gradient| match gradient {
            Returned::Dense(value) => Sink::Dense(value),
            Returned::Rows(parts) => Sink::Rows(low.rows(&request.leaves[leaf], &parts)),
        });
        sink.iter().for_each(|sink| roots.extend(sink.values()));
        sinks.push(sink);
    }
    let needed = low.needed(&roots);
    let units = low.order(&needed);
    let mut placer = Placer::new(&low, low.in_passing(&units));
    for (u, unit) in units.iter().enumerate() {
        for &n in unit.members() {
            for a in low.read(&low.nodes[n]) {
                placer.last.insert(low.base[a as usize], u);
            }
        }
    }
    for r in &roots {
        placer.last.insert(low.base[*r as usize], usize::MAX);
    }
    for (table, value) in low.kept_tables(&units, &roots) {
        placer.keep(table, value);
    }
    for (u, unit) in units.iter().enumerate() {
        match unit {
            Unit::One(n) if placer.in_passing.contains(n) => {}
            Unit::One(n) => placer.one(u, *n),
            Unit::Group(members) => placer.group(u, members),
        }
    }
    let result = placer.place(result);
    let places = sinks.iter();
    let places = places.map(|sink| sink.as_ref().map(|sink| sink.map(|&v| placer.place(v))));
    let places = places.collect();
    let of_rows = sinks.iter().zip(&request.gradients);
    let of_rows = of_rows.filter_map(|(sink, &(leaf, _))| match sink.as_ref()? {
        Sink::Rows(rows) => Some((rows, *request.leaves[leaf].shape.first()?)),
        Sink::Dense(_) => None,
    });
    let bounds = low.bounds(of_rows)?;
    let (steps, peak, registers) = (placer.steps, placer.peak, placer.registers);
    let constants = low.constants;
    let gradients = request.gradients.iter().map(|&(leaf, _)| leaf).collect();
    Ok(Plan {
        steps,
        gradients,
        constants,
        arena_bytes: peak,
        registers,
        leaves: request.leaves,
        tables: request.tables,
        inputs: request.inputs,
        result,
        sinks: places,
        bounds,
    })
}
