//! The algebraic form of an operator, which the optimiser and gradients use to rewrite expressions.

/// The form of an operator. Code that relies on one compares the types too, so that an operator that
/// claims a form which is not its own gives wrong numbers and no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// None of these.
    Other,
    /// Operand 0 plus operand 1, element by element.
    Sum,
    /// Operand 0 minus operand 1.
    Difference,
    /// Operand 0 times operand 1.
    Product,
    /// Operand 0 divided by operand 1.
    Quotient,
    /// Minus operand 0.
    Negation,
    /// Whether something holds of each element: zeros and ones that stand for false and true.
    Truth,
    /// Integers, as numbers of float64, of operands that may be none.
    Integers,
    /// Operand 0 in the shape of operand 1: operand 0 itself where the two have one shape.
    Shaped,
    /// Operand 0 repeated, to a shape that operand 1 may give: operand 0 itself where it has that
    /// shape.
    Repeated,
    /// The rows of operand 0, along its first axis, at the indices of operand 1.
    RowLookup,
    /// The weighted sums of rows of operand 0 that are in bags: operand 1 has the numbers of the bags,
    /// operand 2 those of the rows at each place, operand 3 the offsets of the places of each bag, and
    /// operand 4, if there is one, the weights.
    BagLookup,
    /// The dot products of the rows of two operands, along their last axes.
    RowDot,
    /// Each row of operand 1, along its last axis, times one element of operand 0.
    RowProduct,
    /// The matrix product of two operands.
    MatrixProduct,
    /// Operand 0, one number, along the diagonal of a matrix of zeros.
    Diagonal,
}

/// Whether two texts are the same, at compile time.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut k = 0;
    while k < a.len() && k < b.len() && a[k] == b[k] {
        k += 1;
    }
    k == a.len() && k == b.len()
}

impl Form {
    /// The form of an operator that a macro of the table declares, by the name that it has there.
    pub(super) const fn of(operator: &str) -> Self {
        const FORMS: [(&str, Form); 20] = [
            ("Add", Form::Sum),
            ("Sub", Form::Difference),
            ("Mul", Form::Product),
            ("Div", Form::Quotient),
            ("Neg", Form::Negation),
            ("reshape_like", Form::Shaped),
            ("Greater", Form::Truth),
            ("GreaterEqual", Form::Truth),
            ("Less", Form::Truth),
            ("LessEqual", Form::Truth),
            ("Equal", Form::Truth),
            ("NotEqual", Form::Truth),
            ("LogicalAnd", Form::Truth),
            ("LogicalOr", Form::Truth),
            ("LogicalXor", Form::Truth),
            ("LogicalNot", Form::Truth),
            ("IsNan", Form::Truth),
            ("IsInf", Form::Truth),
            ("IsFinite", Form::Truth),
            ("SignBit", Form::Truth),
        ];
        let mut k = 0;
        while k < FORMS.len() {
            if same(FORMS[k].0, operator) {
                return FORMS[k].1;
            }
            k += 1;
        }
        Form::Other
    }
}
