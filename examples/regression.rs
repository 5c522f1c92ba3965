//! A line through one point: the value of an expression, and its gradient.

use wyrmling::{Input, Parameter, Result};

/// Builds a loss, reads its gradient, and goes down it until the line fits.
///
/// # Errors
/// None, with these numbers.
pub fn main() -> Result<()> {
    let (slope, intercept) = (Parameter::new(1.0), Parameter::new(0.0));
    let (x, y) = (Input::new(3.0), Input::new(7.0));
    // The graph is built, and evaluated, as the expression is written. A clone of a
    // variable is the same node.
    let loss = (y - (slope.clone() * x.clone() + intercept.clone())).square();
    loss.backward();
    let gradient = |p: &Parameter| p.grad().map_or(Ok(0.0), |g| g.to_dense().item());
    println!("loss {}", loss.item()?);
    println!("gradient {} {}", gradient(&slope)?, gradient(&intercept)?);
    assert_eq!((gradient(&slope)?, gradient(&intercept)?), (-24.0, -8.0));

    for _ in 0..10 {
        for parameter in [&slope, &intercept] {
            parameter.set_value(parameter.item()? - 0.04 * gradient(parameter)?)?;
        }
        loss.zero_grad();
        loss.backward();
    }
    println!("line {:.3} x + {:.3}", slope.item()?, intercept.item()?);
    println!("loss {:.6}", loss.item()?);
    assert!(loss.item()? < 1e-3);

    // Data is assigned; whatever depends on it is computed anew when it is read.
    x.set_value(0.0)?;
    println!("loss at x = 0 {:.3}", loss.item()?);
    Ok(())
}
