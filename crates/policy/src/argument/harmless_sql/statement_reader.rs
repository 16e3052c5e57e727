//! Reads the tokens, names and lists of a statement.

use super::super::is_listed;
use super::function_sources::FunctionSources;
use super::obstacle::Obstacle;
use super::tokens::{Token, tokens};

/// How deeply a statement may be nested.
const MAX_DEPTH: usize = 32;
/// Words that name nothing.
const RESERVED: [&str; 1] =
    ["select from where group having order limit offset union intersect except join on using \
     inner left right full cross natural outer and or not in is like between as case when then \
     else end values set into table update delete insert returning exists distinct with all \
     any some default create"];

/// Reads a statement token by token, and never goes back.
pub(super) struct StatementReader<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    depth: usize,
    obstacle: Option<Obstacle<'t>>,
    /// Whether an expression may read other tables.
    pub(super) may_select: bool,
    /// The table that is changed, in lower case.
    pub(super) changed_table: String,
    /// Functions that stand for tables, and names with dots.
    pub(super) functions: FunctionSources<'t>,
    /// Such functions whose arguments are being read.
    pub(super) open_functions: Vec<&'t str>,
    /// Of the source that was read last: its function, its alias and its columns.
    pub(super) function: Option<&'t str>,
    pub(super) alias: Option<&'t str>,
    pub(super) columns: Vec<&'t str>,
}

impl<'t> StatementReader<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self, Obstacle<'t>> {
        Ok(Self {
            tokens: tokens(text).map_err(Obstacle::Other)?,
            at: 0,
            depth: 0,
            obstacle: None,
            may_select: false,
            changed_table: String::new(),
            functions: FunctionSources::default(),
            open_functions: Vec::new(),
            function: None,
            alias: None,
            columns: Vec::new(),
        })
    }

    /// How many tokens were taken.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What the reader could not read.
    pub(super) fn obstacle(&self) -> Obstacle<'t> {
        self.obstacle.unwrap_or_else(|| self.peek(0).map_or(Obstacle::END, Obstacle::Token))
    }

    pub(super) fn is_refused(&self) -> bool {
        self.obstacle.is_some()
    }

    /// Notes what cannot be read.
    pub(super) fn refuse(&mut self, obstacle: Obstacle<'t>) -> bool {
        self.obstacle.get_or_insert(obstacle);
        false
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<Token<'t>> {
        self.tokens.get(self.at.checked_add(ahead)?).copied()
    }

    fn next_if(&mut self, fits: impl FnOnce(Token<'t>) -> bool) -> Option<Token<'t>> {
        let token = self.peek(0).filter(|token| fits(*token))?;
        self.at = self.at.saturating_add(1);
        Some(token)
    }

    /// Takes these keywords and symbols, if all of them are next.
    pub(super) fn takes_all(&mut self, wanted: &[&str]) -> bool {
        let fits = |(ahead, wanted): (usize, &&str)| match self.peek(ahead) {
            Some(Token::Word(word)) => word.eq_ignore_ascii_case(wanted),
            Some(Token::Symbol(symbol)) => symbol == *wanted,
            _ => false,
        };
        let all_fit = wanted.iter().enumerate().all(fits);
        self.at = self.at.saturating_add(if all_fit { wanted.len() } else { 0 });
        all_fit
    }

    /// Takes one of these keywords, if it is next.
    pub(super) fn takes_any(&mut self, keywords: &[&str]) -> bool {
        let is_next = self.is_keyword(0, keywords);
        self.at = self.at.saturating_add(usize::from(is_next));
        is_next
    }

    /// Whether one of these keywords stands so many tokens ahead.
    pub(super) fn is_keyword(&self, ahead: usize, keywords: &[&str]) -> bool {
        matches!(self.peek(ahead), Some(Token::Word(word)) if is_listed(word, keywords))
    }

    /// Takes a symbol, if it is next.
    pub(super) fn takes_symbol(&mut self, symbol: &str) -> bool {
        self.takes_all(&[symbol])
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
        self.next_if(|token| token == Token::Number).is_some()
    }

    /// Whether the statement ends here, perhaps with a `;`.
    pub(super) fn ends(&mut self) -> bool {
        let has_mark = self.takes_symbol(";");
        self.peek(0).is_none() || has_mark && self.refuse(Obstacle::SECOND_STATEMENT)
    }

    /// A name, if one is next.
    pub(super) fn takes_name(&mut self) -> Option<&'t str> {
        match self.next_if(is_name)? {
            Token::Word(name) | Token::Quoted(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn names_next(&self) -> bool {
        self.peek(0).is_some_and(is_name)
    }

    /// Whether no database may read a name as a file, for the marks in it.
    pub(super) fn is_plain(&mut self, name: &str) -> bool {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
        name.chars().all(is_plain) || self.refuse(Obstacle::FOREIGN_TABLE)
    }

    /// Reads one level deeper.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.refuse(Obstacle::DEPTH);
            return None;
        }
        self.depth = self.depth.saturating_add(1);
        let found = read(self);
        self.depth = self.depth.saturating_sub(1);
        Some(found)
    }
}

fn is_name(token: Token<'_>) -> bool {
    match token {
        Token::Word(word) => !is_listed(word, &RESERVED),
        token => matches!(token, Token::Quoted(_)),
    }
}
