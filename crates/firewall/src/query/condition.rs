//! Conditions on fields of rows.

use serde_json::Value;

use super::cell::Cell;

/// What must be true of a shown value. A field that is missing counts as null; a value with parts
/// of its own equals nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predicate {
    /// It is this value; 1 and 1.0 are the same, 1 and true are not.
    Eq(Value),
    /// It is not this value.
    Ne(Value),
    /// It is less: both numbers, or both texts by code points.
    Lt(Value),
    /// It is less or the same.
    Lte(Value),
    /// It is greater.
    Gt(Value),
    /// It is greater or the same.
    Gte(Value),
    /// It is a text that holds this text, or a list that has this item.
    Contains(Value),
    /// It is one of these.
    In(Vec<Value>),
}

impl Predicate {
    /// The word in a query.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Eq(_) => "eq",
            Self::Ne(_) => "ne",
            Self::Lt(_) => "lt",
            Self::Lte(_) => "lte",
            Self::Gt(_) => "gt",
            Self::Gte(_) => "gte",
            Self::Contains(_) => "contains",
            Self::In(_) => "in",
        }
    }

    /// What it compares with.
    pub(super) fn operand(&self) -> Value {
        match self {
            Self::Eq(value)
            | Self::Ne(value)
            | Self::Lt(value)
            | Self::Lte(value)
            | Self::Gt(value)
            | Self::Gte(value)
            | Self::Contains(value) => value.clone(),
            Self::In(values) => Value::Array(values.clone()),
        }
    }
}

/// A condition on one field. All conditions of a query must be true of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The field.
    pub field: String,
    /// What must be true of it.
    pub test: Predicate,
}

/// A test that is ready to be asked.
pub(super) struct PreparedCondition(Kind, Vec<Cell>);

#[derive(Clone, Copy)]
enum Kind {
    Eq,
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
    Contains,
}

impl PreparedCondition {
    pub(super) fn of(test: &Predicate) -> Self {
        let one = |kind, value| Self(kind, vec![Cell::of(value)]);
        match test {
            Predicate::Eq(value) => one(Kind::Eq, value),
            Predicate::Ne(value) => one(Kind::Ne, value),
            Predicate::Lt(value) => one(Kind::Lt, value),
            Predicate::Lte(value) => one(Kind::Lte, value),
            Predicate::Gt(value) => one(Kind::Gt, value),
            Predicate::Gte(value) => one(Kind::Gte, value),
            Predicate::Contains(value) => one(Kind::Contains, value),
            Predicate::In(values) => Self(Kind::Eq, values.iter().map(Cell::of).collect()),
        }
    }

    pub(super) fn holds(&self, cell: &Cell) -> bool {
        self.1.iter().any(|other| {
            let order = cell.compared(other);
            match self.0 {
                Kind::Eq => cell.same(other),
                Kind::Ne => !cell.same(other),
                Kind::Lt => order.is_some_and(|order| order.is_lt()),
                Kind::Lte => order.is_some_and(|order| order.is_le()),
                Kind::Gt => order.is_some_and(|order| order.is_gt()),
                Kind::Gte => order.is_some_and(|order| order.is_ge()),
                Kind::Contains => cell.contains(other),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_test_holds_of_the_values_that_it_names() {
        let ten = || json!(10);
        for (test, values) in [
            (Predicate::Eq(ten()), [false, true, false, false, false]),
            (Predicate::Ne(ten()), [true, false, true, true, true]),
            (Predicate::Lt(ten()), [true, false, false, false, false]),
            (Predicate::Lte(ten()), [true, true, false, false, false]),
            (Predicate::Gt(ten()), [false, false, true, false, false]),
            (Predicate::Gte(ten()), [false, true, true, false, false]),
            (Predicate::Contains(json!("1")), [false, false, false, true, false]),
            (Predicate::In(vec![json!(9), json!("10")]), [true, false, false, true, false]),
            (Predicate::In(vec![]), [false; 5]),
        ] {
            let prepared = PreparedCondition::of(&test);
            let held = [json!(9), json!(10.0), json!(11), json!("10"), json!(null)]
                .map(|value| prepared.holds(&Cell::of(&value)));
            assert_eq!(held, values, "{test:?}");
        }
    }

    #[test]
    fn a_test_has_a_word_and_an_operand() {
        let one = json!(1);
        for (test, word) in [
            (Predicate::Eq(one.clone()), "eq"),
            (Predicate::Ne(one.clone()), "ne"),
            (Predicate::Lt(one.clone()), "lt"),
            (Predicate::Lte(one.clone()), "lte"),
            (Predicate::Gt(one.clone()), "gt"),
            (Predicate::Gte(one.clone()), "gte"),
            (Predicate::Contains(one.clone()), "contains"),
        ] {
            assert_eq!((test.word(), test.operand()), (word, one.clone()));
        }
        let list = Predicate::In(vec![one.clone(), json!("a")]);
        assert_eq!((list.word(), list.operand()), ("in", json!([1, "a"])));
    }
}
