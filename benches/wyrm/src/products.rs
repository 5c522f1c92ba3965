//! Products of matrices, forward and backward, of two parameters.

use std::hint::black_box;

use wyrm::ParameterNode;
use wyrmling::graph::IntoDyn;
use wyrmling::{Parameter, Variable};

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

/// A product and its gradients.
fn product([rows, inner, columns]: [usize; 3]) -> Sides {
    let (x, y) = (
        ParameterNode::new(theirs(rows, inner)),
        ParameterNode::new(theirs(inner, columns)),
    );
    let z = x.dot(&y);
    let (x, y) = (parameter(rows, inner), parameter(inner, columns));
    sides(z, x.clone().matmul(y.clone()), [x, y])
}

/// wyrm's own benchmark `node_reuse`: a product that is added four times.
fn reused() -> Sides {
    let (x, y) = (
        ParameterNode::new(theirs(1, 128)),
        ParameterNode::new(theirs(128, 10)),
    );
    let v = x.dot(&y);
    let z = v.clone() + v.clone() + v.clone() + v;
    let (x, y) = (parameter(1, 128), parameter(128, 10));
    let v = x.clone().matmul(y.clone());
    sides(z, v.clone() + v.clone() + v.clone() + v, [x, y])
}

/// The value and the gradients of wyrm's `theirs` and of `ours`, which is of two parameters. One of these is
/// set anew each time, lest our value be that of before.
fn sides<T, N>(
    mut theirs: wyrm::Variable<T>,
    ours: Variable<N>,
    parameters: [Parameter; 2],
) -> Sides
where
    T: wyrm::Node<Value = wyrm::Arr, InputGradient = wyrm::Arr>,
    N: IntoDyn,
{
    let wyrm: Work = Box::new(move |count| {
        for _ in 0..count {
            theirs.forward();
            theirs.backward(1.0);
            theirs.zero_gradient();
        }
    });
    let program = ours.freeze().expect("the graph has been evaluated");
    let value = parameters[1].value().expect("a value");
    let typed: Work = Box::new(move |count| {
        for _ in 0..count {
            parameters[1]
                .set_value(value.clone())
                .expect("the same shape");
            ours.backward();
            parameters.iter().for_each(Parameter::zero_grad);
        }
    });
    let mut results = program.value_and_grad(&[]).expect("finite numbers");
    let frozen: Work = Box::new(move |count| {
        for _ in 0..count {
            let done = program.value_and_grad_into(&[], black_box(&mut results));
            done.expect("finite numbers");
        }
    });
    Sides {
        wyrm,
        typed,
        trainer: None,
        frozen,
    }
}
