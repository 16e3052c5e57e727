//! Which resources a server may be asked for that it neither lists nor has a template for.
//!
//! Servers hand URIs to libraries, which fetch what they are told in many spellings: `h\\ttps:` and
//! `URL:https:` among them. So only a URI that every reader takes for one is passed on, and none that
//! leads to a host.

/// Schemes that lead to a host, or to another URI in them.
const LEADING_AWAY: [&str; 25] = [
    "http", "https", "ftp", "ftps", "sftp", "ws", "wss", "smb", "cifs", "nfs", "git", "ssh", "svn",
    "ldap", "ldaps", "gopher", "telnet", "tftp", "dav", "davs", "url", "jar", "view-source",
    "javascript", "data",
];

/// Whether a server may be asked for a URI that it does not list.
pub(super) fn may_be_served(uri: &str) -> bool {
    let is_plain = |c: char| {
        c.is_ascii_graphic() && !"\\<>\"".contains(c) || !c.is_ascii() && c.is_alphanumeric()
    };
    let Some((scheme, rest)) = uri.split_once(':').filter(|_| uri.chars().all(is_plain)) else {
        return false;
    };
    if scheme.eq_ignore_ascii_case("file") {
        return is_of_this_machine(uri);
    }
    // RFC 3986, section 3.1, without the `+` of `git+ssh`.
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    is_scheme && !leads_away(scheme) && !rest.split(':').any(|part| leads_away(last_word(part)))
}

fn leads_away(scheme: &str) -> bool {
    LEADING_AWAY.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// The letters, digits and hyphens at the end of a text.
fn last_word(text: &str) -> &str {
    text.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap_or_default()
}

/// Whether a `file:` URI has no host but this machine, and no reader could take a part of it for one.
fn is_of_this_machine(uri: &str) -> bool {
    let path = uri.get("file:".len()..).unwrap_or_default();
    let path = path.strip_prefix("//localhost").or(path.strip_prefix("//")).unwrap_or(path);
    path.starts_with('/') && !path.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlisted_uri_leads_nowhere_else() {
        for uri in
            ["note://internal/a", "NOTE:b", "file:///data/a.txt", "note://zürich/ä", "a.b-c:d"]
        {
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
            "",
        ] {
            assert!(!may_be_served(uri), "{uri}");
        }
    }
}
