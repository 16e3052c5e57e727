//! Cards: what a model sees of an item before it chooses, how it chooses, and what it chose.

mod notice;
mod selection;
mod short_id;

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use weaver_text::escape;
use weaver_text::token::TokenCounter;
use weaver_types::CapabilityId;

use crate::catalog::{ItemKind, SelectableItem};

pub use notice::Notice;
pub use selection::{SelectionError, SelectionFormat, selection_schema, validate_selection};
pub use short_id::{full_id, looks_cut};

/// Tokens that a card is cut to, in either rendering.
pub const CARD_TOKENS: usize = 60;
/// Most tokens of one card, in either rendering: only an id is ever the reason for more than
/// [`CARD_TOKENS`].
pub const MAX_CARD_TOKENS: usize = 80;

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 240;
const MAX_TAGS: usize = 5;
const MAX_TAG: usize = 24;
/// How many characters of an id that is too long are shown, from most to least.
const READABLE: [usize; 4] = [40, 24, 8, 0];

/// A few words on an item: enough to choose it, never a schema.
///
/// All text in it is made visible: no control, bidi or hidden character is left. Description, tags
/// and name are cut until both renderings fit into [`CARD_TOKENS`]. An id stays whole as long as
/// the card is within [`MAX_CARD_TOKENS`] with it alone; beyond that it is cut, and [`full_id`] and
/// [`validate_selection`] lead back to the whole one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChoiceCard {
    /// The capability to ask for.
    #[serde(skip)]
    pub id: CapabilityId,
    #[serde(rename = "id")]
    shown: String,
    /// Its name, where it says more than the id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What sort of thing it is.
    #[serde(skip_serializing_if = "is_tool")]
    pub kind: ItemKind,
    /// What it does, perhaps cut.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its first tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What it can do to the world.
    pub effects: Notice,
    /// How well it fits, in thousandths.
    pub score: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_tool(kind: &ItemKind) -> bool {
    *kind == ItemKind::Tool
}

impl ChoiceCard {
    /// The card of an item with a score in units of 1/65,536, cut to fit by this counter.
    pub fn new(item: &SelectableItem, score: u64, counter: &dyn TokenCounter) -> Self {
        let name = text(item.display_name(), MAX_NAME);
        let same = item.id.as_str().ends_with(name.as_str());
        let id = item.id.as_str();
        let mut card = Self {
            id: item.id.clone(),
            shown: if short_id::looks_cut(id) {
                short_id::cut(&item.id, 24)
            } else {
                escape::line(id).into_owned()
            },
            name: if same { String::new() } else { name },
            kind: item.kind,
            description: text(&item.description, MAX_DESCRIPTION),
            tags: item.tags.iter().take(MAX_TAGS).map(|tag| text(tag, MAX_TAG)).collect(),
            effects: Notice::of(item.effects),
            score: u64::try_from((u128::from(score) * 1000) >> 16).unwrap_or(u64::MAX),
        };
        card.tags.retain(|tag| !tag.is_empty());
        card.shorten_id(counter);
        card.fit(counter);
        card
    }

    /// The id as the card shows it: whole, or cut where it is too long.
    #[must_use]
    pub fn shown_id(&self) -> &str {
        &self.shown
    }

    /// One line: `id (name): description [tags] {effects} score=1.234`. What is no tool is named by
    /// its kind before the effects.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = self.shown.clone();
        // Writing to a string cannot fail.
        if !self.name.is_empty() {
            let _ = write!(out, " ({})", self.name);
        }
        if !self.description.is_empty() {
            let _ = write!(out, ": {}", self.description);
        }
        if !self.tags.is_empty() {
            let _ = write!(out, " [{}]", self.tags.join(", "));
        }
        let kind = if is_tool(&self.kind) { String::new() } else { format!("{}, ", self.kind) };
        let (whole, part) = (self.score / 1000, self.score % 1000);
        let _ = write!(out, " {{{kind}{}}} score={whole}.{part:03}", self.effects.as_str());
        out
    }

    /// One JSON object with the same content.
    #[must_use]
    pub fn json(&self) -> String {
        // Strings and numbers always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Cuts the id where the card would be over its bound with nothing else on it.
    fn shorten_id(&mut self, counter: &dyn TokenCounter) {
        let bare = Self {
            name: String::new(),
            description: String::new(),
            tags: Vec::new(),
            ..self.clone()
        };
        if bare.fits(counter, MAX_CARD_TOKENS) {
            return;
        }
        for readable in READABLE {
            self.shown = short_id::cut(&self.id, readable);
            let bare = Self { shown: self.shown.clone(), ..bare.clone() };
            if bare.fits(counter, CARD_TOKENS) {
                return;
            }
        }
    }

    /// Cuts what matters least until both renderings fit.
    fn fit(&mut self, counter: &dyn TokenCounter) {
        while !self.fits(counter, CARD_TOKENS) {
            let length = self.description.chars().count();
            if length > 80 || (length > 0 && self.tags.is_empty() && self.name.is_empty()) {
                let shorter = if length > 8 { length * 3 / 4 } else { 0 };
                self.description = escape::shorten(&self.description, shorter).into_owned();
            } else if self.tags.pop().is_some() {
            } else if !self.name.is_empty() {
                self.name.clear();
            } else {
                return;
            }
        }
    }

    fn fits(&self, counter: &dyn TokenCounter, limit: usize) -> bool {
        counter.within(&self.text(), limit) && counter.within(&self.json(), limit)
    }
}

/// Cards as text, one a line.
#[must_use]
pub fn render_cards(cards: &[ChoiceCard]) -> String {
    cards.iter().map(|card| format!("- {}\n", card.text())).collect()
}

/// Foreign text on one line: visible, blanks joined, cut.
fn text(source: &str, max: usize) -> String {
    // Cut once before the work, generously, and once after it.
    let head = escape::truncate(source, max * 4);
    let joined = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = escape::line(&joined);
    let cut: Cow<'_, str> = escape::shorten(&shown, max);
    cut.into_owned()
}
