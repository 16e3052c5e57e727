//! Packs of prepared context, and the store that holds them.

use std::collections::{BTreeMap, BTreeSet};

use weaver_text::escape;
use weaver_types::Label;

use super::error::BridgeError;

/// The most packs in one store.
pub const MAX_PACKS: usize = 1_000;
/// The most entries in one pack.
pub const MAX_PACK_ENTRIES: usize = 1_000;
/// The most bytes of text in all entries of one pack.
pub const MAX_PACK_BYTES: usize = 4 * 1024 * 1024;
/// The longest id of a pack, an entry or a decision, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// One text of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackEntry {
    /// The id of the entry within the pack.
    pub id: String,
    /// The text that is shown.
    pub text: String,
}

/// Context that was prepared for a kind of decision, for example `meeting.transcript`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// The id of the pack.
    pub id: String,
    /// A version for people to read.
    pub version: String,
    /// Where the pack came from.
    pub source: String,
    /// Confidentiality and integrity of everything in the pack.
    pub label: Label,
    /// The entries, in the order in which they are shown.
    pub entries: Vec<PackEntry>,
}

impl Pack {
    /// A pack without entries, labelled internal and untrusted.
    pub fn new(id: impl Into<String>, source: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            version: String::new(),
            source: source.into(),
            label: Label::undeclared_output(),
            entries: Vec::new(),
        }
    }

    /// Sets the label.
    #[must_use]
    pub fn with_label(mut self, label: Label) -> Self {
        self.label = label;
        self
    }

    /// Adds an entry.
    #[must_use]
    pub fn with_entry(mut self, id: impl Into<String>, text: impl Into<String>) -> Self {
        self.entries.push(PackEntry { id: id.into(), text: text.into() });
        self
    }

    fn check(&self) -> Result<(), BridgeError> {
        check_id("pack", &self.id)?;
        let malformed =
            |rule| BridgeError::Malformed { what: "pack", id: printable(&self.id), rule };
        let mut seen = BTreeSet::new();
        for entry in &self.entries {
            check_id("entry", &entry.id)?;
            if !seen.insert(&entry.id) {
                let (what, id) = ("entry", printable(&entry.id));
                return Err(BridgeError::Duplicate { what, id });
            }
        }
        if self.entries.len() > MAX_PACK_ENTRIES {
            return Err(malformed("it has at most 1,000 entries"));
        }
        let bytes: usize = self.entries.iter().map(|entry| entry.text.len()).sum();
        if bytes > MAX_PACK_BYTES {
            return Err(malformed("it has at most 4 MiB of text"));
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
    /// [`BridgeError`] if its id is taken or the pack exceeds a bound.
    pub fn add(&mut self, pack: Pack) -> Result<(), BridgeError> {
        pack.check()?;
        if self.0.contains_key(&pack.id) {
            return Err(BridgeError::Duplicate { what: "pack", id: printable(&pack.id) });
        }
        if self.0.len() >= MAX_PACKS {
            let rule = "a store holds at most 1,000 packs";
            return Err(BridgeError::Malformed { what: "pack", id: printable(&pack.id), rule });
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
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || c == '/';
    if id.is_empty() || id.len() > MAX_ID_BYTES || id.chars().any(forbidden) {
        let rule = "an id has 1 to 128 bytes, without blanks, control characters and `/`";
        return Err(BridgeError::Malformed { what, id: printable(id), rule });
    }
    Ok(())
}

/// An id for a message: escaped and shortened.
pub(super) fn printable(id: &str) -> String {
    escape::line(&escape::shorten(id, 80)).into_owned()
}
