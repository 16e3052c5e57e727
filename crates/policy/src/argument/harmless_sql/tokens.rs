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
    /// A text in quotes, without them.
    Text(&'t str),
    /// A number, or a placeholder for a value that is given beside the statement.
    Number,
    /// An operator or a mark of punctuation.
    Symbol(&'t str),
}

/// What databases may read in different ways, as a phrase.
pub(super) type Ambiguity = &'static str;

const COMMENT: Ambiguity = "a comment";
const MARK: Ambiguity = "a mark that only some databases know";
const QUOTE: Ambiguity = "a quote after a backslash, or one that is not closed";
const PREFIX: Ambiguity = "a quote directly behind a word";
const NUMBER: Ambiguity = "a number that goes on as a word";

/// The tokens, or what a database may read in another way: comments, quotes after a backslash,
/// texts with a prefix, and marks that only some databases know.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Ambiguity> {
    let mut rest = text.char_indices().peekable();
    let (mut found, mut in_brackets) = (Vec::new(), false);
    while let Some((start, first)) = rest.next() {
        let symbol =
            |rest: &mut CharactersLeft<'_>| since(text, rest, start).map(Token::Symbol).ok_or(MARK);
        let token = match first {
            ' ' | '\t' | '\n' | '\r' => continue,
            '\'' => Token::Text(quoted(text, &mut rest, first).ok_or(QUOTE)?),
            '"' | '`' => Token::Quoted(quoted(text, &mut rest, first).ok_or(QUOTE)?),
            '_' | 'a'..='z' | 'A'..='Z' => Token::Word(word(text, &mut rest, start)?),
            letter if letter.is_alphabetic() => Token::Word(word(text, &mut rest, start)?),
            '0'..='9' => number(&mut rest).ok_or(NUMBER)?,
            '?' => Token::Number,
            ':' if rest.next_if(|(_, c)| *c == ':').is_some() => symbol(&mut rest)?,
            ':' | '$' => {
                let name = take_while(text, &mut rest, is_word).unwrap_or_default();
                if name.is_empty() {
                    return Err(MARK);
                }
                Token::Number
            }
            '-' if next_is(&mut rest, '-') => {
                // If somebody joins the lines, a comment swallows the rest: `where`, of a change.
                let is_read = found.first().is_none_or(|first| is_read_start(*first));
                if in_brackets || !is_read || !skips_line_comment(&mut rest) {
                    return Err(COMMENT);
                }
                continue;
            }
            '/' if next_is(&mut rest, '*') => return Err(COMMENT),
            // The members of JSON: `->` and `->>`.
            '-' if next_is(&mut rest, '>') => {
                take_while(text, &mut rest, |c| c == '>');
                symbol(&mut rest)?
            }
            '<' | '>' | '!' | '=' | '|' | '@' | '&' => {
                take_while(text, &mut rest, |c| matches!(c, '<' | '>' | '=' | '|' | '@' | '&'));
                symbol(&mut rest)?
            }
            '[' | ']' => {
                // Of an array, or around a name: what both end with must be the same bracket.
                let opens = first == '[';
                let is_read = found.first().is_some_and(|first| is_read_start(*first));
                if opens == in_brackets || !is_read {
                    return Err(MARK);
                }
                in_brackets = opens;
                symbol(&mut rest)?
            }
            '(' | ')' | ',' | '.' | ';' | '*' | '+' | '-' | '/' | '%' | '~' | '^' => {
                symbol(&mut rest)?
            }
            _ => return Err(MARK),
        };
        if let Token::Text(text) | Token::Quoted(text) = token
            && in_brackets
            && text.contains(']')
        {
            return Err(MARK);
        }
        found.push(token);
    }
    if in_brackets { Err(MARK) } else { Ok(found) }
}

/// Whether a statement that begins with this token only reads, if it is harmless at all.
fn is_read_start(first: Token<'_>) -> bool {
    const READS: [&str; 9] =
        ["select", "with", "values", "from", "describe", "desc", "summarize", "show", "explain"];
    matches!(first, Token::Word(word) if READS.iter().any(|one| word.eq_ignore_ascii_case(one)))
}

/// Skips a comment to the end of the line, behind its first dash. Databases agree on it if a blank
/// follows the dashes and nothing in it could be read as the end of a line.
fn skips_line_comment(rest: &mut CharactersLeft<'_>) -> bool {
    rest.next();
    if !rest.peek().is_none_or(|(_, c)| matches!(c, ' ' | '\n')) {
        return false;
    }
    loop {
        match rest.next() {
            None | Some((_, '\n')) => return true,
            Some((_, '\t')) => {}
            Some((_, '\r')) if next_is(rest, '\n') => {}
            Some((_, '\u{2028}' | '\u{2029}')) => return false,
            // A server that splits a text at `;` would run what follows.
            Some((_, ';')) => return false,
            Some((_, c)) if c.is_control() => return false,
            Some(_) => {}
        }
    }
}

type CharactersLeft<'t> = Peekable<CharIndices<'t>>;

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn next_is(rest: &mut CharactersLeft<'_>, wanted: char) -> bool {
    rest.peek().is_some_and(|(_, c)| *c == wanted)
}

/// The text from a place to the next character.
fn since<'t>(text: &'t str, rest: &mut CharactersLeft<'_>, start: usize) -> Option<&'t str> {
    let end = rest.peek().map_or(text.len(), |(end, _)| *end);
    text.get(start..end)
}

fn take_while<'t>(
    text: &'t str,
    rest: &mut CharactersLeft<'_>,
    fits: fn(char) -> bool,
) -> Option<&'t str> {
    let start = rest.peek().map_or(text.len(), |(start, _)| *start);
    while rest.next_if(|(_, c)| fits(*c)).is_some() {}
    since(text, rest, start)
}

/// The content between quotes, of which two together stand for one.
fn quoted<'t>(text: &'t str, rest: &mut CharactersLeft<'_>, quote: char) -> Option<&'t str> {
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
fn word<'t>(
    text: &'t str,
    rest: &mut CharactersLeft<'_>,
    start: usize,
) -> Result<&'t str, Ambiguity> {
    take_while(text, rest, is_word);
    match rest.peek() {
        Some((_, '\'' | '"' | '`' | '$' | '&')) => Err(PREFIX),
        _ => since(text, rest, start).ok_or(MARK),
    }
}

fn number<'t>(rest: &mut CharactersLeft<'_>) -> Option<Token<'t>> {
    let digits = |rest: &mut CharactersLeft<'_>| {
        while rest.next_if(|(_, c)| c.is_ascii_digit()).is_some() {}
    };
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
