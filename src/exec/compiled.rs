//! A function of the ir, ready to run: as machine code where there can be any, else by the interpreter.
//!
//! Machine code is made for the lengths that were seen when the function was built, if all others follow
//! from those of its arguments. When arguments of other lengths come, code for any lengths is made, in which
//! arrays whose lengths are the same in both cases keep their fixed lengths. Arguments for which that does
//! not hold run code that assumes no lengths.
//! Both give the same results to the bit, but for the sign and payload of NaN. The environment variable
//! `WYRMLING_JIT=0`, read once, asks for the interpreter; so do the cargo features without `jit`.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::native::{Native, Unsupported};
use super::{Interpreter, Outcome};
use crate::array::Shape;
use crate::error::Result;
use crate::ir::{
    ArgumentLengths, Datum, Function, KnownLengths, LengthInvariant, for_lengths_seen,
    separate_entry,
};
use crate::process::Mutex;
#[cfg(feature = "python")]
use crate::rules::OpRef;

/// How a function runs.
#[derive(Debug)]
enum Way {
    Native(Native),
    /// By the interpreter, and why.
    Interpreted(Interpreter<Arc<Function>>, &'static str),
}

/// Why there is no machine code where nobody wants any.
const UNWANTED: &str = "the interpreter is asked for";

/// Machine code for arguments of certain lengths.
#[derive(Debug)]
struct Specialized {
    native: Native,
    lengths: ArgumentLengths,
}

/// Most sets of argument lengths for which it is remembered whether code fits; it is computed anew for
/// others.
const REMEMBERED: usize = 4096;

/// Machine code for arguments of several lengths.
#[derive(Debug)]
struct ForSeveral {
    native: Native,
    invariant: LengthInvariant,
    /// For which lengths of arguments what is known of others holds.
    remembered: Mutex<FxHashMap<SmallVec<[Shape; 8]>, bool>>,
}

impl ForSeveral {
    /// That of a function, by arguments of other lengths than were seen; `None` if there is no use of it.
    fn new(function: &Function, args: &[Datum]) -> Result<Option<Self>> {
        let Some(invariant) = LengthInvariant::new(function, args)? else {
            return Ok(None);
        };
        let native = native(&invariant.function, Some(&invariant.known)).ok();
        Ok(native.map(|native| ForSeveral {
            native,
            invariant,
            remembered: Mutex::default(),
        }))
    }

    /// Whether it runs on arguments of these lengths.
    fn fits(&self, args: &[Datum]) -> Result<bool> {
        let lengths = args.iter().filter_map(|arg| match arg {
            Datum::Array(array) => Some(Shape::from_slice(array.shape())),
            _ => None,
        });
        let lengths: SmallVec<[Shape; 8]> = lengths.collect();
        if let Some(&fits) = self.remembered.lock().get(&lengths) {
            return Ok(fits);
        }
        let fits = self.invariant.holds_for(args)?;
        let mut remembered = self.remembered.lock();
        if remembered.len() < REMEMBERED {
            remembered.insert(lengths, fits);
        }
        Ok(fits)
    }
}

/// A function that runs, in any number of threads at once.
#[derive(Debug)]
pub struct Compiled {
    function: Arc<Function>,
    specialized: Option<Specialized>,
    /// The code for arguments of several lengths, once there were such; `None` if no lengths stay the same.
    for_several: OnceLock<Option<ForSeveral>>,
    /// How it runs for other lengths, once there were such.
    way: OnceLock<Way>,
}

/// Machine code for a function that is well formed, or why there is none.
fn native(
    function: &Arc<Function>,
    lengths: Option<&[KnownLengths]>,
) -> Result<Native, &'static str> {
    static WANTED: OnceLock<bool> = OnceLock::new();
    let wanted = || std::env::var_os("WYRMLING_JIT").is_none_or(|value| value != "0");
    match *WANTED.get_or_init(wanted) {
        true => Native::compile(function, lengths).map_err(|Unsupported(what)| what),
        false => Err(UNWANTED),
    }
}

/// Machine code for the lengths that were seen, if there can be any.
fn specialized(function: &Function) -> Result<Option<Specialized>> {
    let Some((fixed, lengths)) = for_lengths_seen(function)? else {
        return Ok(None);
    };
    fixed.check()?;
    let known = lengths.known(&fixed);
    let native = native(&Arc::new(fixed), Some(&known)).ok();
    Ok(native.map(|native| Specialized { native, lengths }))
}

impl Compiled {
    /// Prepares a function.
    ///
    /// # Errors
    /// As [`Function::check`].
    pub fn new(function: impl Into<Arc<Function>>) -> Result<Self> {
        let function = function.into();
        function.check()?;
        let function = separate_entry(&function).map_or(function, Arc::new);
        let compiled = Compiled {
            specialized: specialized(&function)?,
            function,
            for_several: OnceLock::new(),
            way: OnceLock::new(),
        };
        if compiled.specialized.is_none() {
            compiled.way()?;
        }
        Ok(compiled)
    }

    /// How it runs for any lengths.
    fn way(&self) -> Result<&Way> {
        if let Some(way) = self.way.get() {
            return Ok(way);
        }
        let way = match native(&self.function, None) {
            Ok(native) => Way::Native(native),
            Err(why) => {
                let interpreter = Interpreter::new(Arc::clone(&self.function))?;
                Way::Interpreted(interpreter, why)
            }
        };
        Ok(self.way.get_or_init(|| way))
    }

    /// The code for arguments of several lengths, of which these are some.
    fn for_several(&self, args: &[Datum]) -> Result<Option<&ForSeveral>> {
        if let Some(code) = self.for_several.get() {
            return Ok(code.as_ref());
        }
        let kinds = self
            .function
            .parameters()
            .iter()
            .map(|&id| self.function.kind(id));
        if kinds.zip(args).all(|(kind, arg)| *kind == arg.kind()) {
            return Ok(None); // they are those that were seen: there is nothing to compare
        }
        let code = ForSeveral::new(&self.function, args)?;
        Ok(self.for_several.get_or_init(|| code).as_ref())
    }

    /// Prepares a function for the interpreter.
    ///
    /// # Errors
    /// As [`Function::check`].
    pub fn interpreted(function: impl Into<Arc<Function>>) -> Result<Self> {
        let function = function.into();
        let interpreter = Interpreter::new(Arc::clone(&function))?;
        Ok(Compiled {
            function,
            specialized: None,
            for_several: OnceLock::from(None),
            way: Way::Interpreted(interpreter, UNWANTED).into(),
        })
    }

    /// The function.
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// Calls `f` with every operator that it has, each as often as it does, but for those of a function
    /// that somebody else has too. A function with operators of callers has no code for lengths that
    /// were seen.
    #[cfg(feature = "python")]
    pub(crate) fn operators(&self, f: &mut dyn FnMut(&OpRef)) {
        // What runs it has it as well.
        let holders = 1 + usize::from(self.way.get().is_some());
        if Arc::strong_count(&self.function) == holders {
            self.function.operators().for_each(&mut *f);
        }
        if let Some(Way::Native(native)) = self.way.get() {
            native.operators(f);
        }
    }

    /// Why it does not run as machine code; `None` if it does.
    pub fn why_interpreted(&self) -> Option<&'static str> {
        match self.way.get() {
            Some(Way::Interpreted(_, why)) if self.specialized.is_none() => Some(why),
            _ => None,
        }
    }

    /// Whether it runs as machine code.
    pub fn is_native(&self) -> bool {
        self.why_interpreted().is_none()
    }

    /// Runs the function.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if the number of arguments is wrong,
    /// [`Error::Type`](crate::Error::Type) if one is of another kind than the parameter, what ends
    /// long work, [`Error::Memory`](crate::Error::Memory), and whatever an operator reports.
    pub fn run(&self, args: &[Datum]) -> Result<Outcome> {
        if let Some(special) = &self.specialized
            && special.lengths.fit(args)
            && let Some(outcome) = special.native.run(args)
        {
            return outcome;
        }
        if let Some(code) = self.for_several(args)?
            && code.fits(args)?
            && let Some(outcome) = code.native.run(args)
        {
            return outcome;
        }
        match self.way()? {
            Way::Native(native) => match native.run(args) {
                Some(outcome) => outcome,
                // It says which argument is wrong.
                None => Interpreter::new(&*self.function)?.run(args, usize::MAX),
            },
            Way::Interpreted(interpreter, _) => interpreter.run(args, usize::MAX),
        }
    }
}
