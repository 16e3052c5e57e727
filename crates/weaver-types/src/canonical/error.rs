//! Errors of canonical reading and writing, each with its position.

use std::fmt;

/// Longest part of a key that an error quotes, in characters.
const MAX_KEY: usize = 48;
/// Longest path that an error names, in steps from the fault outwards.
const MAX_STEPS: usize = 8;

/// The kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CanonicalFault {
    /// The bytes are not UTF-8.
    Utf8,
    /// The text begins with a byte order mark.
    ByteOrderMark,
    /// The text is not RFC 8259 JSON.
    Syntax,
    /// Something other than blanks follows the value.
    Trailing,
    /// A string holds half of a surrogate pair.
    Surrogate,
    /// An object names a key twice.
    DuplicateKey,
    /// Arrays and objects are nested beyond [`MAX_DEPTH`](super::MAX_DEPTH).
    Depth,
    /// An integer lies outside the range of the profile.
    IntegerRange,
    /// A number with a fraction or exponent where the profile has integers only.
    Float,
    /// A number that a double cannot hold: it overflows, underflows to zero or is not finite.
    Precision,
    /// The value could not be turned into JSON.
    Serialize,
}

impl CanonicalFault {
    /// The stable code of this fault.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Utf8 => "canonical.utf8",
            Self::ByteOrderMark => "canonical.byte_order_mark",
            Self::Syntax => "canonical.syntax",
            Self::Trailing => "canonical.trailing",
            Self::Surrogate => "canonical.surrogate",
            Self::DuplicateKey => "canonical.duplicate_key",
            Self::Depth => "canonical.depth",
            Self::IntegerRange => "canonical.integer_range",
            Self::Float => "canonical.float",
            Self::Precision => "canonical.precision",
            Self::Serialize => "canonical.serialize",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Utf8 => "bytes are not UTF-8: send UTF-8",
            Self::ByteOrderMark => "byte order mark: remove it",
            Self::Syntax => "not RFC 8259 JSON",
            Self::Trailing => "text after the value: send one JSON value",
            Self::Surrogate => "lone surrogate in a string: send both halves or neither",
            Self::DuplicateKey => "duplicate key: keep one",
            Self::Depth => "nested deeper than 128 levels: flatten it",
            Self::IntegerRange => "integer out of range: send it as a string",
            Self::Float => "fraction or exponent where only integers stand: send an integer",
            Self::Precision => "number beyond double precision: send it as a string",
            Self::Serialize => "value does not serialise to JSON",
        }
    }

    pub(super) fn at(self, offset: usize) -> CanonicalError {
        CanonicalError { fault: self, offset: Some(offset), steps: Vec::new() }
    }

    pub(super) fn without_place(self) -> CanonicalError {
        CanonicalError { fault: self, offset: None, steps: Vec::new() }
    }
}

/// A refusal with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct CanonicalError {
    fault: CanonicalFault,
    offset: Option<usize>,
    /// From the fault outwards; one more than `MAX_STEPS` means that outer steps were dropped.
    steps: Vec<String>,
}

impl CanonicalError {
    /// What was refused.
    #[must_use]
    pub fn fault(&self) -> CanonicalFault {
        self.fault
    }

    /// The stable code of the fault.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.fault.code()
    }

    /// The byte at which the reader stopped; `None` when the fault is in a value rather than in a
    /// text.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.offset
    }

    /// The position as a JSON pointer, empty for the whole value. Long keys are cut, control
    /// characters are replaced, and only the innermost steps are kept (a leading `…` marks dropped
    /// ones).
    #[must_use]
    pub fn place(&self) -> String {
        let mut out = String::new();
        if self.steps.len() > MAX_STEPS {
            out.push('…');
        }
        for step in self.steps.iter().take(MAX_STEPS).rev() {
            out.push('/');
            out.push_str(step);
        }
        out
    }

    /// Adds the key around the fault.
    pub(super) fn inside_key(mut self, key: &str) -> Self {
        if self.steps.len() <= MAX_STEPS {
            self.steps.push(shorten(key));
        }
        self
    }

    /// Adds the index around the fault.
    pub(super) fn inside_index(mut self, index: usize) -> Self {
        if self.steps.len() <= MAX_STEPS {
            self.steps.push(index.to_string());
        }
        self
    }
}

fn shorten(key: &str) -> String {
    let mut out = String::new();
    for (count, c) in key.chars().enumerate() {
        match c {
            _ if count == MAX_KEY => {
                out.push('…');
                break;
            }
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

impl fmt::Display for CanonicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.fault.message())?;
        let place = self.place();
        if !place.is_empty() {
            write!(f, " (at `{place}`)")?;
        }
        match self.offset {
            Some(offset) => write!(f, " (byte {offset})"),
            None => Ok(()),
        }
    }
}
