//! Which resources a server may be asked for that it neither lists nor has a template for.
//!
//! Servers hand URIs to libraries, which fetch what they are told in many spellings (`h\\ttps:`,
//! `URL:https:`) and under many schemes (`gopher:`, `s3:`, `dict:`). So only a URI that every reader takes for
//! one is passed on, only under a scheme that the server itself lists or that is plainly one of its own (a link
//! in a result need not be listed), and none that leads to a host that it does not list.

use std::collections::BTreeSet;

use weaver_text::split;

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

/// The scheme of a template for URIs in which a variable says the host, or a part of it; `*` where the
/// scheme is a variable too.
pub(super) fn scheme_with_open_authority(template: &str) -> Option<String> {
    let (fixed, _) = template.split_once('{')?;
    let Some((scheme, rest)) = fixed.split_once(':') else { return Some("*".to_owned()) };
    let is_closed = match rest.strip_prefix("//") {
        Some(authority) => authority.contains(['/', '?', '#']),
        None => !rest.trim_start_matches('/').is_empty(),
    };
    (!is_closed).then(|| scheme.to_ascii_lowercase())
}

/// What a server lists: the schemes, hosts and folders of its URIs and templates.
#[derive(Debug, Default)]
pub(super) struct ListedUris {
    schemes: BTreeSet<String>,
    /// With their schemes, as `smb://nas.example`.
    hosts: BTreeSet<String>,
    /// Of `file:` URIs, each with a slash at its end.
    folders: BTreeSet<String>,
}

impl ListedUris {
    /// Reads URIs and templates. What stands in braces is not listed.
    pub(super) fn of<'a>(identifiers: impl Iterator<Item = &'a str>) -> Self {
        let mut listed = Self::default();
        for identifier in identifiers {
            let Some(scheme) = scheme_of(identifier) else { continue };
            let fixed = identifier.split('{').next().unwrap_or_default();
            // Of a template, a host counts that ends before its first variable.
            let host = host_of(fixed).filter(|host| {
                fixed == identifier || fixed.len() > scheme.len() + "://".len() + host.len()
            });
            listed.hosts.extend(host.map(|host| format!("{scheme}://{host}")));
            let folder = fixed.rsplit_once('/').map(|(folder, _)| file_path(folder));
            if let Some(folder) = folder.filter(|folder| scheme == "file" && !folder.is_empty()) {
                listed.folders.insert(format!("{folder}/"));
            }
            listed.schemes.insert(scheme);
        }
        listed
    }

    /// Whether a server of this name that lists these may be asked for a URI that it does not list.
    pub(super) fn may_be_served(&self, uri: &str, server: &str) -> bool {
        let is_plain = |c: char| {
            c.is_ascii_graphic() && !"\\<>\"".contains(c) || !c.is_ascii() && c.is_alphanumeric()
        };
        let scheme = scheme_of(uri).filter(|_| uri.chars().all(is_plain) && !goes_up(uri));
        let Some(scheme) = scheme else { return false };
        if scheme == "file" {
            let path = file_path(uri);
            return is_file_of_this_machine(uri)
                && self.folders.iter().any(|folder| path.starts_with(folder.as_str()));
        }
        let is_named_so = || scheme.len() > 2 && split::identifier(server).contains(&scheme);
        let is_own = self.schemes.contains(&scheme)
            || OF_SERVERS.contains(&scheme.as_str())
            || is_named_so();
        is_own
            && self.leads_to_no_other_host(uri, &scheme)
            && !uri.split(':').any(|part| leads_away(last_word(part)))
    }

    /// Whether a URI names no host, one that is no name of the DNS, or one that the server lists and
    /// nothing else that could name another.
    fn leads_to_no_other_host(&self, uri: &str, scheme: &str) -> bool {
        let decoded = uri.to_ascii_lowercase().replace("%3a", ":").replace("%2f", "/");
        let rest = decoded.split_once(':').map_or("", |(_, rest)| rest);
        if rest.get(2..).is_some_and(|rest| rest.contains("//")) {
            return false;
        }
        match host_of(uri) {
            None => true,
            Some(host) if !host.contains(['.', '@', ':', '%', '[']) => true,
            Some(host) => !uri.contains('?') && self.hosts.contains(&format!("{scheme}://{host}")),
        }
    }
}

/// What stands between `//` and the path, in lower case.
fn host_of(uri: &str) -> Option<String> {
    let (_, rest) = uri.split_once(':')?;
    let host = rest.strip_prefix("//")?.split(['/', '?', '#']).next()?;
    Some(host.to_ascii_lowercase())
}

/// The path of a `file:` URI.
fn file_path(uri: &str) -> &str {
    let path = uri.get("file:".len()..).unwrap_or_default();
    path.strip_prefix("//localhost").or(path.strip_prefix("//")).unwrap_or(path)
}

/// Whether a part of the path is `..`, also escaped: it leads out of what the server lists.
pub(super) fn goes_up(uri: &str) -> bool {
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
    let path = file_path(uri);
    let is_of_kernel = ["/proc", "/sys", "/dev"].iter().any(|root| path.starts_with(root));
    path.starts_with('/') && !path.contains("//") && !path.contains('%') && !is_of_kernel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_may_leave_the_host_open() {
        for (template, scheme) in [
            ("x-Note://{id}", Some("x-note")),
            ("note://a.{id}/b", Some("note")),
            ("https://{host}/x", Some("https")),
            ("note:{+rest}", Some("note")),
            ("note:/{+rest}", Some("note")),
            ("{scheme}://a/b", Some("*")),
            ("note://inbox/{id}", None),
            ("note://inbox?{q}", None),
            ("file:///{path}", None),
            ("note:a{rest}", None),
            ("note://inbox", None),
        ] {
            assert_eq!(scheme_with_open_authority(template).as_deref(), scheme, "{template}");
        }
    }

    #[test]
    fn an_unlisted_uri_leads_nowhere_else() {
        let listed = [
            "NOTE://a",
            "file:///data/x",
            "a.b-c:{d}",
            "page:x",
            "docs://a",
            "smb://x",
            "db://db.corp.example:5432/a/schema",
            "tile://{host}/a",
            "file:///srv/{p}",
            "part://b.example{rest}",
        ];
        let listed = ListedUris::of(listed.into_iter());
        let may_be_served = |uri: &str| listed.may_be_served(uri, "kanban-board");
        for uri in [
            "note://internal/a",
            "NOTE:b",
            "kanban://card/5",
            "ui://widget/a",
            "file:///data/a.txt",
            "note://zürich/ä",
            "a.b-c:d",
            "file:///srv/a/b",
            "db://db.corp.example:5432/b/schema",
            "tile://a/b",
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
            "file:///etc/passwd",
            "file:///srvx",
            "file:///srv/../etc/passwd",
            "db://mallory@evil.example:5432/secret/schema",
            "db://db.corp.example:5432/x?host=evil.example",
            "tile://evil.example/a",
            "part://b.example/a",
            "note://secret.evil.example",
            "note://a?u=https%3A%2F%2Fevil.example",
            "note://a/%2f%2fevil.example",
            // Of a scheme that it does not list.
            "ban://card",
            "board2://card",
            "s3://evil/a",
            "exec:id",
            "dict://evil.example/d:x",
            "",
        ] {
            assert!(!may_be_served(uri), "{uri}");
        }
    }
}
