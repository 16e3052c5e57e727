//! Reads the tokens, names and lists of a statement.

use super::function_sources::FunctionSources;
use super::obstacle::Obstacle;
use super::tokens::{Token, tokens};

/// How deeply a statement may be nested.
const MAX_DEPTH: usize = 32;
/// Words that name nothing.
const RESERVED: [&str; 50] = [
    "select", "from", "where", "group", "having", "order", "limit", "offset", "union", "intersect",
    "except", "join", "on", "using", "inner", "left", "right", "full", "cross", "natural", "outer",
    "and", "or", "not", "in", "is", "like", "between", "as", "case", "when", "then", "else", "end",
    "values", "set", "into", "table", "update", "delete", "insert", "returning", "exists",
    "distinct", "with", "all", "any", "some", "default", "create",
];
/// Schemas that hold a database's ordinary tables.
const SCHEMAS: [&str; 4] = ["main", "public", "dbo", "information_schema"];

/// Reads a statement token by token, and never goes back. A method returns `None` where the
/// statement is another than the one that it reads.
pub(super) struct StatementReader<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    depth: usize,
    /// Whether an expression may read other tables.
    pub(super) may_select: bool,
    /// Functions that stand for tables, and names with dots.
    pub(super) functions: FunctionSources<'t>,
    obstacle: Option<Obstacle<'t>>,
}

impl<'t> StatementReader<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self, Obstacle<'t>> {
        let tokens = tokens(text).map_err(Obstacle::Ambiguity)?;
        let functions = FunctionSources::default();
        Ok(Self { tokens, at: 0, depth: 0, may_select: false, functions, obstacle: None })
    }

    /// What the reader could not read.
    pub(super) fn obstacle(&self) -> Obstacle<'t> {
        self.obstacle.unwrap_or_else(|| self.peek(0).map_or(Obstacle::End, Obstacle::Token))
    }

    /// Notes what cannot be read.
    pub(super) fn refuse<T>(&mut self, obstacle: Obstacle<'t>) -> Option<T> {
        self.obstacle.get_or_insert(obstacle);
        None
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<Token<'t>> {
        self.tokens.get(self.at.checked_add(ahead)?).copied()
    }

    pub(super) fn next_if(&mut self, fits: impl FnOnce(&Token<'t>) -> bool) -> Option<Token<'t>> {
        let token = self.peek(0).filter(fits)?;
        self.at = self.at.saturating_add(1);
        Some(token)
    }

    /// Takes a keyword, if it is next.
    pub(super) fn takes(&mut self, keyword: &str) -> bool {
        self.next_if(|token| is_word(*token, keyword)).is_some()
    }

    /// Takes one of these keywords, if it is next.
    pub(super) fn takes_any(&mut self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.takes(keyword))
    }

    /// Takes these keywords.
    pub(super) fn keywords(&mut self, keywords: &[&str]) -> Option<()> {
        keywords.iter().all(|keyword| self.takes(keyword)).then_some(())
    }

    /// Whether one of these keywords stands so many tokens ahead.
    pub(super) fn is_keyword(&self, ahead: usize, keywords: &[&str]) -> bool {
        let next = self.peek(ahead);
        next.is_some_and(|next| keywords.iter().any(|keyword| is_word(next, keyword)))
    }

    /// Takes a symbol, if it is next.
    pub(super) fn takes_symbol(&mut self, symbol: &'static str) -> bool {
        self.next_if(|token| *token == Token::Symbol(symbol)).is_some()
    }

    pub(super) fn symbol(&mut self, symbol: &'static str) -> Option<()> {
        self.takes_symbol(symbol).then_some(())
    }

    /// Whether this symbol stands so many tokens ahead.
    pub(super) fn is_symbol(&self, ahead: usize, symbol: &str) -> bool {
        self.peek(ahead) == Some(Token::Symbol(symbol))
    }

    pub(super) fn takes_text(&mut self) -> Option<&'t str> {
        match self.next_if(|token| matches!(token, Token::Text(_)))? {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn takes_number(&mut self) -> bool {
        self.next_if(|token| *token == Token::Number).is_some()
    }

    /// Whether the statement ends here, perhaps with a `;`.
    pub(super) fn ends(&mut self) -> Option<()> {
        if self.takes_symbol(";") && self.peek(0).is_some() {
            return self.refuse(Obstacle::SecondStatement);
        }
        self.peek(0).is_none().then_some(())
    }

    /// A literal: a text, a number or a placeholder.
    pub(super) fn literal(&mut self) -> Option<()> {
        if !self.takes_symbol("-") {
            self.takes_symbol("+");
        }
        if self.takes_any(&["null", "true", "false"]) {
            return Some(());
        }
        self.next_if(|token| matches!(token, Token::Text(_) | Token::Number)).map(drop)
    }

    /// A name, if one is next.
    pub(super) fn takes_name(&mut self) -> Option<&'t str> {
        let names = |token: &Token<'_>| match token {
            Token::Word(word) => !is_one_of(word, &RESERVED),
            token => matches!(token, Token::Quoted(_)),
        };
        match self.next_if(names)? {
            Token::Word(name) | Token::Quoted(name) => Some(name),
            _ => None,
        }
    }

    /// The name of a table, perhaps after that of an ordinary schema. A database may read a name
    /// with other marks in it as a file.
    pub(super) fn table(&mut self) -> Option<&'t str> {
        if matches!(self.peek(0), Some(Token::Text(_))) {
            return self.refuse(Obstacle::ForeignTable);
        }
        let mut name = self.takes_name()?;
        if self.is_symbol(0, ".") {
            if !is_one_of(name, &SCHEMAS) {
                return self.refuse(Obstacle::ForeignTable);
            }
            self.symbol(".")?;
            name = self.takes_name()?;
        }
        self.plain(name)
    }

    /// The name, unless a database may read it as a file.
    pub(super) fn plain(&mut self, name: &'t str) -> Option<&'t str> {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
        if name.chars().all(is_plain) { Some(name) } else { self.refuse(Obstacle::ForeignTable) }
    }

    /// A list in parentheses.
    pub(super) fn parenthesized(&mut self, item: impl Fn(&mut Self) -> Option<()>) -> Option<()> {
        self.symbol("(")?;
        self.list(item)?;
        self.symbol(")")
    }

    /// Items with commas between them.
    pub(super) fn list(&mut self, item: impl Fn(&mut Self) -> Option<()>) -> Option<()> {
        item(self)?;
        while self.takes_symbol(",") {
            item(self)?;
        }
        Some(())
    }

    /// Reads one level deeper.
    pub(super) fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            return self.refuse(Obstacle::Depth);
        }
        read(self)?;
        self.depth = self.depth.saturating_sub(1);
        Some(())
    }
}

fn is_word(token: Token<'_>, keyword: &str) -> bool {
    matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
}

/// Whether a word is one of these, whatever its case.
pub(super) fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|one| word.eq_ignore_ascii_case(one))
}
