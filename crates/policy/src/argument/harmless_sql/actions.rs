//! What a grammar of words cannot say: names, what functions and tables are known, and where a database
//! could take a name for a file.

use super::super::is_listed;
use super::functions::{
    BARE_PRAGMAS, FILE_ENDINGS, FUNCTIONS, KEYWORD_FUNCTIONS, TABLE_FUNCTIONS, TABLE_PRAGMAS, UNITS,
};
use super::obstacle::Obstacle;
use super::statement_reader::StatementReader;
use super::tokens::Token;

/// Takes something, or looks at what is next. What is wrong for good, it refuses.
pub(super) type Action = for<'r, 't> fn(&'r mut StatementReader<'t>) -> bool;

/// Words that are no alias of what stands before them.
const AFTER_SOURCES: [&str; 1] =
    ["qualify window fetch asof semi anti positional lateral pivot unpivot tablesample for"];
/// Words that begin a statement of their own in T-SQL, which needs no `;` before it.
const NEXT_STATEMENTS: [&str; 1] =
    ["shutdown commit rollback exec execute reconfigure checkpoint revert kill print return go \
     use waitfor backup restore dump load deny dbcc bulk raiserror throw save goto receive"];
const QUERY_STARTS: [&str; 4] = ["select", "with", "values", "from"];
const TIMES: [&str; 5] = ["date", "time", "timestamp", "timestamptz", "datetime"];
/// Words that begin a constraint, behind the type of a column.
const CONSTRAINTS: [&str; 1] =
    ["primary unique check references collate constraint null autoincrement auto_increment"];
/// Schemas whose tables hold the accounts and settings of the database.
const SYSTEM_SCHEMAS: [&str; 3] = ["mysql", "sys", "master"];

const ACTIONS: [(&str, Action); 36] = [
    ("name", |r| r.takes_name().is_some()),
    ("text", |r| r.takes_text().is_some()),
    ("number", |r| r.takes_number()),
    ("unit", |r| r.takes_any(UNITS)),
    ("table", |r| r.table().is_some()),
    ("changed_table", |r| r.changed_table()),
    ("changed_column", |r| r.changed_column()),
    ("has_condition", |r| {
        let ends = r.peek(0).is_none() || r.is_symbol(0, ";");
        !ends || r.refuse(Obstacle::NO_WHERE)
    }),
    ("may_select", |r| {
        r.may_select = true;
        true
    }),
    ("selects", |r| r.may_select),
    ("pragma", |r| r.pragma()),
    ("plain_name", |r| r.takes_name().is_some_and(|name| r.is_plain(name))),
    ("plain_table", |r| {
        let name = r.takes_name().filter(|name| r.is_plain(name));
        name.is_some_and(|name| !is_listed(name, FILE_ENDINGS) || r.refuse(Obstacle::FOREIGN_TABLE))
    }),
    ("alias", |r| r.alias()),
    ("source_column", |r| {
        let name = r.takes_name();
        r.columns.extend(name);
        name.is_some()
    }),
    ("note_source", |r| {
        if let Some(function) = r.function.take() {
            r.functions.note_source(function, r.alias, &r.columns);
        }
        r.columns.clear();
        true
    }),
    ("table_function", |r| {
        let name = r.takes_function(|name| is_listed(name, TABLE_FUNCTIONS));
        r.open_functions.extend(name);
        name.is_some()
    }),
    ("is_function", |r| {
        r.function = r.open_functions.pop();
        true
    }),
    ("source_table", |r| r.source_table()),
    ("column", |r| r.takes_column()),
    ("cast", |r| r.takes_any(&["cast", "try_cast"])),
    ("keyword_function", |r| r.takes_any(KEYWORD_FUNCTIONS)),
    ("function", |r| {
        // `left` and `right` are functions as well as sides of a join.
        r.takes_any(&["left", "right"])
            || r.takes_function(|name| is_listed(name, FUNCTIONS)).is_some()
    }),
    // What is next.
    ("closes", |r| r.is_symbol(0, ")")),
    ("group_ahead", |r| r.is_symbol(0, "(")),
    ("from_ahead", |r| r.is_keyword(0, &["from"])),
    ("query_ahead", |r| r.is_keyword(0, &QUERY_STARTS)),
    ("options_ahead", |r| r.is_symbol(0, "(") && !r.is_keyword(1, &QUERY_STARTS)),
    ("subquery_ahead", |r| {
        r.is_symbol(0, "(") && (r.is_keyword(1, &QUERY_STARTS) || r.is_symbol(1, "("))
    }),
    ("signed_group", |r| (r.is_symbol(0, "-") || r.is_symbol(0, "+")) && r.is_symbol(1, "(")),
    ("call_ahead", |r| {
        (r.names_next() || r.is_keyword(0, &["left", "right"])) && r.is_symbol(1, "(")
    }),
    ("time_ahead", |r| r.is_keyword(0, &TIMES) && matches!(r.peek(1), Some(Token::Text(_)))),
    ("typed_ahead", |r| {
        let has_zone = r.is_keyword(1, &["with", "without"]) && r.is_keyword(2, &["time"]);
        r.is_keyword(0, &TIMES) && (has_zone || matches!(r.peek(1), Some(Token::Text(_))))
    }),
    ("interval_ahead", |r| {
        let value = r.peek(if r.is_symbol(1, "-") { 2 } else { 1 });
        let is_value = matches!(value, Some(Token::Text(_) | Token::Number));
        r.is_keyword(0, &["interval"]) && (is_value || r.is_symbol(1, "("))
    }),
    ("no_constraint", |r| !r.is_keyword(0, &CONSTRAINTS)),
    ("no_window_part", |r| !r.is_keyword(0, &["partition", "rows", "range", "groups"])),
];

/// The action of this name.
pub(super) fn find_action(name: &str) -> Option<Action> {
    ACTIONS.iter().find(|(known, _)| *known == name).map(|(_, action)| *action)
}

impl<'t> StatementReader<'t> {
    /// The name of a table, perhaps after that of an ordinary schema.
    fn table(&mut self) -> Option<&'t str> {
        /// Schemas that hold a database's ordinary tables.
        const SCHEMAS: [&str; 4] = ["main", "public", "dbo", "information_schema"];
        if matches!(self.peek(0), Some(Token::Text(_))) {
            self.refuse(Obstacle::FOREIGN_TABLE);
            return None;
        }
        let mut name = self.takes_name()?;
        if self.is_symbol(0, ".") {
            if !is_listed(name, &SCHEMAS) {
                self.refuse(Obstacle::FOREIGN_TABLE);
                return None;
            }
            self.takes_symbol(".");
            name = self.takes_name()?;
        }
        self.is_plain(name).then_some(name)
    }

    /// A table that may be changed: none of the database's own.
    fn changed_table(&mut self) -> bool {
        let Some(name) = self.table() else { return false };
        self.changed_table = name.to_lowercase();
        let is_own = |own: &&str| self.changed_table.starts_with(*own);
        !["pg_", "sqlite_"].iter().any(is_own) || self.refuse(Obstacle::OWN_TABLE)
    }

    /// A column that may be changed. One with the name of its table takes commands to a full-text
    /// search.
    fn changed_column(&mut self) -> bool {
        let Some(name) = self.takes_name() else { return false };
        name.to_lowercase() != self.changed_table || self.refuse(Obstacle::OWN_TABLE)
    }

    /// What follows `pragma`. With a value, many a pragma changes a setting.
    fn pragma(&mut self) -> bool {
        let Some(name) = self.takes_name() else { return false };
        let of_table = is_listed(name, TABLE_PRAGMAS);
        if !of_table && !is_listed(name, BARE_PRAGMAS) {
            return self.refuse(Obstacle::Named("pragma", name));
        }
        if !of_table || !self.takes_symbol("(") {
            return true;
        }
        let table = self.takes_text().or_else(|| self.takes_name());
        table.is_some_and(|table| self.is_plain(table)) && self.takes_symbol(")")
    }

    /// The name behind what it stands for, if there is one.
    fn alias(&mut self) -> bool {
        if self.takes_any(&["as"]) {
            self.alias = self.takes_text().or_else(|| self.takes_name());
            return self.alias.is_some();
        }
        if self.is_keyword(0, &NEXT_STATEMENTS) {
            return false;
        }
        self.alias = match self.is_keyword(0, &AFTER_SOURCES) {
            true => None,
            false => self.takes_name(),
        };
        true
    }

    /// The name of a function before its bracket.
    fn takes_function(&mut self, is_known: impl Fn(&str) -> bool) -> Option<&'t str> {
        if !self.is_symbol(1, "(") {
            return None;
        }
        let name = self.takes_name()?;
        (is_known(name) || self.refuse(Obstacle::Named("function", name))).then_some(name)
    }

    /// A table that is read. What ends like a file may be one.
    fn source_table(&mut self) -> bool {
        if matches!(self.peek(0), Some(Token::Text(_))) {
            return self.refuse(Obstacle::FOREIGN_TABLE);
        }
        let Some(first) = self.takes_name().filter(|name| self.is_plain(name)) else {
            return false;
        };
        let (mut name, mut parts) = (first, 1_usize);
        while self.takes_symbol(".") {
            let Some(next) = self.takes_name().filter(|name| self.is_plain(name)) else {
                return false;
            };
            (name, parts) = (next, parts.saturating_add(1));
        }
        let is_foreign = is_listed(name, FILE_ENDINGS) || is_listed(first, &SYSTEM_SCHEMAS);
        !(parts > 1 && is_foreign || parts > 3) || self.refuse(Obstacle::FOREIGN_TABLE)
    }

    /// A column, perhaps with its table: `orders.id`, `orders.*`.
    fn takes_column(&mut self) -> bool {
        let Some(mut first) = self.takes_name() else { return false };
        while self.takes_symbol(".") {
            if self.takes_symbol("*") {
                return true;
            }
            let Some(second) = self.takes_name() else { return false };
            self.functions.note_dotted(first, second);
            first = second;
        }
        true
    }
}
