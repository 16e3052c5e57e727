//! Recalls entries of durable memory that are relevant to a query, as items for the head of a context.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_text::token::TokenCounter;
use weaver_types::{Confidentiality, Integrity, Label};

use super::candidate_cache::RecallCandidate;
use super::entry::EntryKind;
use super::error::MemoryError;
use super::tier::{Access, Memory};
use crate::compile::ContextItem;
use crate::fixed_point::{self, ONE};
use crate::stems::stems;

/// How much of one store a recall may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallLimits {
    /// The most tokens of all lines together, including the note on omitted entries.
    pub tokens: usize,
    /// The most entries.
    pub entries: usize,
}

/// A request to recall entries.
#[derive(Clone, Copy)]
pub struct RecallRequest<'a> {
    /// What the model is about to do. If it is empty, the newest entries come first.
    pub query: &'a str,
    /// The token counter.
    pub counter: &'a dyn TokenCounter,
    /// The limits on episodes; by default 3 entries and 300 tokens.
    pub episodes: RecallLimits,
    /// The limits on facts; by default 64 entries and 500 tokens.
    pub facts: RecallLimits,
}

impl<'a> RecallRequest<'a> {
    /// A request with the default limits.
    pub fn new(query: &'a str, counter: &'a dyn TokenCounter) -> Self {
        let episodes = RecallLimits { tokens: 300, entries: 3 };
        let facts = RecallLimits { tokens: 500, entries: 64 };
        Self { query, counter, episodes, facts }
    }
}

/// The recalled entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallResult {
    /// Episodes, newest first, then facts in order of key. After each kind follows a note if entries
    /// were omitted. Each item is one line and carries its label.
    pub items: Vec<ContextItem>,
    /// The join of the labels of all recalled entries.
    pub label: Label,
    /// The tokens of all lines.
    pub tokens: usize,
    /// How many episodes were omitted.
    pub episodes_omitted: usize,
    /// How many facts were omitted.
    pub facts_omitted: usize,
}

/// Selects the episodes and facts of a tier that are most relevant to the query, within the limits.
///
/// Entries are ranked by the summed inverse document frequency of the query stems that they contain;
/// among equals the newer one comes first. A disputed claim is shown together with the claims that
/// contradict it and their sources. Recalled entries are reported to the audit hook like other reads.
///
/// All records are read, but unchanged ones are not analysed again.
///
/// # Errors
/// [`MemoryError`] if the store cannot be read or the audit hook refuses an access.
pub fn recall(memory: &Memory, request: &RecallRequest<'_>) -> Result<RecallResult, MemoryError> {
    let episodes = memory.store.candidates(EntryKind::Episode)?;
    let facts = memory.store.candidates(EntryKind::Fact)?;
    let mut selected_ids = BTreeSet::new();
    let mut out = RecallResult {
        items: Vec::new(),
        label: Label::clean(),
        tokens: 0,
        episodes_omitted: 0,
        facts_omitted: 0,
    };
    let (mut selected, omitted) =
        select(episodes, request, request.episodes, &mut selected_ids, "episodes");
    selected.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| b.id.cmp(&a.id)));
    out.episodes_omitted = omitted;
    out.add_items(memory, selected, request, "episodes", omitted, request.episodes)?;
    let (mut selected, omitted) = select(facts, request, request.facts, &mut selected_ids, "facts");
    selected.sort_by(|a, b| a.id.cmp(&b.id));
    out.facts_omitted = omitted;
    out.add_items(memory, selected, request, "facts", omitted, request.facts)?;
    Ok(out)
}

impl RecallResult {
    fn add_items(
        &mut self,
        memory: &Memory,
        selected: Vec<Arc<RecallCandidate>>,
        request: &RecallRequest<'_>,
        what: &str,
        omitted: usize,
        caps: RecallLimits,
    ) -> Result<(), MemoryError> {
        let mut used = 0;
        for candidate in selected {
            candidate.entries.iter().try_for_each(|entry| memory.audit(Access::Get, entry))?;
            used += line_tokens(request.counter, &candidate.line).unwrap_or_default();
            self.label = std::mem::replace(&mut self.label, Label::clean()).join(&candidate.label);
            let item = ContextItem::memory_fact(&candidate.id, &candidate.line);
            self.items.push(item.with_label(candidate.label.clone()));
        }
        let note = omission_note(what, omitted);
        let cost = line_tokens(request.counter, &note);
        if let Some(cost) = cost.filter(|cost| omitted > 0 && used + cost <= caps.tokens) {
            used += cost;
            let label = Label::new(Confidentiality::Internal, Integrity::Trusted);
            let item = ContextItem::memory_fact(format!("mem_omitted_{what}"), note);
            self.items.push(item.with_label(label));
        }
        self.tokens += used;
        Ok(())
    }
}

/// The candidates that fit into the limits, best first, and the number of omitted ones.
fn select(
    mut candidates: Vec<Arc<RecallCandidate>>,
    request: &RecallRequest<'_>,
    caps: RecallLimits,
    selected_ids: &mut BTreeSet<String>,
    what: &str,
) -> (Vec<Arc<RecallCandidate>>, usize) {
    rank(&mut candidates, request.query);
    let total = candidates.len();
    let whole =
        || candidates.iter().map(|c| line_tokens(request.counter, &c.line)).sum::<Option<_>>();
    let all_fit = total <= caps.entries && whole().is_some_and(|whole: usize| whole <= caps.tokens);
    // Reserve room for the longest possible note: its number is at most the total.
    let note_tokens = if all_fit {
        0
    } else {
        line_tokens(request.counter, &omission_note(what, total)).unwrap_or(usize::MAX)
    };
    let mut room = caps.tokens.saturating_sub(note_tokens);
    let fits = |candidate: &Arc<RecallCandidate>| {
        let cost = request.counter.count_up_to(&format!("{}\n", candidate.line), room).tokens();
        let Some(cost) = cost.filter(|cost| *cost <= room && !selected_ids.contains(&candidate.id))
        else {
            return false;
        };
        room -= cost;
        selected_ids.insert(candidate.id.clone())
    };
    let selected: Vec<Arc<RecallCandidate>> =
        candidates.into_iter().filter(fits).take(caps.entries).collect();
    let omitted = total - selected.len();
    (selected, omitted)
}

/// Sorts candidates by relevance, then newest first, then by id.
fn rank(candidates: &mut Vec<Arc<RecallCandidate>>, query: &str) {
    let total = u64::try_from(candidates.len()).unwrap_or(u64::MAX);
    let query_stems: BTreeSet<String> = stems(query).into_iter().collect();
    let weights: Vec<(String, u64)> = query_stems
        .into_iter()
        .filter_map(|stem| {
            let found = candidates.iter().filter(|candidate| candidate.stems.contains(&stem));
            let found = u64::try_from(found.count()).ok().filter(|found| *found > 0)?;
            let weight = ONE.saturating_add(fixed_point::ln(total.saturating_add(1), found));
            Some((stem, weight))
        })
        .collect();
    let score = |candidate: &RecallCandidate| -> u64 {
        weights.iter().filter(|(stem, _)| candidate.stems.contains(stem)).map(|(_, w)| w).sum()
    };
    let mut scored: Vec<(u64, Arc<RecallCandidate>)> =
        candidates.drain(..).map(|candidate| (score(&candidate), candidate)).collect();
    scored.sort_by(|(a, x), (b, y)| {
        b.cmp(a).then_with(|| y.created_at.cmp(&x.created_at)).then_with(|| x.id.cmp(&y.id))
    });
    candidates.extend(scored.into_iter().map(|(_, candidate)| candidate));
}

fn omission_note(what: &str, omitted: usize) -> String {
    format!("({omitted} more {what} are not shown)")
}

fn line_tokens(counter: &dyn TokenCounter, line: &str) -> Option<usize> {
    counter.count(&format!("{line}\n")).tokens()
}
