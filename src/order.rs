//! Items put in order by a whole number.
//!
//! The library's sort is compiled for each type that is sorted, which takes about two kilobytes of the wheel
//! each time. What is not sorted for speed is sorted here: all of it by one sort of numbers and positions.

/// Sorts items by a key, in ascending order; equal ones stay as they come.
pub(crate) fn sort_by_key<T>(items: &mut Vec<T>, key: impl Fn(&T) -> usize) {
    let mut order: Vec<(usize, usize)> = items.iter().map(key).zip(0..).collect();
    order.sort_unstable();
    let mut unsorted: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(order.into_iter().filter_map(|(_, k)| unsorted[k].take()));
}

#[cfg(test)]
mod tests {
    use super::sort_by_key;

    #[test]
    fn equal_items_stay_as_they_come() {
        let mut words: Vec<String> = ["bee", "a", "ant", "", "b"].map(String::from).into();
        sort_by_key(&mut words, String::len);
        assert_eq!(words, ["", "a", "b", "bee", "ant"]);
    }
}
