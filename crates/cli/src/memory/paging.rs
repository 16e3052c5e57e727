//! Reads entries of every kind as JSON, a page at a time.

use contextweaver::memory::{EntryKind, FactStore, Memory, MemoryError};
use serde_json::Value;

use super::report;

/// Where a listing continues: a kind, and the key to continue after.
pub(super) type ListCursor = (EntryKind, Option<String>);

/// Up to `limit` entries of a kind after a key, and the key to continue after.
pub(super) fn read_page(
    memory: &Memory,
    (kind, after): &ListCursor,
    limit: usize,
) -> Result<(Vec<Value>, Option<String>), MemoryError> {
    let after = after.as_deref();
    if *kind == EntryKind::Fact {
        let page = FactStore::new(memory).list(after, limit)?;
        return Ok((page.items.iter().map(report::fact_json).collect(), page.next));
    }
    let page = memory.list(*kind, after, limit)?;
    Ok((page.items.iter().map(report::entry_json).collect(), page.next))
}

/// The kind after this one, unless only one was requested.
pub(super) fn next_kind(kind: EntryKind, only: Option<EntryKind>) -> Option<EntryKind> {
    let mut kinds = EntryKind::ALL.into_iter().skip_while(|known| *known != kind);
    kinds.nth(1).filter(|_| only.is_none())
}

/// Parses `kind/key`.
pub(super) fn parse_cursor(text: &str) -> Option<ListCursor> {
    let (kind, key) = text.split_once('/')?;
    let kind = EntryKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
    Some((kind, Some(key.to_owned()).filter(|key| !key.is_empty())))
}
