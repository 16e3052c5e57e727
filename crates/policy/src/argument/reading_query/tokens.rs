//! Splits a query into tokens that all its languages read alike.

use std::iter::Peekable;
use std::str::CharIndices;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word without quotes.
    Word,
    /// A text or a name in quotes.
    Quoted,
    Number,
    /// `?x` or `$x`.
    Variable,
    /// `<https://example.org/x>`.
    Iri,
    Symbol,
    /// A line of words that some languages skip.
    Comment,
}

/// A token, and whether it stands directly behind the one before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
    pub(super) adjoins: bool,
}

type CharactersLeft<'t> = Peekable<CharIndices<'t>>;

/// The tokens; `None` where languages differ: marks of comments, quotes that are not closed in
/// their line, escapes, markup, and unknown characters.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    const TRIPLE: [&str; 4] = ["\"\"\"", "'''", "``", "/*"];
    const MARKUP: [&str; 5] = ["</", "<!", "<?", "*/", "${"];
    if TRIPLE.iter().chain(&MARKUP).any(|mark| text.contains(mark)) {
        return None;
    }
    let mut found = Vec::new();
    let mut rest = text.char_indices().peekable();
    let (mut adjoins, mut begins_line) = (false, true);
    while let Some((start, first)) = rest.next() {
        if first.is_whitespace() {
            adjoins = false;
            begins_line |= matches!(first, '\n' | '\r');
            continue;
        }
        let kind = match first {
            '/' | '#' if begins_line && skips_comment(text.get(start..)?, &mut rest) => {
                Kind::Comment
            }
            '"' | '\'' | '`' => {
                // A word before a quote changes how it is read.
                let behind_word = adjoins && found.last().is_some_and(is_word);
                if behind_word || !skips_quoted(&mut rest, first) {
                    return None;
                }
                Kind::Quoted
            }
            '_' => word(&mut rest),
            _ if first.is_alphabetic() => word(&mut rest),
            '0'..='9' => number(&mut rest)?,
            '?' | '$' if rest.peek().is_some_and(|(_, c)| is_word_character(*c)) => {
                word(&mut rest);
                Kind::Variable
            }
            '<' if skips_iri(text.get(start..)?, &mut rest) => Kind::Iri,
            '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | ':' | '.' | '@' | '?' | '~' | '^'
            | '%' => Kind::Symbol,
            '/' if rest.peek().is_some_and(|(_, c)| *c == '>') => return None,
            '/' => {
                // In one language a path, in another a comment up to the end of the line.
                if rest.next_if(|(_, c)| *c == '/').is_some()
                    && text.get(start..)?.contains(['\n', '\r'])
                {
                    return None;
                }
                Kind::Symbol
            }
            '-' => {
                let is_double = rest.peek().is_some_and(|(_, c)| *c == '-');
                // Two are an edge between two nodes; elsewhere they may begin a comment.
                let behind_node =
                    found.last().is_some_and(|last: &Token<'_>| matches!(last.text, ")" | "<"));
                if is_double && !behind_node {
                    return None;
                }
                rest.next_if(|(_, c)| *c == '-');
                rest.next_if(|(_, c)| *c == '>');
                Kind::Symbol
            }
            '|' => {
                rest.next_if(|(_, c)| matches!(c, '|' | '>'));
                Kind::Symbol
            }
            '<' | '>' | '=' | '!' | '+' | '*' | '&' => Kind::Symbol,
            _ => return None,
        };
        let end = rest.peek().map_or(text.len(), |(end, _)| *end);
        let token = Token { kind, text: text.get(start..end)?, adjoins };
        if kind == Kind::Word && token.text.contains(['ſ', 'ı', 'İ', '\u{212a}']) {
            return None;
        }
        found.push(token);
        (adjoins, begins_line) = (true, false);
    }
    Some(found)
}

fn is_word(token: &Token<'_>) -> bool {
    token.kind == Kind::Word
}

fn is_word_character(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Reads the rest of a word. A dash between two of its characters belongs to it: `string-length`.
fn word(rest: &mut CharactersLeft<'_>) -> Kind {
    loop {
        while rest.next_if(|(_, c)| is_word_character(*c)).is_some() {}
        let mut ahead = rest.clone();
        let joins = ahead.next().is_some_and(|(_, c)| c == '-')
            && ahead.next().is_some_and(|(_, c)| is_word_character(c));
        if !joins {
            return Kind::Word;
        }
        rest.next();
    }
}

/// Reads the rest of a number, with a unit of at most two letters.
fn number(rest: &mut CharactersLeft<'_>) -> Option<Kind> {
    let mut letters = 0;
    while let Some((_, c)) = rest.next_if(|(_, c)| *c == '.' || is_word_character(*c)) {
        letters += usize::from(!c.is_ascii_digit() && c != '.');
    }
    (letters <= 2).then_some(Kind::Number)
}

/// Skips what is in quotes, up to the one that closes, in the same line.
fn skips_quoted(rest: &mut CharactersLeft<'_>, quote: char) -> bool {
    let mut before = quote;
    for (_, c) in rest.by_ref() {
        let is_escape = before == '\\' && (c == quote || matches!(c, 'u' | 'U' | 'x' | 'X' | 'N'));
        let is_mark = matches!((before, c), ('(', ':') | (':', ')') | ('/', '>'));
        if is_escape || is_mark || c.is_control() && c != '\t' {
            return false;
        }
        if c == quote {
            return true;
        }
        before = c;
    }
    false
}

/// Skips an address in angle brackets, in which nothing else can be hidden.
fn skips_iri(text: &str, rest: &mut CharactersLeft<'_>) -> bool {
    let plain = |c: char| is_word_character(c) || "+.-:/#?&=%~@".contains(c);
    let Some((inside, _)) = text.get(1..).and_then(|text| text.split_once('>')) else {
        return false;
    };
    let scheme = inside.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphabetic());
    if !is_scheme || !inside.chars().all(plain) || inside.contains("--") {
        return false;
    }
    let end = rest.peek().map_or(0, |(start, _)| *start).saturating_add(inside.len());
    while rest.next_if(|(at, _)| *at <= end).is_some() {}
    true
}

/// Skips a line of plain words behind `//` or `#`, which hides nothing where it is no comment.
fn skips_comment(text: &str, rest: &mut CharactersLeft<'_>) -> bool {
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    let Some(words) = line.strip_prefix("// ").or_else(|| line.strip_prefix("# ")) else {
        return false;
    };
    if !words.chars().all(|c| is_word_character(c) || matches!(c, ' ' | ',' | '.')) {
        return false;
    }
    while rest.next_if(|(_, c)| !matches!(c, '\n' | '\r')).is_some() {}
    true
}
