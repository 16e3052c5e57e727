//! Recognises harmless SQL statements: those that only read, add rows, change rows that a condition
//! names, or add tables, columns and indexes.
//!
//! A statement is read token by token, and every token must have its place in one of these forms:
//!
//! - `INSERT [OR IGNORE] INTO name [(names)] VALUES (values), … [ON CONFLICT DO NOTHING] [RETURNING
//!   names]`;
//! - `UPDATE name SET name = value, … WHERE comparison AND …`, each of a column and a constant;
//! - `CREATE TABLE name (columns)`, `CREATE TABLE name AS query`, `CREATE [UNIQUE] INDEX name ON name
//!   (columns)` and `ALTER TABLE name ADD COLUMN column`;
//! - queries of tables: `[WITH …] SELECT …`, `VALUES …`, `FROM …`;
//! - `DESCRIBE`, `SUMMARIZE` and `SHOW`, a `PRAGMA` that tells something, and `EXPLAIN` of a read.
//!
//! Values and conditions call only functions that compute. Everything else is not harmless: a second
//! statement, a comment, a call, a file or an address in place of a table, a table of the database's
//! own. Case, white space and a last `;` are of no interest. Whether a condition holds for every row
//! (`id > 0`) cannot be told from the text.

mod expressions;
mod function_sources;
mod functions;
mod obstacle;
mod query;
mod statement_reader;
mod tokens;

use obstacle::Obstacle;
use statement_reader::StatementReader;
use tokens::Token;

/// Whether a text is one harmless statement.
pub(super) fn is_harmless(text: &str) -> bool {
    read(text, StatementReader::statement).is_ok()
}

/// Whether a text is one statement that only reads.
pub(super) fn is_reading(text: &str) -> bool {
    read(text, StatementReader::reading).is_ok()
}

/// The first thing in a text that keeps it from being a harmless statement, as a phrase; `None` if
/// it is one.
pub(super) fn find_obstacle(text: &str) -> Option<String> {
    read(text, StatementReader::statement).err().map(|obstacle| obstacle.to_string())
}

/// The first thing in a text that keeps it from being a statement that only reads, as a phrase;
/// `None` if it is one.
pub(super) fn find_obstacle_to_reading(text: &str) -> Option<String> {
    read(text, StatementReader::reading).err().map(|obstacle| obstacle.to_string())
}

/// Reads one statement of a form.
fn read<'t>(
    text: &'t str,
    form: impl FnOnce(&mut StatementReader<'t>) -> Option<()>,
) -> Result<(), Obstacle<'t>> {
    let mut reader = StatementReader::new(text)?;
    let complete =
        form(&mut reader).and_then(|()| reader.ends()).and_then(|()| reader.calls_nothing_by_dot());
    complete.ok_or_else(|| reader.obstacle())
}

impl<'t> StatementReader<'t> {
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
            self.reading()?;
        }
        Some(())
    }

    /// A table that may be changed: none of the database's own.
    fn changed_table(&mut self) -> Option<String> {
        let name = self.table()?.to_lowercase();
        if ["pg_", "sqlite_"].iter().any(|own| name.starts_with(own)) {
            return self.refuse(Obstacle::OwnTable);
        }
        Some(name)
    }

    /// A column that may be changed. One with the name of its table takes commands to a full-text
    /// search.
    fn changed_column(&mut self, table: &str) -> Option<()> {
        if self.takes_name()?.to_lowercase() == table {
            return self.refuse(Obstacle::OwnTable);
        }
        Some(())
    }

    fn insertion(&mut self) -> Option<()> {
        if self.takes("or") {
            self.keywords(&["ignore"])?;
        }
        self.keywords(&["into"])?;
        let table = self.changed_table()?;
        if self.is_symbol(0, "(") {
            self.parenthesized(|reader| reader.changed_column(&table))?;
        }
        self.keywords(&["values"])?;
        self.list(|reader| reader.parenthesized(Self::value))?;
        if self.takes("on") {
            self.keywords(&["conflict"])?;
            if self.is_symbol(0, "(") {
                self.names()?;
            }
            self.keywords(&["do", "nothing"])?;
        }
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
        if self.peek(0).is_none() || self.is_symbol(0, ";") {
            return self.refuse(Obstacle::NoWhere);
        }
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
            self.takes_comparison().then_some(())?;
            return self.row_column();
        }
        self.row_column()?;
        if self.takes("is") {
            return self.keywords(&["null"]);
        }
        if self.takes("in") {
            return self.parenthesized(Self::literal);
        }
        if self.takes("between") {
            self.constant()?;
            self.keywords(&["and"])?;
            return self.constant();
        }
        (self.takes_comparison() || self.takes("like")).then_some(())?;
        self.constant()
    }

    /// A column, perhaps with its table.
    fn row_column(&mut self) -> Option<()> {
        self.takes_name()?;
        if self.takes_symbol(".") { self.takes_name().map(drop) } else { Some(()) }
    }

    /// A literal, or the time.
    fn constant(&mut self) -> Option<()> {
        const TIMES: [&str; 5] = ["date", "time", "datetime", "strftime", "now"];
        if self.takes_any(&["current_date", "current_time", "current_timestamp"]) {
            return Some(());
        }
        if let Some(Token::Word(name)) = self.peek(0)
            && matches!(self.peek(1), Some(Token::Text(_)))
            && self.takes_any(&["date", "time", "timestamp", "timestamptz", "datetime"])
        {
            return self.takes_typed_literal(name).filter(|taken| *taken).map(drop);
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
        if self.takes("as") {
            self.may_select = true;
            return self.query();
        }
        self.parenthesized(Self::column_or_constraint)
    }

    fn if_not_exists(&mut self) -> Option<()> {
        if self.takes("if") { self.keywords(&["not", "exists"]) } else { Some(()) }
    }

    fn names(&mut self) -> Option<()> {
        self.parenthesized(|reader| reader.takes_name().map(drop))
    }

    fn calls_nothing_by_dot(&mut self) -> Option<()> {
        match self.functions.called_by_dot() {
            Some(name) => self.refuse(Obstacle::Function(name)),
            None => Some(()),
        }
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
        if self.is_symbol(0, "(") {
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
}

#[cfg(test)]
mod tests;
