//! The names under which the proxy exports tools: accepted by every MCP client, and unique for each
//! capability.
//!
//! A plain tool name is put behind its server's: `files__read_note`. Any other (special characters,
//! too long, or underscores where the two parts meet) becomes `x-`, a readable part without
//! underscores, and 16 hexadecimal digits of a digest of the exact id. The two forms never collide,
//! because only the first contains a double underscore.

use weaver_types::digest::{Digest, DomainTag};

/// The longest name that every client accepts.
const MAX_LENGTH: usize = 64;
const MAX_READABLE_PART: usize = 40;

/// The exported name of `tool` of `upstream`.
pub(crate) fn for_tool(upstream: &str, tool: &str) -> String {
    let plain = format!("{upstream}__{tool}");
    if is_plain(upstream, tool) && plain.len() <= MAX_LENGTH {
        return plain;
    }
    let readable: String = format!("{upstream}-{tool}")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(MAX_READABLE_PART)
        .collect();
    let digest =
        Digest::of_parts(DomainTag::EXPOSED, &[upstream.as_bytes(), tool.as_bytes()]).to_hex();
    let digest: String = digest.chars().take(16).collect();
    format!("x-{readable}-{digest}")
}

fn is_plain(upstream: &str, tool: &str) -> bool {
    !upstream.contains("__")
        && !upstream.ends_with('_')
        && !tool.starts_with('_')
        && !tool.is_empty()
        && tool.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn plain_names_stay_readable() {
        assert_eq!(for_tool("files", "getUser"), "files__getUser");
        assert_eq!(for_tool("files", "read-file"), "files__read-file");
        assert_eq!(for_tool("files", "a__b"), "files__a__b");
    }

    #[test]
    fn no_two_tools_share_a_name() {
        let upstreams = ["a", "a_", "a__b", "b", "_", "x-a"];
        let long = "t".repeat(128);
        let tools =
            ["b", "_b", "__b", "b__c", "b.c", "b/c", "B", "", "é", "b c", long.as_str(), "a-b"];
        let mut seen = BTreeMap::new();
        for upstream in upstreams {
            for tool in tools {
                let name = for_tool(upstream, tool);
                assert!(name.len() <= MAX_LENGTH, "{name}");
                assert!(
                    name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'),
                    "{name}"
                );
                assert_eq!(seen.insert(name.clone(), (upstream, tool)), None, "{name}");
            }
        }
    }
}
