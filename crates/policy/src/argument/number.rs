//! Exact comparison of numbers and JSON values by their meaning.
//!
//! `1` and `1.0` are the same number, as in JSON Schema. An integer beyond 2^53 is never rounded to
//! a double, because a bound in a policy must not be off by one.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// 2^64: a double of at least this is greater than every integer that a JSON value can hold here.
const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;

/// Whether two values are equal: numbers by value, texts by characters, lists item by item, objects
/// member by member.
pub(super) fn values_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| values_equal(a, b)))
        }
        (a, b) => a == b,
    }
}

pub(super) fn is_at_least(value: &Value, min: &Number) -> bool {
    let Value::Number(value) = value else { return false };
    compare(value, min).is_some_and(Ordering::is_ge)
}

pub(super) fn is_at_most(value: &Value, max: &Number) -> bool {
    let Value::Number(value) = value else { return false };
    compare(value, max).is_some_and(Ordering::is_le)
}

/// Compares mathematically, without rounding an integer to a double.
fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (as_integer(a), as_integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (Some(a), None) => compare_with_double(a, b.as_f64()?),
        (None, Some(b)) => compare_with_double(b, a.as_f64()?).map(Ordering::reverse),
        (None, None) => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn as_integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn compare_with_double(integer: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    if double >= TWO_POW_64 {
        return Some(Ordering::Less);
    }
    if double <= -TWO_POW_64 {
        return Some(Ordering::Greater);
    }
    // Within 2^64, and the floor is whole.
    let rounded_down = double.floor() as i128;
    Some(integer.cmp(&rounded_down).then(if double > double.floor() {
        Ordering::Less
    } else {
        Ordering::Equal
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order(a: Value, b: Value) -> Option<Ordering> {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => compare(&a, &b),
            _ => None,
        }
    }

    #[test]
    fn integers_and_doubles_are_compared_exactly() {
        let (less, equal) = (Some(Ordering::Less), Some(Ordering::Equal));
        let (big, next) = (9_007_199_254_740_992_i64, 9_007_199_254_740_993_i64);
        assert_eq!(order(json!(big), json!(9_007_199_254_740_992.0)), equal);
        assert_eq!(order(json!(9_007_199_254_740_992.0), json!(next)), less);
        assert_eq!(order(json!(u64::MAX), json!(18_446_744_073_709_551_616.0)), less);
        assert_eq!(order(json!(-1e300), json!(i64::MIN)), less);
        assert_eq!(order(json!(i64::MIN), json!(-9_223_372_036_854_775_808.0)), equal);
        assert_eq!(order(json!(0.1), json!(0.2)), less);
        assert_eq!(order(json!(-0.0), json!(0)), equal);
        assert_eq!(order(json!(-2), json!(-1.5)), less);
        assert_eq!(order(json!(-1.5), json!(-1)), less);
        assert_eq!(order(json!(1), json!(1.5)), less);
    }

    #[test]
    fn values_are_the_same_by_what_they_mean() {
        assert!(values_equal(&json!({ "a": [1, 2.0] }), &json!({ "a": [1.0, 2] })));
        assert!(!values_equal(&json!([1, 2]), &json!([2, 1])));
        assert!(!values_equal(&json!({ "a": 1 }), &json!({ "a": 1, "b": 2 })));
        assert!(!values_equal(&json!("1"), &json!(1)));
        assert!(!values_equal(&json!(null), &json!(false)));
        assert!(!values_equal(&json!("é"), &json!("e\u{301}")));
    }
}
