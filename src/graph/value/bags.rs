//! Embedding bags that an index chooses, in graphs: by the rows that they have, one after the other.
//!
//! Of a parameter's table these rows are read and no others. The gradient is these rows, too, as that
//! of a lookup is.

use smallvec::SmallVec;

use crate::array::{Array, Dense, Type, View, vec_for};
use crate::error::{Error, Result};
use crate::rules::{Bag, BagIndex, BagRows, Gather, Operator, result_type};
use crate::table::{Rows, Table};

/// Bags of a result, one after the other.
struct Chosen {
    /// The row at each place.
    ids: Dense<u32>,
    /// Where the places of each bag begin and end, and the weight of each place if there are weights.
    bags: SmallVec<[Array; 2]>,
}

impl Chosen {
    /// The bags that an index chooses of `rows` rows. The operands are the index, ids, offsets, and
    /// weights if there are.
    fn new(operands: &[Array], rows: usize) -> Result<Self> {
        let [
            Array::U32(index),
            Array::U32(ids),
            Array::U32(offsets),
            weights @ ..,
        ] = operands
        else {
            return Err(Error::Type("bag: expected arrays of integers".into()));
        };
        let bags = BagIndex::chosen(index.as_slice(), ids.as_slice(), offsets.as_slice(), rows);
        let count = bags.count()?;
        if count > u32::MAX as usize {
            return Err(Error::Value(format!(
                "bag: expected at most {} ids in the bags of an index, got {count}",
                u32::MAX
            )));
        }
        let mut places: Vec<u32> = vec_for(&[count])?;
        let mut found: Vec<u32> = vec_for(&[count])?;
        let mut ends: Vec<u32> = vec_for(&[bags.len() + 1])?;
        ends.push(0);
        for b in 0..bags.len() {
            for place in bags.places(b)? {
                places.push(place as u32);
                found.push(bags.row(place)? as u32);
            }
            ends.push(places.len() as u32);
        }
        let mut bags: SmallVec<[Array; 2]> = SmallVec::new();
        bags.push(ends.into());
        if let Some(weights) = weights.first() {
            bags.push(evaluate(&Gather, &[weights, &places.into()])?);
        }
        Ok(Chosen {
            ids: found.into(),
            bags,
        })
    }
}

/// What an operator makes of arrays.
fn evaluate(op: &dyn Operator, args: &[&Array]) -> Result<Array> {
    let types: SmallVec<[Type; 4]> = args.iter().map(|x| x.ty()).collect();
    let types: SmallVec<[&Type; 4]> = types.iter().collect();
    let ty = result_type(op, &types)?;
    let mut out = Array::scratch(ty.dtype, &ty.shape)?;
    let views: SmallVec<[View<'_>; 4]> = args.iter().map(|x| x.view()).collect();
    if let Some(out) = out.view_mut() {
        op.eval(&views, out)?;
    }
    Ok(out)
}

/// What an operator that says that it [looks bags up](crate::rules::Form::BagLookup) gives of a table
/// and other operands; `None` if that is not what it does.
pub(super) fn looked_up<O: Operator + ?Sized>(
    op: &O,
    table: &Table,
    others: &[Array],
) -> Option<Result<Array>> {
    let types: SmallVec<[Type; 4]> = others.iter().map(|x| x.ty()).collect();
    let types: SmallVec<[&Type; 5]> = std::iter::once(table.ty()).chain(&types).collect();
    let weighted = others.len() == 4;
    let chosen = Bag {
        chosen: true,
        weighted,
    };
    let ty = match (result_type(op, &types), chosen.infer(&types)) {
        (Ok(ty), Ok(expected)) if ty == expected => ty,
        (Err(error), _) => return Some(Err(error)),
        _ => return None,
    };
    let sums = || -> Result<Array> {
        let found = Chosen::new(others, table.rows())?;
        let rows = table.read_rows(&found.ids)?;
        let chosen = false;
        let args: SmallVec<[&Array; 4]> = std::iter::once(&rows).chain(&found.bags).collect();
        let sums = evaluate(&Bag { chosen, weighted }, &args)?;
        Ok(sums.with_shape(&ty.shape))
    };
    Some(sums())
}

/// Rows of bags, each times the weights at its places, as rows of an array of type `ty`. The operands
/// are a row for each bag, and what says which bags these are.
///
/// # Errors
/// As [`Rows::new`], and as the operators.
pub(super) fn scattered(ty: Type, operands: &[Array]) -> Result<Rows> {
    let (Some((&rows, row)), Some((values, operands))) =
        (ty.shape.split_first(), operands.split_first())
    else {
        return Err(Error::Shape("a single number has no rows".into()));
    };
    let found = Chosen::new(operands, rows)?;
    let bags = operands[0].size();
    let values = values.with_shape(&[&[bags], row].concat());
    let places = [&[found.ids.as_slice().len()], row].concat();
    // Of which the shape alone is read.
    let like = Array::zeros(&Type::new(ty.dtype, &places))?;
    let each = BagRows {
        chosen: false,
        weighted: found.bags.len() == 2,
    };
    let args: SmallVec<[&Array; 4]> = [&values, &like].into_iter().chain(&found.bags).collect();
    let rows = evaluate(&each, &args)?;
    Rows::new(ty, found.ids, rows)
}
