//! Conditions on fields of rows.

use serde_json::Value;

use super::cell::Cell;

/// What must be true of a shown value. A field that is missing counts as null; a value with parts
/// of its own equals nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
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

impl Test {
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
    pub test: Test,
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
    pub(super) fn of(test: &Test) -> Self {
        let one = |kind, value| Self(kind, vec![Cell::of(value)]);
        match test {
            Test::Eq(value) => one(Kind::Eq, value),
            Test::Ne(value) => one(Kind::Ne, value),
            Test::Lt(value) => one(Kind::Lt, value),
            Test::Lte(value) => one(Kind::Lte, value),
            Test::Gt(value) => one(Kind::Gt, value),
            Test::Gte(value) => one(Kind::Gte, value),
            Test::Contains(value) => one(Kind::Contains, value),
            Test::In(values) => Self(Kind::Eq, values.iter().map(Cell::of).collect()),
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
            (Test::Eq(ten()), [false, true, false, false, false]),
            (Test::Ne(ten()), [true, false, true, true, true]),
            (Test::Lt(ten()), [true, false, false, false, false]),
            (Test::Lte(ten()), [true, true, false, false, false]),
            (Test::Gt(ten()), [false, false, true, false, false]),
            (Test::Gte(ten()), [false, true, true, false, false]),
            (Test::Contains(json!("1")), [false, false, false, true, false]),
            (Test::In(vec![json!(9), json!("10")]), [true, false, false, true, false]),
            (Test::In(vec![]), [false; 5]),
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
            (Test::Eq(one.clone()), "eq"),
            (Test::Ne(one.clone()), "ne"),
            (Test::Lt(one.clone()), "lt"),
            (Test::Lte(one.clone()), "lte"),
            (Test::Gt(one.clone()), "gt"),
            (Test::Gte(one.clone()), "gte"),
            (Test::Contains(one.clone()), "contains"),
        ] {
            assert_eq!((test.word(), test.operand()), (word, one.clone()));
        }
        let list = Test::In(vec![one.clone(), json!("a")]);
        assert_eq!((list.word(), list.operand()), ("in", json!([1, "a"])));
    }
}
