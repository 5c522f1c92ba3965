//! A function of one block for parameters of other types: what each value then is.

use smallvec::SmallVec;

use super::function::{Function, Instruction, Straight, ValueId};
use crate::array::Type;
use crate::error::Result;
use crate::interrupt::Poller;
use crate::order;
use crate::reserve;
use crate::rules::differentiate::Product;
use crate::rules::result_type;

/// About how many nanoseconds an instruction takes.
const VALUE: usize = 500;

/// The same function for parameters of other types. `products` are what rules made in it.
///
/// # Errors
/// Whatever an operator reports about the new types, and [`Error::Shape`](crate::Error::Shape) if a
/// rule gives a product of another type than it must have.
pub(crate) fn specialize<'p>(
    function: &Function,
    parameters: &[Type],
    products: impl Iterator<Item = &'p Product>,
) -> Result<Function> {
    reserve::ahead(function.kinds.len(), reserve::bytes::OPTIMIZED)?;
    let mut out = function.clone();
    let (block, _) = function.straight()?;
    // Where each value gets its type, and the products by when both of their types are known.
    let values = block.parameters.iter().copied();
    let values: Vec<ValueId> = values
        .chain(block.instructions.iter().map(Instruction::result))
        .collect();
    let mut places = vec![0; function.kinds.len()];
    for (place, &id) in values.iter().enumerate() {
        places[id as usize] = place;
    }
    let known = |p: &Product| places[p.value as usize].max(places[p.like as usize]);
    let mut products: Vec<&Product> = products.collect();
    order::sort_by_key(&mut products, |p| known(p));
    let mut products = products.into_iter().peekable();
    let definitions = std::iter::repeat_n(None, block.parameters.len());
    let definitions = definitions.chain(block.instructions.iter().map(Some));
    let mut poller = Poller::default();
    for (place, definition) in definitions.enumerate() {
        poller.step(VALUE)?;
        let ty = match definition.map(Instruction::straight) {
            None => parameters.get(place).cloned(),
            Some(Straight::Constant(a)) => Some(a.ty()),
            Some(Straight::Apply(op, args)) => {
                let types: SmallVec<[&Type; 4]> = args.iter().map(|&a| out.ty(a)).collect();
                Some(result_type(&**op, &types)?)
            }
        };
        if let Some(ty) = ty {
            out.kinds[values[place] as usize] = ty.into();
        }
        while let Some(product) = products.next_if(|p| known(p) <= place) {
            product.check(out.ty(product.value), out.ty(product.like))?;
        }
    }
    Ok(out)
}
