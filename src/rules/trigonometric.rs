//! Trigonometric and hyperbolic functions, and their inverses.

use super::elementwise::elementwise;

/// Everywhere.
const ALL: &[(f64, f64)] = &[(-2.0, 2.0)];

elementwise! { $
    /// Sine, of radians.
    Sin = sin, "sin(x)", "DLMF 4.14.1",
    (x) => x.v_sin(),
    vjp(g, y) = [Some(g * x.cos())],
    domain = [ALL],
    numpy = ["sin"];

    /// Cosine, of radians.
    Cos = cos, "cos(x)", "DLMF 4.14.2",
    (x) => x.v_cos(),
    vjp(g, y) = [Some(-(g * x.sin()))],
    domain = [ALL],
    numpy = ["cos"];

    /// Tangent, of radians.
    Tan = tan, "tan(x)", "DLMF 4.14.4",
    (x) => x.tan(),
    vjp(g, y) = [Some(g * (y * y + 1.0))],
    domain = [&[(-1.0, 1.0)]],
    numpy = ["tan"];

    /// Hyperbolic tangent.
    Tanh = tanh, "tanh(x)", "DLMF 4.28.4",
    (x) => x.v_tanh(),
    vjp(g, y) = [Some(g * (1.0 - y * y))],
    domain = [ALL],
    numpy = ["tanh"];
}
