//! Markers in place of what a walk does not reach. Nothing of it was read, so no rule found a value
//! in it: a marker says what was cut and is no mask.

use std::fmt;

/// What a marker begins with.
const START: &str = "[cut: ";

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutReason {
    /// It is nested deeper than this number of lists and objects.
    Depth(usize),
    /// It is JSON within strings, nested deeper than this number of strings.
    Strings(usize),
    /// It follows the last of this number of values.
    Values(usize),
}

impl CutReason {
    /// Whether a text in brackets is such a marker.
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
            Self::Depth(levels) => write!(f, "{START}deeper than {levels} levels]"),
            Self::Strings(levels) => {
                write!(f, "{START}JSON in strings deeper than {levels} levels]")
            }
            Self::Values(count) => write!(f, "{START}more than {count} values]"),
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
