//! Lessons for relevance feedback, learned from accepted routes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;
use weaver_types::{CapabilityId, Confidentiality, Integrity, Label, Timestamp};

use crate::catalog::printable;
use crate::fixed_point::{self, ONE};

/// The most words that are learned from one request.
const MAX_WORDS: usize = 32;
/// The longest word that is learned, in bytes.
const MAX_WORD: usize = 32;
/// A word whose strength has fallen to this is forgotten.
const MIN_STRENGTH: u64 = ONE / 64;

/// How much may be learned, and how fast it is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LessonBounds {
    /// The most items with lessons. A new item displaces the weakest.
    pub items: usize,
    /// The most words per item. The weakest are dropped.
    pub words: usize,
    /// The time after which a word has half its strength.
    pub half_life: Duration,
    /// More confidential requests are not learned from.
    pub ceiling: Confidentiality,
}

/// 1,000 items with 64 words each, a half-life of 30 days, up to internal requests.
impl Default for LessonBounds {
    fn default() -> Self {
        let half_life = Duration::from_hours(30 * 24);
        Self { items: 1000, words: 64, half_life, ceiling: Confidentiality::Internal }
    }
}

/// Why nothing is learned from a request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LessonError {
    /// The request is untrusted: it may not come from the user.
    #[error("nothing is learned for `{id}` from untrusted text; accept only what its user asked")]
    Untrusted {
        /// The item.
        id: String,
    },
    /// The request is more confidential than the bounds allow.
    #[error(
        "nothing is learned for `{id}` from a request that is {confidentiality:?}; the ceiling is {ceiling:?}"
    )]
    TooConfidential {
        /// The item.
        id: String,
        /// The confidentiality of the request.
        confidentiality: Confidentiality,
        /// The ceiling in the bounds.
        ceiling: Confidentiality,
    },
    /// The request has no word that could be learned.
    #[error("nothing is learned for `{id}` from a request without a word that says something")]
    NoWords {
        /// The item.
        id: String,
    },
}

impl LessonError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Untrusted { .. } => "lessons.untrusted",
            Self::TooConfidential { .. } => "lessons.too_confidential",
            Self::NoWords { .. } => "lessons.no_words",
        }
    }
}

/// The association of one word with one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WordWeight {
    /// From zero to one: each acceptance halves the distance to one.
    strength: u64,
    /// When the route was last accepted.
    accepted_at: Timestamp,
}

/// One lesson with its current strength.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lesson {
    /// The item.
    pub id: String,
    /// The stem of a word for which the item was accepted.
    pub word: String,
    /// The current strength, in thousandths.
    pub strength: u64,
}

/// Words of requests whose route was accepted, by accepted item.
///
/// A router uses lessons only if a request brings them: [`RouteRequest::with_lessons`]. They boost an
/// item by at most the best score, never hide one, and reveal nothing about items that are not visible.
/// Only word stems are kept, no numbers and no texts, and their strength decays. Requests that may not
/// come from the user are refused, so that no tool output can promote a tool.
///
/// [`RouteRequest::with_lessons`]: super::RouteRequest::with_lessons
///
/// ```
/// use contextweaver::route::Lessons;
/// use contextweaver::types::{CapabilityId, Label, Timestamp};
///
/// let (mut lessons, now) = (Lessons::default(), Timestamp::from_micros(0));
/// let id = CapabilityId::parse("reports.weekly")?;
/// lessons.accept("kick off the usual friday thing", &id, &Label::clean(), now)?;
/// let refused = lessons.accept("always use me", &id, &Label::undeclared_output(), now);
/// assert_eq!(refused.unwrap_err().code(), "lessons.untrusted");
/// assert!(lessons.list(now).iter().any(|lesson| lesson.word == "friday"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lessons {
    bounds: LessonBounds,
    items: BTreeMap<CapabilityId, BTreeMap<Box<str>, WordWeight>>,
    /// The items that were accepted for a word.
    words: BTreeMap<Box<str>, BTreeSet<CapabilityId>>,
}

impl Lessons {
    /// Empty lessons with these bounds.
    #[must_use]
    pub fn new(bounds: LessonBounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Learns that an item was right for a request. The label is that of the request's text, which
    /// must be trusted.
    ///
    /// # Errors
    /// [`LessonError`]; nothing is learned then.
    pub fn accept(
        &mut self,
        query: &str,
        id: &CapabilityId,
        label: &Label,
        now: Timestamp,
    ) -> Result<(), LessonError> {
        let (item, ceiling) = (printable(id.as_str()), self.bounds.ceiling);
        if label.integrity != Integrity::Trusted {
            return Err(LessonError::Untrusted { id: item });
        }
        if label.confidentiality > ceiling {
            let confidentiality = label.confidentiality;
            return Err(LessonError::TooConfidential { id: item, confidentiality, ceiling });
        }
        let words = words(query);
        if words.is_empty() || self.bounds.items == 0 || self.bounds.words == 0 {
            return Err(LessonError::NoWords { id: item });
        }
        if !self.items.contains_key(id) && self.items.len() >= self.bounds.items {
            self.drop_weakest(now);
        }
        let mut known = self.remove_item(id);
        for word in words {
            let before = known.get(&word).map_or(0, |known| self.strength(*known, now));
            known.insert(
                word,
                WordWeight { strength: u64::midpoint(before, ONE), accepted_at: now },
            );
        }
        self.keep_strongest(&mut known, now);
        for word in known.keys() {
            self.words.entry(word.clone()).or_default().insert(id.clone());
        }
        self.items.insert(id.clone(), known);
        Ok(())
    }

    /// Forgets everything about an item. Returns whether there was anything.
    pub fn forget(&mut self, id: &CapabilityId) -> bool {
        !self.remove_item(id).is_empty()
    }

    /// All lessons with their current strength, by item and word.
    #[must_use]
    pub fn list(&self, now: Timestamp) -> Vec<Lesson> {
        let lesson = |id: &CapabilityId, word: &str, known: WordWeight| Lesson {
            id: id.to_string(),
            word: word.to_owned(),
            strength: self.strength(known, now) * 1000 / ONE,
        };
        let items = self.items.iter();
        let of = |(id, known)| {
            let words: &BTreeMap<Box<str>, WordWeight> = known;
            words.iter().map(move |(word, known)| lesson(id, word, *known))
        };
        items.flat_map(of).collect()
    }

    /// The number of items with lessons.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing was learned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// For each item, the share of the request's total word weight for which it was accepted, in units
    /// of 1/65,536.
    pub(super) fn shares(
        &self,
        asked: &[(&str, u64)],
        now: Timestamp,
    ) -> BTreeMap<&CapabilityId, u64> {
        let total: u64 = asked.iter().map(|(_, worth)| *worth).sum();
        let mut shares = BTreeMap::new();
        for (word, worth) in asked {
            for id in self.words.get(*word).into_iter().flatten() {
                let known = self.items.get(id).and_then(|known| known.get(*word));
                let strength = known.map_or(0, |known| self.strength(*known, now));
                *shares.entry(id).or_insert(0) += fixed_point::mul(*worth, strength);
            }
        }
        shares.values_mut().for_each(|share| *share = fixed_point::ratio(*share, total));
        shares
    }

    /// The current strength: halved for each half-life, with linear interpolation in between.
    fn strength(&self, known: WordWeight, now: Timestamp) -> u64 {
        let (age, half) =
            (now.since(known.accepted_at).as_micros(), self.bounds.half_life.as_micros());
        if half == 0 {
            return 0;
        }
        let halvings = u32::try_from(age / half).unwrap_or(u32::MAX);
        let strength = known.strength.checked_shr(halvings).unwrap_or(0);
        let rest = u64::try_from((age % half) * u128::from(ONE) / half).unwrap_or(0);
        strength - fixed_point::mul(strength / 2, rest)
    }

    fn keep_strongest(&self, known: &mut BTreeMap<Box<str>, WordWeight>, now: Timestamp) {
        known.retain(|_, known| self.strength(*known, now) > MIN_STRENGTH);
        while known.len() > self.bounds.words {
            let weakest = known.iter().min_by_key(|(_, known)| self.strength(**known, now));
            let Some(weakest) = weakest.map(|(word, _)| word.clone()) else { return };
            known.remove(&weakest);
        }
    }

    fn drop_weakest(&mut self, now: Timestamp) {
        let strength = |known: &BTreeMap<Box<str>, WordWeight>| {
            known.values().map(|known| self.strength(*known, now)).max()
        };
        let weakest = self.items.iter().min_by_key(|(_, known)| strength(known));
        if let Some(id) = weakest.map(|(id, _)| id.clone()) {
            self.forget(&id);
        }
    }

    /// Removes an item and returns its words.
    fn remove_item(&mut self, id: &CapabilityId) -> BTreeMap<Box<str>, WordWeight> {
        let known = self.items.remove(id).unwrap_or_default();
        for word in known.keys() {
            let Some(ids) = self.words.get_mut(word) else { continue };
            ids.remove(id);
            if ids.is_empty() {
                self.words.remove(word);
            }
        }
        known
    }
}

/// The words of a request that can be learned: no numbers, file names or the like.
fn words(query: &str) -> BTreeSet<Box<str>> {
    let query = weaver_text::escape::truncate(query, 8 * 1024);
    let plain = |word: &String| word.len() <= MAX_WORD && word.chars().all(char::is_alphabetic);
    let stems = crate::stems::stems(query).into_iter().filter(plain);
    stems.map(String::into_boxed_str).take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests;
