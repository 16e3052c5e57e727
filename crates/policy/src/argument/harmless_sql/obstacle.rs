//! What keeps a statement from being harmless, named so that it can be written otherwise.

use std::fmt;

use super::tokens::{Ambiguity, Token};

/// Longer words are not shown, since they could be anything.
const MAX_WORD: usize = 32;

/// The first thing in a statement that has no place in the known forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle<'t> {
    /// Databases read the text in different ways.
    Ambiguity(Ambiguity),
    /// A token that has no place there.
    Token(Token<'t>),
    /// A function that is not known to only compute.
    Function(&'t str),
    /// A pragma that is not known to only read.
    Pragma(&'t str),
    /// What a database may read as a file, an address or another database.
    ForeignTable,
    /// A table or a column through which a database is configured.
    OwnTable,
    /// An update of all rows.
    NoWhere,
    /// A statement behind the first.
    SecondStatement,
    /// Too many parentheses in each other.
    Depth,
    /// The statement is not complete.
    End,
}

impl fmt::Display for Obstacle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambiguity(what) => f.write_str(what),
            Self::Token(Token::Word(word)) if is_shown(word) => write!(f, "`{word}`"),
            Self::Token(Token::Symbol(symbol)) => write!(f, "`{symbol}`"),
            Self::Token(Token::Word(_)) => f.write_str("a word"),
            Self::Token(Token::Quoted(_)) => f.write_str("a name in quotes"),
            Self::Token(Token::Text(_)) => f.write_str("a text in quotes"),
            Self::Token(Token::Number) => f.write_str("a number"),
            Self::Function(name) if is_shown(name) => write!(f, "the function `{name}`"),
            Self::Function(_) => f.write_str("a function"),
            Self::Pragma(name) if is_shown(name) => write!(f, "the pragma `{name}`"),
            Self::Pragma(_) => f.write_str("a pragma"),
            Self::ForeignTable => {
                f.write_str("a file, an address or another database in place of a table")
            }
            Self::OwnTable => {
                f.write_str("a table of the database's own, or a column named like its table")
            }
            Self::NoWhere => f.write_str("an update without `where`"),
            Self::SecondStatement => f.write_str("a second statement"),
            Self::Depth => f.write_str("more than 32 levels of parentheses"),
            Self::End => f.write_str("its end, where something is missing"),
        }
    }
}

/// Whether a word is shown: values are not, and keywords and names of functions are short.
fn is_shown(word: &str) -> bool {
    word.len() <= MAX_WORD && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
