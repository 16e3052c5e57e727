//! Tool names: one for each capability, all distinct, each leading back to its id.
//!
//! A plain id keeps its letters, with `__` for each dot; MCP allows dots, so there it stays
//! unchanged. An id that is not plain (other characters, too long, underscores that could be read
//! as a dot) becomes `x-`, a readable part, and 32 hexadecimal digits of a digest of the id. The
//! two forms never collide, because no plain name begins with `x-`.

use std::collections::BTreeMap;

use super::ToolFormat;
use super::error::NameError;
use crate::digest::{Digest, DomainTag};
use crate::id::CapabilityId;

/// The prefix of a name that does not encode its id.
const DIGEST_NAME_PREFIX: &str = "x-";
/// Characters of the id in such a name, for human readers.
const READABLE_CHARS: usize = 24;
/// Digits of the digest in such a name.
const DIGEST_DIGITS: usize = 32;

/// The name of a capability in a format: 1 to [`ToolFormat::max_name`] letters, digits, `_`, `-`
/// and, in MCP, dots. Different ids have different names.
#[must_use]
pub fn tool_name(format: ToolFormat, id: &CapabilityId) -> String {
    plain_name(format, id.as_str()).unwrap_or_else(|| digest_name(id))
}

fn plain_name(format: ToolFormat, id: &str) -> Option<String> {
    let legal = id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if !legal || id.starts_with(DIGEST_NAME_PREFIX) {
        return None;
    }
    let name = match format {
        ToolFormat::Mcp => id.to_owned(),
        ToolFormat::OpenAiResponses
        | ToolFormat::OpenAiChat
        | ToolFormat::Anthropic
        | ToolFormat::Gemini => {
            let begins = id.bytes().next().is_some_and(|b| !b.is_ascii_digit() && b != b'-');
            if !begins || ["__", "_.", "._"].iter().any(|two| id.contains(two)) {
                return None;
            }
            id.replace('.', "__")
        }
    };
    (name.len() <= format.max_name()).then_some(name)
}

fn digest_name(id: &CapabilityId) -> String {
    let readable: String = id
        .as_str()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(READABLE_CHARS)
        .collect();
    let digest = Digest::of_parts(DomainTag::EXPOSED, &[id.as_str().as_bytes()]).to_hex();
    let digits: String = digest.chars().take(DIGEST_DIGITS).collect();
    format!("{DIGEST_NAME_PREFIX}{readable}-{digits}")
}

/// The id that a plain name encodes; `None` when it encodes none in this format.
pub(super) fn id_from_plain_name(format: ToolFormat, name: &str) -> Option<CapabilityId> {
    let id = match format {
        ToolFormat::Mcp => name.to_owned(),
        ToolFormat::OpenAiResponses
        | ToolFormat::OpenAiChat
        | ToolFormat::Anthropic
        | ToolFormat::Gemini => name.replace("__", "."),
    };
    let id = CapabilityId::parse(id).ok()?;
    (plain_name(format, id.as_str()).as_deref() == Some(name)).then_some(id)
}

/// The names of a set of capabilities, with the way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNames {
    format: ToolFormat,
    ids: BTreeMap<String, CapabilityId>,
}

impl ToolNames {
    /// The names of these capabilities.
    ///
    /// # Errors
    /// [`NameError`] when an id occurs twice, or two ids have the same name.
    pub fn new<'a>(
        format: ToolFormat,
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

    /// The capability behind a name of the set.
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
