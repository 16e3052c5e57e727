//! Markers for parts that a walk does not reach. They were not scanned, so a marker states why they
//! were cut; it is not a mask.

use std::fmt;

/// The beginning of every marker.
const MARKER_PREFIX: &str = "[cut: ";

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutReason {
    /// Nested deeper than this many lists and objects.
    Depth(usize),
    /// JSON within strings, nested deeper than this many strings.
    Strings(usize),
    /// Beyond the maximum number of values.
    Values(usize),
}

impl CutReason {
    /// True if a text in brackets is such a marker.
    pub(crate) fn is_marker(text: &str) -> bool {
        let number = text.bytes().filter(u8::is_ascii_digit).map(char::from).collect::<String>();
        let Ok(bound) = number.parse() else { return false };
        let all = [Self::Depth(bound), Self::Strings(bound), Self::Values(bound)];
        all.iter().any(|cut| cut.to_string() == text)
    }
}

impl fmt::Display for CutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(levels) => write!(f, "{MARKER_PREFIX}deeper than {levels} levels]"),
            Self::Strings(levels) => {
                write!(f, "{MARKER_PREFIX}JSON in strings deeper than {levels} levels]")
            }
            Self::Values(count) => write!(f, "{MARKER_PREFIX}more than {count} values]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_known_by_its_words() {
        for cut in [CutReason::Depth(3), CutReason::Strings(4), CutReason::Values(4_000_000)] {
            let marker = cut.to_string();
            assert!(CutReason::is_marker(&marker), "{marker}");
        }
        for other in
            ["[cut: deeper than x levels]", "[cut: 3]", "[cut: deeper than 3 levels", "cut"]
        {
            assert!(!CutReason::is_marker(other), "{other}");
        }
    }
}
