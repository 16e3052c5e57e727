//! Recalls what bears on a query from durable memory, as items for the head of a context.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_text::token::TokenCounter;
use weaver_types::{Confidentiality, Integrity, Label};

use super::candidate_cache::Candidate;
use super::entry::EntryKind;
use super::error::MemoryError;
use super::tier::{Access, Memory};
use crate::compile::ContextItem;
use crate::fixed_point::{self, ONE};
use crate::stems::stems;

/// How much of one store a context may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Tokens of all its lines together, the note on what is left out included.
    pub tokens: usize,
    /// Entries.
    pub entries: usize,
}

/// What to recall.
#[derive(Clone, Copy)]
pub struct Recall<'a> {
    /// What the model is about to do. Where it is empty, the newest entries come first.
    pub query: &'a str,
    /// How tokens are counted.
    pub counter: &'a dyn TokenCounter,
    /// The cap on episodes; by default 3 of them in 300 tokens.
    pub episodes: Caps,
    /// The cap on facts; by default 64 of them in 500 tokens.
    pub facts: Caps,
}

impl<'a> Recall<'a> {
    /// With the usual caps.
    pub fn new(query: &'a str, counter: &'a dyn TokenCounter) -> Self {
        let episodes = Caps { tokens: 300, entries: 3 };
        let facts = Caps { tokens: 500, entries: 64 };
        Self { query, counter, episodes, facts }
    }
}

/// What was recalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallResult {
    /// Episodes, newest first, then facts in the order of their keys; after each kind a note where
    /// some were left out. Each is one line and carries its label.
    pub items: Vec<ContextItem>,
    /// The labels of the entries shown, joined.
    pub label: Label,
    /// Tokens of the lines.
    pub tokens: usize,
    /// How many episodes were left out.
    pub episodes_omitted: usize,
    /// How many facts were left out.
    pub facts_omitted: usize,
}

/// Picks what of the episodes and facts of a tier bears most on the query, within the caps.
///
/// Entries that share terms with the query come first, rare terms counting more; among equals the
/// newer one. A claim that others contradict is shown with all that contradict it and their sources.
/// What is shown is taken down in the log like any other reading.
///
/// All entries are read; the words of those that stand as they stood the last time are known.
///
/// # Errors
/// [`MemoryError`], when the store cannot be read or the log does not take it.
pub fn recall(memory: &Memory, request: &Recall<'_>) -> Result<RecallResult, MemoryError> {
    let episodes = memory.records.candidates(EntryKind::Episode)?;
    let facts = memory.records.candidates(EntryKind::Fact)?;
    let mut taken = BTreeSet::new();
    let mut out = RecallResult {
        items: Vec::new(),
        label: Label::clean(),
        tokens: 0,
        episodes_omitted: 0,
        facts_omitted: 0,
    };
    let (mut shown, omitted) = select(episodes, request, request.episodes, &mut taken, "episodes");
    shown.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.id.cmp(&a.id)));
    out.episodes_omitted = omitted;
    out.show(memory, shown, request, "episodes", omitted, request.episodes)?;
    let (mut shown, omitted) = select(facts, request, request.facts, &mut taken, "facts");
    shown.sort_by(|a, b| a.id.cmp(&b.id));
    out.facts_omitted = omitted;
    out.show(memory, shown, request, "facts", omitted, request.facts)?;
    Ok(out)
}

impl RecallResult {
    fn show(
        &mut self,
        memory: &Memory,
        shown: Vec<Arc<Candidate>>,
        request: &Recall<'_>,
        what: &str,
        omitted: usize,
        caps: Caps,
    ) -> Result<(), MemoryError> {
        let mut used = 0;
        for candidate in shown {
            candidate.entries.iter().try_for_each(|entry| memory.tell(Access::Get, entry))?;
            used += tokens(request.counter, &candidate.line).unwrap_or_default();
            self.label = std::mem::replace(&mut self.label, Label::clean()).join(&candidate.label);
            let item = ContextItem::memory_fact(&candidate.id, &candidate.line);
            self.items.push(item.with_label(candidate.label.clone()));
        }
        let note = note(what, omitted);
        let cost = tokens(request.counter, &note);
        if let Some(cost) = cost.filter(|cost| omitted > 0 && used + cost <= caps.tokens) {
            used += cost;
            let label = Label::of(Confidentiality::Internal, Integrity::Trusted);
            let item = ContextItem::memory_fact(format!("mem_omitted_{what}"), note);
            self.items.push(item.with_label(label));
        }
        self.tokens += used;
        Ok(())
    }
}

/// Those that are shown, and how many are not.
fn select(
    mut candidates: Vec<Arc<Candidate>>,
    request: &Recall<'_>,
    caps: Caps,
    taken: &mut BTreeSet<String>,
    what: &str,
) -> (Vec<Arc<Candidate>>, usize) {
    rank(&mut candidates, request.query);
    let total = candidates.len();
    let whole = || candidates.iter().map(|c| tokens(request.counter, &c.line)).sum::<Option<_>>();
    let all_fit = total <= caps.entries && whole().is_some_and(|whole: usize| whole <= caps.tokens);
    // The number in the note is at most the total.
    let kept_back =
        if all_fit { 0 } else { tokens(request.counter, &note(what, total)).unwrap_or(usize::MAX) };
    let mut room = caps.tokens.saturating_sub(kept_back);
    let fits = |candidate: &Arc<Candidate>| {
        let cost = request.counter.count_up_to(&format!("{}\n", candidate.line), room).tokens();
        let Some(cost) = cost.filter(|cost| *cost <= room && !taken.contains(&candidate.id)) else {
            return false;
        };
        room -= cost;
        taken.insert(candidate.id.clone())
    };
    let shown: Vec<Arc<Candidate>> =
        candidates.into_iter().filter(fits).take(caps.entries).collect();
    let omitted = total - shown.len();
    (shown, omitted)
}

/// The most relevant first, then the newest, then by id.
fn rank(candidates: &mut Vec<Arc<Candidate>>, query: &str) {
    let total = u64::try_from(candidates.len()).unwrap_or(u64::MAX);
    let asked: BTreeSet<String> = stems(query).into_iter().collect();
    let weights: Vec<(String, u64)> = asked
        .into_iter()
        .filter_map(|stem| {
            let found = candidates.iter().filter(|candidate| candidate.stems.contains(&stem));
            let found = u64::try_from(found.count()).ok().filter(|found| *found > 0)?;
            let weight = ONE.saturating_add(fixed_point::ln(total.saturating_add(1), found));
            Some((stem, weight))
        })
        .collect();
    let score = |candidate: &Candidate| -> u64 {
        weights.iter().filter(|(stem, _)| candidate.stems.contains(stem)).map(|(_, w)| w).sum()
    };
    let mut scored: Vec<(u64, Arc<Candidate>)> =
        candidates.drain(..).map(|candidate| (score(&candidate), candidate)).collect();
    scored.sort_by(|(a, x), (b, y)| {
        b.cmp(a).then_with(|| y.at.cmp(&x.at)).then_with(|| x.id.cmp(&y.id))
    });
    candidates.extend(scored.into_iter().map(|(_, candidate)| candidate));
}

fn note(what: &str, omitted: usize) -> String {
    format!("({omitted} more {what} are not shown)")
}

fn tokens(counter: &dyn TokenCounter, line: &str) -> Option<usize> {
    counter.count(&format!("{line}\n")).tokens()
}
