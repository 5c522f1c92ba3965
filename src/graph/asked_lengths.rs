//! Which lengths of an input were read as integers while graphs were built, and when.
//!
//! `len()` and a loop over rows give an integer, and what is made of an integer stays when the input
//! gets another length. So each such length is recorded, with the serial numbers of the nodes that
//! were built while the input had it: a graph with one of these nodes holds for that length alone.
//! Whether the integer was used cannot be known, nor where: the input may be no part of a graph that
//! was built with its length. So the records of all inputs of a thread are listed.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};

use crate::array::Shape;
use crate::exec::Length;

/// Most records of one input.
const MOST: usize = 256;

thread_local! {
    /// Whether an input of this thread ever had a record.
    static ANY: Cell<bool> = const { Cell::new(false) };
    /// The inputs of this thread that have records.
    static INPUTS: RefCell<Vec<Weak<InputRecords>>> = const { RefCell::new(Vec::new()) };
}

/// Whether an input of this thread ever had a record.
#[inline]
pub(super) fn any() -> bool {
    ANY.with(Cell::get)
}

/// A length that was read as an integer.
struct LengthRecord {
    length: Length,
    /// The nodes built while the input had the length are those with serial numbers above `from` and
    /// up to `until`.
    from: u64,
    until: u64,
}

impl LengthRecord {
    /// Whether a graph with nodes of these serial numbers may be made of the length.
    fn concerns(&self, serials: &[u64]) -> bool {
        serials.iter().any(|&s| self.from < s && s <= self.until)
    }
}

/// The records of one input.
pub(super) struct InputRecords {
    /// The number that tells inputs apart.
    #[cfg_attr(
        not(feature = "python"),
        expect(dead_code, reason = "programs of the binding to Python compare it")
    )]
    pub(super) id: u64,
    pub(super) name: Option<String>,
    /// The shape that the input has now.
    shape: RefCell<Shape>,
    records: RefCell<Vec<LengthRecord>>,
}

impl InputRecords {
    /// The lengths that a graph with nodes of these serial numbers may be made of.
    pub(super) fn lengths(&self, serials: &[u64]) -> Vec<Length> {
        let records = self.records.borrow();
        let concerned = records.iter().filter(|record| record.concerns(serials));
        concerned.map(|record| record.length.clone()).collect()
    }

    /// The shape that the input has now.
    pub(super) fn shape(&self) -> Shape {
        self.shape.borrow().clone()
    }
}

/// The records of an input, if there are any. Public as the trait `Node` is.
#[derive(Default)]
pub struct LengthRecords(OnceCell<Rc<InputRecords>>);

impl LengthRecords {
    /// Adds a record of a length that was read when node `now` was the latest, of an input with this
    /// number, name and shape.
    pub(super) fn add(
        &self,
        length: Length,
        now: u64,
        (id, name, shape): (u64, Option<&str>, &Shape),
    ) {
        let input = self.0.get_or_init(|| {
            let input = Rc::new(InputRecords {
                id,
                name: name.map(str::to_owned),
                shape: RefCell::new(shape.clone()),
                records: RefCell::default(),
            });
            ANY.with(|any| any.set(true));
            INPUTS.with_borrow_mut(|inputs| {
                inputs.retain(|other| other.strong_count() > 0);
                inputs.push(Rc::downgrade(&input));
            });
            input
        });
        let mut records = input.records.borrow_mut();
        let holds_now =
            |record: &LengthRecord| record.until == u64::MAX && record.length.is_same(&length);
        if records.iter().any(holds_now) {
            return;
        }
        if records.len() >= MOST {
            // The two oldest records become one without a length, which refuses every shape.
            let oldest = records.remove(0);
            records[0].from = oldest.from;
            records[0].length.length = None;
        }
        records.push(LengthRecord {
            length,
            from: now,
            until: u64::MAX,
        });
    }

    /// The input has another shape: the records do not concern nodes after `now`.
    pub(super) fn end(&self, now: u64, shape: &Shape) {
        let Some(input) = self.0.get() else {
            return;
        };
        input.shape.borrow_mut().clone_from(shape);
        for record in &mut *input.records.borrow_mut() {
            record.until = record.until.min(now);
        }
    }

    /// As [`InputRecords::lengths`].
    pub(super) fn lengths(&self, serials: &[u64]) -> Vec<Length> {
        let input = self.0.get();
        input.map_or_else(Vec::new, |input| input.lengths(serials))
    }
}

/// The inputs of this thread that have records.
pub(super) fn inputs() -> Vec<Rc<InputRecords>> {
    INPUTS.with_borrow(|inputs| inputs.iter().filter_map(Weak::upgrade).collect())
}
