//! Formats numbers in facts.

use std::fmt::Write as _;

use serde_json::Number;

use crate::decimal::{last_digit, push_decimal};
use crate::numbers::{NumberSum, integer_value};

/// Bits of the fraction of an IEEE 754 double.
const FRACTION_BITS: u32 = 52;

/// Appends a count.
pub(super) fn push_count(out: &mut String, count: usize) {
    push_decimal(out, count as u64);
}

/// Up to here, integers and their means are exact as floats.
const MAX_FLOAT_INTEGER: i128 = 1 << (FRACTION_BITS + 1);

/// Appends a number with two decimals; an integer is never rounded.
pub(super) fn push_number(out: &mut String, number: &Number) {
    match integer_value(number) {
        Some(integer) if integer.abs() > MAX_FLOAT_INTEGER => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{integer}.00");
        }
        _ => push_rounded(out, number.as_f64().unwrap_or(0.0)),
    }
}

/// Appends the mean of some numbers with two decimals. That of integers whose sum no float has is
/// computed exactly, half to even.
pub(super) fn push_mean(out: &mut String, sum: &NumberSum) {
    match sum.integers() {
        Some((total, count)) if total.abs() > MAX_FLOAT_INTEGER => {
            let hundredths = total.saturating_mul(100);
            let count = i128::from(count.max(1));
            let (down, rest) = (hundredths.div_euclid(count), hundredths.rem_euclid(count));
            let up = rest * 2 > count || rest * 2 == count && down % 2 != 0;
            let mean = down + i128::from(up);
            let sign = if mean < 0 { "-" } else { "" };
            let _ = write!(out, "{sign}{}.{:02}", mean.abs() / 100, mean.abs() % 100);
        }
        _ => push_rounded(out, sum.rounded_mean()),
    }
}

/// Appends a number with two decimals, exactly as `{:.2}` does: correctly rounded, half to even.
fn push_rounded(out: &mut String, value: f64) {
    let Some(hundredths) = hundredths(value.abs()) else {
        // Writing to a string cannot fail.
        let _ = write!(out, "{value:.2}");
        return;
    };
    if value.is_sign_negative() {
        out.push('-');
    }
    push_decimal(out, hundredths / 100);
    out.push('.');
    out.push(last_digit(hundredths / 10).into());
    out.push(last_digit(hundredths).into());
}

/// A non-negative number in hundredths; `None` if it is so large that it has no fraction.
fn hundredths(value: f64) -> Option<u64> {
    let bits = value.to_bits();
    let (exponent, fraction) = (bits >> FRACTION_BITS, bits & ((1 << FRACTION_BITS) - 1));
    // The value is `whole` divided by two to the power of `places`; 1,075 is the exponent's bias
    // plus the bits of the fraction.
    let whole = fraction | 1 << FRACTION_BITS;
    let places = 1_075_u64.checked_sub(exponent).filter(|places| *places > 0)?;
    if places > 60 {
        // `whole * 100` is below 2^60, so this is less than half of a hundredth.
        return Some(0);
    }
    let exact = whole * 100;
    let (down, rest, half) = (exact >> places, exact & ((1 << places) - 1), 1 << (places - 1));
    let up = rest > half || rest == half && down % 2 == 1;
    Some(down + u64::from(up))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rounded(value: f64) -> String {
        let mut out = String::new();
        push_rounded(&mut out, value);
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn numbers_are_rounded_as_the_formatter_does(
            any: f64,
            (eighths, thousandths) in (any::<i32>(), any::<i64>()),
            (whole, by) in (any::<i64>(), 1..1_000_u32),
            bits: u64,
        ) {
            let average = (whole % 1_000_000) as f64 / f64::from(by);
            let halves = f64::from(eighths) / 1_024.0;
            let near = (thousandths % 100_000_000) as f64 / 1_000.0;
            for value in [any, average, halves, near, whole as f64, f64::from_bits(bits)] {
                prop_assert_eq!(rounded(value), format!("{value:.2}"));
            }
        }
    }

    #[test]
    fn integers_and_their_means_are_exact() {
        let number = |text: &str| serde_json::from_str::<Number>(text).unwrap();
        for (text, shown) in [
            ("1234567890123456789", "1234567890123456789.00"),
            ("-9223372036854775807", "-9223372036854775807.00"),
            ("18446744073709551615", "18446744073709551615.00"),
            ("9007199254740993", "9007199254740993.00"),
            ("17", "17.00"),
            ("-0.5", "-0.50"),
            ("1e300", &format!("{:.2}", 1e300)),
        ] {
            let mut out = String::new();
            push_number(&mut out, &number(text));
            assert_eq!(out, shown);
        }
        for (texts, mean) in [
            (&["1", "2"][..], "1.50"),
            (&["1234567890123456789", "1234567890123456790"], "1234567890123456789.50"),
            (&["9007199254740993"; 3], "9007199254740993.00"),
            (&["9007199254740993", "9007199254740993", "9007199254740994"], "9007199254740993.33"),
            (
                &["-9007199254740993", "-9007199254740993", "-9007199254740994"],
                "-9007199254740993.33",
            ),
            (&["-18014398509481985", "18014398509481984", "0"], "-0.33"),
            (&["9223372036854775807", "0.5"], &format!("{:.2}", 9_223_372_036_854_775_807.5 / 2.0)),
        ] {
            let numbers: Vec<Number> = texts.iter().map(|text| number(text)).collect();
            let mut out = String::new();
            push_mean(&mut out, &NumberSum::of(numbers.iter()));
            assert_eq!(out, mean, "{texts:?}");
        }
    }

    #[test]
    fn the_middle_is_rounded_to_the_even_one() {
        for (value, text) in [
            (0.0, "0.00"),
            (-0.0, "-0.00"),
            (0.125, "0.12"),
            (0.375, "0.38"),
            (-2.675, "-2.67"),
            (0.005, "0.01"),
            (-0.001, "-0.00"),
            (4_503_599_627_370_495.5, "4503599627370495.50"),
            (4_503_599_627_370_496.0, "4503599627370496.00"),
            (f64::MIN_POSITIVE, "0.00"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(rounded(value), text);
            assert_eq!(format!("{value:.2}"), text);
        }
        for exponent in 0..=2_047_u64 {
            for fraction in [0, 1, (1 << 52) - 1, 1 << 51] {
                let value = f64::from_bits(exponent << 52 | fraction);
                assert_eq!(rounded(value), format!("{value:.2}"));
            }
        }
    }
}
