//! Splits a statement into tokens that all databases read alike.

use std::iter::Peekable;
use std::str::CharIndices;

/// A token of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A word without quotes: a keyword or a name.
    Word(&'t str),
    /// A name in quotes, without them.
    Quoted(&'t str),
    /// A text in quotes.
    Text,
    /// A number, or a placeholder for a value that is given beside the statement.
    Number,
    /// An operator or a mark of punctuation.
    Symbol(&'t str),
}

/// The tokens; `None` if a database may read them in another way: comments, quotes after a
/// backslash, texts with a prefix, and marks that only some databases know.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut rest = text.char_indices().peekable();
    let mut found = Vec::new();
    while let Some((start, first)) = rest.next() {
        let token = match first {
            ' ' | '\t' | '\n' | '\r' => continue,
            '\'' => quoted(text, &mut rest, first).map(|_| Token::Text)?,
            '"' | '`' => Token::Quoted(quoted(text, &mut rest, first)?),
            '_' | 'a'..='z' | 'A'..='Z' => Token::Word(word(text, &mut rest, start)?),
            letter if letter.is_alphabetic() => Token::Word(word(text, &mut rest, start)?),
            '0'..='9' => number(&mut rest)?,
            '?' => Token::Number,
            ':' | '$' => {
                take_while(text, &mut rest, is_word)?.chars().next()?;
                Token::Number
            }
            '-' if next_is(&mut rest, '-') => return None,
            '/' if next_is(&mut rest, '*') => return None,
            '<' | '>' | '!' | '=' | '|' => {
                take_while(text, &mut rest, |c| matches!(c, '<' | '>' | '=' | '|'))?;
                Token::Symbol(since(text, &mut rest, start)?)
            }
            '(' | ')' | ',' | '.' | ';' | '*' | '+' | '-' | '/' | '%' => {
                Token::Symbol(since(text, &mut rest, start)?)
            }
            _ => return None,
        };
        found.push(token);
    }
    Some(found)
}

type Rest<'t> = Peekable<CharIndices<'t>>;

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn next_is(rest: &mut Rest<'_>, wanted: char) -> bool {
    rest.peek().is_some_and(|(_, c)| *c == wanted)
}

/// The text from a place to the next character.
fn since<'t>(text: &'t str, rest: &mut Rest<'_>, start: usize) -> Option<&'t str> {
    let end = rest.peek().map_or(text.len(), |(end, _)| *end);
    text.get(start..end)
}

fn take_while<'t>(text: &'t str, rest: &mut Rest<'_>, fits: fn(char) -> bool) -> Option<&'t str> {
    let start = rest.peek().map_or(text.len(), |(start, _)| *start);
    while rest.next_if(|(_, c)| fits(*c)).is_some() {}
    since(text, rest, start)
}

/// The content between quotes, of which two together stand for one.
fn quoted<'t>(text: &'t str, rest: &mut Rest<'_>, quote: char) -> Option<&'t str> {
    let start = rest.peek().map(|(start, _)| *start)?;
    let mut before = quote;
    while let Some((end, c)) = rest.next() {
        let is_quote = matches!(c, '\'' | '"' | '`');
        if c == '\0' || is_quote && before == '\\' {
            return None;
        }
        before = c;
        if c == quote && rest.next_if(|(_, next)| *next == quote).is_none() {
            return text.get(start..end);
        }
    }
    None
}

/// A word. A quote directly behind it makes it the prefix of a text.
fn word<'t>(text: &'t str, rest: &mut Rest<'_>, start: usize) -> Option<&'t str> {
    take_while(text, rest, is_word)?;
    let prefixes = rest.peek().is_some_and(|(_, c)| matches!(c, '\'' | '"' | '`' | '$' | '&'));
    if prefixes { None } else { since(text, rest, start) }
}

fn number<'t>(rest: &mut Rest<'_>) -> Option<Token<'t>> {
    let digits = |rest: &mut Rest<'_>| while rest.next_if(|(_, c)| c.is_ascii_digit()).is_some() {};
    digits(rest);
    if rest.next_if(|(_, c)| *c == '.').is_some() {
        digits(rest);
    }
    if rest.next_if(|(_, c)| matches!(c, 'e' | 'E')).is_some() {
        rest.next_if(|(_, c)| matches!(c, '+' | '-'));
        digits(rest);
    }
    let goes_on = rest.peek().is_some_and(|(_, c)| is_word(*c) || *c == '.');
    (!goes_on).then_some(Token::Number)
}
