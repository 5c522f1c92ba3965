//! The numbers of the partial derivatives of a function of two numbers.
//!
//! They are numbered by total order, and within an order by how often they differentiate by the second
//! argument: `f, f_x, f_y, f_xx, f_xy, f_yy, f_xxx, …` are 0, 1, 2, 3, 4, 5, 6, … An operator stores one
//! integer as its order; this numbering says both orders with it.

/// How often number `n` differentiates by the first and by the second argument; `None` below 0.
pub(crate) fn orders(n: i32) -> Option<(u32, u32)> {
    let mut second = u32::try_from(n).ok()?;
    let mut total = 0;
    while second > total {
        total += 1;
        second -= total;
    }
    Some((total - second, second))
}

/// The number of the derivative of orders `x` and `y`; `None` where that is more than an integer holds.
pub(crate) fn number(x: u32, y: u32) -> Option<i32> {
    let total = u64::from(x) + u64::from(y);
    i32::try_from(total * (total + 1) / 2 + u64::from(y)).ok()
}

/// The number of the derivative by one argument more: the first (0) or the second (1). -1, of which
/// every value is NaN, where there is none.
pub(crate) fn further(n: i32, argument: usize) -> i32 {
    let next = orders(n).and_then(|(x, y)| match argument {
        0 => number(x + 1, y),
        _ => number(x, y + 1),
    });
    next.unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_orders_belong_together() {
        let mut next = 0;
        for total in 0..20 {
            for second in 0..=total {
                let (x, y) = (total - second, second);
                assert_eq!(orders(next), Some((x, y)));
                assert_eq!(number(x, y), Some(next));
                assert_eq!(orders(further(next, 0)), Some((x + 1, y)));
                assert_eq!(orders(further(next, 1)), Some((x, y + 1)));
                next += 1;
            }
        }
        assert_eq!(orders(-1), None);
        assert_eq!(number(65_535, 0), Some(2_147_450_880));
        assert_eq!(number(65_536, 0), None);
        let last = number(65_535, 0).unwrap();
        assert_eq!(
            [further(last, 0), further(last, 1), further(-1, 0)],
            [-1; 3]
        );
    }
}
