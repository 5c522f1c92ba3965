//! What can go wrong, by the kind of mistake the caller made.
//!
//! Every fallible function of the crate returns [`Result`]. The kinds mirror
//! Python's built-in exceptions and NumPy's, so that the binding maps them one to one, and
//! each message names the argument, the value found and what was expected.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

/// A failure that the caller can understand and repair.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Shapes that do not fit together (Python: `ValueError`).
    #[error("{0}")]
    Shape(String),
    /// An axis that an array has not (Python: `numpy.exceptions.AxisError`).
    #[error("{0}")]
    Axis(String),
    /// A value outside what the operation accepts (Python: `ValueError`).
    #[error("{0}")]
    Value(String),
    /// A data type that does not fit (Python: `TypeError`).
    #[error("{0}")]
    Type(String),
    /// An index out of range (Python: `IndexError`).
    #[error("{0}")]
    Index(String),
    /// An object that is busy or belongs to another thread (Python: `RuntimeError`).
    #[error("{0}")]
    State(String),
    /// Memory that cannot be had (Python: `MemoryError`).
    #[error("{0}")]
    Memory(String),
    /// A number that became NaN or infinite (Python: `FloatingPointError`).
    #[error("{0}")]
    NotFinite(String),
    /// A matrix that has no such decomposition, also because it is not square, or none at all
    /// (Python: `numpy.linalg.LinAlgError`).
    #[error("{0}")]
    LinAlg(String),
    /// A file that could not be read or written, and why (Python: the `OSError` of that kind).
    #[error("{0}")]
    File(String, ErrorKind),
    /// What code of the caller's raised, such as a hook or an operator of its own (Python: that
    /// exception).
    #[error(transparent)]
    Raised(Raised),
    /// The caller asked to stop (Python: the pending exception, or `KeyboardInterrupt`).
    #[error("interrupted")]
    Interrupted,
}

/// An error of the caller's own code, whatever it is.
#[derive(Debug, Clone)]
pub struct Raised(Arc<dyn std::error::Error + Send + Sync>);

impl Raised {
    /// Carries an error.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Raised(Arc::new(error))
    }

    /// The error.
    pub fn get(&self) -> &(dyn std::error::Error + 'static) {
        &*self.0
    }
}

impl PartialEq for Raised {
    /// Whether it is the very same error: of any, nothing else can be compared.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Raised {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// The result of every fallible function here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn what_caused_an_error_of_the_callers_is_found_through_ours() {
        #[derive(Debug, thiserror::Error)]
        #[error("no row {0}")]
        struct NoRow(u32, #[source] fmt::Error);

        let error = Error::Raised(Raised::new(NoRow(3, fmt::Error)));
        assert_eq!(error.to_string(), "no row 3");
        assert!(
            error
                .source()
                .is_some_and(|source| source.is::<fmt::Error>())
        );
        let Error::Raised(raised) = &error else {
            panic!("{error:?}")
        };
        assert!(raised.get().is::<NoRow>());
    }
}
