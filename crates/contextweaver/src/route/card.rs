//! Cards: what a model sees of an item before it chooses.

use std::borrow::Cow;

use serde::Serialize;
use weaver_text::escape;
use weaver_text::token::TokenCounter;
use weaver_types::{CapabilityId, Effects, Impact, World};

use crate::catalog::SelectableItem;

/// Most tokens of one card, in either rendering.
pub const MAX_CARD_TOKENS: usize = 80;

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 240;
const MAX_TAGS: usize = 5;
const MAX_TAG: usize = 24;

/// What a card says about the effects of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// It only looks, and only at local things.
    Reads,
    /// It only looks, but reaches out for it.
    ReadsOutside,
    /// It writes local things.
    Writes,
    /// It writes outside.
    WritesOutside,
    /// It may destroy.
    Destructive,
    /// Nothing is known.
    Undeclared,
}

impl Notice {
    /// The notice for these effects.
    #[must_use]
    pub fn of(effects: Option<Effects>) -> Self {
        match effects.map(|e| (e.impact, e.world)) {
            None => Self::Undeclared,
            Some((Impact::Read, World::Closed)) => Self::Reads,
            Some((Impact::Read, World::Open)) => Self::ReadsOutside,
            Some((Impact::Write, World::Closed)) => Self::Writes,
            Some((Impact::Write, World::Open)) => Self::WritesOutside,
            Some((Impact::Destroy, _)) => Self::Destructive,
        }
    }

    /// The words in the text of a card.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::ReadsOutside => "reads outside",
            Self::Writes => "writes",
            Self::WritesOutside => "writes outside",
            Self::Destructive => "destructive",
            Self::Undeclared => "effects undeclared",
        }
    }
}

/// A few words on an item: enough to choose it, never a schema.
///
/// All text in it is made visible: no control, bidi or hidden character is left. Description, tags
/// and name are cut until both renderings fit into [`MAX_CARD_TOKENS`]. The id is never cut, since
/// a cut id could not be called: an id so long that it alone is over the bound stands alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChoiceCard {
    /// The capability to ask for.
    pub id: CapabilityId,
    /// Its name, where it says more than the id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
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

impl ChoiceCard {
    pub(super) fn new(item: &SelectableItem, score: u64, counter: &dyn TokenCounter) -> Self {
        let name = text(item.display_name(), MAX_NAME);
        let same = item.id.as_str().ends_with(name.as_str());
        let mut card = Self {
            id: item.id.clone(),
            name: if same { String::new() } else { name },
            description: text(&item.description, MAX_DESCRIPTION),
            tags: item.tags.iter().take(MAX_TAGS).map(|tag| text(tag, MAX_TAG)).collect(),
            effects: Notice::of(item.effects),
            score: u64::try_from((u128::from(score) * 1000) >> 16).unwrap_or(u64::MAX),
        };
        card.tags.retain(|tag| !tag.is_empty());
        card.fit(counter);
        card
    }

    /// One line: `id (name): description [tags] {effects}`.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = self.id.as_str().to_owned();
        if !self.name.is_empty() {
            out.push_str(&format!(" ({})", self.name));
        }
        if !self.description.is_empty() {
            out.push_str(&format!(": {}", self.description));
        }
        if !self.tags.is_empty() {
            out.push_str(&format!(" [{}]", self.tags.join(", ")));
        }
        out.push_str(&format!(" {{{}}}", self.effects.as_str()));
        out
    }

    /// One JSON object with the same content and the score.
    #[must_use]
    pub fn json(&self) -> String {
        // Strings and numbers always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Cuts what matters least until both renderings fit.
    fn fit(&mut self, counter: &dyn TokenCounter) {
        while !self.fits(counter) {
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

    fn fits(&self, counter: &dyn TokenCounter) -> bool {
        counter.within(&self.text(), MAX_CARD_TOKENS)
            && counter.within(&self.json(), MAX_CARD_TOKENS)
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
