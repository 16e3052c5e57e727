//! The notice on a card about the effects of an item.

use serde::Serialize;
use weaver_types::{Effects, Impact, World};

/// What a card says about the effects of an item. In JSON it has the words of a contracts document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// It only reads, and only local things.
    #[serde(rename = "read_local")]
    Reads,
    /// It only reads, but reaches out for it.
    #[serde(rename = "read_open")]
    ReadsOutside,
    /// It writes local things.
    #[serde(rename = "write_local")]
    Writes,
    /// It writes outside.
    #[serde(rename = "write_open")]
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

    /// The effects that a file means by this word; destruction reaches anywhere.
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

    /// The notice of a word: that of a contracts document, or the one that catalogs had before.
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
