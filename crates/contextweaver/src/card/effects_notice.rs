//! How a card states the effects of an item.

use serde::Serialize;
use weaver_types::{Effects, Impact, World};

/// What a card says about the effects of an item. Its JSON form uses the words of a contracts
/// document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectsNotice {
    /// The item only reads, and only within this system.
    #[serde(rename = "read_local")]
    Reads,
    /// The item only reads, but also beyond this system.
    #[serde(rename = "read_open")]
    ReadsOutside,
    /// The item writes within this system.
    #[serde(rename = "write_local")]
    Writes,
    /// The item writes beyond this system.
    #[serde(rename = "write_open")]
    WritesOutside,
    /// The item may destroy data.
    Destructive,
    /// The effects are not declared.
    Undeclared,
}

impl EffectsNotice {
    /// The notice for these effects.
    #[must_use]
    pub fn from_effects(effects: Option<Effects>) -> Self {
        match effects.map(|e| (e.impact, e.world)) {
            None => Self::Undeclared,
            Some((Impact::Read, World::Closed)) => Self::Reads,
            Some((Impact::Read, World::Open)) => Self::ReadsOutside,
            Some((Impact::Write, World::Closed)) => Self::Writes,
            Some((Impact::Write, World::Open)) => Self::WritesOutside,
            Some((Impact::Destroy, _)) => Self::Destructive,
        }
    }

    /// The effects that this word stands for in a file. `destructive` does not say where, so it
    /// counts as reaching beyond this system.
    pub(crate) fn effects(self) -> Option<Effects> {
        match self {
            Self::Reads => Some(Effects::READ_LOCAL),
            Self::ReadsOutside => Some(Effects::READ_OPEN),
            Self::Writes => Some(Effects::WRITE_LOCAL),
            Self::WritesOutside => Some(Effects::WRITE_OPEN),
            Self::Destructive => Some(Effects::UNDECLARED),
            Self::Undeclared => None,
        }
    }

    /// Parses the word of a contracts document, or the older word that catalogs used.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let notice = match word {
            "read_local" | "reads" => Self::Reads,
            "read_open" | "reads_outside" => Self::ReadsOutside,
            "write_local" | "writes" => Self::Writes,
            "write_open" | "writes_outside" => Self::WritesOutside,
            "destructive" => Self::Destructive,
            "undeclared" => Self::Undeclared,
            _ => return None,
        };
        Some(notice)
    }

    /// The words that a card shows.
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
