//! Reads names and expressions of a statement.

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
/// Functions that only compute, in all well-known databases.
const FUNCTIONS: [&str; 40] = [
    "count", "sum", "avg", "min", "max", "total", "abs", "round", "floor", "ceil", "ceiling",
    "coalesce", "ifnull", "nullif", "lower", "upper", "trim", "ltrim", "rtrim", "length",
    "char_length", "substr", "substring", "replace", "concat", "group_concat", "string_agg",
    "date", "time", "datetime", "timestamp", "strftime", "julianday", "unixepoch", "now", "year",
    "month", "day", "date_trunc", "gen_random_uuid",
];
/// Schemas that hold a database's ordinary tables.
const SCHEMAS: [&str; 4] = ["main", "public", "dbo", "information_schema"];

/// Reads a statement token by token. A method returns `None` where the statement is another than
/// the one that it reads.
pub(super) struct StatementReader<'t> {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token<'t>>>,
    depth: usize,
    /// Whether an expression may read other tables.
    pub(super) may_select: bool,
}

impl<'t> StatementReader<'t> {
    pub(super) fn new(text: &'t str) -> Option<Self> {
        let tokens = tokens(text)?.into_iter().peekable();
        Some(Self { tokens, depth: 0, may_select: false })
    }

    /// Takes a keyword, if it is next.
    pub(super) fn takes(&mut self, keyword: &str) -> bool {
        let is = |token: &Token<'_>| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(keyword));
        self.tokens.next_if(is).is_some()
    }

    /// Takes one of these keywords, if it is next.
    pub(super) fn takes_any(&mut self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.takes(keyword))
    }

    /// Takes these keywords.
    pub(super) fn keywords(&mut self, keywords: &[&str]) -> Option<()> {
        keywords.iter().all(|keyword| self.takes(keyword)).then_some(())
    }

    /// Takes a symbol, if it is next.
    pub(super) fn takes_symbol(&mut self, symbol: &'static str) -> bool {
        self.tokens.next_if_eq(&Token::Symbol(symbol)).is_some()
    }

    pub(super) fn symbol(&mut self, symbol: &'static str) -> Option<()> {
        self.takes_symbol(symbol).then_some(())
    }

    pub(super) fn is_next(&mut self, token: Token<'_>) -> bool {
        self.tokens.peek().is_some_and(|next| *next == token)
    }

    /// Whether the statement ends here, perhaps with a `;`.
    pub(super) fn ends(&mut self) -> Option<()> {
        self.takes_symbol(";");
        self.tokens.next().is_none().then_some(())
    }

    /// A literal: a text, a number or a placeholder.
    pub(super) fn literal(&mut self) -> Option<()> {
        if !self.takes_symbol("-") {
            self.takes_symbol("+");
        }
        if self.takes_any(&["null", "true", "false"]) {
            return Some(());
        }
        self.tokens.next_if(|token| matches!(token, Token::Text | Token::Number)).map(drop)
    }

    /// A name, if one is next.
    pub(super) fn takes_name(&mut self) -> Option<&'t str> {
        let names = |token: &Token<'_>| match token {
            Token::Word(word) => !RESERVED.iter().any(|one| word.eq_ignore_ascii_case(one)),
            token => matches!(token, Token::Quoted(_)),
        };
        match self.tokens.next_if(names)? {
            Token::Word(name) | Token::Quoted(name) => Some(name),
            _ => None,
        }
    }

    /// The name of a table, perhaps after that of an ordinary schema. A database may read a name
    /// with other marks in it as a file.
    pub(super) fn table(&mut self) -> Option<&'t str> {
        let mut name = self.takes_name()?;
        if SCHEMAS.iter().any(|schema| name.eq_ignore_ascii_case(schema)) && self.takes_symbol(".")
        {
            name = self.takes_name()?;
        }
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
        name.chars().all(plain).then_some(name)
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
        self.depth = self.depth.checked_add(1).filter(|depth| *depth <= MAX_DEPTH)?;
        read(self)?;
        self.depth = self.depth.saturating_sub(1);
        Some(())
    }

    /// An expression or a condition. Precedence is of no interest here.
    pub(super) fn expression(&mut self) -> Option<()> {
        self.nested(|reader| {
            reader.operand()?;
            while reader.takes_operator() {
                reader.operand()?;
            }
            Some(())
        })
    }

    /// `in`, `between` and `is` are followed by what an operand is: a list, two values that `and`
    /// joins, null.
    fn takes_operator(&mut self) -> bool {
        self.takes_comparison()
            || ["+", "-", "*", "/", "%", "||"].iter().any(|one| self.takes_symbol(one))
            || self.takes_any(&["and", "or", "is", "in", "like", "between", "not"])
    }

    pub(super) fn takes_comparison(&mut self) -> bool {
        ["=", "==", "<>", "!=", "<", "<=", ">", ">="].iter().any(|one| self.takes_symbol(one))
    }

    pub(super) fn operand(&mut self) -> Option<()> {
        while self.takes_any(&["not", "in", "like", "between"]) {}
        if self.is_next(Token::Symbol("(")) {
            return self.nested(Self::group);
        }
        if self.takes("exists") {
            return self.nested(Self::group);
        }
        if self.takes("case") {
            return self.nested(Self::case);
        }
        let sign = self.takes_symbol("-") || self.takes_symbol("+");
        if sign && self.is_next(Token::Symbol("(")) {
            return self.nested(Self::group);
        }
        if self.literal().is_some() {
            return Some(());
        }
        let name = self.takes_name()?;
        if self.takes_symbol(".") {
            return if self.takes_symbol("*") { Some(()) } else { self.takes_name().map(drop) };
        }
        if self.is_next(Token::Symbol("(")) {
            let is_cast = name.eq_ignore_ascii_case("cast");
            return self.nested(|reader| if is_cast { reader.cast() } else { reader.call(name) });
        }
        Some(())
    }

    fn group(&mut self) -> Option<()> {
        self.symbol("(")?;
        if self.takes("select") {
            self.selection()?;
        } else {
            self.list(Self::expression)?;
        }
        self.symbol(")")
    }

    fn case(&mut self) -> Option<()> {
        if !self.takes("when") {
            self.expression()?;
            self.keywords(&["when"])?;
        }
        loop {
            self.expression()?;
            self.keywords(&["then"])?;
            self.expression()?;
            if !self.takes("when") {
                break;
            }
        }
        if self.takes("else") {
            self.expression()?;
        }
        self.keywords(&["end"])
    }

    fn cast(&mut self) -> Option<()> {
        self.symbol("(")?;
        self.expression()?;
        self.keywords(&["as"])?;
        self.data_type()?;
        self.symbol(")")
    }

    /// The call of a function that only computes.
    fn call(&mut self, name: &str) -> Option<()> {
        FUNCTIONS.iter().find(|one| name.eq_ignore_ascii_case(one))?;
        self.symbol("(")?;
        self.takes("distinct");
        if !self.takes_symbol("*") && !self.is_next(Token::Symbol(")")) {
            self.list(Self::expression)?;
        }
        self.symbol(")")
    }

    /// The words of a type, perhaps with its length or its values.
    pub(super) fn data_type(&mut self) -> Option<()> {
        const CONSTRAINTS: [&str; 9] = [
            "primary", "unique", "check", "references", "collate", "constraint", "null",
            "autoincrement", "auto_increment",
        ];
        while !self.is_next_any(&CONSTRAINTS) {
            let Some(word) = self.takes_name() else { break };
            if self.is_next(Token::Symbol("(")) {
                let has_texts = ["enum", "set"].iter().any(|one| word.eq_ignore_ascii_case(one));
                self.parenthesized(|reader| match has_texts {
                    true => reader.literal(),
                    false => reader.tokens.next_if_eq(&Token::Number).map(drop),
                })?;
            }
        }
        Some(())
    }

    fn is_next_any(&mut self, keywords: &[&str]) -> bool {
        let Some(Token::Word(word)) = self.tokens.peek() else { return false };
        keywords.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
    }
}
