//! A function of the ir, ready to run: as machine code where there can be any, else by the interpreter.
//!
//! Both give the same results to the bit, but for the sign and payload of NaN. The environment variable
//! `WYRMLING_JIT=0`, read once, asks for the interpreter; so do the cargo features without `jit`.

use super::Outcome;
use super::interpreter::{check_arguments, interpret_checked};
use crate::error::Result;
use crate::ir::{Datum, Function};

#[cfg(all(feature = "jit", unix, target_arch = "x86_64"))]
use super::native::{Native, Unsupported};

/// No machine code.
#[cfg(not(all(feature = "jit", unix, target_arch = "x86_64")))]
#[derive(Debug)]
enum Native {}

#[cfg(not(all(feature = "jit", unix, target_arch = "x86_64")))]
impl Native {
    fn run(&self, _: &[Datum]) -> Option<Result<Outcome>> {
        match *self {}
    }
}

/// Why there is no machine code where nobody wants any.
const UNWANTED: &str = "the interpreter is asked for";

/// A function that runs, in any number of threads at once.
#[derive(Debug)]
pub struct Compiled {
    function: Function,
    native: Result<Native, &'static str>,
}

/// Machine code for a function that is well formed, or why there is none.
#[cfg(all(feature = "jit", unix, target_arch = "x86_64"))]
fn native(function: &Function) -> Result<Native, &'static str> {
    use std::sync::OnceLock;
    static WANTED: OnceLock<bool> = OnceLock::new();
    let wanted = || std::env::var_os("WYRMLING_JIT").is_none_or(|value| value != "0");
    match *WANTED.get_or_init(wanted) {
        true => Native::compile(function).map_err(|Unsupported(what)| what),
        false => Err(UNWANTED),
    }
}

#[cfg(not(all(feature = "jit", unix, target_arch = "x86_64")))]
fn native(_: &Function) -> Result<Native, &'static str> {
    Err("it is not compiled for this processor or system, or without the feature jit")
}

impl Compiled {
    /// Prepares a function.
    ///
    /// # Errors
    /// As [`Function::check`].
    pub fn new(function: Function) -> Result<Self> {
        function.check()?;
        let native = native(&function);
        Ok(Compiled { function, native })
    }

    /// Prepares a function for the interpreter alone.
    ///
    /// # Errors
    /// As [`Function::check`].
    pub fn interpreted(function: Function) -> Result<Self> {
        function.check()?;
        Ok(Compiled {
            function,
            native: Err(UNWANTED),
        })
    }

    /// The function.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Whether it runs as machine code.
    pub fn is_native(&self) -> bool {
        self.native.is_ok()
    }

    /// Why it does not run as machine code.
    pub fn why_interpreted(&self) -> Option<&'static str> {
        self.native.as_ref().err().copied()
    }

    /// Runs the function.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if the number of arguments is wrong,
    /// [`Error::Type`](crate::Error::Type) if one is of another kind than the parameter, what ends
    /// long work, [`Error::Memory`](crate::Error::Memory), and whatever an operator reports.
    pub fn run(&self, args: &[Datum]) -> Result<Outcome> {
        match &self.native {
            Ok(native) => match native.run(args) {
                Some(outcome) => outcome,
                None => {
                    check_arguments(&self.function, args)?;
                    interpret_checked(&self.function, args, None)
                }
            },
            Err(_) => interpret_checked(&self.function, args, None),
        }
    }
}
