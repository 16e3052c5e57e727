//! The names under which the proxy exports tools: names that any MCP client accepts, one for each capability and no two alike.
//!
//! A plain tool keeps its name behind its server's: `files__read_note`. What is not plain (other
//! characters, too long, or underscores where the two parts meet) becomes `x-`, a readable part
//! without underscores, and 16 hexadecimal digits of a digest of the exact id. The two forms never
//! meet, because only the first holds a double underscore.

use weaver_types::digest::{Digest, Tag};

/// The longest name that every client takes.
const MAX: usize = 64;
const READABLE: usize = 40;

/// The name under which `tool` of `upstream` is offered.
pub(crate) fn of(upstream: &str, tool: &str) -> String {
    let plain = format!("{upstream}__{tool}");
    if is_plain(upstream, tool) && plain.len() <= MAX {
        return plain;
    }
    let readable: String = format!("{upstream}-{tool}")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(READABLE)
        .collect();
    let digest = Digest::of_parts(Tag::EXPOSED, &[upstream.as_bytes(), tool.as_bytes()]).to_hex();
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
        assert_eq!(of("files", "getUser"), "files__getUser");
        assert_eq!(of("files", "read-file"), "files__read-file");
        assert_eq!(of("files", "a__b"), "files__a__b");
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
                let name = of(upstream, tool);
                assert!(name.len() <= MAX, "{name}");
                assert!(
                    name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'),
                    "{name}"
                );
                assert_eq!(seen.insert(name.clone(), (upstream, tool)), None, "{name}");
            }
        }
    }
}
