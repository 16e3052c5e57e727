//! Sorts rows.

use super::column::Column;

/// A sort key; rows that are equal in all keys keep their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// The field.
    pub field: String,
    /// True for descending order.
    pub descending: bool,
}

/// Sorts row numbers by columns, each with true for descending order.
pub(super) fn sort_rows(rows: &mut [u32], keys: &[(&Column, bool)]) {
    let ranked: Vec<(Vec<u32>, &Column, bool)> =
        keys.iter().map(|(column, descending)| (column.ranks(), *column, *descending)).collect();
    let rank = |ranks: &[u32], column: &Column, row: u32| {
        column.code(row).and_then(|code| ranks.get(code)).copied().unwrap_or(0)
    };
    rows.sort_by(|a, b| {
        for (ranks, column, descending) in &ranked {
            let order = rank(ranks, column, *a).cmp(&rank(ranks, column, *b));
            let order = if *descending { order.reverse() } else { order };
            if order.is_ne() {
                return order;
            }
        }
        std::cmp::Ordering::Equal
    });
}
