//! The list of files whose operators `elementwise!` declares, below all that is made of it.

/// Calls a macro with the files of operators that `elementwise!` declares.
macro_rules! elementwise_files {
    ($callback:ident) => {
        $callback! {
            unary, binary, compare, trigonometric, gamma, incomplete_gamma, zeta, error_function,
            bessel, airy, integral
        }
    };
}
pub(crate) use elementwise_files;
