//! Functions that stand for a table, and the names behind their dots.
//!
//! Where a function in `FROM` makes rows of one value, PostgreSQL reads `s.lo_unlink` as the call
//! `lo_unlink(s)`, if there is no such column ("functional notation", PostgreSQL 18, section 4.2.6). So
//! behind the name of such a function only names of columns are known to be harmless.

use std::collections::{BTreeMap, BTreeSet};

use super::super::is_listed;

/// The columns that the known functions have by themselves.
const COLUMNS: [&str; 1] =
    ["key value ordinality type atom id parent fullkey path start stop step name"];
/// Beginnings of functions that only databases without this notation have.
const OTHER_DATABASES: [&str; 2] = ["duckdb_", "pragma_"];

/// The longest name that PostgreSQL does not truncate, in bytes.
const MAX_NAME: usize = 63;

/// The functions that stand for tables in one statement, and all names with a dot in it.
#[derive(Debug, Default)]
pub(super) struct FunctionSources<'t> {
    /// The columns of each function, by its name or alias. A name may stand for several functions, in
    /// subqueries: then only columns that all of them have.
    columns: BTreeMap<String, BTreeSet<&'t str>>,
    /// The names on both sides of each dot.
    dotted: Vec<(&'t str, &'t str)>,
}

impl<'t> FunctionSources<'t> {
    /// Notes a function that stands for a table, its alias, and the names of its columns.
    pub(super) fn note_source(
        &mut self,
        function: &'t str,
        alias: Option<&'t str>,
        columns: &[&'t str],
    ) {
        if OTHER_DATABASES.iter().any(|start| function.to_lowercase().starts_with(start)) {
            return;
        }
        // The one column of a function without a list has the name of its alias or of the function.
        let unnamed = [alias.unwrap_or(function), function];
        let named = if columns.is_empty() { unnamed.as_slice() } else { columns };
        let columns: BTreeSet<&str> =
            named.iter().copied().filter(|column| is_spelled_once(column)).collect();
        for name in [Some(function), alias].into_iter().flatten() {
            self.columns
                .entry(folded(name))
                .and_modify(|known| known.retain(|column| columns.contains(column)))
                .or_insert_with(|| columns.clone());
        }
    }

    /// Notes `first.second`.
    pub(super) fn note_dotted(&mut self, first: &'t str, second: &'t str) {
        self.dotted.push((first, second));
    }

    /// A name behind a dot that may be that of a function.
    pub(super) fn called_by_dot(&self) -> Option<&'t str> {
        let is_call = |(first, second): &&(&str, &'t str)| {
            let columns = self.columns.get(&folded(first));
            columns.is_some_and(|columns| !is_listed(second, &COLUMNS) && !columns.contains(second))
        };
        self.dotted.iter().find(is_call).map(|(_, second)| *second)
    }
}

/// A name by which databases find a source, whether it is in quotes or not. Long names, which
/// PostgreSQL truncates, and letters whose case depends on the database count as one name.
fn folded(name: &str) -> String {
    let is_plain = name.is_ascii() && name.len() <= MAX_NAME;
    if is_plain { name.to_ascii_lowercase() } else { String::new() }
}

/// Whether a name of a column is the same in quotes and without.
fn is_spelled_once(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
