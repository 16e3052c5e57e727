//! Entries as they may be shown, with their words. What was worked out of an entry is kept beside the
//! tier as long as its record is the same, byte by byte, whoever else changes it.

use std::sync::Arc;

use serde_json::Value;
use weaver_text::escape;
use weaver_types::Label;

use super::candidate_cache::{Candidate, CandidateCache};
use super::entry::{EntryKind, MemoryEntry, Tier, entry_id};
use super::error::MemoryError;
use super::fact::{Fact, newest};
use super::memory_record::MemoryRecord;
use super::tier_store::TierStore;
use crate::stems::stems;

/// The longest part of a value that one line shows, in characters.
const MAX_SHOWN: usize = 400;
/// The longest source that one line shows, in characters.
const MAX_SOURCE_SHOWN: usize = 80;
impl TierStore {
    /// All entries of a kind that have not expired, in the order of their keys.
    pub(super) fn candidates(&self, kind: EntryKind) -> Result<Vec<Arc<Candidate>>, MemoryError> {
        let before = self.known.lock().ok().and_then(|mut known| known.remove(&kind));
        let before = before.unwrap_or_default();
        let (mut all, mut after) = (Vec::new(), CandidateCache::default());
        self.each(kind, |id, record, now| {
            if let Some(known) = before.find(id, &record) {
                all.push(Arc::clone(&known));
                after.keep(id.to_owned(), record.value, known);
                return Ok(());
            }
            let stored = MemoryRecord::from_bytes(id, &record.value)?;
            // What has an end is looked at each time.
            let lasts = stored.claims.iter().all(|claim| claim.ttl_us.is_none());
            let Some(found) = self.standing(id, &record, stored, now)? else { return Ok(()) };
            let found = Arc::new(Candidate::of(self.tier, found));
            all.push(Arc::clone(&found));
            if lasts {
                after.keep(id.to_owned(), record.value, found);
            }
            Ok(())
        })?;
        if let Ok(mut known) = self.known.lock() {
            known.insert(kind, after);
        }
        // A fact of which nothing stands says nothing.
        all.retain(|found| !found.entries.is_empty());
        Ok(all)
    }
}

impl Candidate {
    fn of(tier: Tier, stored: MemoryRecord) -> Self {
        match stored.kind {
            EntryKind::Fact => Self::of_fact(tier, Fact::of(stored, tier)),
            EntryKind::Episode | EntryKind::Value => Self::of_one(stored, tier),
        }
    }

    fn of_one(stored: MemoryRecord, tier: Tier) -> Self {
        let id = entry_id(tier, &stored.key);
        let entries: Vec<MemoryEntry> = stored.entry(tier).into_iter().collect();
        let text = entries.first().map(|entry| text_of(&entry.value)).unwrap_or_default();
        Self {
            id,
            line: shown(&text, MAX_SHOWN),
            stems: stems(&text).into_iter().collect(),
            at: entries.first().map(|entry| entry.created_at).unwrap_or_default(),
            label: entries.iter().fold(Label::clean(), |label, entry| label.join(&entry.label)),
            entries,
        }
    }

    fn of_fact(tier: Tier, fact: Fact) -> Self {
        let standing: Vec<&MemoryEntry> = fact.standing().map(|claim| &claim.entry).collect();
        let says: Vec<String> = standing.iter().map(|entry| said(entry)).collect();
        let mut words = fact.key.clone();
        for entry in &standing {
            words.push(' ');
            words.push_str(&text_of(&entry.value));
        }
        let disputed = if fact.is_contradicted() { "(disputed) " } else { "" };
        Self {
            id: entry_id(tier, &fact.key),
            line: format!("{}: {disputed}{}", shown(&fact.key, super::MAX_KEY), says.join("; or ")),
            stems: stems(&words).into_iter().collect(),
            at: newest(&fact),
            label: fact.label(),
            entries: standing.into_iter().cloned().collect(),
        }
    }
}

/// A claim as a line shows it: its value, and its source where it has one.
fn said(entry: &MemoryEntry) -> String {
    let value = shown(&text_of(&entry.value), MAX_SHOWN);
    if entry.source.is_empty() {
        return value;
    }
    format!("{value} (source: {})", shown(&entry.source, MAX_SOURCE_SHOWN))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// On one line, whatever it holds: nothing that is remembered begins a line of its own.
fn shown(text: &str, most: usize) -> String {
    escape::line(&escape::shorten(text, most)).into_owned()
}

#[cfg(test)]
mod tests;
