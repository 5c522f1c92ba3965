//! Which forms of values a lookup, a slice and their gradients keep.

use std::sync::Arc;

use super::*;
use crate::rules::{BasicSlice, Gather, SliceItem};
use crate::table::Table;

#[test]
fn slices_and_lookups_copy_no_whole_table() -> Result<()> {
    let ty = Type::new(DType::F32, &[100, 4]);
    let table = Rc::new(TableValue::new(Arc::new(Table::zeros(&ty, None)?)));
    let value = Value::Table(Rc::clone(&table));
    let slice = |row| BasicSlice {
        items: vec![SliceItem::At(row)],
    };
    assert_eq!(apply(&slice(-1), &[&value], None)?.shape(), [4]);
    assert!(apply(&slice(100), &[&value], None).is_err());
    let index = Value::Dense(vec![3u32, 99].into());
    assert_eq!(apply(&Gather, &[&value, &index], None)?.shape(), [2, 4]);
    assert!(!table.has_copy());
    Ok(())
}
