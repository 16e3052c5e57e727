//! Episodes that recur become facts.
//!
//! Leader clustering (Hartigan, *Clustering Algorithms*, 1975): each episode joins the first group whose
//! leader it resembles, or leads one of its own. One pass in the order of time gives the same groups
//! every time, and a group keeps the words of its oldest episode, which later ones cannot move.
//! Resemblance is the Jaccard index of the stems; negations and numbers have to be equal, since one of
//! them turns a statement round and shares nearly all of its words.

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

/// What the keys of such facts begin with.
const PREFIX: &str = "recurring.";
/// Their source.
const SOURCE: &str = "consolidation";
/// Words that turn a statement round, as they are written.
const NEGATIONS: [&str; 12] = [
    "no", "not", "never", "none", "nor", "neither", "without", "cannot", "nothing", "nobody",
    "fails", "failed",
];

/// When episodes count as recurring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recurrence {
    /// How many alike there must be; default 3.
    pub episodes: usize,
    /// In how many sessions; default 2.
    pub sessions: usize,
    /// How much of their words two that are alike share at least, in percent; default 50.
    pub shared_percent: usize,
}

impl Default for Recurrence {
    fn default() -> Self {
        Self { episodes: 3, sessions: 2, shared_percent: 50 }
    }
}

/// A fact that recurring episodes became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consolidation {
    /// The key of the fact.
    pub key: String,
    /// What it says: the summary of the oldest of them.
    pub summary: String,
    /// The ids of the episodes, oldest first.
    pub episodes: Vec<String>,
    /// In how many sessions they were.
    pub sessions: usize,
}

/// The words of a text that count: stems, and those that must be equal.
struct Words {
    stems: BTreeSet<String>,
    /// Negations, and words with a digit.
    exact: BTreeSet<String>,
}

struct Group {
    words: Words,
    members: Vec<MemoryEntry>,
}

/// Makes facts of episodes that recur, and renews those that were made before.
///
/// Oldest first, each episode joins the first group whose oldest member shares at least
/// `shared_percent` of both texts' stems, with the same negations and the same words with digits; or
/// begins one. A group of at least `episodes` in at least `sessions` sessions becomes the fact
/// `recurring.<id of its oldest>` with that one's words, unless a fact that is alike in the same
/// sense is there, which is renewed. Its label joins those of all members, its confidence is
/// n / (n + 1). One that was superseded is not made again. Episodes stay.
///
/// # Errors
/// [`MemoryError`], when the store cannot be read or written.
pub fn consolidate(memory: &Memory, rule: &Recurrence) -> Result<Vec<Consolidation>, MemoryError> {
    let groups = grouped(EpisodicStore::new(memory).all()?, rule.shared_percent);
    let facts = FactStore::new(memory);
    let mut known = made_before(&facts)?;
    let mut out = Vec::new();
    for group in groups {
        let sessions: BTreeSet<&str> = group.members.iter().map(session_of).collect();
        let sessions = sessions.len();
        if group.members.len() < rule.episodes || sessions < rule.sessions {
            continue;
        }
        let made = known.iter().find(|fact| is_alike(fact, &group, rule.shared_percent));
        let Some((key, summary)) = name_of(made, &group) else { continue };
        let put = put_of(&group.members);
        facts.state(&key, Value::String(summary.clone()), &put)?;
        if made.is_none() {
            known.extend(facts.get(&key)?);
        }
        let episodes = group.members.into_iter().map(|member| member.key).collect();
        out.push(Consolidation { key, summary, episodes, sessions });
    }
    Ok(out)
}

fn grouped(episodes: Vec<MemoryEntry>, percent: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for episode in episodes {
        let words = Words::of(text_of(&episode.value));
        match groups.iter_mut().find(|group| group.words.is_like(&words, percent)) {
            Some(group) => group.members.push(episode),
            None => groups.push(Group { words, members: vec![episode] }),
        }
    }
    groups
}

/// The facts that were made of episodes.
fn made_before(facts: &FactStore) -> Result<Vec<Fact>, MemoryError> {
    let mut all = Vec::new();
    let mut after = Some(PREFIX.to_owned());
    while let Some(key) = after {
        let page = facts.list(Some(&key), super::MAX_PAGE)?;
        let before = all.len();
        let ours = page.items.into_iter().take_while(|fact| fact.key.starts_with(PREFIX));
        all.extend(ours);
        after = page.next.filter(|_| all.len() > before);
    }
    Ok(all)
}

/// What a fact says that was made of episodes, superseded or not.
fn made_text(fact: &Fact) -> Option<&str> {
    let made = fact.claims.iter().find(|claim| claim.entry.source == SOURCE)?;
    Some(text_of(&made.entry.value))
}

fn is_alike(fact: &Fact, group: &Group, percent: usize) -> bool {
    made_text(fact).is_some_and(|text| Words::of(text).is_like(&group.words, percent))
}

/// Key and words of the fact; `None` where it was made before and somebody has superseded it.
fn name_of(made: Option<&Fact>, group: &Group) -> Option<(String, String)> {
    let Some(fact) = made else {
        let oldest = group.members.first()?;
        return Some((format!("{PREFIX}{}", oldest.key), text_of(&oldest.value).to_owned()));
    };
    let stands = fact.standing().any(|claim| claim.entry.source == SOURCE);
    let text = made_text(fact).filter(|_| stands)?;
    Some((fact.key.clone(), text.to_owned()))
}

fn put_of(members: &[MemoryEntry]) -> PutOptions {
    let label = members.iter().fold(Label::clean(), |label, member| label.join(&member.label));
    let count = u32::try_from(members.len()).unwrap_or(u32::MAX - 1);
    let millionths = u64::from(count) * 1_000_000 / (u64::from(count) + 1);
    let confidence = Confidence::from_millionths(u32::try_from(millionths).unwrap_or(0));
    PutOptions::new(SOURCE).labelled(label).confident(confidence)
}

/// The session of an episode; where none is known, the run that wrote it.
fn session_of(episode: &MemoryEntry) -> &str {
    let run = episode.origin.run.as_ref().map_or("", |run| run.as_str());
    Some(episode.origin.session.as_str()).filter(|session| !session.is_empty()).unwrap_or(run)
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Words {
    fn of(text: &str) -> Self {
        let exact = text
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
        Self { stems: stems(text).into_iter().collect(), exact }
    }

    fn is_like(&self, other: &Self, percent: usize) -> bool {
        if self.exact != other.exact {
            return false;
        }
        let both = self.stems.intersection(&other.stems).count();
        let either = self.stems.len() + other.stems.len() - both;
        either > 0 && both * 100 >= either * percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> bool {
        Words::of(a).is_like(&Words::of(b), 50)
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
