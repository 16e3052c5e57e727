//! Names of tools: one for each capability, no two alike, each leading back to its id.
//!
//! A plain id keeps its letters, with `__` for each dot; MCP allows dots, so there it stays as it
//! is. What is not plain (other characters, too long, underscores that could be read as a dot)
//! becomes `x-`, a readable part, and 32 hexadecimal digits of a digest of the exact id. The two
//! forms never meet, because no plain name begins with `x-`.

use std::collections::BTreeMap;

use super::Format;
use super::error::NameError;
use crate::digest::{Digest, Tag};
use crate::id::CapabilityId;

/// What marks a name that does not spell its id.
const MARK: &str = "x-";
/// Characters of such a name that a reader knows the id by.
const READABLE: usize = 24;
/// Digits of the digest in it.
const DIGITS: usize = 32;

/// The name of a capability in a format: 1 to [`Format::max_name`] letters, digits, `_`, `-` and,
/// in MCP, dots. Different ids have different names.
#[must_use]
pub fn tool_name(format: Format, id: &CapabilityId) -> String {
    plain(format, id.as_str()).unwrap_or_else(|| digested(id))
}

fn plain(format: Format, id: &str) -> Option<String> {
    let legal = id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if !legal || id.starts_with(MARK) {
        return None;
    }
    let name = match format {
        Format::Mcp => id.to_owned(),
        Format::OpenAiResponses | Format::OpenAiChat | Format::Anthropic | Format::Gemini => {
            let begins = id.bytes().next().is_some_and(|b| !b.is_ascii_digit() && b != b'-');
            if !begins || ["__", "_.", "._"].iter().any(|two| id.contains(two)) {
                return None;
            }
            id.replace('.', "__")
        }
    };
    (name.len() <= format.max_name()).then_some(name)
}

fn digested(id: &CapabilityId) -> String {
    let readable: String = id
        .as_str()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(READABLE)
        .collect();
    let digest = Digest::of_parts(Tag::EXPOSED, &[id.as_str().as_bytes()]).to_hex();
    let digits: String = digest.chars().take(DIGITS).collect();
    format!("{MARK}{readable}-{digits}")
}

/// The id that a name spells; `None` for one that spells none in this format.
pub(super) fn spelled(format: Format, name: &str) -> Option<CapabilityId> {
    let id = match format {
        Format::Mcp => name.to_owned(),
        Format::OpenAiResponses | Format::OpenAiChat | Format::Anthropic | Format::Gemini => {
            name.replace("__", ".")
        }
    };
    let id = CapabilityId::parse(id).ok()?;
    (plain(format, id.as_str()).as_deref() == Some(name)).then_some(id)
}

/// The names of a set of capabilities, and the way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNames {
    format: Format,
    ids: BTreeMap<String, CapabilityId>,
}

impl ToolNames {
    /// The names of these capabilities.
    ///
    /// # Errors
    /// [`NameError`], where one id is given twice, or two have one name.
    pub fn new<'a>(
        format: Format,
        ids: impl IntoIterator<Item = &'a CapabilityId>,
    ) -> Result<Self, NameError> {
        let mut names = Self { format, ids: BTreeMap::new() };
        for id in ids {
            let name = tool_name(format, id);
            if let Some(other) = names.ids.insert(name.clone(), id.clone()) {
                return Err(NameError { name, id: id.clone(), other });
            }
        }
        Ok(names)
    }

    /// The capability behind a name that was given to one of the set.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<&CapabilityId> {
        self.ids.get(name)
    }

    /// The name of a capability of the set.
    #[must_use]
    pub fn name(&self, id: &CapabilityId) -> Option<String> {
        let name = tool_name(self.format, id);
        (self.ids.get(&name) == Some(id)).then_some(name)
    }
}
