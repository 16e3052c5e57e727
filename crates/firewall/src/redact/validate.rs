//! Named checks of a value, for rules as data.

use super::checksum;

/// A check of a value.
pub(crate) type Check = fn(&str) -> bool;

/// Every check, by its name in rule files.
const CHECKS: &[(&str, Check)] = &[("luhn", luhn)];

/// The check of this name.
pub(crate) fn by_name(name: &str) -> Option<Check> {
    CHECKS.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}

/// The names of all checks.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|(name, _)| *name)
}

/// The digits of the text have a right Luhn sum.
fn luhn(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    checksum::luhn(&digits)
}
