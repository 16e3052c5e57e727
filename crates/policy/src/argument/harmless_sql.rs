//! Recognises harmless SQL statements: those that only read, add rows, change rows that a condition
//! names, or add tables, columns and indexes.
//!
//! A statement is read token by token, and every token must have its place in one of these forms:
//!
//! - `INSERT [OR IGNORE] INTO name [(names)] VALUES (values), … [RETURNING names]`;
//! - `UPDATE name SET name = value, … WHERE comparison AND …`, each of a column and a constant;
//! - `CREATE TABLE name (columns)`, `CREATE [UNIQUE] INDEX name ON name (columns)` and
//!   `ALTER TABLE name ADD COLUMN column`;
//! - `[WITH …] SELECT …` from tables.
//!
//! Values and conditions call only functions that compute. Everything else is not harmless: a second
//! statement, a comment, a call, a file or an address in place of a table, a table of the database's
//! own. Case, white space and a last `;` are of no interest. Whether a condition holds for every row
//! (`id > 0`) cannot be told from the text.

mod expressions;
mod tokens;

use expressions::StatementReader;
use tokens::Token;

/// Whether a text is one harmless statement.
pub(super) fn is_harmless(text: &str) -> bool {
    StatementReader::new(text).is_some_and(|mut reader| reader.statement().is_some())
}

impl StatementReader<'_> {
    fn statement(&mut self) -> Option<()> {
        if self.takes("insert") {
            self.insertion()?;
        } else if self.takes("update") {
            self.update()?;
        } else if self.takes("create") {
            self.creation()?;
        } else if self.takes("alter") {
            self.keywords(&["table"])?;
            self.changed_table()?;
            self.keywords(&["add"])?;
            self.takes("column");
            self.column()?;
        } else {
            self.may_select = true;
            if self.takes("with") {
                self.list(Self::common_table)?;
            }
            self.keywords(&["select"])?;
            self.selection()?;
        }
        self.ends()
    }

    /// A table that may be changed: none of the database's own.
    fn changed_table(&mut self) -> Option<String> {
        let name = self.table()?.to_lowercase();
        (!["pg_", "sqlite_"].iter().any(|own| name.starts_with(own))).then_some(name)
    }

    /// A column that may be changed. One with the name of its table takes commands to a full-text
    /// search.
    fn changed_column(&mut self, table: &str) -> Option<()> {
        self.takes_name().filter(|name| name.to_lowercase() != table).map(drop)
    }

    fn insertion(&mut self) -> Option<()> {
        if self.takes("or") {
            self.keywords(&["ignore"])?;
        }
        self.keywords(&["into"])?;
        let table = self.changed_table()?;
        if self.is_next(Token::Symbol("(")) {
            self.parenthesized(|reader| reader.changed_column(&table))?;
        }
        self.keywords(&["values"])?;
        self.list(|reader| reader.parenthesized(Self::value))?;
        if self.takes("returning") && !self.takes_symbol("*") {
            self.list(|reader| reader.takes_name().map(drop))?;
        }
        Some(())
    }

    fn value(&mut self) -> Option<()> {
        if self.takes("default") { Some(()) } else { self.expression() }
    }

    fn update(&mut self) -> Option<()> {
        let table = self.changed_table()?;
        self.keywords(&["set"])?;
        self.list(|reader| {
            reader.changed_column(&table)?;
            reader.symbol("=")?;
            reader.value()
        })?;
        self.keywords(&["where"])?;
        self.row_condition()?;
        while self.takes("and") {
            self.row_condition()?;
        }
        Some(())
    }

    /// A comparison of a column and a constant.
    fn row_condition(&mut self) -> Option<()> {
        if self.literal().is_some() {
            return self
                .takes_comparison()
                .then_some(())
                .and_then(|()| self.takes_name())
                .map(drop);
        }
        self.takes_name()?;
        if self.takes("is") {
            return self.keywords(&["null"]);
        }
        if self.takes("in") {
            return self.parenthesized(Self::literal);
        }
        if self.takes("between") {
            self.literal()?;
            self.keywords(&["and"])?;
            return self.literal();
        }
        (self.takes_comparison() || self.takes("like")).then_some(())?;
        self.constant()
    }

    /// A literal, or the time.
    fn constant(&mut self) -> Option<()> {
        const TIMES: [&str; 5] = ["date", "time", "datetime", "strftime", "now"];
        if self.takes_any(&["current_date", "current_time", "current_timestamp"]) {
            return Some(());
        }
        if !self.takes_any(&TIMES) {
            return self.literal();
        }
        self.symbol("(")?;
        if self.takes_symbol(")") {
            return Some(());
        }
        self.list(Self::literal)?;
        self.symbol(")")
    }

    fn creation(&mut self) -> Option<()> {
        let is_unique = self.takes("unique");
        if self.takes("index") {
            self.if_not_exists()?;
            self.takes_name()?;
            self.keywords(&["on"])?;
            self.changed_table()?;
            return self.parenthesized(|reader| {
                reader.takes_name()?;
                reader.takes_any(&["asc", "desc"]);
                Some(())
            });
        }
        self.takes_any(&["temp", "temporary"]);
        self.keywords(&["table"]).filter(|()| !is_unique)?;
        self.if_not_exists()?;
        self.changed_table()?;
        self.parenthesized(Self::column_or_constraint)
    }

    fn if_not_exists(&mut self) -> Option<()> {
        if self.takes("if") { self.keywords(&["not", "exists"]) } else { Some(()) }
    }

    fn names(&mut self) -> Option<()> {
        self.parenthesized(|reader| reader.takes_name().map(drop))
    }

    fn column_or_constraint(&mut self) -> Option<()> {
        if self.takes("constraint") {
            self.takes_name()?;
        }
        if self.takes("foreign") {
            self.keywords(&["key"])?;
            self.names()?;
            self.keywords(&["references"])?;
            return self.reference();
        }
        if self.takes("primary") {
            self.keywords(&["key"])?;
            return self.names();
        }
        if self.takes("unique") {
            return self.names();
        }
        if self.takes("check") {
            return self.parenthesized(Self::expression);
        }
        self.column()
    }

    fn column(&mut self) -> Option<()> {
        self.takes_name()?;
        self.data_type()?;
        loop {
            if self.takes("primary") {
                self.keywords(&["key"])?;
                self.takes_any(&["asc", "desc"]);
            } else if self.takes("not") {
                self.keywords(&["null"])?;
            } else if self.takes("default") {
                self.operand()?;
            } else if self.takes("check") {
                self.parenthesized(Self::expression)?;
            } else if self.takes("references") {
                self.reference()?;
            } else if self.takes("collate") {
                self.takes_name()?;
            } else if !self.takes_any(&["null", "unique", "autoincrement", "auto_increment"]) {
                return Some(());
            }
        }
    }

    /// The rest of a reference to another table.
    fn reference(&mut self) -> Option<()> {
        self.table()?;
        if self.is_next(Token::Symbol("(")) {
            self.names()?;
        }
        while self.takes("on") {
            self.takes_any(&["delete", "update"]).then_some(())?;
            if self.takes("set") {
                self.takes_any(&["null", "default"]).then_some(())?;
            } else if self.takes("no") {
                self.keywords(&["action"])?;
            } else {
                self.takes_any(&["cascade", "restrict"]).then_some(())?;
            }
        }
        Some(())
    }

    fn common_table(&mut self) -> Option<()> {
        self.takes_name()?;
        if self.is_next(Token::Symbol("(")) {
            self.names()?;
        }
        self.keywords(&["as"])?;
        self.subquery()
    }

    fn subquery(&mut self) -> Option<()> {
        self.symbol("(")?;
        self.keywords(&["select"])?;
        self.nested(Self::selection)?;
        self.symbol(")")
    }

    /// What follows `select`.
    pub(super) fn selection(&mut self) -> Option<()> {
        if !self.may_select {
            return None;
        }
        loop {
            self.takes_any(&["distinct", "all"]);
            self.list(Self::selected)?;
            self.sources_and_conditions()?;
            if !self.takes_any(&["union", "intersect", "except"]) {
                return Some(());
            }
            self.takes("all");
            self.keywords(&["select"])?;
        }
    }

    fn sources_and_conditions(&mut self) -> Option<()> {
        if self.takes("from") {
            self.list(Self::joined_sources)?;
        }
        if self.takes("where") {
            self.expression()?;
        }
        if self.takes("group") {
            self.keywords(&["by"])?;
            self.list(Self::expression)?;
        }
        if self.takes("having") {
            self.expression()?;
        }
        if self.takes("order") {
            self.keywords(&["by"])?;
            self.list(|reader| {
                reader.expression()?;
                reader.takes_any(&["asc", "desc"]);
                Some(())
            })?;
        }
        if self.takes("limit") {
            self.list(Self::literal)?;
        }
        if self.takes("offset") { self.literal() } else { Some(()) }
    }

    fn selected(&mut self) -> Option<()> {
        if self.takes_symbol("*") {
            return Some(());
        }
        self.expression()?;
        self.alias()
    }

    fn alias(&mut self) -> Option<()> {
        let is_named = self.takes("as");
        let name = self.takes_name();
        if is_named { name.map(drop) } else { Some(()) }
    }

    fn joined_sources(&mut self) -> Option<()> {
        self.source()?;
        loop {
            let sides = ["natural", "inner", "left", "right", "full", "cross", "outer"];
            let mut is_join = false;
            while self.takes_any(&sides) {
                is_join = true;
            }
            if !self.takes("join") {
                return (!is_join).then_some(());
            }
            self.source()?;
            if self.takes("on") {
                self.expression()?;
            } else if self.takes("using") {
                self.names()?;
            }
        }
    }

    fn source(&mut self) -> Option<()> {
        if self.is_next(Token::Symbol("(")) {
            self.subquery()?;
        } else {
            self.table()?;
        }
        self.alias()
    }
}

#[cfg(test)]
mod tests;
