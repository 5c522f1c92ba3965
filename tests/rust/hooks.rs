//! Hooks on gradients, and what a graph tells of what is below a node.

use std::cell::RefCell;
use std::rc::Rc;

use wyrmling::graph::{Constant, Hook, Independent, Parameter};
use wyrmling::rules::SliceItem;
use wyrmling::{Array, DType, Error, Gradient, Input, Result, Type, Variable};

/// What a hook does with a gradient, and those that it has seen.
struct Seen<F> {
    change: F,
    found: RefCell<Vec<Vec<f64>>>,
}

impl<F: Fn(Array) -> Result<Option<Array>> + 'static> Seen<F> {
    fn new(change: F) -> Rc<Self> {
        let found = RefCell::default();
        Rc::new(Seen { change, found })
    }
}

impl<F: Fn(Array) -> Result<Option<Array>> + 'static> Hook for Seen<F> {
    fn gradient(&self, g: Gradient) -> Result<Option<Gradient>> {
        let g = g.to_dense();
        self.found.borrow_mut().push(g.to_f64());
        Ok((self.change)(g)?.map(Gradient::Dense))
    }
    fn node(&self, g: Variable) -> Result<Option<Variable>> {
        let changed = (self.change)(g.value()?)?;
        Ok(changed.map(|g| Constant::new(g).boxed()))
    }
}

fn array(values: [f64; 2]) -> Array {
    values.to_vec().into()
}

/// `Σ x² y` and its leaves.
fn model() -> Result<(Independent, Variable, Variable)> {
    let x = Independent::new(array([1.0, 2.0]))?;
    let square = x.clone().square().boxed();
    let loss = (square.clone() * Constant::new(array([3.0, 4.0])))
        .sum()
        .boxed();
    Ok((x, square, loss))
}

#[test]
fn hooks_see_and_change_gradients() -> Result<()> {
    let (x, square, loss) = model()?;
    let first = Seen::new(|_| Ok(None));
    let second = Seen::new(|_| Ok(Some(array([10.0, 20.0]))));
    let third = Seen::new(|_| Ok(None));
    let hooks: [Rc<dyn Hook>; 3] = [first.clone(), second.clone(), third.clone()];
    let ids = hooks.map(|hook| square.register_hook(hook));
    let [a, b, c] = ids.map(|id| id.expect("a gradient flows here"));
    assert!(a != b && b != c && a != c);
    let gradient = |x: &Independent| {
        x.zero_grad();
        loss.try_backward()?;
        let found = x.grad().expect("it is collected").to_dense().to_f64();
        let gradients = loss.gradients(&[&x.clone().boxed()])?;
        let graph = gradients[0].as_ref().expect("it flows").value()?;
        assert_eq!(graph.to_f64(), found);
        Ok::<_, Error>(found)
    };
    assert_eq!(gradient(&x)?, [20.0, 80.0]);
    assert_eq!(*first.found.borrow(), [[3.0, 4.0]]);
    assert_eq!(*second.found.borrow(), [[3.0, 4.0]]);
    assert_eq!(*third.found.borrow(), [[10.0, 20.0]]);
    square.remove_hook(b);
    square.remove_hook(b + 1000);
    assert_eq!(gradient(&x)?, [6.0, 16.0]);
    assert_eq!(third.found.borrow()[1], [3.0, 4.0]);
    assert!(matches!(loss.freeze(), Err(Error::Type(_))));
    square.remove_hook(a);
    square.remove_hook(c);
    assert!(loss.freeze().is_ok());
    assert_eq!(gradient(&x)?, [6.0, 16.0]);
    assert_eq!(first.found.borrow().len(), 2);
    Ok(())
}

#[test]
fn hooks_that_do_not_fit_are_refused() -> Result<()> {
    let (x, square, loss) = model()?;
    let id = square.register_hook(Seen::new(|_| Ok(Some(vec![1.0; 3].into()))))?;
    assert!(matches!(loss.try_backward(), Err(Error::Shape(_))));
    assert!(x.grad().is_none());
    let x = x.boxed();
    assert!(matches!(loss.gradients(&[&x]), Err(Error::Shape(_))));
    square.remove_hook(id);
    // At a leaf no rule stands behind the hook that would refuse what it gives.
    type Change = fn(Array) -> Result<Option<Array>>;
    let wrong: [Change; 3] = [
        |_| Ok(Some(vec![1.0; 3].into())),
        |_| Ok(Some(vec![1.0f32; 2].into())),
        |_| Ok(Some(Array::full(&Type::new(DType::F64, &[1, 2]), 1.0))),
    ];
    for change in wrong {
        let id = x.register_hook(Seen::new(change))?;
        for result in [loss.try_backward(), loss.gradients(&[&x]).map(|_| ())] {
            let error = result.expect_err("it does not fit");
            let text = error.to_string();
            let expected = "hook: expected a gradient of float64 and shape (2,), got ";
            assert!(text.contains(expected), "{text}");
            let is_of_type = text.contains("got float32");
            assert_eq!(matches!(error, Error::Type(_)), is_of_type, "{error:?}");
            assert_eq!(matches!(error, Error::Shape(_)), !is_of_type, "{error:?}");
        }
        assert!(x.grad().is_none());
        x.remove_hook(id);
    }
    assert!(
        Input::new(1.0)
            .register_hook(Seen::new(|_| Ok(None)))
            .is_err()
    );
    // Forward mode has no gradient to show, but for those that are in the graph already.
    let direction = Constant::new(array([1.0, 0.0])).boxed();
    let forward = |of: &Variable| Variable::tangents(&[of], &[&x], &[&direction]).map(|_| ());
    assert_eq!(forward(&loss), Ok(()));
    square.register_hook(Seen::new(|_| Ok(None)))?;
    assert!(matches!(forward(&loss), Err(Error::State(_))));
    loss.gradients(&[&x])?;
    assert_eq!(forward(&loss), Ok(()));
    Ok(())
}

/// Looks at a node, and has hooks there, when it is dropped.
struct LooksWhenDropped(Variable);

impl Hook for LooksWhenDropped {
    fn gradient(&self, _: Gradient) -> Result<Option<Gradient>> {
        Ok(None)
    }
    fn node(&self, _: Variable) -> Result<Option<Variable>> {
        Ok(None)
    }
}

impl Drop for LooksWhenDropped {
    fn drop(&mut self) {
        let hook = self.0.register_hook(Seen::new(|_| Ok(None)));
        self.0.remove_hook(hook.expect("a gradient flows here"));
        self.0.try_backward().expect("the node is whole");
    }
}

#[test]
fn a_hook_that_is_removed_may_look_at_its_node_when_it_is_dropped() -> Result<()> {
    let (x, square, _) = model()?;
    let hook = square.register_hook(Rc::new(LooksWhenDropped(square.clone())))?;
    square.remove_hook(hook + 1);
    assert!(x.grad().is_none());
    square.remove_hook(hook);
    assert_eq!(
        x.grad().expect("it is collected").to_dense().to_f64(),
        [2.0, 4.0]
    );
    Ok(())
}

/// Parts of the gradient would be of the old value, and parts of the new.
#[test]
fn a_hook_may_not_set_what_the_gradient_depends_on() -> Result<()> {
    let (x, square, loss) = model()?;
    let other = Independent::new(1.0)?;
    // What was set before counts for nothing.
    other.set_value(0.5)?;
    let sets = other.clone();
    let id = square.register_hook(Seen::new(move |_| {
        sets.set_value(2.0)?;
        Ok(None)
    }))?;
    loss.try_backward()?;
    assert_eq!(
        x.grad().expect("it is collected").to_dense().to_f64(),
        [6.0, 16.0]
    );
    square.remove_hook(id);
    x.zero_grad();
    let sets = x.clone();
    square.register_hook(Seen::new(move |_| {
        sets.set_value(array([5.0, 5.0]))?;
        Ok(None)
    }))?;
    assert!(matches!(loss.try_backward(), Err(Error::State(_))));
    assert!(x.grad().is_none());
    Ok(())
}

#[test]
fn a_node_knows_what_is_below_it() -> Result<()> {
    let input = Input::new(array([1.0, 2.0])).boxed();
    let constant = Constant::new(array([1.0, 2.0])).boxed();
    let independent = Independent::new(array([1.0, 2.0]))?.boxed();
    let traced = Constant::traced(array([1.0, 2.0]))?.boxed();
    let parameter = Parameter::new(array([1.0, 2.0])).boxed();
    assert!(Constant::traced(vec![1u32]).is_err());
    for (x, is_input, settable, is_traced) in [
        (&input, true, true, false),
        (&constant, false, false, false),
        (&independent, false, true, false),
        (&parameter, false, true, false),
        (&traced, false, false, true),
    ] {
        let below = (x.clone() * constant.clone()).sum().boxed();
        let leaf = x;
        for x in [x, &below] {
            assert_eq!(x.input_below(), is_input);
            assert_eq!(x.settable(), settable);
            assert_eq!(x.traced_below(), is_traced);
            assert!(!x.is_integer() && !x.is_boolean());
            assert_eq!(
                x.parameter_below(),
                std::ptr::eq(leaf, &raw const parameter)
            );
            assert_eq!(x.differentiable(), settable && !is_input || is_traced);
            assert!(!format!("{x:?}").is_empty());
        }
    }
    let retraced = independent.retraced()?;
    assert!(retraced.traced_below() && !independent.traced_below());
    Ok(())
}

#[test]
fn a_gradient_that_flows_to_something_else_is_noticed() -> Result<()> {
    let older = Independent::new(array([1.0, 2.0]))?.boxed();
    let node = (older.clone() * 2.0).boxed();
    let outer = Constant::traced(array([1.0, 2.0]))?.boxed();
    let outer_node = (outer.clone() * 2.0).boxed();
    let x = Constant::traced(array([1.0, 2.0]))?.boxed();
    let newer = Independent::new(array([1.0, 2.0]))?.boxed();
    let constant = Constant::new(array([1.0, 2.0])).boxed();
    let captures = |y: Variable| y.sum().boxed().captures(&[&x]).unwrap();
    assert!(!captures((x.clone() * constant.clone()).boxed()));
    assert!(!captures(constant.clone()));
    assert!(!captures(
        (x.clone() * Input::new(array([1.0, 1.0])).boxed()).boxed()
    ));
    for other in [&older, &node, &newer, &outer, &outer_node] {
        assert!(captures((x.clone() * other.clone()).boxed()));
    }
    // What was traced later is a constant by now.
    let later = Constant::traced(array([1.0, 2.0]))?.boxed();
    for other in [&later, &(later.clone() * 2.0).boxed()] {
        assert!(!captures((x.clone() * other.clone()).boxed()));
    }
    Ok(())
}

#[test]
fn inputs_that_are_tables_of_features_are_known() -> Result<()> {
    let features = Input::indices(vec![3, 1, 2, 0]);
    let rows = Input::indices(vec![0, 2]);
    let table = Parameter::new(vec![1.0, 2.0, 3.0, 4.0]).boxed();
    let of =
        |index: &Variable, at: &Input| wyrmling::graph::ops::gather(index, &at.clone().boxed());
    let looked_up = of(&features.clone().boxed(), &rows)?;
    let loss = of_table(&table, &looked_up)?;
    assert_eq!(names(&loss)?, [features.id()]);
    // A part of it is looked up in too; what is used as it is, is no such table.
    let range = SliceItem::Range {
        start: Some(1),
        stop: None,
        step: 1,
    };
    let part = wyrmling::graph::ops::slice(&features.clone().boxed(), vec![range])?;
    let both = of_table(&table, &of(&part, &rows)?)?;
    assert_eq!(names(&both)?, [features.id()]);
    let fixed = wyrmling::graph::Constant::new(vec![0u32, 2]).boxed();
    let known = wyrmling::graph::ops::gather(&features.clone().boxed(), &fixed)?;
    assert_eq!(names(&of_table(&table, &known)?)?, [features.id()]);
    // Numbers that are looked up are no indices.
    let numbers = Input::new(vec![1.0, 2.0, 3.0]);
    let looked_up = of(&numbers.boxed(), &rows)?;
    assert_eq!(names(&looked_up.sum().boxed())?, [0u64; 0]);
    let whole = of_table(&table, &features.clone().boxed())?;
    assert_eq!(names(&(loss + whole).boxed())?, [0u64; 0]);
    assert_eq!(names(&features.clone().boxed())?, [0u64; 0]);
    assert_eq!(names(&rows.boxed())?, [0u64; 0]);
    Ok(())
}

/// The inputs that are looked up in.
fn names(x: &Variable) -> Result<Vec<u64>> {
    Ok(x.looked_up()?.into_iter().map(|(id, _)| id).collect())
}

/// The sum of the rows of a table at computed indices.
fn of_table(table: &Variable, index: &Variable) -> Result<Variable> {
    Ok(wyrmling::graph::ops::gather(table, index)?.sum().boxed())
}

#[test]
fn gradients_are_had_as_numbers_too() -> Result<()> {
    let (x, _, loss) = model()?;
    let x = x.boxed();
    let other = Independent::new(1.0)?.boxed();
    let found = loss.gradient_values(None, &[&other, &x])?;
    let numbers = |g: &Option<Gradient>| g.as_ref().map(|g| g.to_dense().to_f64());
    assert_eq!(
        found.iter().map(numbers).collect::<Vec<_>>(),
        [None, Some(vec![6.0, 16.0])]
    );
    assert!(x.grad().is_none(), "nothing is recorded");
    let found = loss.gradient_values(Some(2.0.into()), &[&x])?;
    assert_eq!(numbers(&found[0]), Some(vec![12.0, 32.0]));
    assert!(
        loss.gradient_values(Some(array([1.0, 1.0])), &[&x])
            .is_err()
    );
    // The gradient of what is no leaf is not there, which is not to be taken for zero.
    let square = x.clone().square().boxed();
    let refused = square.clone().sum().gradient_values(None, &[&square]);
    assert!(matches!(refused, Err(Error::Type(text)) if text.starts_with("leaves: expected")));
    let places = wyrmling::graph::ops::argsort(&x, 0)?;
    let refused = places.gradient_values(None, &[&x]);
    assert!(matches!(refused, Err(Error::Type(text)) if text.contains("integers")));
    Ok(())
}
