//! Each check of tiles, with one thing wrong at a time.

use super::*;
use crate::exec::plan::RowTile;

/// The group that repeats a row.
fn tiled(plan: &mut Plan) -> &mut Group {
    let found = groups(plan)
        .into_iter()
        .find(|group| !group.tiles.is_empty());
    found.expect("there is one")
}

pub(super) const CHANGES: &[Change] = &[
    ("a tile in no register", |plan| {
        let registers = plan.registers;
        tiled(plan).tiles[0].register = registers;
    }),
    ("a tile of no value", |plan| {
        tiled(plan).tiles[0].external = 99
    }),
    ("a tile of a whole value", |plan| {
        let group = tiled(plan);
        let whole = group
            .externals
            .iter()
            .position(|p| p.ty.size() == group.ty.size());
        group.tiles[0].external = whole.expect("there is one");
    }),
    ("a row that is read beside tiles", |plan| {
        let group = tiled(plan);
        let RowTile { external, register } = group.tiles[0];
        for arg in group.ops.iter_mut().flat_map(|op| &mut op.args) {
            if *arg == FusedOperand::Register(register) {
                *arg = FusedOperand::External(external);
            }
        }
    }),
    ("a tile of a value of several rows", |plan| {
        let group = tiled(plan);
        let at = group.tiles[0].external;
        let mut place = group.externals[at].clone();
        place.ty.shape = group.ty.shape.clone();
        place.ty.shape[0] = 2;
        group.externals[at] = place;
    }),
];
