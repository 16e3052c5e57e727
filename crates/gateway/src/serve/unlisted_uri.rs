//! Which resources a server may be asked for that it neither lists nor has a template for.
//!
//! Servers hand URIs to libraries, which fetch what they are told in many spellings (`h\\ttps:`,
//! `URL:https:`) and under many schemes (`gopher:`, `s3:`, `dict:`). So only a URI that every reader takes for
//! one is passed on, only under a scheme that the server itself lists or that is plainly one of its own (a link
//! in a result need not be listed), and none that leads to a host.

use std::collections::BTreeSet;

/// Schemes that lead to a host, or to another URI in them, also where a server lists such a URI.
const LEADING_AWAY: [&str; 25] = [
    "http", "https", "ftp", "ftps", "sftp", "ws", "wss", "smb", "cifs", "nfs", "git", "ssh", "svn",
    "ldap", "ldaps", "gopher", "telnet", "tftp", "dav", "davs", "url", "jar", "view-source",
    "javascript", "data",
];

/// Schemes that servers of MCP make up, which no library fetches.
const OF_SERVERS: [&str; 14] = [
    "ui", "resource", "resources", "mcp", "memory", "doc", "docs", "note", "notes", "task",
    "tasks", "config", "context", "result",
];

/// The scheme of a URI or of a template for URIs, in lower case (RFC 3986, section 3.1, without the `+` of
/// `git+ssh`).
pub(super) fn scheme_of(uri: &str) -> Option<String> {
    let (scheme, _) = uri.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

/// Whether a server of this name whose URIs have these schemes may be asked for a URI that it does not list.
pub(super) fn may_be_served(uri: &str, server: &str, listed_schemes: &BTreeSet<String>) -> bool {
    let is_plain = |c: char| {
        c.is_ascii_graphic() && !"\\<>\"".contains(c) || !c.is_ascii() && c.is_alphanumeric()
    };
    let Some(scheme) = scheme_of(uri).filter(|_| uri.chars().all(is_plain)) else { return false };
    let is_named_so = scheme.len() > 2 && server.to_ascii_lowercase().contains(&scheme);
    let is_own =
        listed_schemes.contains(&scheme) || is_named_so || OF_SERVERS.contains(&scheme.as_str());
    if !is_own || goes_up(uri) {
        return false;
    }
    if scheme == "file" {
        return is_file_of_this_machine(uri);
    }
    !uri.split(':').any(|part| leads_away(last_word(part)))
}

/// Whether a part of the path is `..`, also escaped: it leads out of what the server lists.
fn goes_up(uri: &str) -> bool {
    let decoded = uri.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/");
    decoded.split(['/', ':', '?', '#']).any(|part| part == "..")
}

fn leads_away(scheme: &str) -> bool {
    LEADING_AWAY.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// The letters, digits and hyphens at the end of a text.
fn last_word(text: &str) -> &str {
    text.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap_or_default()
}

/// Whether a `file:` URI has no host but this machine, no reader could take a part of it for one, and it is
/// that of no file in which the kernel tells of processes.
fn is_file_of_this_machine(uri: &str) -> bool {
    let path = uri.get("file:".len()..).unwrap_or_default();
    let path = path.strip_prefix("//localhost").or(path.strip_prefix("//")).unwrap_or(path);
    let is_of_kernel = ["/proc", "/sys", "/dev"].iter().any(|root| path.starts_with(root));
    path.starts_with('/') && !path.contains("//") && !path.contains('%') && !is_of_kernel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlisted_uri_leads_nowhere_else() {
        let listed = ["NOTE://a", "file:///x", "a.b-c:{d}", "page:x", "docs://a", "smb://x"];
        let schemes: BTreeSet<String> = listed.iter().filter_map(|uri| scheme_of(uri)).collect();
        let may_be_served = |uri: &str| may_be_served(uri, "kanban-board", &schemes);
        for uri in [
            "note://internal/a", "NOTE:b", "kanban://card/5", "ui://widget/a",
            "file:///data/a.txt", "note://zürich/ä", "a.b-c:d",
        ] {
            assert!(may_be_served(uri), "{uri}");
        }
        for uri in [
            "https://evil.example/?d=1",
            "h\ttps://evil.example/",
            "\u{1}https://evil.example/",
            " https://evil.example/",
            "URL:https://evil.example/",
            "<URL:https://evil.example/>",
            "view-source:https://evil.example/",
            "page:https://evil.example/",
            "docs://https://evil.example/",
            "git+ssh://evil.example/a",
            "smb://evil/a",
            "file://evil/a",
            "file:////evil/a",
            "//evil.example/a",
            "\\\\evil.example\\a",
            "evil.example/a",
            "note://a\\b",
            "note://a/../../etc/passwd",
            "note://a/%2E%2e/b",
            "file:///proc/self/environ",
            "file:///data/%2e%2e/proc/self/environ",
            // Of a scheme that it does not list.
            "s3://evil/a",
            "exec:id",
            "dict://evil.example/d:x",
            "",
        ] {
            assert!(!may_be_served(uri), "{uri}");
        }
    }
}
