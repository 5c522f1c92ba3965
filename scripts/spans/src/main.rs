//! Where the expressions of Rust files are, for `scripts/mutants.py`: for each file that is named, a list
//! of the places at which a mutant can be written. A place has its kind, `at` (first line and column, last
//! line and column, as cargo-mutants counts them), and offsets in bytes.

use proc_macro2::Span;
use serde_json::{Map, Value, json};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Collects places.
#[derive(Default)]
struct Places(Vec<Value>);

/// Where a span begins and ends, in bytes.
fn bytes(span: Span) -> (usize, usize) {
    let range = span.byte_range();
    (range.start, range.end)
}

/// Where the text from one span to another is, by lines and columns.
fn lines(first: Span, last: Span) -> Value {
    let (start, end) = (first.start(), last.end());
    json!([start.line, start.column + 1, end.line, end.column + 1])
}

/// Whether a condition binds a name, so that it is no expression of its own.
fn has_let(condition: &syn::Expr) -> bool {
    match condition {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

impl<'a> Visit<'a> for Places {
    fn visit_expr_binary(&mut self, e: &'a syn::ExprBinary) {
        let (left, right) = (bytes(e.left.span()), bytes(e.right.span()));
        self.0.push(json!({
            "kind": "binary", "at": lines(e.op.span(), e.op.span()), "start": left.0, "end": right.1,
            "left": left, "right": right, "let": has_let(&e.left) || has_let(&e.right),
        }));
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_unary(&mut self, e: &'a syn::ExprUnary) {
        let right = bytes(e.expr.span());
        self.0.push(json!({
            "kind": "unary", "at": lines(e.op.span(), e.op.span()),
            "start": bytes(e.op.span()).0, "end": right.1, "right": right,
        }));
        visit::visit_expr_unary(self, e);
    }

    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        let guard = arm.guard.as_ref().map(|(_, guard)| guard.span());
        self.0.push(json!({
            "kind": "arm", "at": lines(arm.span(), arm.span()), "pattern": bytes(arm.pat.span()).1,
            "guard": guard.map(bytes), "guard_at": guard.map(|guard| lines(guard, guard)),
        }));
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, e: &'a syn::ExprStruct) {
        let (start, end) = bytes(e.span());
        for field in &e.fields {
            self.0.push(json!({
                "kind": "field", "at": lines(field.span(), field.span()),
                "start": start, "end": end, "field": bytes(field.span()),
            }));
        }
        visit::visit_expr_struct(self, e);
    }

    fn visit_block(&mut self, block: &'a syn::Block) {
        if let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) {
            self.0.push(json!({
                "kind": "block", "at": lines(first.span(), last.span()),
                "start": bytes(block.brace_token.span.open()).1,
            }));
        }
        visit::visit_block(self, block);
    }
}

fn main() {
    let mut all = Map::new();
    for path in std::env::args().skip(1) {
        let source = std::fs::read_to_string(&path).expect("a file");
        let mut places = Places::default();
        places.visit_file(&syn::parse_file(&source).expect("Rust"));
        all.insert(path, Value::Array(places.0));
    }
    println!("{}", Value::Object(all));
}
