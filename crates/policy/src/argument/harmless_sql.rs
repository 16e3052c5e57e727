//! Recognises harmless SQL statements: those that only read, add rows, change rows that a condition
//! names, or add tables, columns and indexes.
//!
//! A statement is read token by token, and every token must have its place in one of these forms:
//!
//! - `INSERT [OR IGNORE] INTO name [(names)] VALUES (values), … [ON CONFLICT DO NOTHING | DO UPDATE SET
//!   …] [RETURNING names]`, and with a query in place of the values, which changes no row either;
//! - `UPDATE name SET name = value, … WHERE comparison AND …`, each of a column and a constant;
//! - `CREATE TABLE name (columns)`, `CREATE TABLE` or `VIEW name AS query`, `CREATE [UNIQUE] INDEX name ON name
//!   (columns)` and `ALTER TABLE name ADD COLUMN column`;
//! - queries of tables: `[WITH …] SELECT …`, `VALUES …`, `FROM …`;
//! - `DESCRIBE`, `SUMMARIZE` and `SHOW`, a `PRAGMA` that tells something, and `EXPLAIN` of a read.
//!
//! Values and conditions call only functions that compute. Everything else is not harmless: a second
//! statement, a comment, a call, a file or an address in place of a table, a table of the database's
//! own. Case, white space and a last `;` are of no interest. Whether a condition holds for every row
//! (`id > 0`) cannot be told from the text.

mod actions;
mod function_sources;
mod functions;
mod grammar;
mod obstacle;
mod statement_reader;
mod tokens;

use obstacle::Obstacle;
use statement_reader::StatementReader;

/// Whether a text is one harmless statement.
pub(super) fn is_harmless(text: &str) -> bool {
    read(text, "Statement").is_ok()
}

/// Whether a text is one statement that only reads.
pub(super) fn is_reading(text: &str) -> bool {
    read(text, "Reading").is_ok()
}

/// The first thing in a text that keeps it from being a harmless statement, as a phrase; `None` if
/// it is one.
pub(crate) fn find_obstacle(text: &str) -> Option<String> {
    read(text, "Statement").err().map(|obstacle| obstacle.to_string())
}

/// The first thing in a text that keeps it from being a statement that only reads, as a phrase;
/// `None` if it is one.
pub(crate) fn find_obstacle_to_reading(text: &str) -> Option<String> {
    read(text, "Reading").err().map(|obstacle| obstacle.to_string())
}

/// Reads one statement of a form.
fn read<'t>(text: &'t str, form: &str) -> Result<(), Obstacle<'t>> {
    let mut reader = StatementReader::new(text)?;
    let is_read = reader.read_rule(form) && reader.ends();
    match reader.functions.called_by_dot() {
        _ if !is_read => Err(reader.obstacle()),
        Some(name) => Err(Obstacle::Named("function", name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
