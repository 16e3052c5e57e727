//! Equality of JSON values by what their numbers are worth.

use serde_json::{Number, Value};

/// Below it, every integer is a floating-point number of 64 bits, and no other integer is read as it (2^53).
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether two values are the same, with numbers by value: one program writes `0.0` for what another one
/// writes as `0`. An integer that no floating-point number equals is none.
///
/// ```
/// use serde_json::json;
/// use weaver_types::json_equal;
///
/// assert!(json_equal(&json!({ "a": [0.0] }), &json!({ "a": [0] })));
/// assert!(!json_equal(&json!(0.5), &json!(0)));
/// ```
#[must_use]
pub fn json_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || equal_as_floats(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| json_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let has_equal =
                |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| json_equal(a, b));
            a.len() == b.len() && a.iter().all(has_equal)
        }
        _ => a == b,
    }
}

/// Whether an integer and a floating-point number are worth the same. Two integers are not asked about.
fn equal_as_floats(a: &Number, b: &Number) -> bool {
    let is_exact = |number: &Number| number.as_f64().filter(|float| float.abs() < MAX_EXACT);
    a.is_f64() != b.is_f64() && is_exact(a).is_some_and(|a| is_exact(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_equal_by_value_where_no_digit_is_lost() {
        for (a, b, are_equal) in [
            (json!(1.0), json!(1), true),
            (json!(-0.0), json!(0), true),
            (json!({ "a": [1, { "b": 2.0 }] }), json!({ "a": [1.0, { "b": 2 }] }), true),
            (json!(1.5), json!(1), false),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0), false),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), false),
            (json!([1]), json!([1, 1]), false),
            (json!({ "a": 1 }), json!({ "b": 1 }), false),
            (json!("1"), json!(1), false),
        ] {
            assert_eq!(json_equal(&a, &b), are_equal, "{a} {b}");
            assert_eq!(json_equal(&b, &a), are_equal, "{b} {a}");
        }
    }
}
