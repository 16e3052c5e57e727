//! The built-in rules.

mod access;
mod assignment;
mod personal;
mod vendor;

use super::rule::Rule;

/// All built-in rules; the first that finds a value names its kind.
pub(crate) fn rules() -> Vec<Rule> {
    [personal::RULES, access::RULES, vendor::RULES, assignment::RULES].concat()
}
