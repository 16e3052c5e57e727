//! The built-in rules.

mod access;
mod assignment;
mod vendor;

use super::rule::Rule;

/// All built-in rules; the first that finds a value names its kind.
pub(crate) fn rules() -> Vec<Rule> {
    [access::RULES, vendor::RULES, assignment::RULES].concat()
}
