//! A cell: a value as a query compares it, which is the value as it is shown.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::numbers::compare_numbers;

/// The most items of a list that can be compared; a longer list counts as nested.
const MAX_ITEMS: usize = 50;
/// The longest text that can be a number.
const MAX_DECIMAL_BYTES: usize = 40;

/// A shown value. The order is total: null, false, true, numbers, texts by code point, lists,
/// nested values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    /// Null or a missing field.
    Null,
    Bool(bool),
    Number(Number),
    /// A number that the result has as a text, as databases send exact numbers. It counts as the
    /// number and is shown as the text.
    Decimal(Number, String),
    Text(String),
    /// A short list of scalars.
    List(Vec<Cell>),
    /// An object, or a list that is long or has nested items.
    Nested,
}

impl Cell {
    pub(super) fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) if is_plain(items) => {
                Self::List(items.iter().map(Self::from_value).collect())
            }
            Value::Array(_) | Value::Object(_) => Self::Nested,
        }
    }

    /// Back to JSON; a nested value becomes a placeholder.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Decimal(_, text) | Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Nested => Value::String("(nested)".to_owned()),
        }
    }

    /// The order of two numbers or two texts; `None` for other pairs.
    pub(super) fn partial_compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Decimal(..), Self::Text(text)) => Some(self.cmp(&Self::decimal(text)?)),
            (Self::Number(_) | Self::Decimal(..), Self::Number(_))
            | (Self::Text(_), Self::Text(_)) => Some(self.cmp(other)),
            _ => None,
        }
    }

    /// True for equal values; a nested value equals nothing.
    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nested, _) => false,
            (Self::Decimal(_, own), Self::Text(text)) => own == text,
            _ => self.cmp(other) == Ordering::Equal,
        }
    }

    /// The number that a text writes in full: no sign but `-`, no leading zero, no exponent. A
    /// whole number that does not fit 64 bits is none.
    pub(super) fn decimal(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-'));
        if !is_plain || text.len() > MAX_DECIMAL_BYTES {
            return None;
        }
        let number: Number = serde_json::from_str(text).ok()?;
        let is_exact = number.is_i64() || number.is_u64() || text.contains('.');
        is_exact.then(|| Self::Decimal(number, text.to_owned()))
    }

    /// The number that `plain` writes in full, shown as another text.
    pub(super) fn decimal_of(plain: &str, text: &str) -> Option<Self> {
        match Self::decimal(plain)? {
            Self::Decimal(number, _) => Some(Self::Decimal(number, text.to_owned())),
            _ => None,
        }
    }

    /// True for a text that contains the other text, and for a list that has the other value as an
    /// item.
    pub(super) fn contains(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Decimal(_, text) | Self::Text(text), Self::Text(part)) => {
                text.contains(part.as_str())
            }
            (Self::List(items), part) => items.iter().any(|item| item.equals(part)),
            _ => false,
        }
    }

    pub(super) fn number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) | Self::Decimal(number, _) => Some(number),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Number(_) | Self::Decimal(..) => 2,
            Self::Text(_) => 3,
            Self::List(_) => 4,
            Self::Nested => 5,
        }
    }
}

/// True for a list that is compared item by item.
pub(super) fn is_plain(items: &[Value]) -> bool {
    items.len() <= MAX_ITEMS && !items.iter().any(|item| item.is_array() || item.is_object())
}

impl Eq for Cell {}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Decimal(a, one), Self::Decimal(b, other)) => {
                compare_numbers(a, b).then_with(|| one.cmp(other))
            }
            (Self::Number(a) | Self::Decimal(a, _), Self::Number(b) | Self::Decimal(b, _)) => {
                compare_numbers(a, b)
            }
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_compare_exactly() {
        let cell = |value: Value| Cell::from_value(&value);
        let ordered = [
            json!(-1.5),
            json!(-1),
            json!(-0.5),
            json!(0),
            json!(0.5),
            json!(1),
            json!(1.5),
            json!(9_007_199_254_740_992_u64),
            json!(9_007_199_254_740_993_u64),
            json!(u64::MAX),
            json!(1e300),
        ];
        for (at, a) in ordered.iter().enumerate() {
            for (other, b) in ordered.iter().enumerate() {
                assert_eq!(cell(a.clone()).cmp(&cell(b.clone())), at.cmp(&other), "{a} {b}");
            }
        }
        assert!(cell(json!(1)).equals(&cell(json!(1.0))));
        assert!(!cell(json!(1)).equals(&cell(json!(true))));
        assert!(!cell(json!({})).equals(&cell(json!({}))));
    }

    #[test]
    fn a_text_is_a_number_only_where_it_writes_one_in_full() {
        for text in ["0", "-1", "633.00", "12345678901234567890", "0.1", "1234567890123.0000000001"]
        {
            assert!(Cell::decimal(text).is_some(), "{text}");
        }
        for text in
            ["", "-", "007", "+1", "1.", ".5", "1e3", "1,5", " 1", "NaN", "123456789012345678901"]
        {
            assert_eq!(Cell::decimal(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_in_a_text_counts_as_the_number() {
        let cell = Cell::decimal("633.00").unwrap();
        let other = |value: Value| Cell::from_value(&value);
        assert_eq!(cell.to_value(), json!("633.00"));
        assert!(cell.equals(&other(json!(633))) && cell.equals(&other(json!("633.00"))));
        assert!(!cell.equals(&other(json!("633"))) && cell.contains(&other(json!("33."))));
        let order = |value: Value| cell.partial_compare(&other(value));
        assert_eq!(order(json!(70)), Some(Ordering::Greater));
        assert_eq!(order(json!("70")), Some(Ordering::Greater));
        assert_eq!((order(json!("seven")), order(json!(true))), (None, None));
        let [small, large] = ["70.0", "70.00"].map(|text| Cell::decimal(text).unwrap());
        assert!(small < cell && small < large, "texts that differ are different values");
    }

    #[test]
    fn a_cell_holds_a_part_of_its_text_or_an_item_of_its_list() {
        for (value, part, holds) in [
            (json!("heron"), json!("ero"), true),
            (json!("heron"), json!("owl"), false),
            (json!("12"), json!(12), false),
            (json!(["a", 1]), json!("a"), true),
            (json!(["a", 1]), json!(1.0), true),
            (json!(["ab"]), json!("a"), false),
            (json!([[1]]), json!([1]), false),
            (json!(12), json!(1), false),
        ] {
            assert_eq!(
                Cell::from_value(&value).contains(&Cell::from_value(&part)),
                holds,
                "{value} {part}"
            );
        }
    }

    #[test]
    fn a_list_of_50_plain_items_is_compared_and_a_longer_one_is_not() {
        let list = |count: usize| Cell::from_value(&json!(vec![1; count]));
        assert!(matches!(list(50), Cell::List(_)) && list(51) == Cell::Nested);
        assert_eq!(Cell::from_value(&json!([1, {}])), Cell::Nested);
        assert_eq!(Cell::from_value(&json!([1, []])), Cell::Nested);
        assert_eq!(Cell::Nested.to_value(), json!("(nested)"));
        for value in [json!(null), json!(true), json!(1.5), json!("a"), json!([1, "a", null])] {
            assert_eq!(Cell::from_value(&value).to_value(), value);
        }
    }

    #[test]
    fn values_of_two_kinds_have_an_order_and_are_not_compared() {
        let ordered =
            [json!(null), json!(false), json!(true), json!(7), json!("7"), json!([7]), json!({})];
        for pair in ordered.windows(2) {
            let (less, more) = (Cell::from_value(&pair[0]), Cell::from_value(&pair[1]));
            assert_eq!(less.cmp(&more), Ordering::Less, "{pair:?}");
            assert_eq!(less.partial_compare(&more), None, "{pair:?}");
        }
        let compared =
            |a: Value, b: Value| Cell::from_value(&a).partial_compare(&Cell::from_value(&b));
        assert_eq!(compared(json!(1), json!(2)), Some(Ordering::Less));
        assert_eq!(compared(json!("b"), json!("a")), Some(Ordering::Greater));
        assert_eq!(compared(json!([1]), json!([1])), None);
    }

    proptest! {
        #[test]
        fn the_order_is_total(a in any_cell(), b in any_cell(), c in any_cell()) {
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            if a <= b && b <= c {
                prop_assert!(a <= c);
            }
        }
    }

    fn any_cell() -> impl Strategy<Value = Cell> {
        prop_oneof![
            Just(Cell::Null),
            any::<bool>().prop_map(Cell::Bool),
            (-3_i64..3).prop_map(|n| Cell::Number(n.into())),
            any::<i64>().prop_map(|n| Cell::Number(n.into())),
            (-6_i32..6).prop_map(|n| Cell::from_value(&json!(f64::from(n) / 2.0))),
            any::<f64>().prop_map(|n| Cell::from_value(&json!(n))),
            "[ab]{0,2}".prop_map(Cell::Text),
            Just(Cell::List(vec![Cell::Null])),
            Just(Cell::Nested),
        ]
    }
}
