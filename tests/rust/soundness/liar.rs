//! An operator that says of itself what is not so, in one respect and at some times.

use std::sync::atomic::{AtomicUsize, Ordering};

use wyrmling::array::{Real, Slice, SliceMut, View, ViewMut};
use wyrmling::rules::{self, Ex, Kernel, Map1, Map2, Map3, Operator};
use wyrmling::{DType, Error, Result, Type};

/// What an operator says that is not so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lie {
    /// It tells the truth.
    None,
    /// The type of the result.
    Infer(Wrong),
    /// Whether operand 0, or 1, is read.
    Reads(usize),
    /// Whether the result is operand 0.
    Aliases,
    /// What it is fused by.
    Kernel(Offer),
    /// Whether an operand is transposed.
    Transposes,
    /// The gradient.
    Vjp(Wrong),
    /// The tangent.
    Jvp(Wrong),
    /// The result: an error, or nothing is written.
    Eval(bool),
    /// The name, as text that is nobody's.
    Name,
}

/// Something in place of a type, or of a value of a type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wrong {
    Longer,
    Shorter,
    Empty,
    Number,
    Indices,
    Single,
    Overflowing,
    Huge,
    ManyAxes,
    Error,
}

pub const WRONG: [Wrong; 10] = [
    Wrong::Longer,
    Wrong::Shorter,
    Wrong::Empty,
    Wrong::Number,
    Wrong::Indices,
    Wrong::Single,
    Wrong::Overflowing,
    Wrong::Huge,
    Wrong::ManyAxes,
    Wrong::Error,
];

/// A kernel for something else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Offer {
    Nothing,
    One,
    Three,
    Single,
    Double,
    Called,
}

const OFFERS: [Offer; 6] = [
    Offer::Nothing,
    Offer::One,
    Offer::Three,
    Offer::Single,
    Offer::Double,
    Offer::Called,
];

impl Wrong {
    fn ty(self, right: &Type) -> Result<Type> {
        let shape = |shape: &[usize]| Type::new(right.dtype, shape);
        Ok(match self {
            Wrong::Longer => shape(&[1000, 4]),
            Wrong::Shorter => shape(&[1, 4]),
            Wrong::Empty => shape(&[0, 4]),
            Wrong::Number => shape(&[]),
            Wrong::Indices => Type::new(DType::U32, &right.shape),
            Wrong::Single => Type::new(DType::F32, &right.shape),
            Wrong::Overflowing => shape(&[1 << 32, 1 << 32]),
            Wrong::Huge => shape(&[1 << 24, 1 << 24]),
            Wrong::ManyAxes => shape(&[1; 100]),
            Wrong::Error => return Err(Error::Shape("liar: no".into())),
        })
    }

    /// The same of a gradient: made by operators, so what operators refuse cannot be had.
    fn ex<'t>(self, right: Ex<'t>) -> Option<Ex<'t>> {
        let fixed = |ty: fn(&Type) -> Type| right.with_new(Fixed(ty), &[]);
        Some(match self {
            Wrong::Longer => fixed(|x| Type::new(x.dtype, &[1000, 4])),
            Wrong::Shorter => fixed(|x| Type::new(x.dtype, &[1, 4])),
            Wrong::Empty => fixed(|x| Type::new(x.dtype, &[0, 4])),
            Wrong::Number => right.constant(1.0),
            Wrong::Indices => fixed(|x| Type::new(DType::U32, &x.shape)),
            Wrong::Single => fixed(|x| Type::new(DType::F32, &x.shape)),
            Wrong::Overflowing => fixed(|x| Type::new(x.dtype, &[1 << 32, 1 << 32])),
            Wrong::Huge => fixed(|x| Type::new(x.dtype, &[1 << 24, 1 << 24])),
            Wrong::ManyAxes => fixed(|x| Type::new(x.dtype, &[1; 100])),
            Wrong::Error => return None,
        })
    }
}

/// A gradient of any type: ones.
#[derive(Debug, Clone)]
struct Fixed(fn(&Type) -> Type);

impl Operator for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok((self.0)(args[0]))
    }
    fn eval(&self, _: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        match out.data {
            SliceMut::F32(out) => out.fill(1.0),
            SliceMut::F64(out) => out.fill(1.0),
            SliceMut::U32(out) => out.fill(1),
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(x[0].zeros_like())
    }
}

/// Which calls of a method the lie is told in.
#[derive(Debug, Clone, Copy)]
pub enum When {
    Always,
    From(usize),
    Once(usize),
    EveryOther,
}

/// `x · y` for two operands of one shape; with `like`, `2 x` in the shape of `x`, where of `y`
/// nothing is read. What it says of itself is wrong in one respect.
#[derive(Debug)]
pub struct Liar {
    lie: Lie,
    when: When,
    like: bool,
    calls: AtomicUsize,
    /// Not shown by `Debug` of two liars in the same way, or so it seems.
    factor: f64,
}

impl Liar {
    pub fn new(lie: Lie, when: When, like: bool) -> Self {
        Liar {
            lie,
            when,
            like,
            calls: AtomicUsize::new(0),
            factor: if like { 2.0 } else { 1.0 },
        }
    }

    /// Whether to lie now, in a method that `lie` is about.
    fn lies(&self) -> bool {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.when {
            When::Always => true,
            When::From(first) => call >= first,
            When::Once(only) => call == only,
            When::EveryOther => call % 2 == 1,
        }
    }
}

struct Product;
impl Map1 for Product {
    fn f<T: Real>(x: T) -> T {
        x
    }
}
impl Map2 for Product {
    fn f<T: Real>(x: T, y: T) -> T {
        x * y
    }
}
impl Map3 for Product {
    fn f<T: Real>(x: T, y: T, z: T) -> T {
        x * y * z
    }
}

impl Operator for Liar {
    fn name(&self) -> &str {
        match self.lie {
            Lie::Name if self.lies() => "",
            _ => "liar",
        }
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        match self.lie {
            Lie::Infer(wrong) if self.lies() => wrong.ty(args[0]),
            _ if args.len() == 2 && args[0] == args[1] => Ok(args[0].clone()),
            _ => Err(Error::Shape("liar: two of one type".into())),
        }
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        if let Lie::Eval(fails) = self.lie
            && self.lies()
        {
            return match fails {
                true => Err(Error::Value("liar: no".into())),
                false => Ok(()),
            };
        }
        let SliceMut::F64(out) = out.data else {
            return Ok(());
        };
        let (x, y): (&[f64], &[f64]) = match args {
            // As careless as can be about lengths, without a panic of its own.
            [x, y] => match (x.data, y.data) {
                (Slice::F64(x), Slice::F64(y)) => (x, y),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        for (k, o) in out.iter_mut().enumerate() {
            let y = if self.like {
                Some(&self.factor)
            } else {
                y.get(k)
            };
            *o = x.get(k).unwrap_or(&0.5) * y.unwrap_or(&0.5);
        }
        Ok(())
    }
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let right = match (self.like, i) {
            (true, 0) => g * self.factor,
            (true, _) => return None,
            (false, i) => g * x[1 - i],
        };
        match self.lie {
            Lie::Vjp(wrong) if self.lies() => wrong.ex(right),
            _ => Some(right),
        }
    }
    fn jvp<'t>(&self, i: usize, t: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let right = match (self.like, i) {
            (true, 0) => t * self.factor,
            (true, _) => return None,
            (false, i) => t * x[1 - i],
        };
        match self.lie {
            Lie::Jvp(wrong) if self.lies() => wrong.ex(right),
            _ => Some(right),
        }
    }
    fn reads(&self, i: usize) -> bool {
        let right = i == 0 || !self.like;
        match self.lie {
            Lie::Reads(k) if k == i && self.lies() => !right,
            _ => right,
        }
    }
    fn aliases(&self, _: &[&Type], _: &Type) -> bool {
        self.lie == Lie::Aliases && self.lies()
    }
    fn transposes(&self, _: usize) -> bool {
        self.lie == Lie::Transposes && self.lies()
    }
    fn kernel(&self, dtype: DType) -> Option<Kernel> {
        let right = (!self.like).then(|| Kernel::two::<Product>(dtype));
        match self.lie {
            Lie::Kernel(offer) if self.lies() => match offer {
                Offer::Nothing => None,
                Offer::One => Some(Kernel::one::<Product>(dtype)),
                Offer::Three => Some(Kernel::three::<Product>(dtype)),
                Offer::Single => Some(Kernel::two::<Product>(DType::F32)),
                Offer::Double => Some(Kernel::two::<Product>(DType::F64)),
                Offer::Called => Some(Kernel::call(rules::ScalarFunction::One(f64::exp), dtype)),
            },
            _ => right,
        }
    }
}

/// All lies that there are, but those of gradients.
pub fn lies() -> Vec<Lie> {
    let mut lies = vec![
        Lie::None,
        Lie::Reads(0),
        Lie::Reads(1),
        Lie::Aliases,
        Lie::Transposes,
        Lie::Eval(true),
        Lie::Eval(false),
        Lie::Name,
    ];
    lies.extend(WRONG.map(Lie::Infer));
    lies.extend(WRONG.map(Lie::Jvp));
    lies.extend(OFFERS.map(Lie::Kernel));
    lies
}

/// Whether the number is right whatever is said: how a result is computed is not what it is.
pub fn is_harmless(lie: Lie, like: bool) -> bool {
    match lie {
        Lie::None | Lie::Name | Lie::Transposes | Lie::Jvp(_) => true,
        Lie::Reads(1) => like,
        Lie::Kernel(Offer::Double) => !like,
        Lie::Kernel(_) => true,
        _ => false,
    }
}
