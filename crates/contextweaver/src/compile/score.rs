//! How much each item matters now, in points.

use crate::compile::vocabulary::Stem;
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

/// The parts of a score that do not depend on what comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lasting {
    pub(super) matched: usize,
    pub(super) kind: usize,
    pub(super) cost: usize,
}

impl Lasting {
    pub(super) fn sum(self) -> usize {
        self.matched + self.kind + self.cost
    }
}

/// The words that are looked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    is_wanted: Vec<bool>,
    stems: usize,
}

impl Wanted {
    pub(super) fn of(log: &ContextLog, request: &Request<'_>) -> Self {
        let text = match request.tags {
            [] => request.query.to_owned(),
            tags => format!("{} {}", request.query, tags.join(" ")),
        };
        let (known, stems) = log.vocabulary().query(&text);
        let mut is_wanted = Vec::new();
        if !known.is_empty() {
            is_wanted.resize(log.vocabulary().len(), false);
        }
        for stem in known {
            if let Some(entry) = is_wanted.get_mut(stem as usize) {
                *entry = true;
            }
        }
        Self { is_wanted, stems }
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
    wanted: &Wanted,
    request: &Request<'_>,
) -> Lasting {
    let Some(analysis) = log.analysis(place) else { return Lasting::default() };
    let priority = request.phase.priority(analysis.kind).unwrap_or(CLOSURE);
    Lasting {
        matched: wanted.points(log.stems_of(place)),
        kind: KIND * usize::from(priority) / 100,
        cost: COST * MIDDLE / (MIDDLE + analysis.tokens as usize),
    }
}

/// The points for how new an item is.
pub(super) fn recency(kind: ItemKind, age: usize) -> usize {
    match kind {
        // The shortlist is as new as the question.
        ItemKind::ToolCard => RECENCY,
        kind if kind.is_head() => HEAD,
        _ => RECENCY * HALF / (HALF + age),
    }
}
