//! Preconditions, as documents write them.

use std::collections::BTreeSet;

use weaver_types::{PathSource, Precondition};

use super::arguments::pointer;
use super::node::{Node, Section};
use super::page::{Page, shown};

const CHECKS: [&str; 5] = ["file_digest", "file_mtime", "git_head", "environment", "http_etag"];

/// Reads one precondition or a list of them.
pub(super) fn read(page: &mut Page<'_>, node: &Node<'_>) -> BTreeSet<Precondition> {
    node.one_or_many(page).iter().filter_map(|node| precondition(page, node)).collect()
}

fn precondition(page: &mut Page<'_>, node: &Node<'_>) -> Option<Precondition> {
    let all = node.section(page, &["check", "file", "repository", "name", "url"])?;
    let check = all.need(page, "check")?;
    match check.text(page)? {
        "file_digest" => {
            let section = node.section(page, &["check", "file"])?;
            Some(Precondition::FileDigest { file: source(page, &section, "file")? })
        }
        "file_mtime" => {
            let section = node.section(page, &["check", "file"])?;
            Some(Precondition::FileMtime { file: source(page, &section, "file")? })
        }
        "git_head" => {
            let section = node.section(page, &["check", "repository"])?;
            Some(Precondition::GitHead { repository: source(page, &section, "repository")? })
        }
        "environment" => {
            let section = node.section(page, &["check", "name"])?;
            let name = section.need(page, "name")?.text(page)?.to_owned();
            Some(Precondition::Environment { name })
        }
        "http_etag" => {
            let section = node.section(page, &["check", "url"])?;
            Some(Precondition::HttpEtag { url: address(page, &section)? })
        }
        other => {
            let remedy = match weaver_text::suggest::nearest(other, CHECKS) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("write one of {}", CHECKS.join(", ")),
            };
            let message = format!("unknown check `{}`", shown(other));
            check.wrong(page, "policy.word", message, remedy);
            None
        }
    }
}

/// A template of an address: its host is fixed by whoever signs it.
fn address(page: &mut Page<'_>, section: &Section<'_>) -> Option<String> {
    let node = section.need(page, "url")?;
    let url = node.text(page)?;
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.is_empty() || host.contains(['{', '}', '@', '\\']) || url.contains(char::is_whitespace)
    {
        let message = "this is no http or https address with a fixed host";
        node.wrong(page, "policy.value", message, "write `https://host/path/{argument}`");
        return None;
    }
    Some(url.to_owned())
}

fn source(page: &mut Page<'_>, section: &Section<'_>, name: &str) -> Option<PathSource> {
    let node = section.need(page, name)?;
    let inner = node.section(page, &["path", "argument"])?;
    match (inner.get("path"), inner.get("argument")) {
        (Some(path), None) => Some(PathSource::Path(path.text(page)?.to_owned())),
        (None, Some(argument)) => Some(PathSource::Argument(pointer(page, &argument)?)),
        _ => {
            let message = "a place is either a path or an argument";
            node.wrong(page, "policy.value", message, "write `path` or `argument`");
            None
        }
    }
}
