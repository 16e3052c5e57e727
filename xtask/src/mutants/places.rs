//! Finds where in a file the mutants are, and which code a switch must enclose.
//!
//! A place is an expression, the start of a body, or the arrow of a match arm. Constants get no
//! switches: they are computed before a switch can be read.

use std::collections::HashMap;
use std::ops::Range;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::listing::Mutant;

/// A mutant at a place, and its replacement text.
pub type Choice = (usize, String);

/// A place with its mutants.
#[derive(Debug)]
pub struct Place {
    pub range: Range<usize>,
    pub kind: Kind,
}

/// What a place is.
#[derive(Debug)]
pub enum Kind {
    /// The start of a function's body; mutants return early.
    Body(Vec<Choice>),
    /// Where the guard of an arm would be; the mutant disables the arm.
    Arm(usize),
    /// The guard of an arm.
    Guard { without_arm: Option<usize>, choices: Vec<Choice> },
    /// A whole `match`, which may not compile without its arms.
    Match(Vec<usize>),
    /// A binary expression: its operands and the mutants of the operator.
    Binary { left: Range<usize>, right: Range<usize>, choices: Vec<Choice> },
    /// A unary expression whose operator the mutant removes.
    Unary { operand: Range<usize>, mutant: usize },
    /// The value of a field; the mutant takes it from the struct's base instead.
    Field { shorthand: Option<String>, other: String, mutant: usize },
}

/// The places in a file, outer ones first.
pub fn places_in(source: &str, mutants: &[&Mutant]) -> syn::Result<Vec<Place>> {
    let file = syn::parse_file(source)?;
    let mut by_place: HashMap<(usize, &str), Vec<Choice>> = HashMap::new();
    let lines: Vec<usize> =
        std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
    for mutant in mutants.iter().filter(|mutant| !mutant.returns_hidden_type) {
        let (line, column) = mutant.at;
        let Some(start) = lines.get(line - 1) else { continue };
        let inside = source[*start..].char_indices().nth(column - 1).map_or(0, |(at, _)| at);
        let choices = by_place.entry((start + inside, mutant.genre.as_str())).or_default();
        choices.push((mutant.id, mutant.replacement.clone()));
    }
    let mut visitor = Visitor { source, by_place, places: Vec::new() };
    visitor.visit_file(&file);
    let mut places = visitor.places;
    places.sort_by_key(|place| {
        let (start, end) = (place.range.start, place.range.end);
        (start, start != end, std::cmp::Reverse(end), place.kind.depth())
    });
    Ok(places)
}

impl Kind {
    /// Orders kinds at the same position: the outer one first.
    fn depth(&self) -> u8 {
        match self {
            Self::Body(_) | Self::Arm(_) | Self::Match(_) => 0,
            Self::Guard { .. } | Self::Field { .. } => 1,
            Self::Binary { .. } | Self::Unary { .. } => 2,
        }
    }
}

struct Visitor<'s> {
    source: &'s str,
    by_place: HashMap<(usize, &'s str), Vec<Choice>>,
    places: Vec<Place>,
}

impl Visitor<'_> {
    fn choices(&self, at: usize, genre: &str) -> Vec<Choice> {
        self.by_place.get(&(at, genre)).cloned().unwrap_or_default()
    }

    fn only(&self, at: usize, genre: &str) -> Option<usize> {
        self.choices(at, genre).pop().map(|(mutant, _)| mutant)
    }

    fn add(&mut self, range: Range<usize>, kind: Kind) {
        self.places.push(Place { range, kind });
    }

    fn body(&mut self, block: &syn::Block) {
        let Some(first) = block.stmts.first() else { return };
        let choices = self.choices(first.span().byte_range().start, "FnValue");
        if !choices.is_empty() {
            let at = block.brace_token.span.open().byte_range().end;
            self.add(at..at, Kind::Body(choices));
        }
    }
}

/// Whether a condition binds a name (`if let … && …`), so that it cannot be enclosed in a switch.
fn binds_name(condition: &syn::Expr) -> bool {
    match condition {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) if matches!(both.op, syn::BinOp::And(_)) => {
            binds_name(&both.left) || binds_name(&both.right)
        }
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        function.default.iter().for_each(|block| self.body(block));
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_binary(&mut self, both: &'ast syn::ExprBinary) {
        let choices = self.choices(both.op.span().byte_range().start, "BinaryOperator");
        if !choices.is_empty() && !binds_name(&both.left) && !binds_name(&both.right) {
            let left = both.left.span().byte_range();
            let right = both.right.span().byte_range();
            self.add(left.start..right.end, Kind::Binary { left, right, choices });
        }
        visit::visit_expr_binary(self, both);
    }

    fn visit_expr_unary(&mut self, signed: &'ast syn::ExprUnary) {
        let range = signed.span().byte_range();
        if let Some(mutant) = self.only(range.start, "UnaryOperator") {
            let operand = signed.expr.span().byte_range();
            self.add(range, Kind::Unary { operand, mutant });
        }
        visit::visit_expr_unary(self, signed);
    }

    fn visit_expr_match(&mut self, all: &'ast syn::ExprMatch) {
        let mut taken_away = Vec::new();
        for arm in &all.arms {
            let without_arm = self.only(arm.span().byte_range().start, "MatchArm");
            taken_away.extend(without_arm);
            if let syn::Pat::Guard(syn::PatGuard { guard, .. }) = &arm.pat {
                let range = guard.span().byte_range();
                self.visit_expr(guard);
                let choices = self.choices(range.start, "MatchArmGuard");
                self.add(range, Kind::Guard { without_arm, choices });
            } else if let Some(mutant) = without_arm {
                let at = arm.fat_arrow_token.span().byte_range().start;
                self.add(at..at, Kind::Arm(mutant));
            }
        }
        if !taken_away.is_empty() {
            self.add(all.span().byte_range(), Kind::Match(taken_away));
        }
        visit::visit_expr_match(self, all);
    }

    fn visit_expr_struct(&mut self, whole: &'ast syn::ExprStruct) {
        let rest = whole.rest.as_ref().map(|rest| rest.span().byte_range());
        for field in &whole.fields {
            let mutant = self.only(field.span().byte_range().start, "StructField");
            let (Some(mutant), Some(rest)) = (mutant, &rest) else { continue };
            let syn::Member::Named(name) = &field.member else { continue };
            let (range, shorthand) = match field.colon_token {
                Some(_) => (field.expr.span().byte_range(), None),
                None => (field.span().byte_range(), Some(name.to_string())),
            };
            let other = format!("({}).{name}", &self.source[rest.clone()]);
            self.add(range, Kind::Field { shorthand, other, mutant });
        }
        visit::visit_expr_struct(self, whole);
    }
}
