//! Reads lists of tools from files: a server's answer to `tools/list`.

use std::path::Path;

use serde_json::Value;
use weaver_types::CapabilityId;

use super::{Exit, Failure, input};

/// The largest list of tools, in bytes.
const MAX_LIST_BYTES: usize = 64 << 20;
/// The most tools of one list.
const MAX_TOOLS: usize = 100_000;

/// Reads the tools of a list: the answer to `tools/list`, or its array alone.
pub(super) fn read(path: &Path) -> Result<Vec<Value>, Failure> {
    let name = path.display().to_string();
    let invalid = |problem: String| {
        Failure::new(Exit::Invalid, "contracts.tools", format!("{name}: {problem}")).with_next_step(
            "name the answer of a server to tools/list: {\"tools\": [{\"name\", …}]}",
        )
    };
    let bytes =
        input::read_bytes(path, MAX_LIST_BYTES).map_err(|error| invalid(error.to_string()))?;
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| invalid(format!("it is not JSON: {error}")))?;
    let inner = value.get("result").unwrap_or(&value);
    let list = inner.get("tools").unwrap_or(inner).as_array();
    let list = list.ok_or_else(|| invalid("there is no list of tools in it".to_owned()))?;
    if list.len() > MAX_TOOLS {
        return Err(invalid(format!("it has more than {MAX_TOOLS} tools")));
    }
    Ok(list.clone())
}

/// The capability id of a tool: its name, prefixed with the surface or with the `suite` it belongs
/// to.
pub(super) fn capability_id(surface: Option<&str>, tool: &Value) -> Result<CapabilityId, Failure> {
    let invalid = |problem: String| {
        Failure::new(Exit::Invalid, "contracts.tool", problem)
            .with_next_step("give each tool a `name` without blanks")
    };
    let text = |key: &str| tool.get(key).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| invalid("a tool has no name".to_owned()))?;
    let id = match surface.or_else(|| text("suite")) {
        Some(surface) => CapabilityId::parse(format!("{surface}.{name}")),
        None => CapabilityId::parse(name),
    };
    id.map_err(|error| invalid(error.to_string()))
}
