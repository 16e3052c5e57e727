//! Anchored patterns with `*`, which matches any run of characters, including an empty one.
//!
//! Nothing else is special: `?`, `[` and `\` are literal. A pattern is split at its stars when it
//! is parsed. Matching then searches for the pieces from left to right without backtracking.

use crate::error::GlobError;

/// Maximum length of a pattern, in bytes.
pub const MAX_LEN: usize = 512;

/// A parsed pattern. It matches whole names, case-sensitively.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Glob {
    pattern: String,
    /// The text around and between the stars; `None` without a star.
    pieces: Option<Pieces>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Pieces {
    head: String,
    middle: Vec<String>,
    tail: String,
}

/// The kind of a pattern, for indexes with fast paths for the simple kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// No star: matches exactly this name.
    Exact(&'a str),
    /// One star, at the end: matches names with this prefix. `*` alone is the empty prefix.
    Prefix(&'a str),
    /// One star, at the start: matches names with this suffix.
    Suffix(&'a str),
    /// Any other pattern.
    General,
}

impl Glob {
    /// Parses a pattern. Consecutive stars count as one.
    ///
    /// # Errors
    /// An empty pattern, or one of more than [`MAX_LEN`] bytes.
    pub fn parse(pattern: &str) -> Result<Self, GlobError> {
        if pattern.is_empty() {
            return Err(GlobError::Empty);
        }
        if pattern.len() > MAX_LEN {
            return Err(GlobError::TooLong { len: pattern.len(), max: MAX_LEN });
        }
        let pieces = pattern.split_once('*').map(|(head, rest)| {
            let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
            let middle = middle.split('*').filter(|piece| !piece.is_empty());
            Pieces {
                head: head.to_owned(),
                middle: middle.map(str::to_owned).collect(),
                tail: tail.to_owned(),
            }
        });
        Ok(Self { pattern: pattern.to_owned(), pieces })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Whether the pattern matches all of `name`.
    pub fn matches(&self, name: &str) -> bool {
        let Some(pieces) = &self.pieces else { return self.pattern == name };
        let Some(rest) = name.strip_prefix(pieces.head.as_str()) else { return false };
        let Some(mut rest) = rest.strip_suffix(pieces.tail.as_str()) else { return false };
        for piece in &pieces.middle {
            match rest.split_once(piece.as_str()) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        true
    }

    /// The kind of the pattern, with its literal text for the simple kinds.
    pub fn kind(&self) -> Kind<'_> {
        match &self.pieces {
            None => Kind::Exact(&self.pattern),
            Some(Pieces { head, middle, tail }) if middle.is_empty() => {
                match (head.is_empty(), tail.is_empty()) {
                    (_, true) => Kind::Prefix(head),
                    (true, false) => Kind::Suffix(tail),
                    (false, false) => Kind::General,
                }
            }
            Some(_) => Kind::General,
        }
    }
}

impl std::fmt::Display for Glob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.pattern)
    }
}

impl std::str::FromStr for Glob {
    type Err = GlobError;

    fn from_str(pattern: &str) -> Result<Self, GlobError> {
        Self::parse(pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Glob::parse(pattern).unwrap().matches(name)
    }

    #[test]
    fn matching_is_anchored() {
        assert!(fits("tickets.*", "tickets.list"));
        assert!(!fits("tickets.*", "my.tickets.list"));
        assert!(!fits("tickets", "tickets.list"));
        assert!(fits("*.delete", "tickets.delete"));
        assert!(!fits("*.delete", "tickets.delete.all"));
        assert!(fits("a*b*c", "a-b-b-c") && fits("a*c", "ac") && !fits("a*a", "a"));
        assert!(fits("*", "") && fits("**", "x") && fits("*ö*", "wörter"));
        assert!(!fits("A*", "ab") && fits("a?b", "a?b") && !fits("a?b", "axb"));
    }

    #[test]
    fn kinds() {
        let kind = |p: &str| format!("{:?}", Glob::parse(p).unwrap().kind());
        assert_eq!(kind("ab"), "Exact(\"ab\")");
        assert_eq!(kind("ab*"), "Prefix(\"ab\")");
        assert_eq!(kind("**"), "Prefix(\"\")");
        assert_eq!(kind("*ab"), "Suffix(\"ab\")");
        assert_eq!(kind("a*b"), "General");
        assert_eq!(kind("*a*"), "General");
    }

    #[test]
    fn bounds() {
        assert_eq!(Glob::parse("").unwrap_err().code(), "text.glob_empty");
        assert_eq!(Glob::parse(&"*".repeat(513)).unwrap_err().code(), "text.glob_too_long");
        let hostile = Glob::parse(&"a*".repeat(256)).unwrap();
        assert!(!hostile.matches(&"a".repeat(255)));
        assert!(hostile.matches(&"a".repeat(1_000_000)));
    }
}
