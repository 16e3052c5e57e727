//! Passwords that are words in the cells of a column of passwords.

use std::ops::Range;

use super::chosen_word::{is_chosen_word, is_phrase_with_signs, is_said_instead};
use super::slice;

/// The cells of a column that may be passwords, and whether the column says something about passwords
/// instead: `expired`.
#[derive(Debug, Default)]
pub(super) struct WordCells {
    cells: Vec<Range<usize>>,
    is_of_remarks: bool,
}

impl WordCells {
    /// Adds a cell of a line, which is no password by its form.
    pub(super) fn add(&mut self, bytes: &[u8], line: Range<usize>, cell: Range<usize>) {
        let Ok(text) = std::str::from_utf8(slice(bytes, cell.clone())) else { return };
        let is_word = |text: &str| !text.is_empty() && text.chars().all(char::is_alphabetic);
        if is_chosen_word(text) || is_phrase_with_signs(text) {
            // The name of the account, or a state that several columns have, is no password.
            let others = slice(bytes, line).split(|byte| b",;|\t\n".contains(byte));
            let is_elsewhere =
                others.map(<[u8]>::trim_ascii).filter(|other| *other == text.as_bytes());
            if is_elsewhere.count() < 2 {
                self.cells.push(cell);
            }
        } else if is_word(text) && is_said_instead(text) {
            self.is_of_remarks = true;
        }
    }

    /// The cells, unless the column is one of remarks. States of accounts are the same in many rows.
    pub(super) fn passwords(self) -> impl Iterator<Item = Range<usize>> {
        self.cells.into_iter().filter(move |_| !self.is_of_remarks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_passwords_in_a_column_without_remarks() {
        for (rows, found) in [
            (&["ann,zapfhahn", "ben,Brettstapel"][..], 2),
            (&["ann,zapfhahn", "ben,expired"], 0),
            (&["zapfhahn,zapfhahn", "ben,Brettstapel"], 1),
            (&["ann,", "ben,Brettstapel"], 1),
            (&["ann,-----", "ben,abc"], 0),
        ] {
            let text = rows.join("\n");
            let mut words = WordCells::default();
            let mut at = 0;
            for row in rows {
                let comma = at + row.find(',').unwrap() + 1;
                words.add(text.as_bytes(), at..at + row.len(), comma..at + row.len());
                at += row.len() + 1;
            }
            assert_eq!(words.passwords().count(), found, "{rows:?}");
        }
    }
}
