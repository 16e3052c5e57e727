//! What keeps a statement from being harmless, named so that it can be written otherwise.

use std::fmt;

use super::tokens::Token;

/// Longer words are not shown, since they could be anything.
const MAX_WORD: usize = 32;

/// The first thing in a statement that has no place in the known forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle<'t> {
    /// A token that has no place there.
    Token(Token<'t>),
    /// A function or a pragma that is not known to only compute or read.
    Named(&'static str, &'t str),
    Other(&'static str),
}

impl Obstacle<'_> {
    /// What a database may read as a file, an address or another database.
    pub(super) const FOREIGN_TABLE: Self =
        Self::Other("a file, an address or another database in place of a table");
    /// A table or a column through which a database is configured.
    pub(super) const OWN_TABLE: Self =
        Self::Other("a table of the database's own, or a column named like its table");
    pub(super) const NO_WHERE: Self = Self::Other("an update without `where`");
    pub(super) const SECOND_STATEMENT: Self = Self::Other("a second statement");
    pub(super) const DEPTH: Self = Self::Other("more than 32 levels of parentheses");
    pub(super) const END: Self = Self::Other("its end, where something is missing");
}

impl fmt::Display for Obstacle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(Token::Word(word)) if is_shown(word) => write!(f, "`{word}`"),
            Self::Token(Token::Symbol(symbol)) => write!(f, "`{symbol}`"),
            Self::Token(Token::Word(_)) => f.write_str("a word"),
            Self::Token(Token::Quoted(_)) => f.write_str("a name in quotes"),
            Self::Token(Token::Text(_)) => f.write_str("a text in quotes"),
            Self::Token(Token::Number) => f.write_str("a number"),
            Self::Named(kind, name) if is_shown(name) => write!(f, "the {kind} `{name}`"),
            Self::Named(kind, _) => write!(f, "a {kind}"),
            Self::Other(phrase) => f.write_str(phrase),
        }
    }
}

/// Whether a word is shown: values are not, and keywords and names of functions are short.
fn is_shown(word: &str) -> bool {
    word.len() <= MAX_WORD && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
