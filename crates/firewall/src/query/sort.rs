//! The order of rows.

use super::column::Column;

/// One key of an order; rows that are equal in all keys stay as they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// The field.
    pub field: String,
    /// True for the greatest first.
    pub descending: bool,
}

/// Sorts the numbers of rows by columns, each with true for the greatest first.
pub(super) fn sort(rows: &mut [u32], keys: &[(&Column, bool)]) {
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
