//! Ids: distinct strings, whatever they are cut from.

use std::collections::HashSet;

use proptest::prelude::*;
use wyrmling::io::Ids;

proptest! {
    #[test]
    fn ids_are_distinct_strings(strings in prop::collection::vec("[ab\u{e9}]{0,2}", 0..6)) {
        let distinct = strings.iter().collect::<HashSet<_>>().len();
        match Ids::from_strings(&strings) {
            Ok(ids) => {
                prop_assert_eq!(distinct, strings.len());
                prop_assert!(ids.iter().eq(&strings));
                prop_assert_eq!(ids.get(0), strings.first().map(|s| &s[..]));
                prop_assert_eq!((ids.get(ids.len()), ids.get(usize::MAX)), (None, None));
                let again = Ids::from_parts(ids.text().into(), ids.offsets().to_vec());
                prop_assert_eq!(again, Ok(ids));
            }
            Err(error) => {
                prop_assert!(distinct < strings.len() && error.to_string().contains("twice"));
            }
        }
    }

    #[test]
    fn ids_from_any_offsets_are_valid_or_refused(offsets in prop::collection::vec(0..7usize, 0..6)) {
        // Bytes:  0 1 2-3 4 5
        let text = "ab\u{e9}ab";
        let parts: Option<Vec<&str>> = (offsets.windows(2)).map(|o| text.get(o[0]..o[1])).collect();
        let valid = offsets.first() == Some(&0)
            && offsets.last() == Some(&text.len())
            && parts.is_some_and(|mut parts| {
                parts.sort();
                parts.windows(2).all(|pair| pair[0] != pair[1])
            });
        prop_assert_eq!(Ids::from_parts(text.into(), offsets).is_ok(), valid);
    }
}
