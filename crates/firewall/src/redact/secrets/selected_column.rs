//! Secrets in the rows that a database shows: the column is told by its place in the list that was
//! selected, `select login, token from users`, or that is copied, `COPY users (id, token) FROM stdin`.

use std::ops::Range;

use super::assigned_value::AssignedValue;
use super::chosen_word::is_chosen_word;
use super::credential_value;
use super::secret_name::{self, SecretKind};
use super::slice;

/// The longest list of columns, in bytes.
const MAX_LIST_BYTES: usize = 200;
/// How many rows are read.
const MAX_ROWS: usize = 12;

/// The secrets in the rows below the label that begins a list of columns.
pub(crate) fn selected_cells(
    text: &str,
    label: Range<usize>,
    end: usize,
    found: &mut dyn FnMut(Range<usize>),
) {
    let bytes = text.as_bytes();
    let is_copy =
        slice(bytes, label.clone()).first().is_some_and(|b| b.eq_ignore_ascii_case(&b'c'));
    let Some((list, separator)) = columns_of(bytes, label.end, is_copy) else { return };
    let columns = slice(bytes, list.clone()).split(|b| *b == b',');
    let kinds: Vec<Option<SecretKind>> = columns.map(kind_of_column).collect();
    if kinds.len() < 2 || !kinds.iter().any(Option::is_some) {
        return;
    }
    let rest = slice(bytes, list.end..end);
    let Some(line_end) = memchr::memchr(b'\n', rest) else { return };
    let mut at = list.end + line_end + 1;
    for _ in 0..MAX_ROWS {
        let rest = slice(bytes, at..end);
        let Some(len) = memchr::memchr(b'\n', rest).or((end == bytes.len()).then_some(rest.len()))
        else {
            return;
        };
        let row = slice(bytes, at..at + len);
        if row.starts_with(b"\\.") || row.is_empty() {
            return;
        }
        if row.iter().filter(|b| **b == separator).count() + 1 == kinds.len() {
            let mut start = at;
            for (cell, kind) in row.split(|b| *b == separator).zip(&kinds) {
                let lead = cell.len() - cell.trim_ascii_start().len();
                let range = start + lead..start + lead + cell.trim_ascii().len();
                start += cell.len() + 1;
                if let Some(kind) = kind
                    && is_secret(bytes, &range, *kind)
                {
                    found(range);
                }
            }
        }
        at += len + 1;
    }
}

/// Where the names of the columns are, and what separates the cells of a row.
fn columns_of(bytes: &[u8], from: usize, is_copy: bool) -> Option<(Range<usize>, u8)> {
    let run = slice(bytes, from..(from + MAX_LIST_BYTES).min(bytes.len()));
    let line = run.split(|b| *b == b'\n').next()?;
    let lower = line.to_ascii_lowercase();
    if is_copy {
        let open = memchr::memchr(b'(', line)? + 1;
        let close = open + memchr::memchr(b')', slice(line, open..line.len()))?;
        let is_input =
            memchr::memmem::find(slice(&lower, close..lower.len()), b" from stdin").is_some();
        return is_input.then_some((from + open..from + close, b'\t'));
    }
    let end = memchr::memmem::find(&lower, b" from ")?;
    let is_plain = !slice(line, 0..end).iter().any(|b| b"()'\"*".contains(b));
    is_plain.then_some((from..from + end, b'|'))
}

/// The kind of secret in a column: `token`, `u.token`, `encode as secret`.
fn kind_of_column(name: &[u8]) -> Option<SecretKind> {
    let name = name.trim_ascii();
    let last = name.rsplit(|b| b.is_ascii_whitespace() || *b == b'.').next()?;
    secret_name::secret_kind(last)
}

fn is_secret(bytes: &[u8], cell: &Range<usize>, kind: SecretKind) -> bool {
    let raw = slice(bytes, cell.clone());
    let value = AssignedValue {
        range: cell.clone(),
        quoted: false,
        separator: b'|',
        is_adjacent: true,
        requires_token: true,
        fills_line: false,
    };
    let is_word = || {
        matches!(kind, SecretKind::Password | SecretKind::Pass)
            && std::str::from_utf8(raw).is_ok_and(is_chosen_word)
    };
    !raw.is_empty()
        && !raw.iter().any(u8::is_ascii_whitespace)
        && (credential_value::is_secret(bytes, &value, kind) || is_word())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let lower = text.to_ascii_lowercase();
        let at = lower.find("select ").or(lower.find("copy ")).unwrap();
        let mut values = Vec::new();
        let label = at..at + text.get(at..).unwrap().find(' ').unwrap() + 1;
        selected_cells(text, label, text.len(), &mut |range| values.push(text.get(range).unwrap()));
        values
    }

    #[test]
    fn a_cell_is_a_secret_by_the_place_of_its_column() {
        for (text, values) in [
            (
                "select id, token from s'\n7|q8Vn2LmZ7rKd0XbL\n8|zPq9xt7Yq2mN8rKd",
                &["q8Vn2LmZ7rKd0XbL", "zPq9xt7Yq2mN8rKd"][..],
            ),
            ("SELECT u.name, u.password FROM u\n ann | zapfhahn\n", &["zapfhahn"]),
            ("COPY t (id, secret) FROM stdin;\n1\tq8Vn2LmZ7rKd0XbL\n\\.\n", &["q8Vn2LmZ7rKd0XbL"]),
            ("select id, token_count from s\n7|441", &[]),
            ("select token from s\nq8Vn2LmZ7rKd0XbL", &[]),
            ("select count(id), token from s\n7|q8Vn2LmZ7rKd0XbL", &[]),
            ("COPY t (id, secret) TO stdout;\n1\tq8Vn2LmZ7rKd0XbL\n", &[]),
            ("select id, password from s\n7|expired", &[]),
            ("select id, token from s\n7|q8Vn2LmZ7rKd0XbL|x", &[]),
        ] {
            assert_eq!(found(text), values, "{text}");
        }
    }
}
