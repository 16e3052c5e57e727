//! Conditions on fields of rows.

use serde_json::Value;

use super::cell::Cell;

/// What must be true of a shown value. A missing field counts as null; an array or object equals
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predicate {
    /// Equal to this value; 1 and 1.0 are equal, 1 and true are not.
    Eq(Value),
    /// Not equal to this value.
    Ne(Value),
    /// Less than this value: both numbers, or both texts by code point.
    Lt(Value),
    /// Less than or equal to this value.
    Lte(Value),
    /// Greater than this value.
    Gt(Value),
    /// Greater than or equal to this value.
    Gte(Value),
    /// A text that contains this text, or a list that has this item.
    Contains(Value),
    /// Equal to one of these values.
    In(Vec<Value>),
}

impl Predicate {
    /// The keyword in a query.
    #[must_use]
    pub fn keyword(&self) -> &'static str {
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

    /// The value to compare with.
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

/// A condition on one field. A row must meet all conditions of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The field.
    pub field: String,
    /// What must be true of it.
    pub predicate: Predicate,
}

/// A condition whose operands are converted to cells once, before the rows are scanned.
pub(super) struct PreparedCondition(Operator, Vec<Cell>);

#[derive(Clone, Copy)]
enum Operator {
    Eq,
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
    Contains,
}

impl PreparedCondition {
    pub(super) fn new(test: &Predicate) -> Self {
        let one = |kind, value| Self(kind, vec![Cell::from_value(value)]);
        match test {
            Predicate::Eq(value) => one(Operator::Eq, value),
            Predicate::Ne(value) => one(Operator::Ne, value),
            Predicate::Lt(value) => one(Operator::Lt, value),
            Predicate::Lte(value) => one(Operator::Lte, value),
            Predicate::Gt(value) => one(Operator::Gt, value),
            Predicate::Gte(value) => one(Operator::Gte, value),
            Predicate::Contains(value) => one(Operator::Contains, value),
            Predicate::In(values) => {
                Self(Operator::Eq, values.iter().map(Cell::from_value).collect())
            }
        }
    }

    pub(super) fn matches(&self, cell: &Cell) -> bool {
        self.1.iter().any(|other| {
            let order = cell.partial_compare(other);
            match self.0 {
                Operator::Eq => cell.equals(other),
                Operator::Ne => !cell.equals(other),
                Operator::Lt => order.is_some_and(|order| order.is_lt()),
                Operator::Lte => order.is_some_and(|order| order.is_le()),
                Operator::Gt => order.is_some_and(|order| order.is_gt()),
                Operator::Gte => order.is_some_and(|order| order.is_ge()),
                Operator::Contains => cell.contains(other),
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
            let prepared = PreparedCondition::new(&test);
            let held = [json!(9), json!(10.0), json!(11), json!("10"), json!(null)]
                .map(|value| prepared.matches(&Cell::from_value(&value)));
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
            assert_eq!((test.keyword(), test.operand()), (word, one.clone()));
        }
        let list = Predicate::In(vec![one.clone(), json!("a")]);
        assert_eq!((list.keyword(), list.operand()), ("in", json!([1, "a"])));
    }
}
