//! Preconditions, as documents write them.

use std::collections::BTreeSet;

use weaver_types::{PathSource, Precondition};

use super::arguments::pointer;
use super::node::{Node, Section};
use super::reader::{DocumentReader, shown};

const CHECKS: [&str; 5] = ["file_digest", "file_mtime", "git_head", "environment", "http_etag"];

/// Reads one precondition or a list of them.
pub(super) fn read(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> BTreeSet<Precondition> {
    node.one_or_many(reader).iter().filter_map(|node| precondition(reader, node)).collect()
}

fn precondition(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<Precondition> {
    let all = node.section(reader, &["check", "file", "repository", "name", "url"])?;
    let check = all.need(reader, "check")?;
    match check.text(reader)? {
        "file_digest" => {
            let section = node.section(reader, &["check", "file"])?;
            Some(Precondition::FileDigest { file: source(reader, &section, "file")? })
        }
        "file_mtime" => {
            let section = node.section(reader, &["check", "file"])?;
            Some(Precondition::FileMtime { file: source(reader, &section, "file")? })
        }
        "git_head" => {
            let section = node.section(reader, &["check", "repository"])?;
            Some(Precondition::GitHead { repository: source(reader, &section, "repository")? })
        }
        "environment" => {
            let section = node.section(reader, &["check", "name"])?;
            let name = section.need(reader, "name")?.text(reader)?.to_owned();
            Some(Precondition::Environment { name })
        }
        "http_etag" => {
            let section = node.section(reader, &["check", "url"])?;
            Some(Precondition::HttpEtag { url: address(reader, &section)? })
        }
        other => {
            let remedy = match weaver_text::suggest::nearest(other, CHECKS) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("write one of {}", CHECKS.join(", ")),
            };
            let message = format!("unknown check `{}`", shown(other));
            check.wrong(reader, "policy.word", message, remedy);
            None
        }
    }
}

/// A template of an address: its host is fixed by whoever signs it.
fn address(reader: &mut DocumentReader<'_>, section: &Section<'_>) -> Option<String> {
    let node = section.need(reader, "url")?;
    let url = node.text(reader)?;
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.is_empty() || host.contains(['{', '}', '@', '\\']) || url.contains(char::is_whitespace)
    {
        let message = "this is no http or https address with a fixed host";
        node.wrong(reader, "policy.value", message, "write `https://host/path/{argument}`");
        return None;
    }
    Some(url.to_owned())
}

fn source(
    reader: &mut DocumentReader<'_>,
    section: &Section<'_>,
    name: &str,
) -> Option<PathSource> {
    let node = section.need(reader, name)?;
    let inner = node.section(reader, &["path", "argument"])?;
    match (inner.get("path"), inner.get("argument")) {
        (Some(path), None) => Some(PathSource::Path(path.text(reader)?.to_owned())),
        (None, Some(argument)) => Some(PathSource::Argument(pointer(reader, &argument)?)),
        _ => {
            let message = "a place is either a path or an argument";
            node.wrong(reader, "policy.value", message, "write `path` or `argument`");
            None
        }
    }
}
