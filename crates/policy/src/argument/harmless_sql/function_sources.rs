//! Functions that stand for a table, and the names behind their dots.
//!
//! Where a function in `FROM` makes rows of one value, PostgreSQL reads `s.lo_unlink` as the call
//! `lo_unlink(s)`, if there is no such column ("functional notation", PostgreSQL 18, section 4.2.6). So
//! behind the name of such a function only names of columns are known to be harmless.

use std::collections::{BTreeMap, BTreeSet};

use super::statement_reader::is_one_of;

/// The columns that the known functions have by themselves.
const COLUMNS: [&str; 13] = [
    "key", "value", "ordinality", "type", "atom", "id", "parent", "fullkey", "path", "start",
    "stop", "step", "name",
];
/// Beginnings of functions that only databases without this notation have.
const OTHER_DATABASES: [&str; 2] = ["duckdb_", "pragma_"];

/// The functions that stand for tables in one statement, and all names with a dot in it.
#[derive(Debug, Default)]
pub(super) struct FunctionSources<'t> {
    /// The columns that were named for each function, by its name or alias.
    columns: BTreeMap<String, BTreeSet<String>>,
    /// The names on both sides of each dot.
    dotted: Vec<(&'t str, &'t str)>,
}

impl<'t> FunctionSources<'t> {
    /// Notes a function that stands for a table, its alias, and the names of its columns.
    pub(super) fn note_source(&mut self, function: &str, alias: Option<&str>, columns: &[&str]) {
        if OTHER_DATABASES.iter().any(|start| function.to_lowercase().starts_with(start)) {
            return;
        }
        for name in [Some(function), alias].into_iter().flatten() {
            let known = self.columns.entry(name.to_lowercase()).or_default();
            known.extend(columns.iter().map(|column| column.to_lowercase()));
            known.extend([name.to_lowercase(), function.to_lowercase()]);
        }
    }

    /// Notes `first.second`.
    pub(super) fn note_dotted(&mut self, first: &'t str, second: &'t str) {
        self.dotted.push((first, second));
    }

    /// A name behind a dot that may be that of a function.
    pub(super) fn called_by_dot(&self) -> Option<&'t str> {
        let is_call = |(first, second): &&(&str, &str)| {
            let columns = self.columns.get(&first.to_lowercase());
            columns.is_some_and(|columns| {
                !is_one_of(second, &COLUMNS) && !columns.contains(&second.to_lowercase())
            })
        };
        self.dotted.iter().find(is_call).map(|(_, second)| *second)
    }
}
