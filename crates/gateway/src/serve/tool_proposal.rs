//! Turns a listed tool into the capability that it proposes to be.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_drivers::mcp::ListedTool;
use weaver_text::escape;
use weaver_types::canonical::CanonicalError;
use weaver_types::formats::{ToolFormat, draft_from_tool, upstream_digest};
use weaver_types::{Capability, CapabilityDraft, CapabilityError, CapabilityId, IdError};

use crate::config::UpstreamSettings;

/// The default timeout of a tool in milliseconds, unless its server's section sets one.
pub(crate) const DEFAULT_TIMEOUT_MS: u32 = 60_000;
/// The longest name of a tool, in bytes.
const MAX_NAME: usize = 128;

/// Why a listed tool makes no capability.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProposalError {
    /// The name is a path, or looks like a protocol method.
    #[error(
        "`{shown}` is not a name of a tool: a name has 1 to {MAX_NAME} letters, digits, `_`, `-` and \
         `.` between others; the server has to rename it"
    )]
    Name {
        /// The name, shortened and escaped.
        shown: String,
    },
    /// The name of a prompt is missing or too long.
    #[error("`{shown}` is not a valid prompt name: a name has 1 to {MAX_NAME} bytes")]
    Prompt {
        /// The name, shortened and escaped.
        shown: String,
    },
    /// Namespace and name form no valid id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The definition has no canonical form, and so no digest.
    #[error("`{id}`: {source}")]
    Digest {
        /// The tool.
        id: CapabilityId,
        /// What is wrong with the definition.
        source: CanonicalError,
    },
    /// The definition makes no capability.
    #[error(transparent)]
    Capability(#[from] CapabilityError),
}

impl ProposalError {
    pub(crate) fn prompt_name(name: &str) -> Self {
        Self::Prompt { shown: escape::excerpt(name, 80) }
    }
}

/// A tool with its definition.
#[derive(Clone, Copy)]
pub(crate) struct ToolDefinition<'a> {
    pub(crate) name: &'a str,
    pub(crate) definition: &'a Value,
}

/// The capability that a listed tool proposes to be. Nothing that the server says lowers its risk:
/// effects count only where a signed contract declares them.
///
/// # Errors
/// [`ProposalError`], when the tool makes no capability.
pub fn propose(
    upstream: &UpstreamSettings,
    tool: &ListedTool,
    instructions: Option<&str>,
) -> Result<Capability, ProposalError> {
    let listed = ToolDefinition { name: tool.name(), definition: tool.value() };
    propose_listed(upstream, listed, instructions)
}

/// The capability that a definition of a server proposes to be.
pub(crate) fn propose_listed(
    upstream: &UpstreamSettings,
    tool: ToolDefinition<'_>,
    instructions: Option<&str>,
) -> Result<Capability, ProposalError> {
    let draft = draft_for(upstream.name.as_str(), tool, instructions)?;
    let configured_timeout = upstream.timeout.and_then(|time| u32::try_from(time.as_millis()).ok());
    // Its contract may shorten this further.
    let draft =
        CapabilityDraft { timeout_ms: configured_timeout.unwrap_or(DEFAULT_TIMEOUT_MS), ..draft };
    Ok(draft.build()?)
}

/// The capability that a definition under a namespace proposes to be.
pub(crate) fn propose_definition(
    namespace: &str,
    tool: ToolDefinition<'_>,
    instructions: Option<&str>,
) -> Result<Capability, ProposalError> {
    Ok(draft_for(namespace, tool, instructions)?.build()?)
}

fn draft_for(
    namespace: &str,
    tool: ToolDefinition<'_>,
    instructions: Option<&str>,
) -> Result<CapabilityDraft, ProposalError> {
    let ToolDefinition { name, definition: value } = tool;
    check_name(name)?;
    let id = CapabilityId::parse(format!("{namespace}.{name}"))?;
    let digest = upstream_digest(value, instructions)
        .map_err(|source| ProposalError::Digest { id: id.clone(), source })?;
    Ok(CapabilityDraft {
        timeout_ms: DEFAULT_TIMEOUT_MS,
        upstream_digest: Some(digest),
        suspicions: suspicions(value, instructions),
        ..draft_from_tool(ToolFormat::Mcp, id, value)
    })
}

/// Suspicious text in the server's instructions and hints, which a model could see as well.
pub(crate) fn suspicions(tool: &Value, instructions: Option<&str>) -> BTreeSet<String> {
    let instructions = instructions.map(|text| Value::String(text.to_owned()));
    let parts = [("instructions", instructions.as_ref()), ("annotations", tool.get("annotations"))];
    let parts = parts.into_iter().filter_map(|(part, value)| Some((part, value?)));
    let suspicions = parts.flat_map(|(part, value)| weaver_firewall::suspicions(part, value));
    suspicions.map(|suspicion| suspicion.to_string()).collect()
}

/// Rejects names that are paths, or that look like protocol methods.
fn check_name(name: &str) -> Result<(), ProposalError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let has_stray_dots = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    if name.is_empty() || name.len() > MAX_NAME || has_stray_dots || !name.chars().all(is_allowed) {
        let shown = escape::excerpt(name, 80);
        return Err(ProposalError::Name { shown });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::Digest;

    use super::*;

    fn digest(text: &str, instructions: Option<&str>) -> Digest {
        upstream_digest(&serde_json::from_str(text).unwrap(), instructions).unwrap()
    }

    #[test]
    fn the_digest_covers_tool_and_instructions_apart() {
        let tool = |words: &str| json!({ "name": "t", "description": words }).to_string();
        assert_ne!(digest(&tool("ab"), Some("c")), digest(&tool("a"), Some("bc")));
        assert_ne!(digest(&tool("a"), None), digest(&tool("a"), Some("b")));
    }

    #[test]
    fn what_leads_elsewhere_is_no_name() {
        for name in ["", "../x", "tools/call", "a b", "a..b", ".hidden", "b.", "é", "a\u{200b}"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name(&"n".repeat(129)).is_err());
        for name in ["getUser", "read-file", "a.b", "_a", &"n".repeat(128)] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn what_nobody_sees_changes_no_digest_and_all_the_rest_does() {
        let tool = r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object","x":1},"outputSchema":{},"annotations":{"readOnlyHint":true}}"#;
        let same = r#"{ "annotations": {"readOnlyHint": true}, "outputSchema": {}, "_meta": {"at": 7},
            "inputSchema": {"x": 1, "type": "object"}, "description": "\u0064", "title": "T", "name": "t" }"#;
        assert_eq!(digest(tool, None), digest(same, None));
        for (from, to) in [
            ("\"t\"", "\"u\""),
            ("\"T\"", "\"U\""),
            ("\"d\"", "\"e\""),
            ("\"x\":1", "\"x\":2"),
            ("\"outputSchema\":{}", "\"outputSchema\":true"),
            ("true", "false"),
        ] {
            assert_ne!(digest(tool, None), digest(&tool.replacen(from, to, 1), None), "{from}");
        }
    }
}
