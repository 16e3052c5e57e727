//! Numbers: what each profile accepts, and the ECMAScript text form that RFC 8785 requires.

use serde_json::Number;

use super::{CanonicalFault, Profile};

/// The largest magnitude up to which a double holds every integer.
const MAX_SAFE_INTEGER: u64 = 1 << 53;
/// No integer text longer than this equals the ECMAScript form of a double.
const MAX_INTEGER_TEXT: usize = "-100000000000000000000".len();

/// Parses a number whose text already matches the grammar of RFC 8259.
pub(super) fn read(text: &str, profile: Profile) -> Result<Number, CanonicalFault> {
    match integer_text(text) {
        Some(_) if profile == Profile::Record && text.contains(['.', 'e', 'E']) => {
            Err(CanonicalFault::Float)
        }
        Some(digits) => read_integer(digits, profile),
        None if profile == Profile::Record => Err(CanonicalFault::Float),
        None => read_double(text, profile),
    }
}

/// The integer part, for a number without an exponent whose fraction (if any) is all zeros.
fn integer_text(text: &str) -> Option<&str> {
    if text.contains(['e', 'E']) {
        return None;
    }
    match text.split_once('.') {
        None => Some(text),
        Some((whole, fraction)) => fraction.bytes().all(|b| b == b'0').then_some(whole),
    }
}

fn read_integer(text: &str, profile: Profile) -> Result<Number, CanonicalFault> {
    if text.len() > MAX_INTEGER_TEXT {
        return Err(CanonicalFault::IntegerRange);
    }
    let exact = match text.parse::<i64>() {
        Ok(n) => Some((Number::from(n), n.unsigned_abs())),
        Err(_) => text.parse::<u64>().ok().map(|n| (Number::from(n), n)),
    };
    match exact {
        Some((number, magnitude))
            if magnitude <= MAX_SAFE_INTEGER || profile == Profile::Foreign =>
        {
            Ok(number)
        }
        Some(_) => Err(CanonicalFault::IntegerRange),
        None if profile == Profile::Foreign => read_wide_integer(text),
        None => Err(CanonicalFault::IntegerRange),
    }
}

/// An integer beyond 64 bits is accepted only when it is the canonical text of a double, since that
/// is how such a double is written.
fn read_wide_integer(text: &str) -> Result<Number, CanonicalFault> {
    let value: f64 = text.parse().map_err(|_| CanonicalFault::IntegerRange)?;
    if ecmascript_text(value) == text {
        Number::from_f64(value).ok_or(CanonicalFault::IntegerRange)
    } else {
        Err(CanonicalFault::IntegerRange)
    }
}

fn read_double(text: &str, profile: Profile) -> Result<Number, CanonicalFault> {
    let value: f64 = text.parse().map_err(|_| CanonicalFault::Precision)?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let underflow = value == 0.0 && mantissa.bytes().any(|b| matches!(b, b'1'..=b'9'));
    if !value.is_finite() || underflow {
        return Err(CanonicalFault::Precision);
    }
    let canonical = ecmascript_text(value);
    match integer_text(&canonical) {
        Some(digits) => read_integer(digits, profile),
        None => Number::from_f64(value).ok_or(CanonicalFault::Precision),
    }
}

/// Formats a number, or reports why the profile refuses it.
pub(super) fn write(number: &Number, profile: Profile) -> Result<String, CanonicalFault> {
    if let Some(n) = number.as_i64() {
        return check_range(n.unsigned_abs(), profile).map(|()| n.to_string());
    }
    if let Some(n) = number.as_u64() {
        return check_range(n, profile).map(|()| n.to_string());
    }
    let value = number.as_f64().filter(|v| v.is_finite()).ok_or(CanonicalFault::Precision)?;
    match profile {
        Profile::Record => Err(CanonicalFault::Float),
        Profile::Foreign => Ok(ecmascript_text(value)),
        Profile::Document => {
            let text = ecmascript_text(value);
            match integer_text(&text) {
                Some(digits) => read_integer(digits, profile).map(|_| text),
                None => Ok(text),
            }
        }
    }
}

fn check_range(magnitude: u64, profile: Profile) -> Result<(), CanonicalFault> {
    if magnitude <= MAX_SAFE_INTEGER || profile == Profile::Foreign {
        Ok(())
    } else {
        Err(CanonicalFault::IntegerRange)
    }
}

/// The text of a finite double by ECMAScript's `Number::toString`, as RFC 8785 section 3.2.2.3
/// requires.
fn ecmascript_text(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let (digits, exponent) = shortest_digits(value.abs());
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", layout(&digits, exponent))
}

/// The shortest digits that read back to `value`, and the power of ten of the first digit.
fn shortest_digits(value: f64) -> (String, i32) {
    let (digits, exponent) = scientific(&format!("{value:e}"));
    match even_neighbour(value, &digits) {
        Some(even)
            if format!("{even}e{}", integer_exponent(exponent, &even)).parse() == Ok(value) =>
        {
            (even, exponent)
        }
        _ => (digits, exponent),
    }
}

/// When two shortest texts are equally near to the value, ECMAScript takes the one with an even
/// last digit, while `{:e}` takes the larger one. Returns the even one when `digits` is the odd one
/// of such a pair.
fn even_neighbour(value: f64, digits: &str) -> Option<String> {
    let count = digits.len();
    let odd = digits.bytes().last().is_some_and(|b| b % 2 == 1);
    // Most doubles return here: with one digit more they do not end in five.
    if !odd || !scientific(&format!("{value:.count$e}")).0.ends_with('5') {
        return None;
    }
    // No double has more than 767 significant digits, so this is its exact value.
    let (exact, _) = scientific(&format!("{value:.767e}"));
    let lower = exact.trim_end_matches('0').strip_suffix('5')?;
    (lower.len() == count).then(|| lower.to_owned())
}

/// The exponent when all digits stand before the decimal point.
fn integer_exponent(exponent: i32, digits: &str) -> i32 {
    exponent.saturating_add(1).saturating_sub_unsigned(u32::try_from(digits.len()).unwrap_or(0))
}

/// The digits and the exponent of a `{:e}` text.
fn scientific(text: &str) -> (String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa.chars().filter(|c| *c != '.').collect(), exponent.parse().unwrap_or(0))
}

/// Formats shortest digits, the first of which stands before the point, times ten to the power of
/// `exponent`.
fn layout(digits: &str, exponent: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    let point = exponent.saturating_add(1);
    if (0..21).contains(&exponent) {
        if count <= point {
            return format!("{digits}{}", zeros(point - count));
        }
        let (whole, fraction) = split(digits, point);
        return format!("{whole}.{fraction}");
    }
    if (-6..0).contains(&exponent) {
        return format!("0.{}{digits}", zeros(-point));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let (first, rest) = split(digits, 1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}e{sign}{}", exponent.unsigned_abs())
}

fn split(digits: &str, at: i32) -> (&str, &str) {
    usize::try_from(at).ok().and_then(|at| digits.split_at_checked(at)).unwrap_or((digits, ""))
}

#[cfg(test)]
mod tests;
