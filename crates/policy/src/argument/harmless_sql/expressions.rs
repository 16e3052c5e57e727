//! Reads the expressions of a statement.

use super::functions::{FUNCTIONS, KEYWORD_FUNCTIONS, UNITS, is_listed};
use super::obstacle::Obstacle;
use super::statement_reader::{StatementReader, is_one_of};
use super::tokens::Token;

/// Words that compare a text with a pattern.
const PATTERNS: [&str; 7] = ["in", "like", "ilike", "between", "glob", "regexp", "rlike"];

/// Marks between two operands that compute: with numbers, texts, members of JSON, bits, arrays and
/// searched texts.
const OPERATORS: [&str; 17] =
    ["+", "-", "*", "/", "%", "||", "->", "->>", "&", "|", "^", "<<", ">>", "@>", "<@", "&&", "@@"];

impl<'t> StatementReader<'t> {
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
        if self.takes("is") {
            self.takes("not");
            return !self.takes("distinct") || self.takes("from");
        }
        if self.takes("not") {
            return self.takes_pattern();
        }
        if self.takes_symbol("!") || self.is_symbol(0, "~") {
            let is_match = self.takes_symbol("~");
            self.takes_symbol("*");
            return is_match;
        }
        self.takes_comparison()
            || OPERATORS.iter().any(|one| self.takes_symbol(one))
            || self.takes_any(&["and", "or"])
            || self.takes_pattern()
    }

    fn takes_pattern(&mut self) -> bool {
        if self.is_keyword(0, &["similar"]) && self.is_keyword(1, &["to"]) {
            return self.keywords(&["similar", "to"]).is_some();
        }
        self.takes_any(&PATTERNS)
    }

    pub(super) fn takes_comparison(&mut self) -> bool {
        ["=", "==", "<>", "!=", "<", "<=", ">", ">="].iter().any(|one| self.takes_symbol(one))
    }

    pub(super) fn operand(&mut self) -> Option<()> {
        while self.takes("not") {}
        self.bare_operand()?;
        loop {
            if self.takes_symbol("::") {
                self.simple_type()?;
            } else if self.takes_symbol("[") {
                self.subscript()?;
            } else if self.is_keyword(0, &["at"]) && self.is_keyword(1, &["time"]) {
                self.keywords(&["at", "time", "zone"])?;
                self.bare_operand()?;
            } else if self.takes("collate") {
                self.takes_name()?;
            } else if self.takes("escape") {
                self.literal()?;
            } else if !self.takes_any(&["isnull", "notnull"]) {
                return Some(());
            }
        }
    }

    fn bare_operand(&mut self) -> Option<()> {
        let sign = self.is_symbol(0, "-") || self.is_symbol(0, "+");
        if sign && self.is_symbol(1, "(") {
            self.next_if(|_| true);
        }
        // `= any (select …)`, `exists (select …)`.
        self.takes_any(&["exists", "any", "all", "some"]);
        if self.is_symbol(0, "(") {
            return self.nested(Self::group);
        }
        if self.takes("case") {
            return self.nested(Self::case);
        }
        if self.literal().is_some() {
            return Some(());
        }
        // `left` and `right` are functions as well as sides of a join.
        for name in ["left", "right"] {
            if self.is_keyword(0, &[name]) && self.is_symbol(1, "(") {
                self.takes(name);
                return self.nested(|reader| reader.call(name));
            }
        }
        // A variable: `@@version`.
        if self.takes_symbol("@@") || self.takes_symbol("@") {
            return self.takes_name().map(drop);
        }
        // A list, or a name in brackets.
        if self.takes_symbol("[") {
            return self.subscript();
        }
        let name = self.takes_name()?;
        if name.eq_ignore_ascii_case("array") && self.takes_symbol("[") {
            return self.subscript();
        }
        if self.takes_symbol(".") {
            return self.rest_of_name(name);
        }
        if self.takes_typed_literal(name)? {
            return Some(());
        }
        if self.is_symbol(0, "(") {
            return self.nested(|reader| reader.call(name));
        }
        Some(())
    }

    /// The rest of `array[1, 2]`, `a[1]`, `a[1:2]` or `a[]`, behind the bracket.
    fn subscript(&mut self) -> Option<()> {
        while !self.takes_symbol("]") {
            self.expression()?;
            self.takes_symbol(",");
        }
        Some(())
    }

    /// What follows the dot in `table.column`.
    fn rest_of_name(&mut self, mut first: &'t str) -> Option<()> {
        loop {
            if self.takes_symbol("*") {
                return Some(());
            }
            let second = self.takes_name()?;
            self.functions.note_dotted(first, second);
            first = second;
            if !self.takes_symbol(".") {
                return Some(());
            }
        }
    }

    /// The rest of a literal whose type is named before it: `date '2026-03-01'`, `interval '7 days'`.
    pub(super) fn takes_typed_literal(&mut self, name: &str) -> Option<bool> {
        const TIMES: [&str; 5] = ["date", "time", "timestamp", "timestamptz", "datetime"];
        if name.eq_ignore_ascii_case("interval") {
            let sign = usize::from(self.is_symbol(0, "-"));
            if !matches!(self.peek(sign), Some(Token::Text(_) | Token::Number)) {
                if !self.is_symbol(0, "(") {
                    return Some(false);
                }
                self.nested(Self::group)?;
            } else {
                self.literal()?;
            }
            if self.takes_any(UNITS) && self.takes("to") {
                self.takes_any(UNITS).then_some(())?;
            }
            return Some(true);
        }
        if !is_one_of(name, &TIMES) {
            return Some(false);
        }
        if self.is_keyword(0, &["with", "without"]) && self.is_keyword(1, &["time"]) {
            self.takes_any(&["with", "without"]);
            self.keywords(&["time", "zone"])?;
            return self.takes_text().map(|_| true);
        }
        Some(self.takes_text().is_some())
    }

    fn group(&mut self) -> Option<()> {
        self.symbol("(")?;
        if self.is_query() {
            self.query()?;
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

    /// The call of a function that only computes.
    fn call(&mut self, name: &'t str) -> Option<()> {
        if is_one_of(name, &["cast", "try_cast"]) {
            self.symbol("(")?;
            self.expression()?;
            self.keywords(&["as"])?;
            self.simple_type()?;
            while self.takes_name().is_some() {}
            return self.symbol(")");
        }
        let parts_by_keyword = is_one_of(name, KEYWORD_FUNCTIONS);
        if !parts_by_keyword && !is_listed(name, FUNCTIONS) {
            return self.refuse(Obstacle::Function(name));
        }
        self.symbol("(")?;
        self.takes_any(&["distinct", "all"]);
        if parts_by_keyword {
            self.takes_any(&["leading", "trailing", "both"]);
        }
        let is_source_first = parts_by_keyword && self.is_keyword(0, &["from"]);
        if !self.takes_symbol("*") && !self.is_symbol(0, ")") && !is_source_first {
            self.list(Self::expression)?;
        }
        while parts_by_keyword && self.takes_any(&["from", "for"]) {
            self.expression()?;
        }
        self.order()?;
        if self.takes("separator") {
            self.literal()?;
        }
        self.symbol(")")?;
        self.rest_of_call()
    }

    /// What may follow the call of an aggregate or a window function.
    fn rest_of_call(&mut self) -> Option<()> {
        if self.is_keyword(0, &["within"]) && self.is_keyword(1, &["group"]) {
            self.keywords(&["within", "group"])?;
            self.symbol("(")?;
            self.order()?;
            self.symbol(")")?;
        }
        if self.is_keyword(0, &["filter"]) && self.is_symbol(1, "(") {
            self.takes("filter");
            self.symbol("(")?;
            self.keywords(&["where"])?;
            self.expression()?;
            self.symbol(")")?;
        }
        if self.is_keyword(1, &["nulls"]) && self.takes_any(&["ignore", "respect"]) {
            self.keywords(&["nulls"])?;
        }
        if self.takes("over") {
            return if self.is_symbol(0, "(") {
                self.window()
            } else {
                self.takes_name().map(drop)
            };
        }
        Some(())
    }

    /// A window: `(partition by … order by … rows …)`.
    pub(super) fn window(&mut self) -> Option<()> {
        const PARTS: [&str; 5] = ["partition", "order", "rows", "range", "groups"];
        self.symbol("(")?;
        if !self.is_keyword(0, &PARTS) {
            self.takes_name();
        }
        if self.takes("partition") {
            self.keywords(&["by"])?;
            self.list(Self::expression)?;
        }
        self.order()?;
        if self.takes_any(&["rows", "range", "groups"]) {
            let has_two_ends = self.takes("between");
            self.frame_bound()?;
            if has_two_ends {
                self.keywords(&["and"])?;
                self.frame_bound()?;
            }
        }
        self.symbol(")")
    }

    fn frame_bound(&mut self) -> Option<()> {
        if self.takes("current") {
            return self.keywords(&["row"]);
        }
        if !self.takes("unbounded") {
            self.operand()?;
        }
        self.takes_any(&["preceding", "following"]).then_some(())
    }

    /// A type of one word, or one of the well-known ones of several, perhaps with its length.
    fn simple_type(&mut self) -> Option<()> {
        let name = self.takes_name()?;
        if name.eq_ignore_ascii_case("double") {
            self.takes("precision");
        } else if name.eq_ignore_ascii_case("character") {
            self.takes("varying");
        }
        if self.is_symbol(0, "(") {
            self.parenthesized(|reader| reader.takes_number().then_some(()))?;
        }
        if self.is_keyword(0, &["with", "without"]) && self.is_keyword(1, &["time"]) {
            self.takes_any(&["with", "without"]);
            self.keywords(&["time", "zone"])?;
        }
        Some(())
    }

    /// The words of the type of a column, perhaps with its length or its values.
    pub(super) fn data_type(&mut self) -> Option<()> {
        const CONSTRAINTS: [&str; 9] = [
            "primary", "unique", "check", "references", "collate", "constraint", "null",
            "autoincrement", "auto_increment",
        ];
        while !self.is_keyword(0, &CONSTRAINTS) {
            let Some(word) = self.takes_name() else { break };
            if self.is_symbol(0, "(") {
                let has_texts = is_one_of(word, &["enum", "set"]);
                self.parenthesized(|reader| match has_texts {
                    true => reader.literal(),
                    false => reader.takes_number().then_some(()),
                })?;
            }
        }
        Some(())
    }
}
