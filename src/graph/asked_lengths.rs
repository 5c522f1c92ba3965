//! Which lengths of an input were asked for while graphs were built, and when.
//!
//! `len()` and a loop over rows give an integer, and what is made of an integer stays when the input
//! gets another length. So the input remembers the question. It concerns the graphs that have a node
//! built from then on, until the input gets another length by assignment: those hold for the
//! length of the answer alone. Whether the integer was used cannot be known, nor where: the input
//! may be no part of a graph that was built with its length. So the inputs of a thread that were
//! asked are listed.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};

use crate::array::Shape;
use crate::exec::Length;

/// Most questions that an input remembers one by one.
const MOST: usize = 256;

thread_local! {
    /// Whether an input of this thread was ever asked.
    static ANY: Cell<bool> = const { Cell::new(false) };
    /// What the inputs of this thread that were asked remember.
    static INPUTS: RefCell<Vec<Weak<AskedInput>>> = const { RefCell::new(Vec::new()) };
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

impl Question {
    /// Whether a graph with nodes of these serial numbers may be made of the answer.
    fn concerns(&self, serials: &[u64]) -> bool {
        serials.iter().any(|&s| self.from < s && s <= self.until)
    }
}

/// What one input remembers.
pub(super) struct AskedInput {
    /// The number that tells inputs apart.
    pub(super) id: u64,
    pub(super) name: Option<String>,
    /// The shape that the input has now.
    shape: RefCell<Shape>,
    questions: RefCell<Vec<Question>>,
}

impl AskedInput {
    /// The answers that a graph with nodes of these serial numbers may be made of.
    pub(super) fn within(&self, serials: &[u64]) -> Vec<Length> {
        let questions = self.questions.borrow();
        let concerned = questions.iter().filter(|q| q.concerns(serials));
        concerned.map(|q| q.answer.clone()).collect()
    }

    /// Of those the ones that are not true any more, and the shape that the input has instead.
    pub(super) fn outdated(&self, serials: &[u64]) -> Option<(Vec<Length>, Shape)> {
        let (questions, shape) = (self.questions.borrow(), self.shape.borrow());
        let outdated =
            |q: &&Question| !q.answer.is_of(&shape) && q.until < u64::MAX && q.concerns(serials);
        let found: Vec<Length> = questions
            .iter()
            .filter(outdated)
            .map(|q| q.answer.clone())
            .collect();
        (!found.is_empty()).then(|| (found, shape.clone()))
    }
}

/// The questions that an input was asked. Public as the trait `Node` is.
#[derive(Default)]
pub struct Asked(OnceCell<Rc<AskedInput>>);

impl Asked {
    /// Remembers an answer, given when node `now` was the latest, by an input with this number, name
    /// and shape.
    pub(super) fn ask(
        &self,
        answer: Length,
        now: u64,
        (id, name, shape): (u64, Option<&str>, &Shape),
    ) {
        let input = self.0.get_or_init(|| {
            let input = Rc::new(AskedInput {
                id,
                name: name.map(str::to_owned),
                shape: RefCell::new(shape.clone()),
                questions: RefCell::default(),
            });
            ANY.with(|any| any.set(true));
            INPUTS.with_borrow_mut(|inputs| {
                inputs.retain(|other| other.strong_count() > 0);
                inputs.push(Rc::downgrade(&input));
            });
            input
        });
        let mut questions = input.questions.borrow_mut();
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

    /// The answers are no longer true for nodes after `now`, since the input has another shape.
    pub(super) fn end(&self, now: u64, shape: &Shape) {
        let Some(input) = self.0.get() else {
            return;
        };
        input.shape.borrow_mut().clone_from(shape);
        for question in &mut *input.questions.borrow_mut() {
            question.until = question.until.min(now);
        }
    }

    /// As [`AskedInput::within`].
    pub(super) fn within(&self, serials: &[u64]) -> Vec<Length> {
        let input = self.0.get();
        input.map_or_else(Vec::new, |input| input.within(serials))
    }
}

/// What the inputs of this thread that were asked remember, but those with numbers that `known`
/// says.
pub(super) fn inputs(known: impl Fn(u64) -> bool) -> Vec<Rc<AskedInput>> {
    let living = |inputs: &Vec<Weak<AskedInput>>| -> Vec<Rc<AskedInput>> {
        let living = inputs.iter().filter_map(Weak::upgrade);
        living.filter(|input| !known(input.id)).collect()
    };
    INPUTS.with_borrow(living)
}
