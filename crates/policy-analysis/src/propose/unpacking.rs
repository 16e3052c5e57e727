//! Recognises tools that unpack archives: what is in one decides which files are written.

use weaver_policy::{ArgumentPredicate, MatchConditions, Pattern};
use weaver_types::JsonPointer;

use super::ToolDescription;
use super::tool_text::ToolText;

/// Verbs that say it alone.
const UNPACKS: [&str; 9] = [
    "unpack", "decompress", "untar", "unzip", "unarchive", "uncompress", "gunzip", "unrar",
    "inflate",
];
/// What is extracted from, where it is no text.
const ARCHIVES: [&str; 12] = [
    "archive", "archives", "zip", "tar", "tarball", "tgz", "rar", "7z", "gz", "compressed",
    "backup", "bundle",
];

/// Whether a tool unpacks files. A text that is decompressed is none.
pub(super) fn unpacks(text: &ToolText) -> bool {
    let mut arguments = text.argument_words.iter().flatten();
    let takes_archive = arguments.any(|word| ARCHIVES.contains(&word.as_str()));
    let is_of_archives = takes_archive || text.is_about(&ARCHIVES);
    text.name.iter().any(|word| match word.as_str() {
        "extract" => is_of_archives,
        word => {
            UNPACKS.contains(&word)
                && (text.takes_path || is_of_archives || text.argument_words.is_empty())
        }
    })
}

/// Conditions that match calls which unpack an archive into the home folder itself or the root of the
/// disk, where a file of any name may be a start-up file; `None` for tools that unpack nothing.
#[must_use]
pub fn unpacking_match(tool: &ToolDescription<'_>, home: Option<&str>) -> Option<MatchConditions> {
    if !unpacks(&ToolText::new(tool)) {
        return None;
    }
    let home = home.map(|home| home.trim_end_matches(['/', '\\'])).filter(|home| !home.is_empty());
    let homes = home.into_iter().flat_map(|home| [home.to_owned(), format!("{home}/")]);
    let roots = ["/", "/root", "/root/", "/home", "/home/", "/Users", "/Users/", "~", "~/"];
    let places = homes.chain(roots.map(str::to_owned));
    let any_path: Vec<Pattern> = places.filter_map(|place| Pattern::parse(&place).ok()).collect();
    let whole_call = ArgumentPredicate::at(JsonPointer::parse("").ok()?);
    let over = ArgumentPredicate { any_path, ..whole_call };
    Some(MatchConditions { arguments: vec![over], ..MatchConditions::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weaver_types::Impact;

    use super::*;
    use crate::propose::propose;

    fn tool(name: &str, properties: &Value) -> Value {
        json!({ "name": name, "description": "", "inputSchema": { "properties": properties } })
    }

    #[test]
    fn what_unpacks_files_writes_whatever_its_schema_requires() {
        let impact = |name: &str, properties: Value| {
            let tool = tool(name, &properties);
            propose(&ToolDescription::from_json(&tool)).effects.impact
        };
        let archive = || json!({ "archive": { "type": "string" }, "folder": { "default": "." } });
        for name in ["extract_archive", "list_and_extract", "unzip_file", "untar", "decompress"] {
            assert_ne!(impact(name, archive()), Impact::Read, "{name}");
        }
        assert_eq!(impact("list_archive", archive()), Impact::Read);
        let text = json!({ "text": { "type": "string" } });
        assert_eq!(impact("extract_numbers", text.clone()), Impact::Read);
        assert_eq!(impact("decompress_text", text), Impact::Read);
    }

    #[test]
    fn nothing_is_unpacked_over_the_home_folder() {
        let archive = json!({ "archive": { "type": "string" }, "folder": { "type": "string" } });
        let tool = tool("extract_archive", &archive);
        let tool = ToolDescription::from_json(&tool);
        let found = unpacking_match(&tool, Some("/home/ana/")).unwrap();
        let holds = |folder: &str| {
            let call = json!({ "archive": "/home/ana/a.tar", "folder": folder });
            found.arguments[0].holds(&call)
        };
        for folder in ["/home/ana", "/home/ana/", "/", "~", "/home/ana/x/.."] {
            assert!(holds(folder), "{folder}");
        }
        for folder in ["/home/ana/work", "/srv/a", "out"] {
            assert!(!holds(folder), "{folder}");
        }
    }
}
