//! What of durable memory bears on a query, as items for the head of a context.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_text::escape;
use weaver_text::token::TokenCounter;
use weaver_types::{Confidentiality, Integrity, Label, Timestamp};

use super::entry::{EntryKind, MemoryEntry, entry_id};
use super::episode::EpisodicStore;
use super::error::MemoryError;
use super::fact::{Fact, FactStore, newest};
use super::tier::{Access, Memory};
use crate::compile::ContextItem;
use crate::fixed::{self, ONE};
use crate::route::stems;

/// The longest part of a value that one line shows, in characters.
const MAX_SHOWN: usize = 400;
/// The longest source that one line shows, in characters.
const MAX_SOURCE_SHOWN: usize = 80;

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
pub struct Recalled {
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

/// One entry that may be shown.
struct Candidate {
    id: String,
    line: String,
    stems: BTreeSet<String>,
    at: Timestamp,
    label: Label,
    entries: Vec<MemoryEntry>,
}

/// Picks what of the episodes and facts of a tier bears most on the query, within the caps.
///
/// Entries that share terms with the query come first, rare terms counting more; among equals the
/// newer one. A claim that others contradict is shown with all that contradict it and their sources.
/// What is shown is taken down in the log like any other reading.
///
/// # Errors
/// [`MemoryError`], when the store cannot be read or the log does not take it.
pub fn recall(memory: &Memory, request: &Recall<'_>) -> Result<Recalled, MemoryError> {
    let episodes = EpisodicStore::new(memory).all()?;
    let episodes: Vec<Candidate> = episodes.into_iter().map(of_episode).collect();
    let facts = all_facts(memory)?;
    let facts: Vec<Candidate> = facts.iter().map(|fact| of_fact(memory, fact)).collect();
    let mut taken = BTreeSet::new();
    let mut out = Recalled {
        items: Vec::new(),
        label: Label::clean(),
        tokens: 0,
        episodes_omitted: 0,
        facts_omitted: 0,
    };
    let (mut shown, omitted) = select(episodes, request, request.episodes, &mut taken, "episodes");
    shown.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.id.cmp(&a.id)));
    out.episodes_omitted = omitted;
    out.show(memory, shown, request, ("episodes", omitted, request.episodes))?;
    let (mut shown, omitted) = select(facts, request, request.facts, &mut taken, "facts");
    shown.sort_by(|a, b| a.id.cmp(&b.id));
    out.facts_omitted = omitted;
    out.show(memory, shown, request, ("facts", omitted, request.facts))?;
    Ok(out)
}

impl Recalled {
    fn show(
        &mut self,
        memory: &Memory,
        shown: Vec<Candidate>,
        request: &Recall<'_>,
        (what, omitted, caps): (&str, usize, Caps),
    ) -> Result<(), MemoryError> {
        let mut used = 0;
        for candidate in shown {
            candidate.entries.iter().try_for_each(|entry| memory.tell(Access::Get, entry))?;
            used += tokens(request.counter, &candidate.line).unwrap_or_default();
            self.label = std::mem::replace(&mut self.label, Label::clean()).join(&candidate.label);
            let item = ContextItem::memory_fact(candidate.id, candidate.line);
            self.items.push(item.with_label(candidate.label));
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
    mut candidates: Vec<Candidate>,
    request: &Recall<'_>,
    caps: Caps,
    taken: &mut BTreeSet<String>,
    what: &str,
) -> (Vec<Candidate>, usize) {
    rank(&mut candidates, request.query);
    let total = candidates.len();
    let whole: Option<usize> = candidates.iter().map(|c| tokens(request.counter, &c.line)).sum();
    let all_fit = total <= caps.entries && whole.is_some_and(|whole| whole <= caps.tokens);
    // The number in the note is at most the total.
    let kept_back =
        if all_fit { 0 } else { tokens(request.counter, &note(what, total)).unwrap_or(usize::MAX) };
    let room = caps.tokens.saturating_sub(kept_back);
    let mut used = 0;
    candidates.retain(|candidate| {
        let cost = tokens(request.counter, &candidate.line);
        let fits = cost.is_some_and(|cost| used + cost <= room);
        if !fits || taken.contains(&candidate.id) {
            return false;
        }
        used += cost.unwrap_or_default();
        taken.insert(candidate.id.clone())
    });
    for over in candidates.iter().skip(caps.entries) {
        taken.remove(&over.id);
    }
    candidates.truncate(caps.entries);
    let omitted = total - candidates.len();
    (candidates, omitted)
}

/// The most relevant first, then the newest, then by id.
fn rank(candidates: &mut Vec<Candidate>, query: &str) {
    let mut frequency: BTreeMap<&str, u64> = BTreeMap::new();
    for stem in candidates.iter().flat_map(|candidate| &candidate.stems) {
        *frequency.entry(stem).or_default() += 1;
    }
    let total = u64::try_from(candidates.len()).unwrap_or(u64::MAX);
    let asked: BTreeSet<String> = stems(query).into_iter().collect();
    let weights: Vec<(String, u64)> = asked
        .into_iter()
        .filter_map(|stem| {
            let found = frequency.get(stem.as_str())?;
            let weight = ONE.saturating_add(fixed::ln(total.saturating_add(1), *found));
            Some((stem, weight))
        })
        .collect();
    let score = |candidate: &Candidate| -> u64 {
        weights.iter().filter(|(stem, _)| candidate.stems.contains(stem)).map(|(_, w)| w).sum()
    };
    let mut scored: Vec<(u64, Candidate)> =
        candidates.drain(..).map(|candidate| (score(&candidate), candidate)).collect();
    scored.sort_by(|(a, x), (b, y)| {
        b.cmp(a).then_with(|| y.at.cmp(&x.at)).then_with(|| x.id.cmp(&y.id))
    });
    candidates.extend(scored.into_iter().map(|(_, candidate)| candidate));
}

fn all_facts(memory: &Memory) -> Result<Vec<Fact>, MemoryError> {
    let store = FactStore::new(memory);
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = store.list(after.as_deref(), super::MAX_PAGE)?;
        all.extend(page.items);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}

fn of_episode(entry: MemoryEntry) -> Candidate {
    let text = text_of(&entry.value);
    Candidate {
        id: entry.entry_id(),
        line: shown(&text, MAX_SHOWN),
        stems: stems(&text).into_iter().collect(),
        at: entry.created_at,
        label: entry.label.clone(),
        entries: vec![entry],
    }
}

fn of_fact(memory: &Memory, fact: &Fact) -> Candidate {
    let standing: Vec<&MemoryEntry> = fact.standing().map(|claim| &claim.entry).collect();
    let says: Vec<String> = standing.iter().map(|entry| said(entry)).collect();
    let mut words = fact.key.clone();
    for entry in &standing {
        words.push(' ');
        words.push_str(&text_of(&entry.value));
    }
    let disputed = if fact.is_contradicted() { "(disputed) " } else { "" };
    Candidate {
        id: entry_id(memory.tier(), &fact.key),
        line: format!("{}: {disputed}{}", shown(&fact.key, super::MAX_KEY), says.join("; or ")),
        stems: stems(&words).into_iter().collect(),
        at: newest(fact),
        label: fact.label(),
        entries: standing.into_iter().cloned().collect(),
    }
}

/// A claim as a line shows it: its value, and its source where it has one.
fn said(entry: &MemoryEntry) -> String {
    debug_assert_eq!(entry.kind, EntryKind::Fact);
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

fn note(what: &str, omitted: usize) -> String {
    format!("({omitted} more {what} are not shown)")
}

fn tokens(counter: &dyn TokenCounter, line: &str) -> Option<usize> {
    counter.count(&format!("{line}\n")).tokens()
}
