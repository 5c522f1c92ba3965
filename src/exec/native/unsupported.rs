//! Why a function does not become machine code.

/// Why there is no machine code: the function is run by the interpreter instead.
#[derive(Debug)]
pub(in crate::exec) struct Unsupported(pub(in crate::exec) &'static str);

/// What translating gives.
pub(super) type Translated<T = ()> = std::result::Result<T, Unsupported>;
