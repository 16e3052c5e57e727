//! Parses the host of a URL so strictly that no other parser can find a different one.
//!
//! URL parsers disagree on spaces, backslashes, credentials and non-ASCII letters. An attacker can
//! use the disagreement: the policy sees one host, and the tool connects to another (Tsai, *A New
//! Era of SSRF*, 2017). Only texts that all parsers read alike therefore have a host here; every
//! other text matches no domain.
//!
//! A scheme under which a tool reads a file or runs a script (`file:`, `javascript:`) or speaks
//! another protocol to the host (`gopher:`) says nothing by its host, so the schemes are a list too.

use crate::destination::{UrlAuthority, is_host};

/// The schemes of URLs that have a host.
const SCHEMES: [&str; 9] = ["http", "https", "ws", "wss", "ftp", "ftps", "sftp", "ssh", "git"];

/// Whether the text is a host name that matches one of these entries, or a URL or a mail address
/// whose host does.
pub(super) fn matches_any_domain(text: &str, entries: &[String]) -> bool {
    parse_host(text).is_some_and(|host| entries.iter().any(|entry| entry_matches(entry, &host)))
}

/// Whether a text is a valid entry of `domains`: a host, or `*.` and a host name.
pub(super) fn is_domain_entry(entry: &str) -> bool {
    match entry.strip_prefix("*.") {
        Some(rest) => {
            is_host(rest)
                && !rest.starts_with('[')
                && !entry.bytes().any(|b| b.is_ascii_uppercase())
        }
        None => parse_host(entry).is_some_and(|host| host == entry),
    }
}

fn entry_matches(entry: &str, host: &str) -> bool {
    match entry.strip_prefix("*.") {
        // No label of a host is empty, so there is a subdomain before the dot.
        Some(parent) => host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.')),
        None => entry == host,
    }
}

/// The host in lower case, without a final dot. `None` for a text that is neither a URL with a known
/// scheme and `://`, nor a host with an optional port, nor one mail address; and for any text with
/// something that parsers disagree on: spaces, control characters, backslashes, credentials or
/// non-ASCII letters.
fn parse_host(text: &str) -> Option<String> {
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return None;
    }
    let authority = match text.split_once("://") {
        Some((scheme, rest)) => {
            if !SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
                return None;
            }
            rest.split(['/', '?', '#']).next()?
        }
        None => match text.split_once('@') {
            // Whoever takes it for a URL without a scheme goes to the same host.
            Some((mailbox, domain)) => {
                let is_address = is_mailbox(mailbox) && is_host(domain) && !domain.starts_with('[');
                return is_address.then(|| domain.to_ascii_lowercase());
            }
            None => text,
        },
    };
    let host = UrlAuthority::parse(authority)?.host;
    Some(host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase())
}

/// Whether it is the part of a mail address before the `@`, of characters that neither part a list
/// nor route the mail elsewhere.
fn is_mailbox(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._+-".contains(&b);
    !text.is_empty() && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_read_from_urls_and_names() {
        let table = [
            ("https://Example.com/a?b#c", "example.com"),
            ("https://example.com", "example.com"),
            ("https://example.com.:8443/", "example.com"),
            ("example.com:80", "example.com"),
            ("http://[::1]:80/x", "[::1]"),
            ("wss://a_b.example.com?x=https://other.org", "a_b.example.com"),
        ];
        for (text, host) in table {
            assert_eq!(parse_host(text).as_deref(), Some(host), "{text}");
        }
    }

    #[test]
    fn what_readers_disagree_about_has_no_host() {
        let texts = [
            "",
            "https://",
            "https:example.com",
            "//example.com",
            "https://a@example.com/",
            "https://evil.org\\@example.com",
            "https://example.com\t",
            " example.com",
            "https://exämple.com",
            "https://example.com:port/",
            "https://example.com:/",
            "https://exam%70le.com",
            "example.com/path",
            "https://.example.com",
            "a..b",
            "https://example.com..",
            "1http://example.com",
            "https://[::1",
            "http://[x]/",
            "https://example.com:99999",
            "mailto:a@example.com",
            "javascript://example.com\n",
            "https://example.com/a b",
            "https://example.com/a\u{7f}",
            "https://example.com/a\\b",
            "https://example.com:+80",
            "https://example.com:000080",
            "https://example.com:65536",
            "http://[]/",
            "http://[::1]:+80/",
            "http://[::1]80/",
        ];
        for text in texts {
            assert_eq!(parse_host(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_host_and_its_labels_have_a_greatest_length() {
        let label = "a".repeat(63);
        let most = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        assert_eq!(parse_host(&most), Some(most.clone()));
        assert_eq!(parse_host(&format!("{most}a")), None);
        assert_eq!(parse_host(&format!("{label}.com")), Some(format!("{label}.com")));
        assert_eq!(parse_host(&format!("{label}a.com")), None);
        assert_eq!(parse_host("a.com:65535").as_deref(), Some("a.com"));
    }

    #[test]
    fn a_star_stands_for_names_below() {
        let entries = ["example.com".to_owned(), "*.example.org".to_owned()];
        for text in ["example.com", "https://a.example.org", "https://a.b.example.org/"] {
            assert!(matches_any_domain(text, &entries), "{text}");
        }
        for text in [
            "example.org", "a.example.com", "badexample.org", "example.org.evil.net",
            ".example.org",
        ] {
            assert!(!matches_any_domain(text, &entries), "{text}");
        }
    }

    #[test]
    fn entries_are_plain_names() {
        assert!(
            is_domain_entry("example.com")
                && is_domain_entry("*.example.com")
                && is_domain_entry("[::1]")
        );
        assert!(is_domain_entry("localhost") && is_domain_entry("127.0.0.1"));
        for entry in ["*", "*.", "Example.com", "https://a.b", "a.b:80", "a.*.b", "a.b.", "*.A.b"] {
            assert!(!is_domain_entry(entry), "{entry}");
        }
    }

    #[test]
    fn only_a_scheme_whose_tools_go_to_the_host_has_one() {
        for text in ["http://a.b/x", "HTTPS://a.b", "wss://a.b", "ssh://a.b/x.git", "git://a.b"] {
            assert_eq!(parse_host(text).as_deref(), Some("a.b"), "{text}");
        }
        for text in [
            "file://localhost/etc/passwd",
            "FILE://a.b/etc/passwd",
            "netdoc://a.b/etc/passwd",
            "javascript://a.b/%0aalert(1)",
            "data://a.b/,x",
            "view-source://a.b",
            "x+y://a.b",
            "gopher://localhost:6379/_FLUSHALL",
            "dict://localhost:11211/x",
            "ldap://a.b/x",
        ] {
            assert_eq!(parse_host(text), None, "{text}");
        }
    }

    #[test]
    fn one_plain_mail_address_has_the_host_of_its_domain() {
        for text in ["ana@example.com", "A.b_c+d-1@EXAMPLE.com"] {
            assert_eq!(parse_host(text).as_deref(), Some("example.com"), "{text}");
        }
        for text in [
            "evil@evil.org,a@example.com",
            "evil@evil.org;a@example.com",
            "evil@evil.org a@example.com",
            "evil@evil.org\n@example.com",
            "evil@evil.org\r\nBcc: x@example.com",
            "<evil@evil.org>a@example.com",
            "\"evil@evil.org\"@example.com",
            "evil%evil.org@example.com",
            "evil!x@example.com",
            "a@evil.org#@example.com",
            "@example.com",
            "a@",
            "a@example.com:80",
            "a@[::1]",
            "mailto:a@example.com",
            "a:b@example.com",
            "\u{e4}@example.com",
            "evil,a@example.com",
        ] {
            assert_eq!(parse_host(text), None, "{text:?}");
        }
    }
}
