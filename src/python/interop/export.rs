//! What a function of the native module is to users: one line for each, which registers it too.
//!
//! The line has the function's signature, with types, and who it is for. `scripts/stubs.py` reads
//! the lines ([`exported`](crate::python::exported)) and writes from them the declarations in `_core.pyi` and
//! the list of what the package exports; `dispatch.py` reads which are functions of NumPy.
//! Elementwise functions have no line here: the rule table has all that it would say.

/// A line: name, signature, and for whom it is.
pub(in crate::python) type Export = (&'static str, &'static str, &'static str);

/// The lines of a file's `EXPORTS`: one text, as a pointer to each word would be a relocation.
pub(in crate::python) fn lines(exports: &'static str) -> impl Iterator<Item = Export> {
    exports.split_terminator('\n').map(|line| {
        let (name, rest) = line.split_once('\t').unwrap_or_default();
        let (signature, home) = rest.split_once('\t').unwrap_or_default();
        (name, signature, home)
    })
}

/// The functions of a file: `name "signature" home;`, in which `home` is `numpy` (exported, and
/// called where NumPy's function of this name is given a variable), `package` (exported), or `inner`
/// (for the package's own modules). The file gets `EXPORTS`, and `register`, which adds them to the
/// module. `as` gives the name in Python where it is a keyword or another word in Rust.
macro_rules! exports {
    ($($function:ident $(as $name:literal)? $signature:literal $home:ident;)*) => {
        /// What this file exports.
        pub(in crate::python) const EXPORTS: &str = concat!($(
            $crate::python::interop::export::exports!(@name $function $($name)?), "\t",
            $signature, "\t",
            stringify!($home), "\n",
        )*);

        /// Adds the functions to the module.
        pub(in crate::python) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($function, module)?)?;)*
            Ok(())
        }
    };
    (@name $function:ident) => { stringify!($function) };
    (@name $function:ident $name:literal) => { $name };
}
pub(in crate::python) use exports;
