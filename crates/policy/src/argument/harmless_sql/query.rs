//! Reads queries: what a `select` and its relatives read.

use super::functions::{BARE_PRAGMAS, FILE_ENDINGS, TABLE_FUNCTIONS, TABLE_PRAGMAS, is_listed};
use super::obstacle::Obstacle;
use super::statement_reader::{StatementReader, is_one_of};
use super::tokens::Token;

/// Words that begin a query.
const QUERY_STARTS: [&str; 4] = ["select", "with", "values", "from"];
/// Words that are no alias of what stands before them.
const AFTER_SOURCES: [&str; 12] = [
    "qualify", "window", "fetch", "asof", "semi", "anti", "positional", "lateral", "pivot",
    "unpivot", "tablesample", "for",
];
/// Words that begin a statement of their own in T-SQL, which needs no `;` before it.
const NEXT_STATEMENTS: [&str; 26] = [
    "shutdown", "commit", "rollback", "exec", "execute", "reconfigure", "checkpoint", "revert",
    "kill", "print", "return", "go", "use", "waitfor", "backup", "restore", "dump", "load", "deny",
    "dbcc", "bulk", "raiserror", "throw", "save", "goto", "receive",
];
/// Schemas whose tables hold the accounts and settings of the database.
const SYSTEM_SCHEMAS: [&str; 3] = ["mysql", "sys", "master"];

impl<'t> StatementReader<'t> {
    /// A statement that only reads.
    pub(super) fn reading(&mut self) -> Option<()> {
        self.may_select = true;
        if self.takes("explain") {
            return self.explanation();
        }
        if self.takes_any(&["describe", "desc", "summarize"]) {
            if self.is_query() {
                return self.query();
            }
            self.takes("table");
            self.source_table()?;
            self.takes_name();
            return Some(());
        }
        if self.takes("show") {
            return self.listing();
        }
        if self.takes("pragma") {
            return self.pragma();
        }
        self.query()
    }

    /// What follows `explain`; with `analyze` the statement is run.
    fn explanation(&mut self) -> Option<()> {
        if self.takes("query") {
            self.keywords(&["plan"])?;
        }
        if self.is_symbol(0, "(") && !self.is_keyword(1, &QUERY_STARTS) {
            self.parenthesized(|reader| {
                reader.takes_name()?;
                if reader.takes_name().is_none() {
                    reader.literal();
                }
                Some(())
            })?;
        }
        while self.takes_any(&["analyze", "verbose"]) {}
        self.nested(Self::reading)
    }

    /// What follows `show`: `tables`, `columns from orders like 'a%'`, `create table orders`. DuckDB
    /// describes what is shown, also a file or an address.
    fn listing(&mut self) -> Option<()> {
        let mut is_empty = true;
        loop {
            if self.takes("like") {
                self.literal()?;
            } else if let Some(name) = self.takes_name() {
                self.plain(name)?;
            } else if self.takes_symbol(".") {
                let name = self.takes_name()?;
                self.plain(name)?;
                if is_one_of(name, FILE_ENDINGS) {
                    return self.refuse(Obstacle::ForeignTable);
                }
            } else if !self.takes_any(&["all", "full", "create", "table", "from", "in"]) {
                return (!is_empty).then_some(());
            }
            is_empty = false;
        }
    }

    /// What follows `pragma`. With a value, many a pragma changes a setting.
    fn pragma(&mut self) -> Option<()> {
        let name = self.takes_name()?;
        let of_table = is_one_of(name, TABLE_PRAGMAS);
        if !of_table && !is_one_of(name, BARE_PRAGMAS) {
            return self.refuse(Obstacle::Pragma(name));
        }
        if !of_table || !self.takes_symbol("(") {
            return Some(());
        }
        let table = self.takes_text().or_else(|| self.takes_name())?;
        self.plain(table)?;
        self.symbol(")")
    }

    /// Whether a query begins here.
    pub(super) fn is_query(&self) -> bool {
        self.is_keyword(0, &QUERY_STARTS)
    }

    /// A query: one or several tables that are joined into one, in an order.
    pub(super) fn query(&mut self) -> Option<()> {
        if !self.may_select {
            return None;
        }
        if self.takes("with") {
            self.takes("recursive");
            self.list(Self::common_table)?;
        }
        self.query_part()?;
        while self.takes_any(&["union", "intersect", "except"]) {
            self.takes_any(&["all", "distinct"]);
            if self.takes("by") {
                self.keywords(&["name"])?;
            }
            self.query_part()?;
        }
        self.order()?;
        self.limits()
    }

    fn common_table(&mut self) -> Option<()> {
        self.takes_name()?;
        if self.is_symbol(0, "(") {
            self.names()?;
        }
        self.keywords(&["as"])?;
        self.takes("not");
        self.takes("materialized");
        self.subquery()
    }

    fn subquery(&mut self) -> Option<()> {
        self.symbol("(")?;
        self.nested(Self::query)?;
        self.symbol(")")
    }

    fn query_part(&mut self) -> Option<()> {
        if self.is_symbol(0, "(") {
            return self.subquery();
        }
        if self.takes("values") {
            return self.list(|reader| reader.parenthesized(Self::expression));
        }
        if self.takes("from") {
            self.list(Self::joined_sources)?;
            if self.takes("select") {
                self.selected_columns()?;
            }
            return self.conditions();
        }
        self.keywords(&["select"])?;
        self.selected_columns()?;
        if self.takes("from") {
            self.list(Self::joined_sources)?;
        }
        self.conditions()
    }

    fn selected_columns(&mut self) -> Option<()> {
        if !self.takes("distinct") {
            self.takes("all");
        } else if self.takes("on") {
            self.parenthesized(Self::expression)?;
        }
        self.list(Self::selected)
    }

    fn selected(&mut self) -> Option<()> {
        if self.takes_symbol("*") {
            if self.is_keyword(0, &["exclude"]) && self.is_symbol(1, "(") {
                self.takes("exclude");
                return self.names();
            }
            return Some(());
        }
        self.expression()?;
        self.alias().map(drop)
    }

    fn conditions(&mut self) -> Option<()> {
        if self.takes("where") {
            self.expression()?;
        }
        if self.takes("group") {
            self.keywords(&["by"])?;
            if !self.takes("all") {
                self.list(Self::expression)?;
            }
        }
        if self.takes("having") {
            self.expression()?;
        }
        if self.takes("window") {
            self.list(|reader| {
                reader.takes_name()?;
                reader.keywords(&["as"])?;
                reader.window()
            })?;
        }
        if self.takes("qualify") { self.expression() } else { Some(()) }
    }

    /// `order by`, if it is next.
    pub(super) fn order(&mut self) -> Option<()> {
        if !self.takes("order") {
            return Some(());
        }
        self.keywords(&["by"])?;
        self.list(|reader| {
            if !reader.takes("all") {
                reader.expression()?;
            }
            reader.takes_any(&["asc", "desc"]);
            if reader.takes("nulls") {
                reader.takes_any(&["first", "last"]).then_some(())?;
            }
            Some(())
        })
    }

    fn limits(&mut self) -> Option<()> {
        loop {
            if self.takes("limit") {
                if !self.takes("all") {
                    self.list(Self::literal)?;
                }
            } else if self.takes("offset") {
                self.literal()?;
                self.takes_any(&["row", "rows"]);
            } else if self.takes("fetch") {
                self.takes_any(&["first", "next"]).then_some(())?;
                self.takes_number();
                self.takes_any(&["row", "rows"]).then_some(())?;
                self.keywords(&["only"])?;
            } else {
                return Some(());
            }
        }
    }

    /// The name behind what it stands for, if there is one.
    fn alias(&mut self) -> Option<Option<&'t str>> {
        if self.takes("as") {
            return self.takes_text().or_else(|| self.takes_name()).map(Some);
        }
        if self.is_keyword(0, &NEXT_STATEMENTS) {
            return None;
        }
        Some(if self.is_keyword(0, &AFTER_SOURCES) { None } else { self.takes_name() })
    }

    fn joined_sources(&mut self) -> Option<()> {
        const SIDES: [&str; 11] = [
            "natural", "inner", "left", "right", "full", "cross", "outer", "asof", "semi", "anti",
            "positional",
        ];
        self.source()?;
        loop {
            let mut is_join = false;
            while self.takes_any(&SIDES) {
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
        self.takes("lateral");
        let mut function = None;
        if !self.is_symbol(0, "(") {
            function = self.source_table()?;
        } else if self.is_keyword(1, &QUERY_STARTS) || self.is_symbol(1, "(") {
            self.subquery()?;
        } else {
            self.symbol("(")?;
            self.nested(Self::joined_sources)?;
            self.symbol(")")?;
        }
        if self.takes("with") {
            self.keywords(&["ordinality"])?;
        }
        let alias = self.alias()?;
        let mut columns = Vec::new();
        if self.takes_symbol("(") {
            loop {
                columns.push(self.takes_name()?);
                if !self.takes_symbol(",") {
                    break;
                }
            }
            self.symbol(")")?;
        }
        if let Some(function) = function {
            self.functions.note_source(function, alias, &columns);
        }
        Some(())
    }

    /// A table that is read, or a function that makes one, whose name is returned. What ends like a file
    /// may be one.
    fn source_table(&mut self) -> Option<Option<&'t str>> {
        if matches!(self.peek(0), Some(Token::Text(_))) {
            return self.refuse(Obstacle::ForeignTable);
        }
        let mut name = self.takes_name()?;
        if self.is_symbol(0, "(") {
            if !is_listed(name, TABLE_FUNCTIONS) {
                return self.refuse(Obstacle::Function(name));
            }
            self.symbol("(")?;
            if !self.is_symbol(0, ")") {
                self.list(Self::expression)?;
            }
            return self.symbol(")").map(|()| Some(name));
        }
        self.plain(name)?;
        let is_in_system = is_one_of(name, &SYSTEM_SCHEMAS);
        let mut parts = 1_usize;
        while self.takes_symbol(".") {
            name = self.takes_name()?;
            self.plain(name)?;
            parts = parts.saturating_add(1);
        }
        let is_file = is_one_of(name, FILE_ENDINGS);
        if parts > 1 && (is_file || is_in_system) || parts > 3 {
            return self.refuse(Obstacle::ForeignTable);
        }
        Some(None)
    }
}
