//! The exact order of JSON numbers, and their sums.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The exact order of two numbers, also between an integer and a float.
pub(crate) fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (integer_value(a), integer_value(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => compare_with_float(a, b),
        (None, Some(b)) => compare_with_float(b, a).reverse(),
        (None, None) => float_value(a).partial_cmp(&float_value(b)).unwrap_or(Ordering::Equal),
    }
}

/// The value of a number that is written as an integer.
pub(crate) fn integer_value(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// The value of a number as a float.
fn float_value(number: &Number) -> f64 {
    number.as_f64().unwrap_or(0.0)
}

fn compare_with_float(whole: i128, number: &Number) -> Ordering {
    let other = float_value(number);
    // Truncated towards zero and saturated at the range of i128, which no JSON integer exceeds.
    // Comparing the integer with the truncated part first, then with the fraction, avoids rounding.
    let part = other.trunc() as i128;
    whole.cmp(&part).then_with(|| 0.0_f64.partial_cmp(&other.fract()).unwrap_or(Ordering::Equal))
}

/// A sum that is exact for integers, and compensated (Neumaier's variant of Kahan summation) for
/// floating-point numbers.
#[derive(Debug, PartialEq)]
pub(crate) struct NumberSum {
    integer_sum: i128,
    float_sum: f64,
    compensation: f64,
    is_integer: bool,
    count: u32,
}

impl NumberSum {
    pub(crate) fn of<'n>(numbers: impl Iterator<Item = &'n Number>) -> Self {
        let mut total =
            Self { integer_sum: 0, float_sum: 0.0, compensation: 0.0, is_integer: true, count: 0 };
        numbers.for_each(|number| total.add(number));
        total
    }

    pub(crate) fn add(&mut self, number: &Number) {
        self.count = self.count.saturating_add(1);
        match integer_value(number) {
            Some(number) => self.integer_sum = self.integer_sum.saturating_add(number),
            None => {
                self.is_integer = false;
                self.add_float(float_value(number));
            }
        }
    }

    /// The sum and the number of its terms, if all of them are integers.
    pub(crate) fn integers(&self) -> Option<(i128, u32)> {
        self.is_integer.then_some((self.integer_sum, self.count))
    }

    /// The mean as a float, rounded; 0 without numbers.
    pub(crate) fn rounded_mean(&self) -> f64 {
        self.total() / f64::from(self.count.max(1))
    }

    fn add_float(&mut self, number: f64) {
        let sum = self.float_sum + number;
        self.compensation += if self.float_sum.abs() >= number.abs() {
            (self.float_sum - sum) + number
        } else {
            (number - sum) + self.float_sum
        };
        self.float_sum = sum;
    }

    fn total(&self) -> f64 {
        self.integer_sum as f64 + (self.float_sum + self.compensation)
    }

    pub(crate) fn sum(&self) -> Value {
        let exact = i64::try_from(self.integer_sum).map(Number::from);
        let exact = exact.or_else(|_| u64::try_from(self.integer_sum).map(Number::from));
        match exact {
            Ok(number) if self.is_integer => Value::Number(number),
            _ => Number::from_f64(self.total()).map_or(Value::Null, Value::Number),
        }
    }

    pub(crate) fn mean(&self) -> Value {
        if self.count == 0 {
            return Value::Null;
        }
        Number::from_f64(self.rounded_mean()).map_or(Value::Null, Value::Number)
    }
}
