//! Products of matrices, forward and backward, of two parameters.

use std::hint::black_box;

use wyrm::ParameterNode;

use crate::clock::{Line, Sides, Work, line};
use crate::work::{parameter, theirs};

pub fn lines() -> Vec<Line> {
    vec![
        line("product (64, 64) (64, 1)", || product([64, 64, 1])),
        line("product (10, 32) (32, 10)", || product([10, 32, 10])),
        line("product (64, 64) (64, 64)", || product([64; 3])),
        line("product (4, 4) (4, 4)", || product([4; 3])),
        line("product (16, 16) (16, 16)", || product([16; 3])),
        line("product (1, 64) (64, 64)", || product([1, 64, 64])),
        line("node_reuse (1, 128) (128, 10)", reused),
    ]
}

/// A product and its gradients. The value of a parameter is set anew, lest ours be taken from before.
fn product([rows, inner, columns]: [usize; 3]) -> Sides {
    let (x, y) = (
        ParameterNode::new(theirs(rows, inner)),
        ParameterNode::new(theirs(inner, columns)),
    );
    let mut z = x.dot(&y);
    let wyrm: Work = Box::new(move |count| {
        for _ in 0..count {
            z.forward();
            z.backward(1.0);
            z.zero_gradient();
        }
    });
    let (x, y) = (parameter(rows, inner), parameter(inner, columns));
    let z = x.clone().matmul(y.clone());
    let program = z.freeze().expect("the graph has been evaluated");
    let value = y.value().expect("a value");
    let typed: Work = Box::new(move |count| {
        for _ in 0..count {
            y.set_value(value.clone()).expect("the same shape");
            z.backward();
            x.zero_grad();
            y.zero_grad();
        }
    });
    let frozen: Work = Box::new(move |count| {
        for _ in 0..count {
            let _ = black_box(program.value_and_grad(&[]));
        }
    });
    Sides {
        wyrm,
        typed,
        trainer: None,
        frozen,
    }
}

/// wyrm's own benchmark `node_reuse`: a product that is added four times.
fn reused() -> Sides {
    let (x, y) = (
        ParameterNode::new(theirs(1, 128)),
        ParameterNode::new(theirs(128, 10)),
    );
    let v = x.dot(&y);
    let mut z = v.clone() + v.clone() + v.clone() + v;
    let wyrm: Work = Box::new(move |count| {
        for _ in 0..count {
            z.forward();
            z.backward(1.0);
            z.zero_gradient();
        }
    });
    let (x, y) = (parameter(1, 128), parameter(128, 10));
    let v = x.clone().matmul(y.clone());
    let z = v.clone() + v.clone() + v.clone() + v;
    let program = z.freeze().expect("the graph has been evaluated");
    let value = x.value().expect("a value");
    let typed: Work = Box::new(move |count| {
        for _ in 0..count {
            x.set_value(value.clone()).expect("the same shape");
            z.backward();
            x.zero_grad();
            y.zero_grad();
        }
    });
    let frozen: Work = Box::new(move |count| {
        for _ in 0..count {
            let _ = black_box(program.value_and_grad(&[]));
        }
    });
    Sides {
        wyrm,
        typed,
        trainer: None,
        frozen,
    }
}
