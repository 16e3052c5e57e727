//! Scores each item, in points.

use crate::compile::vocabulary::{self, Stem};
use crate::compile::{ContextLog, ItemKind, Request};

/// Points of the newest item; half of them after [`HALF`] items.
const RECENCY: usize = 300;
/// Points of what stands before the conversation, whatever its age.
const HEAD: usize = 200;
/// Items after which an item counts half as recent.
const HALF: usize = 64;
/// Points of an item that has every word of the query.
const MATCH: usize = 350;
/// Points of a kind with priority 100.
const KIND: usize = 350;
/// Priority of what is there only because another hangs on it, in hundredths.
const CLOSURE: u8 = 30;
/// Points of an item without tokens; half of them for [`MIDDLE`] tokens.
const COST: usize = 50;
/// Tokens with which an item costs half of what it could.
const MIDDLE: usize = 500;

/// Most points that do not depend on what comes later.
pub(super) const MOST: usize = MATCH + KIND + COST;

/// The parts of a score that do not depend on what comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LastingScore {
    pub(super) matched: usize,
    pub(super) kind: usize,
    pub(super) cost: usize,
}

impl LastingScore {
    pub(super) fn sum(self) -> usize {
        self.matched + self.kind + self.cost
    }
}

/// The words that are looked for.
#[derive(Debug, Clone, Default)]
pub(super) struct QueryStems {
    /// By the number of the stem.
    is_wanted: Vec<bool>,
    /// Those that no item has had so far.
    missing: Vec<String>,
    stems: usize,
    /// Stems that were known at the last look.
    seen: usize,
}

impl QueryStems {
    pub(super) fn of(log: &ContextLog, request: &Request<'_>) -> Self {
        let missing = match request.tags {
            [] => vocabulary::wanted(request.query),
            tags => vocabulary::wanted(&format!("{} {}", request.query, tags.join(" "))),
        };
        let mut wanted = Self { stems: missing.len(), missing, ..Self::default() };
        wanted.look(log);
        wanted
    }

    /// Looks for what was missing among the stems that are new.
    pub(super) fn look(&mut self, log: &ContextLog) {
        let vocabulary = log.vocabulary();
        if self.seen == vocabulary.len() {
            return;
        }
        self.seen = vocabulary.len();
        let is_wanted = &mut self.is_wanted;
        self.missing.retain(|stem| {
            let Some(number) = vocabulary.number(stem) else { return true };
            let number = number as usize;
            is_wanted.resize(is_wanted.len().max(number + 1), false);
            if let Some(entry) = is_wanted.get_mut(number) {
                *entry = true;
            }
            false
        });
    }

    /// The points for the part of these words that the stems have.
    fn points(&self, stems: &[Stem]) -> usize {
        if self.is_wanted.is_empty() {
            return 0;
        }
        let found = |stem: &&Stem| self.is_wanted.get(**stem as usize) == Some(&true);
        MATCH * stems.iter().filter(found).count().min(self.stems) / self.stems.max(1)
    }
}

/// The lasting parts of the score of one item.
pub(super) fn lasting(
    log: &ContextLog,
    place: usize,
    wanted: &QueryStems,
    request: &Request<'_>,
) -> LastingScore {
    let Some(analysis) = log.analysis(place) else { return LastingScore::default() };
    let priority = request.phase.priority(analysis.kind).unwrap_or(CLOSURE);
    LastingScore {
        matched: wanted.points(log.stems_of(place)),
        kind: KIND * usize::from(priority) / 100,
        cost: COST * MIDDLE / (MIDDLE + analysis.tokens as usize),
    }
}

/// How items of a kind grow old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgeDecay {
    /// Always as new as the question: the shortlist.
    Never,
    /// The same at any age: what stands before the conversation.
    Head,
    /// Ever less.
    Usual,
}

impl AgeDecay {
    /// How many there are.
    pub(super) const COUNT: usize = 3;

    pub(super) fn of(kind: ItemKind) -> Self {
        match kind {
            ItemKind::ToolCard => Self::Never,
            kind if kind.is_head() => Self::Head,
            _ => Self::Usual,
        }
    }

    /// The points for how new an item is, by how many came after it.
    pub(super) fn points(self, age: usize) -> usize {
        match self {
            Self::Never => RECENCY,
            Self::Head => HEAD,
            Self::Usual => RECENCY * HALF / (HALF + age),
        }
    }
}
