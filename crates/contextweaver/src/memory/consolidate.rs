//! Consolidates recurring episodes into facts.
//!
//! This is leader clustering (Hartigan, *Clustering Algorithms*, 1975): each episode joins the first
//! group whose leader it resembles, or becomes the leader of a new group. One pass in order of time
//! always gives the same groups, and a group keeps the words of its oldest episode, so later ones
//! cannot shift it. Resemblance is the Jaccard index of the stems. Negations and numbers have to be
//! equal, because a single one can reverse a statement that is otherwise the same.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::Label;

use super::entry::{Confidence, MemoryEntry};
use super::episode::EpisodicStore;
use super::error::MemoryError;
use super::fact::{Fact, FactStore};
use super::put::PutOptions;
use super::tier::Memory;
use crate::stems::stems;

/// The prefix of the keys of consolidated facts.
const KEY_PREFIX: &str = "recurring.";
/// The source of consolidated facts.
const SOURCE: &str = "consolidation";
/// Words that negate a statement, unstemmed.
const NEGATIONS: [&str; 12] = [
    "no", "not", "never", "none", "nor", "neither", "without", "cannot", "nothing", "nobody",
    "fails", "failed",
];

/// The criteria by which episodes count as recurring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecurrenceCriteria {
    /// The fewest similar episodes; default 3.
    pub episodes: usize,
    /// The fewest sessions in which they occur; default 2.
    pub sessions: usize,
    /// The smallest Jaccard similarity of similar episodes, in percent; default 50.
    pub shared_percent: usize,
}

impl Default for RecurrenceCriteria {
    fn default() -> Self {
        Self { episodes: 3, sessions: 2, shared_percent: 50 }
    }
}

/// A fact that was made from recurring episodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsolidatedFact {
    /// The key of the fact.
    pub key: String,
    /// The statement: the summary of the oldest episode.
    pub summary: String,
    /// The ids of the episodes, oldest first.
    pub episodes: Vec<String>,
    /// In how many sessions the episodes occurred.
    pub sessions: usize,
}

/// The words by which texts are compared: stems, and words that must be equal.
struct ComparedWords {
    stems: BTreeSet<String>,
    /// Negations, and words with a digit.
    must_match: BTreeSet<String>,
}

struct EpisodeGroup {
    words: ComparedWords,
    members: Vec<MemoryEntry>,
}

/// Makes facts from recurring episodes, and renews those that were made before.
///
/// From oldest to newest, each episode joins the first group whose oldest member shares at least
/// `shared_percent` of both texts' stems and has the same negations and words with digits; otherwise
/// it starts a new group. A group of at least `episodes` episodes in at least `sessions` sessions
/// becomes the fact `recurring.<id of the oldest>` with the summary of that episode. If a consolidated
/// fact is similar in the same sense, that one is renewed instead. The label is the join of the labels
/// of all members, the confidence n / (n + 1). A fact that was superseded is not made again. The
/// episodes are kept.
///
/// # Errors
/// [`MemoryError`] if the store cannot be read or written.
pub fn consolidate(
    memory: &Memory,
    rule: &RecurrenceCriteria,
) -> Result<Vec<ConsolidatedFact>, MemoryError> {
    let groups = group_episodes(EpisodicStore::new(memory).all()?, rule.shared_percent);
    let facts = FactStore::new(memory);
    let mut existing = consolidated_facts(&facts)?;
    let mut out = Vec::new();
    for group in groups {
        let sessions: BTreeSet<&str> = group.members.iter().map(session_or_run).collect();
        let sessions = sessions.len();
        if group.members.len() < rule.episodes || sessions < rule.sessions {
            continue;
        }
        let existing_fact =
            existing.iter().find(|fact| is_about_group(fact, &group, rule.shared_percent));
        let Some((key, summary)) = key_and_summary(existing_fact, &group) else { continue };
        let put = put_options(&group.members);
        facts.add_claim(&key, Value::String(summary.clone()), &put)?;
        if existing_fact.is_none() {
            existing.extend(facts.get(&key)?);
        }
        let episodes = group.members.into_iter().map(|member| member.key).collect();
        out.push(ConsolidatedFact { key, summary, episodes, sessions });
    }
    Ok(out)
}

fn group_episodes(episodes: Vec<MemoryEntry>, percent: usize) -> Vec<EpisodeGroup> {
    let mut groups: Vec<EpisodeGroup> = Vec::new();
    for episode in episodes {
        let words = ComparedWords::of(summary_text(&episode.value));
        match groups.iter_mut().find(|group| group.words.is_similar(&words, percent)) {
            Some(group) => group.members.push(episode),
            None => groups.push(EpisodeGroup { words, members: vec![episode] }),
        }
    }
    groups
}

/// The facts that earlier consolidations made.
fn consolidated_facts(facts: &FactStore) -> Result<Vec<Fact>, MemoryError> {
    let mut all = Vec::new();
    let mut after = Some(KEY_PREFIX.to_owned());
    while let Some(key) = after {
        let page = facts.list(Some(&key), super::MAX_PAGE)?;
        let before = all.len();
        let ours = page.items.into_iter().take_while(|fact| fact.key.starts_with(KEY_PREFIX));
        all.extend(ours);
        after = page.next.filter(|_| all.len() > before);
    }
    Ok(all)
}

/// The summary from which a fact was made, superseded or not.
fn consolidated_summary(fact: &Fact) -> Option<&str> {
    let made = fact.claims.iter().find(|claim| claim.entry.source == SOURCE)?;
    Some(summary_text(&made.entry.value))
}

fn is_about_group(fact: &Fact, group: &EpisodeGroup, percent: usize) -> bool {
    consolidated_summary(fact)
        .is_some_and(|text| ComparedWords::of(text).is_similar(&group.words, percent))
}

/// Key and summary of the fact; `None` if it was made before and has been superseded.
fn key_and_summary(existing_fact: Option<&Fact>, group: &EpisodeGroup) -> Option<(String, String)> {
    let Some(fact) = existing_fact else {
        let oldest = group.members.first()?;
        return Some((
            format!("{KEY_PREFIX}{}", oldest.key),
            summary_text(&oldest.value).to_owned(),
        ));
    };
    let is_current = fact.current_claims().any(|claim| claim.entry.source == SOURCE);
    let text = consolidated_summary(fact).filter(|_| is_current)?;
    Some((fact.key.clone(), text.to_owned()))
}

fn put_options(members: &[MemoryEntry]) -> PutOptions {
    let label = members.iter().fold(Label::clean(), |label, member| label.join(&member.label));
    let count = u32::try_from(members.len()).unwrap_or(u32::MAX - 1);
    let millionths = u64::from(count) * 1_000_000 / (u64::from(count) + 1);
    let confidence = Confidence::from_millionths(u32::try_from(millionths).unwrap_or(0));
    PutOptions::new(SOURCE).with_label(label).with_confidence(confidence)
}

/// The session of an episode; if it is unknown, the run that wrote it.
fn session_or_run(episode: &MemoryEntry) -> &str {
    let run = episode.origin.run.as_ref().map_or("", |run| run.as_str());
    Some(episode.origin.session.as_str()).filter(|session| !session.is_empty()).unwrap_or(run)
}

fn summary_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl ComparedWords {
    fn of(text: &str) -> Self {
        let must_match = text
            .split(|c: char| {
                c.is_whitespace() || matches!(c, ',' | ';' | ':' | '!' | '?' | '(' | ')')
            })
            .map(|word| word.trim_matches('.').to_lowercase())
            .filter(|word| {
                word.chars().any(char::is_numeric)
                    || NEGATIONS.contains(&word.as_str())
                    || word.ends_with("n't")
                    || word.ends_with("n’t")
            })
            .collect();
        Self { stems: stems(text).into_iter().collect(), must_match }
    }

    fn is_similar(&self, other: &Self, percent: usize) -> bool {
        if self.must_match != other.must_match {
            return false;
        }
        let shared = self.stems.intersection(&other.stems).count();
        let either = self.stems.len() + other.stems.len() - shared;
        either > 0 && shared * 100 >= either * percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> bool {
        ComparedWords::of(a).is_similar(&ComparedWords::of(b), 50)
    }

    #[test]
    fn what_differs_in_a_negation_or_a_number_is_not_alike() {
        let said = "The build of the release branch passed on the first try";
        assert!(alike(said, "The build of the release branch passed on the second try"));
        assert!(!alike(said, "The build of the release branch never passed on the first try"));
        assert!(!alike(said, "The build of the release branch didn't pass on the first try"));
        assert!(!alike("Backup 7 of the database took long", "Backup 8 of the database took long"));
        assert!(!alike(said, "The user likes short answers"));
        assert!(!alike("", ""));
    }
}
