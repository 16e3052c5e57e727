//! Prepares entries for recall: their lines and stems. A prepared entry is cached as long as the bytes
//! of its record are unchanged, so changes by other processes are noticed.

use std::sync::Arc;

use serde_json::Value;
use weaver_text::escape;
use weaver_types::Label;

use super::candidate_cache::{CandidateCache, RecallCandidate};
use super::entry::{EntryKind, MemoryEntry, Tier};
use super::error::MemoryError;
use super::fact::{Fact, newest_claim_time};
use super::memory_record::MemoryRecord;
use super::tier_store::TierStore;
use crate::stems::stems;

/// The longest part of a value that one line shows, in characters.
const MAX_SHOWN: usize = 400;
/// The longest source that one line shows, in characters.
const MAX_SOURCE_SHOWN: usize = 80;
impl TierStore {
    /// All entries of a kind that have not expired, in order of key.
    pub(super) fn candidates(
        &self,
        kind: EntryKind,
    ) -> Result<Vec<Arc<RecallCandidate>>, MemoryError> {
        let before = self.candidate_caches.lock().ok().and_then(|mut known| known.remove(&kind));
        let before = before.unwrap_or_default();
        let (mut all, mut after) = (Vec::new(), CandidateCache::default());
        self.for_each_record(kind, |id, record, now| {
            if let Some(known) = before.get_if_unchanged(id, &record) {
                all.push(Arc::clone(&known));
                after.insert(id.to_owned(), record.value, known);
                return Ok(());
            }
            let stored = MemoryRecord::from_bytes(id, &record.value)?;
            // An entry that can expire has to be checked each time, so it is not cached.
            let lasts = stored.claims.iter().all(|claim| claim.ttl_us.is_none());
            let Some(found) = self.drop_expired_claims(id, &record, stored, now)? else {
                return Ok(());
            };
            let found = Arc::new(RecallCandidate::of(self.tier, found));
            all.push(Arc::clone(&found));
            if lasts {
                after.insert(id.to_owned(), record.value, found);
            }
            Ok(())
        })?;
        if let Ok(mut known) = self.candidate_caches.lock() {
            known.insert(kind, after);
        }
        // A fact without current claims has nothing to show.
        all.retain(|found| !found.entries.is_empty());
        Ok(all)
    }
}

impl RecallCandidate {
    fn of(tier: Tier, stored: MemoryRecord) -> Self {
        match stored.kind {
            EntryKind::Fact => Self::from_fact(tier, Fact::of(stored, tier)),
            EntryKind::Episode | EntryKind::Value => Self::from_entry(stored, tier),
        }
    }

    fn from_entry(stored: MemoryRecord, tier: Tier) -> Self {
        let id = tier.entry_id(&stored.key);
        let entries: Vec<MemoryEntry> = stored.entry(tier).into_iter().collect();
        let text = entries.first().map(|entry| value_text(&entry.value)).unwrap_or_default();
        Self {
            id,
            line: one_line(&text, MAX_SHOWN),
            stems: stems(&text).into_iter().collect(),
            created_at: entries.first().map(|entry| entry.created_at).unwrap_or_default(),
            label: entries.iter().fold(Label::clean(), |label, entry| label.join(&entry.label)),
            entries,
        }
    }

    fn from_fact(tier: Tier, fact: Fact) -> Self {
        let current: Vec<&MemoryEntry> = fact.current_claims().map(|claim| &claim.entry).collect();
        let statements: Vec<String> = current.iter().map(|entry| claim_text(entry)).collect();
        let mut words = fact.key.clone();
        for entry in &current {
            words.push(' ');
            words.push_str(&value_text(&entry.value));
        }
        let disputed = if fact.is_contradicted() { "(disputed) " } else { "" };
        Self {
            id: tier.entry_id(&fact.key),
            line: format!(
                "{}: {disputed}{}",
                one_line(&fact.key, super::MAX_KEY_BYTES),
                statements.join("; or ")
            ),
            stems: stems(&words).into_iter().collect(),
            created_at: newest_claim_time(&fact),
            label: fact.label(),
            entries: current.into_iter().cloned().collect(),
        }
    }
}

/// A claim as a line shows it: its value, and its source if there is one.
fn claim_text(entry: &MemoryEntry) -> String {
    let value = one_line(&value_text(&entry.value), MAX_SHOWN);
    if entry.source.is_empty() {
        return value;
    }
    format!("{value} (source: {})", one_line(&entry.source, MAX_SOURCE_SHOWN))
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Escapes a text to a single line, so that remembered content can never start a line of its own.
fn one_line(text: &str, most: usize) -> String {
    escape::line(&escape::shorten(text, most)).into_owned()
}

#[cfg(test)]
mod tests;
