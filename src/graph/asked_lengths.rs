//! Which lengths of an input were asked for while graphs were built, and when.
//!
//! `len()` and a loop over rows give an integer, and what is made of an integer stays when the input
//! gets another length. So the input remembers the question. It concerns the graphs that have a node
//! built from then on, until the input gets another length by assignment: those hold for the
//! length of the answer alone. Whether the integer was used cannot be known.

use std::cell::{Cell, RefCell};

use crate::exec::Length;

/// Most questions that an input remembers one by one.
const MOST: usize = 256;

thread_local! {
    /// Whether an input of this thread was ever asked.
    static ANY: Cell<bool> = const { Cell::new(false) };
}

/// Whether an input of this thread was ever asked.
#[inline]
pub(super) fn any() -> bool {
    ANY.with(Cell::get)
}

/// One question.
struct Question {
    answer: Length,
    /// The serial numbers of the nodes built while the answer was true.
    from: u64,
    until: u64,
}

/// The questions that an input was asked. Public as the trait `Node` is.
#[derive(Default)]
pub struct Asked(RefCell<Vec<Question>>);

impl Asked {
    /// Remembers an answer, given when node `now` was the latest.
    pub(super) fn ask(&self, answer: Length, now: u64) {
        ANY.with(|any| any.set(true));
        let mut questions = self.0.borrow_mut();
        let open = |q: &Question| q.until == u64::MAX && q.answer.is_same(&answer);
        if questions.iter().any(open) {
            return;
        }
        if questions.len() >= MOST {
            // The two oldest become one that no length answers.
            let oldest = questions.remove(0);
            questions[0].from = oldest.from;
            questions[0].answer.length = None;
        }
        questions.push(Question {
            answer,
            from: now,
            until: u64::MAX,
        });
    }

    /// The answers are no longer true for nodes after `now`.
    pub(super) fn end(&self, now: u64) {
        for question in &mut *self.0.borrow_mut() {
            question.until = question.until.min(now);
        }
    }

    /// The answers that a graph with nodes of these serial numbers may be made of.
    pub(super) fn within(&self, serials: &[u64]) -> Vec<Length> {
        let questions = self.0.borrow();
        let concerned = |q: &&Question| serials.iter().any(|&s| q.from < s && s <= q.until);
        let answers = questions.iter().filter(concerned);
        answers.map(|q| q.answer.clone()).collect()
    }
}
