//! Reads preconditions of a contract.

use std::collections::BTreeSet;

use weaver_types::{PathSource, Precondition};

use super::arguments::pointer;
use super::keywords::remedy_among;
use super::node::{Node, Section};
use super::reader::{DocumentReader, excerpt};

const CHECKS: [&str; 5] = ["file_digest", "file_mtime", "git_head", "environment", "http_etag"];

/// Reads one precondition or a list of them.
pub(super) fn read(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> BTreeSet<Precondition> {
    node.one_or_many(reader).iter().filter_map(|node| precondition(reader, node)).collect()
}

fn precondition(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<Precondition> {
    let all = node.section(reader, &["check", "file", "repository", "name", "url"])?;
    let check = all.required(reader, "check")?;
    match check.text(reader)? {
        "file_digest" => {
            let section = node.section(reader, &["check", "file"])?;
            Some(Precondition::FileDigest { file: path_source(reader, &section, "file")? })
        }
        "file_mtime" => {
            let section = node.section(reader, &["check", "file"])?;
            Some(Precondition::FileMtime { file: path_source(reader, &section, "file")? })
        }
        "git_head" => {
            let section = node.section(reader, &["check", "repository"])?;
            Some(Precondition::GitHead { repository: path_source(reader, &section, "repository")? })
        }
        "environment" => {
            let section = node.section(reader, &["check", "name"])?;
            let name = section.required(reader, "name")?.text(reader)?.to_owned();
            Some(Precondition::Environment { name })
        }
        "http_etag" => {
            let section = node.section(reader, &["check", "url"])?;
            Some(Precondition::HttpEtag { url: url_template(reader, &section)? })
        }
        other => {
            let remedy = remedy_among(other, &CHECKS);
            let message = format!("unknown check `{}`", excerpt(other));
            check.report(reader, "policy.word", message, remedy);
            None
        }
    }
}

/// Reads a URL template. The host must be fixed, so arguments cannot redirect the request.
fn url_template(reader: &mut DocumentReader<'_>, section: &Section<'_>) -> Option<String> {
    let node = section.required(reader, "url")?;
    let url = node.text(reader)?;
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.is_empty() || host.contains(['{', '}', '@', '\\']) || url.contains(char::is_whitespace)
    {
        let message = "this is not an http or https address with a fixed host";
        node.report(reader, "policy.value", message, "write `https://host/path/{argument}`");
        return None;
    }
    Some(url.to_owned())
}

fn path_source(
    reader: &mut DocumentReader<'_>,
    section: &Section<'_>,
    name: &str,
) -> Option<PathSource> {
    let node = section.required(reader, name)?;
    let inner = node.section(reader, &["path", "argument"])?;
    match (inner.get("path"), inner.get("argument")) {
        (Some(path), None) => Some(PathSource::Path(path.text(reader)?.to_owned())),
        (None, Some(argument)) => Some(PathSource::Argument(pointer(reader, &argument)?)),
        _ => {
            let message = "a place is either a path or an argument";
            node.report(reader, "policy.value", message, "write `path` or `argument`");
            None
        }
    }
}
