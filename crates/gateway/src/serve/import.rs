//! From a tool as a server lists it to a capability proposal.

use serde_json::Value;
use weaver_drivers::mcp::ListedTool;
use weaver_types::digest::{Digest, Tag};
use weaver_types::{
    Agents, Capability, CapabilityDraft, CapabilityId, Effects, Impact, UpstreamName, World,
};

/// How long a foreign tool may take unless its contract says otherwise, in milliseconds.
const TIMEOUT_MS: u32 = 60_000;

/// The digest of what a server says of its tool: the raw bytes of the tool and of the server's
/// instructions. It is what a contract pins.
#[must_use]
pub fn upstream_digest(tool: &str, instructions: Option<&str>) -> Digest {
    Digest::of_parts(Tag::UPSTREAM, &[tool.as_bytes(), instructions.unwrap_or_default().as_bytes()])
}

/// The capability that a listed tool proposes to be. Nothing that the server says lowers anything:
/// its effects count only where a signed contract declares them.
pub(crate) fn propose(
    upstream: &UpstreamName,
    tool: &ListedTool,
    instructions: Option<&str>,
) -> Result<Capability, String> {
    let value = tool.value();
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let id =
        CapabilityId::parse(format!("{upstream}.{}", tool.name())).map_err(|e| e.to_string())?;
    let draft = CapabilityDraft {
        title: text("title"),
        description: text("description").unwrap_or_default(),
        input_schema: value.get("inputSchema").cloned(),
        output_schema: value.get("outputSchema").cloned(),
        timeout_ms: TIMEOUT_MS,
        upstream_digest: Some(upstream_digest(tool.raw(), instructions)),
        ..CapabilityDraft::new(id, tool.name(), effects(value.get("annotations")), Agents::Any)
    };
    draft.build().map_err(|error| error.to_string())
}

/// What the annotations say, with MCP's defaults: destructive and open unless said otherwise.
fn effects(annotations: Option<&Value>) -> Effects {
    let hint = |key: &str, default: bool| {
        annotations.and_then(|a| a.get(key)).and_then(Value::as_bool).unwrap_or(default)
    };
    let impact = if hint("readOnlyHint", false) {
        Impact::Read
    } else if hint("destructiveHint", true) {
        Impact::Destroy
    } else {
        Impact::Write
    };
    let world = if hint("openWorldHint", true) { World::Open } else { World::Closed };
    Effects { impact, world }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn silence_is_read_as_the_most_dangerous() {
        assert_eq!(effects(None), Effects::UNDECLARED);
        assert_eq!(effects(Some(&json!({}))), Effects::UNDECLARED);
        assert_eq!(effects(Some(&json!({ "readOnlyHint": "yes" }))), Effects::UNDECLARED);
        assert_eq!(
            effects(Some(&json!({ "readOnlyHint": true, "openWorldHint": false }))),
            Effects::READ_LOCAL
        );
    }

    #[test]
    fn the_digest_covers_tool_and_instructions_apart() {
        assert_ne!(upstream_digest("ab", Some("c")), upstream_digest("a", Some("bc")));
    }
}
