//! The types of what rules give: products that are wrong are refused where they enter.

use wyrmling::array::{View, ViewMut};
use wyrmling::graph::{Independent, Parameter};
use wyrmling::optim::Optimizer;
use wyrmling::rules::{self, Ex, Key, Operator};
use wyrmling::{Array, DType, Error, Input, Result, Type, Variable};

use crate::common::fit::{column, fit, once};
use crate::common::operators::{apply, reals, results};

/// Which rule of an operator is wrong, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fault {
    VjpShape,
    VjpType,
    JvpShape,
    JvpType,
    /// The vector-Jacobian product has three elements, however many the operand has.
    VjpLength,
}

/// The identity with a rule that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Faulty(Fault);

impl Faulty {
    fn wrong<'t>(self, x: Ex<'t>) -> Ex<'t> {
        match self.0 {
            Fault::VjpShape | Fault::JvpShape => x.expand_dims(&[0]),
            Fault::VjpType | Fault::JvpType => x.with_new(rules::Cast { dtype: DType::F32 }, &[]),
            Fault::VjpLength => {
                let shape = [3].as_slice().into();
                x.constant(1.0).with_new(rules::BroadcastTo { shape }, &[])
            }
        }
    }
}

impl Operator for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }
    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        results(&mut out).copy_from_slice(reals(&args[0]));
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        match self.0 {
            Fault::JvpShape | Fault::JvpType => Some(g),
            _ => Some(self.wrong(g)),
        }
    }
    fn jvp<'t>(&self, _: usize, t: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        matches!(self.0, Fault::JvpShape | Fault::JvpType).then(|| self.wrong(t))
    }
}

/// Asserts that a product of another type was refused, by an error that names all there is to name.
#[track_caller]
fn refused<T>(result: Result<T>, fault: Fault, rule: &str) {
    let error = result.err().expect("a wrong product is refused");
    let kind = match fault {
        Fault::VjpType | Fault::JvpType => matches!(error, Error::Type(_)),
        _ => matches!(error, Error::Shape(_)),
    };
    assert!(kind, "{error:?}");
    let text = error.to_string();
    let found = match fault {
        Fault::VjpShape | Fault::JvpShape => "float64 of shape (1, 4)",
        Fault::VjpType | Fault::JvpType => "float32 of shape (4,)",
        Fault::VjpLength => "float64 of shape (3,)",
    };
    for part in [
        "faulty",
        rule,
        "operand 0",
        found,
        "expected float64 of shape (4,)",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn a_gradient_of_another_type_is_refused_wherever_it_enters() -> Result<()> {
    for fault in [Fault::VjpShape, Fault::VjpType, Fault::VjpLength] {
        // Straight from the rule to a leaf, and to a node between.
        for between in [false, true] {
            let parameter = Parameter::new(vec![1.0, 2.0, 3.0, 4.0]);
            let leaf = Independent::new(vec![1.0, 2.0, 3.0, 4.0])?;
            for x in [parameter.clone().boxed(), leaf.clone().boxed()] {
                let inner = if between {
                    (x.clone() * 2.0).boxed()
                } else {
                    x.clone()
                };
                let y = apply(Faulty(fault), [&inner])?;
                let loss = (y.sum() + x.clone().sum()).boxed();
                refused(loss.try_backward(), fault, "vjp");
                refused(loss.gradients(&[&x]), fault, "vjp");
                refused(loss.freeze(), fault, "vjp");
                let direction = Independent::new(vec![1.0; 4])?.boxed();
                let forward = Variable::tangents(&[&loss], &[&x], &[&direction]);
                refused(forward, fault, "vjp");
            }
            assert!(
                parameter.grad().is_none() && leaf.grad().is_none(),
                "half changed"
            );
        }
    }
    for fault in [Fault::JvpShape, Fault::JvpType] {
        let x = Parameter::new(vec![1.0, 2.0, 3.0, 4.0]).boxed();
        let loss = apply(Faulty(fault), [&x])?.sum().boxed();
        let direction = Independent::new(vec![1.0; 4])?.boxed();
        refused(
            Variable::tangents(&[&loss], &[&x], &[&direction]),
            fault,
            "jvp",
        );
        refused(loss.freeze()?.tangent(), fault, "jvp");
        loss.try_backward()?;
    }
    Ok(())
}

#[test]
fn every_node_that_moves_has_a_tangent() -> Result<()> {
    let (x, y) = (Parameter::new(2.0).boxed(), Parameter::new(3.0).boxed());
    let loss = (x.clone() * y.clone()).boxed();
    let one = Independent::new(1.0)?.boxed();
    for tangents in [&[][..], &[&one], &[&one, &one, &one]] {
        let found = Variable::tangents(&[&loss], &[&x, &y], tangents);
        assert!(matches!(found, Err(Error::Value(_))), "{}", tangents.len());
    }
    let found = Variable::tangents(&[&loss], &[&x, &y], &[&one, &one])?;
    assert_eq!(found[0].as_ref().map(Variable::item), Some(Ok(5.0)));
    Ok(())
}

/// A loss over an input whose gradient is right for three samples only.
fn fits_three() -> Result<(Parameter, Variable, Input)> {
    let parameter = Parameter::new(vec![2.0]);
    let x = Input::new(vec![1.0, 2.0, 3.0]);
    let scaled = (parameter.clone() * x.clone()).boxed();
    Ok((
        parameter,
        apply(Faulty(Fault::VjpLength), [&scaled])?.sum().boxed(),
        x,
    ))
}

#[test]
fn a_program_checks_gradients_for_the_lengths_that_it_runs_on() -> Result<()> {
    let (parameter, loss, x) = fits_three()?;
    let program = loss.freeze()?;
    let three: Array = vec![1.0, 2.0, 3.0].into();
    let four: Array = vec![1.0, 2.0, 3.0, 4.0].into();
    program.value_and_grad(std::slice::from_ref(&three))?;
    program.run(std::slice::from_ref(&four))?;
    refused(
        program.value_and_grad(std::slice::from_ref(&four)),
        Fault::VjpLength,
        "vjp",
    );
    // The tangent is had by that rule too, and so is the tangent's gradient.
    let tangent = program.tangent()?;
    let direction: Array = vec![1.0].into();
    tangent.run(&[three, direction.clone()])?;
    refused(tangent.run(&[four, direction]), Fault::VjpLength, "vjp");
    // Four samples a batch, of eight.
    let setting = once(vec![column(&x, vec![0.5; 8])], 4);
    let trained = fit(&program, &setting, &Optimizer::sgd(0.1)?);
    refused(trained, Fault::VjpLength, "vjp");
    assert_eq!(parameter.value()?.to_f64(), [2.0]);
    Ok(())
}
