//! Packs of context, and where they are kept.

use std::collections::{BTreeMap, BTreeSet};

use weaver_text::escape;
use weaver_types::Label;

use super::error::BridgeError;

/// The most packs in one store.
pub const MAX_PACKS: usize = 1_000;
/// The most entries in one pack.
pub const MAX_PACK_ENTRIES: usize = 1_000;
/// The most bytes of all entries of one pack.
pub const MAX_PACK_BYTES: usize = 4 * 1024 * 1024;
/// The longest id of a pack, an entry or a decision, in bytes.
pub const MAX_ID: usize = 128;

/// One piece of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackEntry {
    /// Its id within the pack.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// Context that was prepared for a kind of decision, for example `meeting.transcript`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// Its id.
    pub id: String,
    /// Its version, for people.
    pub version: String,
    /// Where it came from.
    pub source: String,
    /// How confidential and how trustworthy all of it is.
    pub label: Label,
    /// Its entries, in the order in which they are shown.
    pub entries: Vec<PackEntry>,
}

impl Pack {
    /// A pack without entries, internal and untrusted.
    pub fn new(id: impl Into<String>, source: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            version: String::new(),
            source: source.into(),
            label: Label::undeclared_output(),
            entries: Vec::new(),
        }
    }

    /// The same under this label.
    #[must_use]
    pub fn labelled(mut self, label: Label) -> Self {
        self.label = label;
        self
    }

    /// The same with one more entry.
    #[must_use]
    pub fn with(mut self, id: impl Into<String>, text: impl Into<String>) -> Self {
        self.entries.push(PackEntry { id: id.into(), text: text.into() });
        self
    }

    fn check(&self) -> Result<(), BridgeError> {
        check_id("pack", &self.id)?;
        let wrong = |rule| BridgeError::Malformed { what: "pack", id: shown(&self.id), rule };
        let mut seen = BTreeSet::new();
        for entry in &self.entries {
            check_id("entry", &entry.id)?;
            if !seen.insert(&entry.id) {
                let (what, id) = ("entry", shown(&entry.id));
                return Err(BridgeError::Duplicate { what, id });
            }
        }
        if self.entries.len() > MAX_PACK_ENTRIES {
            return Err(wrong("it has at most 1,000 entries"));
        }
        let bytes: usize = self.entries.iter().map(|entry| entry.text.len()).sum();
        if bytes > MAX_PACK_BYTES {
            return Err(wrong("it has at most 4 MiB of text"));
        }
        Ok(())
    }
}

/// Packs by id.
#[derive(Debug, Clone, Default)]
pub struct PackStore(BTreeMap<String, Pack>);

impl PackStore {
    /// A store without packs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a pack.
    ///
    /// # Errors
    /// [`BridgeError`], when its id is taken, or it breaks a bound.
    pub fn add(&mut self, pack: Pack) -> Result<(), BridgeError> {
        pack.check()?;
        if self.0.contains_key(&pack.id) {
            return Err(BridgeError::Duplicate { what: "pack", id: shown(&pack.id) });
        }
        if self.0.len() >= MAX_PACKS {
            let rule = "a store holds at most 1,000 packs";
            return Err(BridgeError::Malformed { what: "pack", id: shown(&pack.id), rule });
        }
        self.0.insert(pack.id.clone(), pack);
        Ok(())
    }

    /// The pack with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Pack> {
        self.0.get(id)
    }
}

pub(super) fn check_id(what: &'static str, id: &str) -> Result<(), BridgeError> {
    let wrong = |c: char| c.is_control() || c.is_whitespace() || c == '/';
    if id.is_empty() || id.len() > MAX_ID || id.chars().any(wrong) {
        let rule = "an id has 1 to 128 bytes, without blanks, control characters and `/`";
        return Err(BridgeError::Malformed { what, id: shown(id), rule });
    }
    Ok(())
}

pub(super) fn shown(id: &str) -> String {
    escape::line(&escape::shorten(id, 80)).into_owned()
}
