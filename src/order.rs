//! Items put in order by a whole number.
//!
//! The library's sort is compiled for each type that is sorted, which takes about two kilobytes of the wheel
//! each time. What is not sorted for speed is sorted here: all of it by one sort of numbers and positions.

use smallvec::SmallVec;

/// Sorts items by a key, in ascending order; equal ones stay as they come.
pub(crate) fn sort_by_key<T>(items: &mut Vec<T>, key: impl Fn(&T) -> usize) {
    let mut order: Vec<(usize, usize)> = items.iter().map(key).zip(0..).collect();
    order.sort_unstable();
    let mut unsorted: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(order.into_iter().filter_map(|(_, k)| unsorted[k].take()));
}

/// An integer for a number: the integers of numbers are in the order in which `total_cmp` has the numbers.
pub(crate) fn of_number(x: f64) -> u64 {
    let bits = x.to_bits();
    // The bit of the sign is set in a positive number, and all bits of a negative one are inverted.
    bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
}

/// So many items are sorted in place, one after the other.
const FEW: usize = 8;

/// As [`sort_by_key`], for items that are few or in order already, as a rule.
pub(crate) fn sort_few_by_key<A: smallvec::Array>(
    items: &mut SmallVec<A>,
    key: impl Fn(&A::Item) -> usize,
) {
    if items.is_sorted_by_key(&key) {
        return;
    }
    if items.len() > FEW {
        let mut all: Vec<A::Item> = items.drain(..).collect();
        sort_by_key(&mut all, key);
        items.extend(all);
        return;
    }
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && key(&items[at - 1]) > key(&items[at]) {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_the_order_of_their_integers() {
        let (inf, max, least) = (f64::INFINITY, f64::MAX, f64::from_bits(1));
        let rising = [
            -inf, -max, -2.0, -1.0, -least, -0.0, 0.0, least, 1.0, 2.0, max, inf,
        ];
        let integers = rising.map(of_number);
        assert!(integers.is_sorted_by(|a, b| a < b), "{integers:?}");
    }

    #[test]
    fn few_items_are_put_in_order_as_many_are() {
        for count in [0, 1, 2, FEW, FEW + 1, 50] {
            let mut pairs: SmallVec<[(usize, usize); 4]> =
                (0..count).map(|k| (k * 7 % 5, k)).collect();
            sort_few_by_key(&mut pairs, |pair| pair.0);
            assert_eq!(pairs.len(), count);
            assert!(pairs.is_sorted(), "equal ones stay as they come: {pairs:?}");
        }
    }

    #[test]
    fn equal_items_stay_as_they_come() {
        let mut words: Vec<String> = ["bee", "a", "ant", "", "b"].map(String::from).into();
        sort_by_key(&mut words, String::len);
        assert_eq!(words, ["", "a", "b", "bee", "ant"]);
    }
}
