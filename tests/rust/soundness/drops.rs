//! Operators and hooks that do anything when they are dropped: build and differentiate graphs, run programs,
//! change leaves and tables, train.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wyrmling::array::{View, ViewMut};
use wyrmling::exec::{Compiled, Program};
use wyrmling::graph::{Hook, Independent};
use wyrmling::ir::{Builder, Terminator};
use wyrmling::optim::Optimizer;
use wyrmling::rules::{Ex, OpRef, Operator};
use wyrmling::train::Trainer;
use wyrmling::{Gradient, Input, Parameter, Result, Table, Type, Variable};

use crate::common::operators::{reals, results};

type Work = Box<dyn Fn()>;

thread_local! {
    /// What is done whenever an operator of this thread is dropped.
    static WORK: RefCell<Option<Rc<Work>>> = const { RefCell::new(None) };
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

fn work() {
    DROPPED.fetch_add(1, Ordering::Relaxed);
    let work = WORK.try_with(|work| work.borrow().clone()).ok().flatten();
    if let Some(work) = work {
        work();
    }
}

/// Its operand.
#[derive(Debug)]
struct Dropping;

impl Drop for Dropping {
    fn drop(&mut self) {
        work();
    }
}

impl Operator for Dropping {
    fn name(&self) -> &str {
        "dropping"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        results(&mut out).copy_from_slice(reals(&args[0]));
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        // An operator of its own, which is dropped with what was made of it.
        Some(g.with_new(Dropping, &[]))
    }
}

impl Hook for Dropping {
    fn gradient(&self, _: Gradient) -> Result<Option<Gradient>> {
        Ok(None)
    }
    fn node(&self, _: Variable) -> Result<Option<Variable>> {
        Ok(None)
    }
}

/// `(x w)²` by way of an operator.
fn loss(x: &Input, w: &Parameter) -> Result<Variable> {
    let product = (x.clone() * w.clone()).boxed();
    Ok(Variable::apply(OpRef::new(Dropping), &[product])?
        .square()
        .sum()
        .boxed())
}

/// Everything that holds an operator, made and dropped. A pass in which a drop sets a leaf is refused.
fn all(x: &Input, w: &Parameter, program: &Program) -> Result<()> {
    let y = loss(x, w)?;
    for _ in 0..40 {
        x.set_value(vec![1.0, 2.0])?;
        drop(y.try_backward());
        w.zero_grad();
    }
    let leaf = w.clone().boxed();
    drop(y.gradients(&[&leaf]));
    drop(y.gradient_values(None, &[&leaf]));
    let frozen = y.freeze()?;
    for n in 1..20 {
        // More plans than a program keeps, of inputs that broadcast.
        let shape = if n % 2 == 0 {
            vec![1.0; 2]
        } else {
            vec![n.into(); 1]
        };
        drop(frozen.value_and_grad(&[shape.into()]));
    }
    drop(frozen.tangent());
    drop(frozen);
    drop(program.run(&[vec![1.0, 2.0].into()]));
    let sgd = Optimizer::sgd(0.0)?;
    if let Ok(mut trainer) = Trainer::new(&y, &sgd) {
        drop(trainer.step());
    }
    let id = y.register_hook(Rc::new(Dropping))?;
    y.register_hook(Rc::new(Dropping))?;
    y.remove_hook(id);
    drop(y);
    let b = Builder::new();
    let p = b.parameter(Type::new(wyrmling::DType::F64, &[2]));
    let q = b.try_apply(OpRef::new(Dropping), &[p])?;
    b.terminate(Terminator::Return(vec![q]));
    let compiled = Compiled::new(b.finish("dropping")?)?;
    compiled.run(&[wyrmling::Array::from(vec![1.0, 2.0]).into()])?;
    Ok(())
}

/// Lets drops do any of the above, some hundred times: what is made in a drop is dropped, too.
fn busy() -> (Input, Parameter, Rc<Program>) {
    let (x, w) = (Input::new(vec![1.0, 2.0]), Parameter::new(vec![3.0, 4.0]));
    let program = Rc::new(
        loss(&x, &w)
            .expect("operands fit")
            .freeze()
            .expect("operands fit"),
    );
    let (inner_x, inner_w, inner) = (x.clone(), w.clone(), Rc::clone(&program));
    let left = Cell::new(200);
    let work = move || {
        let number = left.get();
        if number == 0 {
            return;
        }
        left.set(number - 1);
        inner_x
            .set_value(vec![f64::from(number), 2.0])
            .expect("operands fit");
        inner.run(&[vec![1.0, 2.0].into()]).expect("operands fit");
        let y = (inner_x.clone() * inner_w.clone()).square().sum();
        // Within a backward pass this is refused.
        drop(y.try_backward());
        if number % 50 == 0 {
            drop(all(&inner_x, &inner_w, &inner));
        }
        // What is being trained, or read by a call that this is a part of, says so.
        drop(inner_w.set_value(vec![3.0, 4.0]));
    };
    WORK.set(Some(Rc::new(Box::new(work))));
    (x, w, program)
}

#[test]
fn a_drop_may_do_anything() {
    let (x, w, program) = busy();
    let before = DROPPED.load(Ordering::Relaxed);
    for _ in 0..4 {
        all(&x, &w, &program).unwrap();
        w.zero_grad();
    }
    assert!(DROPPED.load(Ordering::Relaxed) > before + 100);
    WORK.set(None);
    // Nothing is left under way: values and gradients are right.
    all(&x, &w, &program).unwrap();
    x.set_value(vec![1.0, 2.0]).unwrap();
    w.set_value(vec![3.0, 4.0]).unwrap();
    w.zero_grad();
    let y = loss(&x, &w).unwrap();
    y.backward();
    w.zero_grad();
    y.backward();
    assert_eq!(y.item().unwrap(), 9.0 + 64.0);
    assert_eq!(w.grad().unwrap().to_dense().to_f64(), [6.0, 32.0]);
}

#[test]
fn a_drop_at_the_end_of_a_thread_finds_it_as_it_is() {
    let table = Arc::new(Table::new(&vec![3.0, 4.0].into(), None).unwrap());
    for _ in 0..4 {
        let table = Arc::clone(&table);
        let thread = std::thread::spawn(move || {
            thread_local! {
                static KEPT: RefCell<Vec<Variable>> = const { RefCell::new(Vec::new()) };
            }
            // It is dropped when the thread's other locals may be gone.
            let (x, w) = (Input::new(vec![1.0, 2.0]), Parameter::shared(table));
            KEPT.with_borrow_mut(|kept| kept.push(loss(&x, &w).unwrap()));
            let (x, w, program) = busy();
            drop(all(&x, &w, &program));
            KEPT.with_borrow_mut(|kept| kept.push(loss(&x, &w).unwrap()));
        });
        thread.join().unwrap();
    }
    assert_eq!(table.read().to_f64(), [3.0, 4.0]);
}

#[test]
fn a_leaf_set_to_its_own_elements_keeps_them() {
    let x = Input::new(vec![1.0, 2.0, 3.0]);
    let y = x.clone() * 2.0;
    let own = x.value().unwrap();
    let wyrmling::Array::F64(elements) = &own else {
        panic!("numbers are float64")
    };
    x.set_slice(elements.as_slice()).unwrap();
    assert_eq!(y.value().unwrap().to_f64(), [2.0, 4.0, 6.0]);
    x.set_slice(&elements.as_slice()[1..]).unwrap();
    assert_eq!(y.value().unwrap().to_f64(), [4.0, 6.0]);
    assert_eq!(own.to_f64(), [1.0, 2.0, 3.0]);
    let x = Independent::new(vec![1.0, 2.0]).unwrap();
    x.set_value(x.value().unwrap()).unwrap();
    assert_eq!(x.value().unwrap().to_f64(), [1.0, 2.0]);
    let w = Parameter::new(vec![5.0, 6.0]);
    w.set_value(w.value().unwrap()).unwrap();
    let table = w.param().table();
    table.write(&table.read()).unwrap();
    assert_eq!(w.value().unwrap().to_f64(), [5.0, 6.0]);
}
