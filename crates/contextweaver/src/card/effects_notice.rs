//! How a card states the effects of an item.

use serde::Serialize;
use weaver_types::{Effects, Impact, World};

/// What a card says about the effects of an item. Its JSON form uses the words of a contracts
/// document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectsNotice {
    /// The item only reads, and only within this system.
    ReadLocal,
    /// The item only reads, but also beyond this system.
    ReadOpen,
    /// The item writes within this system.
    WriteLocal,
    /// The item writes beyond this system.
    WriteOpen,
    /// The item may destroy data.
    Destructive,
    /// The effects are not declared.
    Undeclared,
}

weaver_types::words! { EffectsNotice: "The words that a card shows.";
    ReadLocal = "reads", ReadOpen = "reads outside", WriteLocal = "writes",
    WriteOpen = "writes outside", Destructive = "destructive", Undeclared = "effects undeclared",
}

impl EffectsNotice {
    /// The notice for these effects.
    #[must_use]
    pub fn from_effects(effects: Option<Effects>) -> Self {
        match effects.map(|e| (e.impact, e.world)) {
            None => Self::Undeclared,
            Some((Impact::Read, World::Closed)) => Self::ReadLocal,
            Some((Impact::Read, World::Open)) => Self::ReadOpen,
            Some((Impact::Write, World::Closed)) => Self::WriteLocal,
            Some((Impact::Write, World::Open)) => Self::WriteOpen,
            Some((Impact::Destroy, _)) => Self::Destructive,
        }
    }
}
