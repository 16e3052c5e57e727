//! One thing that is remembered.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::{CallId, Label, PrincipalId, RunId, Timestamp};

/// How far ahead of the clock an entry may say it was written, for machines whose clocks differ.
/// One that lies further ahead has no age that could be told.
pub(super) const AHEAD: Duration = Duration::from_secs(24 * 3_600);

/// How long memory lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// As long as the process.
    Working,
    /// As long as the trace, in the process.
    Episodic,
    /// As long as its file.
    Durable,
}

impl Tier {
    /// The word of the tier.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Episodic => "episodic",
            Self::Durable => "durable",
        }
    }

    /// The three letters that stand in ids.
    #[must_use]
    pub fn short(self) -> &'static str {
        match self {
            Self::Working => "wor",
            Self::Episodic => "epi",
            Self::Durable => "dur",
        }
    }
}

/// What an entry is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A value under a key; the last one written counts.
    #[default]
    Value,
    /// A short summary of something past.
    Episode,
    /// A statement that others may contradict.
    Fact,
}

impl EntryKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Value, Self::Episode, Self::Fact];

    /// The word of the kind.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Episode => "episode",
            Self::Fact => "fact",
        }
    }

    /// Several of them.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Value => "values",
            Self::Episode => "episodes",
            Self::Fact => "facts",
        }
    }
}

/// How sure its source was: from 0 to 1, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Confidence(u32);

impl Confidence {
    /// One.
    pub const CERTAIN: Self = Self(1_000_000);

    /// From millionths; more than a million is a million.
    #[must_use]
    pub fn from_millionths(millionths: u32) -> Self {
        Self(millionths.min(1_000_000))
    }

    /// In millionths.
    #[must_use]
    pub fn millionths(self) -> u32 {
        self.0
    }

    /// From 0 to 1.
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

/// Where an entry was written: what is not known is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The trace.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace: String,
    /// For whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<PrincipalId>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The call that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

/// One thing that is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryEntry {
    /// Its key within tier and kind.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// How long it lasts.
    pub tier: Tier,
    /// What it is.
    pub kind: EntryKind,
    /// Where it came from, in the words of whoever wrote it.
    pub source: String,
    /// How sure that was.
    pub confidence: Confidence,
    /// When it was written.
    pub created_at: Timestamp,
    /// For how long it holds; `None` for ever.
    pub ttl: Option<Duration>,
    /// How confidential and how trustworthy it is, in every later session too.
    pub label: Label,
    /// In which session, run and call it was written.
    pub origin: Origin,
}

impl MemoryEntry {
    /// `mem_<three letters of the tier>_<key>`.
    #[must_use]
    pub fn entry_id(&self) -> String {
        entry_id(self.tier, &self.key)
    }

    /// When it ends, if it does.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.ttl.map(|ttl| self.created_at.after(ttl))
    }

    /// Whether it has ended at `now`. What has an end and says that it was written more than a day
    /// from now has ended too: how old it is cannot be told.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        is_expired(self.created_at, self.ttl, now)
    }
}

pub(super) fn entry_id(tier: Tier, key: &str) -> String {
    format!("mem_{}_{key}", tier.short())
}

pub(super) fn is_expired(created_at: Timestamp, ttl: Option<Duration>, now: Timestamp) -> bool {
    ttl.is_some_and(|ttl| now >= created_at.after(ttl) || created_at > now.after(AHEAD))
}
