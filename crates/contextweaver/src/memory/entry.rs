//! Entries of memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::{CallId, Label, PrincipalId, RunId, Timestamp};

/// How far in the future the creation time of an entry may lie, because clocks of machines differ.
/// If it lies further ahead, the age of the entry cannot be determined.
pub(super) const MAX_CLOCK_SKEW: Duration = Duration::from_secs(24 * 3_600);

/// A tier of memory, which determines how long entries last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Entries last as long as the process.
    Working,
    /// Entries last as long as the trace, within the process.
    Episodic,
    /// Entries last as long as the file.
    Durable,
}

weaver_types::words! { Tier: "The word for the tier.";
    Working = "working", Episodic = "episodic", Durable = "durable",
}

impl Tier {
    /// The three-letter abbreviation used in entry ids.
    #[must_use]
    pub fn abbreviation(self) -> &'static str {
        match self {
            Self::Working => "wor",
            Self::Episodic => "epi",
            Self::Durable => "dur",
        }
    }

    /// The id of the entry with this key: `mem_<three letters of the tier>_<key>`.
    #[must_use]
    pub fn entry_id(self, key: &str) -> String {
        format!("mem_{}_{key}", self.abbreviation())
    }
}

/// The kind of an entry.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A value under a key; a later write replaces it.
    #[default]
    Value,
    /// A short summary of a past interaction.
    Episode,
    /// A fact: claims of several sources, which may contradict one another.
    Fact,
}

weaver_types::words! { EntryKind: "The word for the kind.", all "All kinds.";
    Value = "value", Episode = "episode", Fact = "fact",
}

impl EntryKind {
    /// The plural word for the kind.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Value => "values",
            Self::Episode => "episodes",
            Self::Fact => "facts",
        }
    }
}

/// The confidence of a source in its statement, from 0 to 1, stored in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Confidence(u32);

impl Confidence {
    /// Full confidence.
    pub const CERTAIN: Self = Self(1_000_000);

    /// A confidence from millionths, capped at one million.
    #[must_use]
    pub fn from_millionths(millionths: u32) -> Self {
        Self(millionths.min(1_000_000))
    }

    /// The confidence in millionths.
    #[must_use]
    pub fn millionths(self) -> u32 {
        self.0
    }

    /// The confidence from 0 to 1.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1_000_000.0
    }
}

impl Default for Confidence {
    fn default() -> Self {
        Self::CERTAIN
    }
}

/// Where an entry was written. Unknown parts are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryOrigin {
    /// The session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The trace.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace: String,
    /// The principal on whose behalf it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<PrincipalId>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The call that wrote the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

/// One entry of memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryEntry {
    /// The key, unique within tier and kind.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The tier that holds the entry.
    pub tier: Tier,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The source, in the words of the writer.
    pub source: String,
    /// The confidence of the source.
    pub confidence: Confidence,
    /// When the entry was written.
    pub created_at: Timestamp,
    /// The time to live; `None` for no expiry.
    pub ttl: Option<Duration>,
    /// The label, which stays with the entry in every later session.
    pub label: Label,
    /// The session, run and call in which it was written.
    pub origin: EntryOrigin,
}

impl MemoryEntry {
    /// Its id, as [`Tier::entry_id`] forms it.
    #[must_use]
    pub fn entry_id(&self) -> String {
        self.tier.entry_id(&self.key)
    }

    /// When the entry expires, if it does.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.ttl.map(|ttl| self.created_at.after(ttl))
    }

    /// Whether the entry has expired at `now`. An entry with a time to live whose creation time lies
    /// more than a day in the future counts as expired, because its age cannot be determined.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        is_expired(self.created_at, self.ttl, now)
    }
}

pub(super) fn is_expired(created_at: Timestamp, ttl: Option<Duration>, now: Timestamp) -> bool {
    ttl.is_some_and(|ttl| now >= created_at.after(ttl) || created_at > now.after(MAX_CLOCK_SKEW))
}
