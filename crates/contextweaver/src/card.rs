//! Choice cards: what a model sees of an item before it chooses, and how its choice is read.

mod effects_notice;
mod selection;
mod short_id;

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use weaver_text::escape;
use weaver_text::token::TokenCounter;
use weaver_types::CapabilityId;

use crate::catalog::{ItemKind, SelectableItem};

pub use effects_notice::EffectsNotice;
pub use selection::{SelectionError, SelectionFormat, selection_schema, validate_selection};
pub use short_id::{full_id, looks_abbreviated};

/// The tokens that each rendering of a card is shortened to.
pub const TARGET_CARD_TOKENS: usize = 60;
/// The most tokens of each rendering of a card. Only a long id makes a card exceed
/// [`TARGET_CARD_TOKENS`].
pub const MAX_CARD_TOKENS: usize = 80;

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 240;
const MAX_TAGS: usize = 5;
const MAX_TAG: usize = 24;
/// How many leading characters an abbreviated id keeps; the first that fits is taken.
const ID_PREFIX_LENGTHS: [usize; 4] = [40, 24, 8, 0];

/// A short description of an item: enough to choose it, never a schema.
///
/// All text is escaped: no control, bidi or hidden character is left. Description, tags and name
/// are shortened until both renderings fit into [`TARGET_CARD_TOKENS`]. The id stays complete if a
/// card with nothing else fits into [`MAX_CARD_TOKENS`]. A longer id is abbreviated; [`full_id`]
/// and [`validate_selection`] map it back to the complete one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChoiceCard {
    /// The capability to ask for.
    #[serde(skip)]
    pub id: CapabilityId,
    #[serde(rename = "id")]
    display_id: String,
    /// The name of the item; empty if the id ends with it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The kind of the item.
    #[serde(skip_serializing_if = "is_tool")]
    pub kind: ItemKind,
    /// What the item does, possibly shortened.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The first tags of the item.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What the item can do to the world.
    pub effects: EffectsNotice,
    /// The score of the item, in thousandths.
    pub score: u64,
}

fn is_tool(kind: &ItemKind) -> bool {
    *kind == ItemKind::Tool
}

impl ChoiceCard {
    /// The card of an item, shortened to fit by this counter. The score is in units of 1/65,536.
    pub fn new(item: &SelectableItem, score: u64, counter: &dyn TokenCounter) -> Self {
        let name = one_line(item.display_name(), MAX_NAME);
        let name_ends_id = item.id.as_str().ends_with(name.as_str());
        let id = item.id.as_str();
        let mut card = Self {
            id: item.id.clone(),
            display_id: if short_id::looks_abbreviated(id) {
                short_id::abbreviate(&item.id, 24)
            } else {
                escape::line(id).into_owned()
            },
            name: if name_ends_id { String::new() } else { name },
            kind: item.kind,
            description: one_line(&item.description, MAX_DESCRIPTION),
            tags: item.tags.iter().take(MAX_TAGS).map(|tag| one_line(tag, MAX_TAG)).collect(),
            effects: EffectsNotice::from_effects(item.effects),
            score: u64::try_from((u128::from(score) * 1000) >> 16).unwrap_or(u64::MAX),
        };
        card.tags.retain(|tag| !tag.is_empty());
        card.shorten_id(counter);
        card.shorten_to_fit(counter);
        card
    }

    /// The id as the card shows it: complete, or abbreviated if it is too long.
    #[must_use]
    pub fn display_id(&self) -> &str {
        &self.display_id
    }

    /// One line: `id (name): description [tags] {effects} score=1.234`. Other items than tools show
    /// their kind before the effects.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = self.display_id.clone();
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

    /// Abbreviates the id if it alone makes the card exceed [`MAX_CARD_TOKENS`].
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
        for prefix_length in ID_PREFIX_LENGTHS {
            self.display_id = short_id::abbreviate(&self.id, prefix_length);
            let bare = Self { display_id: self.display_id.clone(), ..bare.clone() };
            if bare.fits(counter, TARGET_CARD_TOKENS) {
                return;
            }
        }
    }

    /// Shortens the least useful text first until both renderings fit: the description down to 80
    /// characters, then tags from the last, then the name, then the rest of the description.
    fn shorten_to_fit(&mut self, counter: &dyn TokenCounter) {
        while !self.fits(counter, TARGET_CARD_TOKENS) {
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

/// Cards as text, one per line.
#[must_use]
pub fn render_cards(cards: &[ChoiceCard]) -> String {
    cards.iter().map(|card| format!("- {}\n", card.text())).collect()
}

/// Untrusted text on one line: escaped, with runs of white space collapsed, shortened.
fn one_line(source: &str, max: usize) -> String {
    // Truncate twice: generously before the work, to bound its cost, and exactly after it.
    let head = escape::truncate(source, max * 4);
    let joined = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = escape::line(&joined);
    let cut: Cow<'_, str> = escape::shorten(&shown, max);
    cut.into_owned()
}
