//! Trusted destinations: hosts from which a run may read even after it has taken in untrusted data.
//!
//! A URL that somebody else chose can leak the run's data to its host. The signer of the policy may
//! list hosts at which that does no harm, such as this machine or services where nobody untrusted
//! can see the requests. This is an egress allowlist, and it applies to reads only.

mod of_arguments;

use std::fmt;

use serde::{Serialize, Serializer};

use crate::argument::{is_listed, path};

/// The longest host name of the DNS, in bytes (RFC 1035, section 2.3.4).
const MAX_HOST: usize = 253;

/// A host, all hosts below a domain, or either at one port: `localhost`, `docs.rs`,
/// `*.example.org`, `[::1]`, `localhost:8080`.
///
/// ```
/// use weaver_policy::TrustedDestination;
///
/// let docs = TrustedDestination::parse("*.docs.rs")?;
/// assert!(docs.covers("https://static.docs.rs/a?b=c"));
/// assert!(!docs.covers("https://docs.rs.evil.example/a"));
/// # Ok::<(), weaver_policy::DestinationError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrustedDestination {
    host: String,
    /// Whether it covers the subdomains of `host`, and not `host` itself.
    subdomains_only: bool,
    port: Option<u16>,
}

/// Why a text is not a valid destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DestinationError {
    /// It is not a host.
    #[error("`{text}` is not a host")]
    NotAHost {
        /// The text, truncated.
        text: String,
    },
    /// It covers a whole top-level domain or address range, with hosts of many owners.
    #[error("`{text}` covers hosts of many owners")]
    TooWide {
        /// The text, truncated.
        text: String,
    },
}

impl TrustedDestination {
    /// Parses a destination.
    ///
    /// # Errors
    /// [`DestinationError`], also for `*` and for `*.` before a single label, as in `*.com`.
    pub fn parse(text: &str) -> Result<Self, DestinationError> {
        let excerpt =
            || weaver_text::escape::line(&text.chars().take(80).collect::<String>()).into();
        let (subdomains_only, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let Some(UrlAuthority { host, port }) = UrlAuthority::parse(rest) else {
            return Err(DestinationError::NotAHost { text: excerpt() });
        };
        if host.ends_with('.') {
            return Err(DestinationError::NotAHost { text: excerpt() });
        }
        let named = host.bytes().any(|byte| byte.is_ascii_alphabetic()) && !host.starts_with('[');
        if subdomains_only && !(named && host.contains('.')) {
            return Err(DestinationError::TooWide { text: excerpt() });
        }
        Ok(Self { host: host.to_ascii_lowercase(), subdomains_only, port })
    }

    /// Whether the destination covers a URL. It must be a plain `http` or `https` URL that every
    /// parser reads alike: without user information, backslashes, spaces or control characters.
    /// `localhost` also covers files of this machine, `file:///path`, which no host is asked for.
    #[must_use]
    pub fn covers(&self, url: &str) -> bool {
        if is_local_file(url) {
            return self.host == "localhost" && !self.subdomains_only && self.port.is_none();
        }
        let Some(found) = UrlAuthority::from_url(url) else { return false };
        let at_port = self.port.is_none_or(|port| found.port == Some(port));
        at_port && self.is_host(&found.host.to_ascii_lowercase())
    }

    fn is_host(&self, host: &str) -> bool {
        if !self.subdomains_only {
            return host == self.host;
        }
        // No label of a host is empty, so there is a subdomain before the dot.
        host.strip_suffix(&self.host).is_some_and(|above| above.ends_with('.'))
    }
}

impl fmt::Display for TrustedDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subdomains_only = if self.subdomains_only { "*." } else { "" };
        write!(f, "{subdomains_only}{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl Serialize for TrustedDestination {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Host and port of a URL (RFC 3986, section 3.2), without user information.
pub(crate) struct UrlAuthority<'a> {
    pub(crate) host: &'a str,
    port: Option<u16>,
}

impl<'a> UrlAuthority<'a> {
    pub(crate) fn from_url(url: &'a str) -> Option<Self> {
        let plain = url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let (scheme, rest) = url.split_once("://").filter(|_| plain)?;
        let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let authority = rest.split(['/', '?', '#']).next().filter(|_| web)?;
        Self::parse(authority)
    }

    /// Parses what every reader takes for the same host and port. The host may end with the dot of the
    /// root.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let end = if text.starts_with('[') {
            text.find(']')? + 1
        } else {
            text.find(':').unwrap_or(text.len())
        };
        let (host, rest) = text.split_at_checked(end)?;
        let port = match rest.strip_prefix(':') {
            Some(digits) if digits.len() <= 5 && digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            None if rest.is_empty() => None,
            _ => return None,
        };
        is_host(host.strip_suffix('.').unwrap_or(host)).then_some(Self { host, port })
    }
}

/// Whether a URL names a file of this machine, which no host is asked for. What some systems read as
/// the host of a share, after more slashes or backslashes, is none.
pub(crate) fn is_local_file(url: &str) -> bool {
    path::local_file_path(url).is_some()
}

/// Whether a URL is its own content (RFC 2397, `data:text/plain,a`).
pub(crate) fn is_data(url: &str) -> bool {
    let is_data =
        url.split_at_checked(5).is_some_and(|(head, _)| head.eq_ignore_ascii_case("data:"));
    is_data && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

/// Whether a URL is an absolute path (RFC 3986, section 4.2), which leads to wherever the tool leads
/// anyway: `/calendars/anna/`. Programs that put `https://` before it take its first part for a host, so
/// that must not be one that anybody could own.
pub(crate) fn is_absolute_path(url: &str) -> bool {
    // What servers of calendars and files begin with: `/remote.php/dav/`. None is a top-level domain.
    const PROGRAMS: [&str; 5] = [".php", ".aspx", ".asp", ".jsp", ".cgi"];
    let Some(rest) = url.strip_prefix('/') else { return false };
    let first = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = PROGRAMS.iter().find_map(|ending| first.strip_suffix(ending)).unwrap_or(first);
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && !url.contains("//")
        && is_local_file(&format!("file:{url}"))
}

/// Whether a local file or a `data:` URL holds what no program runs when it opens it: no page, drawing
/// or document that may contain a script, which could send anything anywhere.
pub(crate) fn is_inert(url: &str) -> bool {
    const ENDINGS: &str = "\
        txt csv tsv json jsonl log md yaml yml png jpg jpeg gif webp bmp pdf mp3 mp4 wav zip docx \
        xlsx pptx odt ods epub rtf eml ics vcf";
    const TYPES: [&str; 9] = [
        "text/plain", "text/csv", "application/json", "application/pdf", "image/png", "image/jpeg",
        "image/gif", "image/webp", "image/bmp",
    ];
    if let Some((head, rest)) = url.split_at_checked(5)
        && head.eq_ignore_ascii_case("data:")
    {
        let kind = rest.split([',', ';']).next().unwrap_or_default().to_ascii_lowercase();
        return kind.is_empty() || TYPES.contains(&kind.as_str());
    }
    let name = url.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| is_listed(&ending, &[ENDINGS]))
}

/// Whether a text is a host name or an IP address.
pub(crate) fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let label = |label: &str| {
        let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        plain && (1..=63).contains(&label.len())
    };
    host.len() <= MAX_HOST && host.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_url_of_the_host_is_covered() {
        for (destination, url, covered) in [
            ("localhost", "http://localhost", true),
            ("localhost", "HTTP://LocalHost:3000/a?b=c#d", true),
            ("localhost", "http://localhost.evil.example/", false),
            ("localhost", "http://evil.example/localhost", false),
            ("localhost", "http://localhost@evil.example/", false),
            ("localhost", "http://localhost:80@evil.example/", false),
            ("localhost", "http://localhost:@evil.example/", false),
            ("localhost", "http://localhost\\@evil.example/", false),
            ("localhost", "http://localhost\t.evil.example/", false),
            ("localhost", "http://localhost /", false),
            ("localhost", " http://localhost/", false),
            ("localhost", "http:/localhost/", false),
            ("localhost", "http:///localhost/", false),
            ("localhost", "ftp://localhost/", false),
            ("localhost", "file://localhost/etc/passwd", true),
            ("localhost", "file:/etc/passwd", true),
            ("localhost", "file:///home/ana/r%20%C3%A9.docx", true),
            ("localhost", "file:///home/%2e%2e/r.docx", false),
            ("localhost", "file:r.docx", false),
            ("localhost", "file:///home/ana/r.docx", true),
            ("localhost", "FILE:///C:/Users/ana/r.docx", true),
            ("localhost", "file:////evil.example/share/a", false),
            ("localhost", "file:///%5C%5Cevil.example/share/a", false),
            ("localhost", "file:///\\evil.example\\a", false),
            ("localhost", "file://evil.example/a", false),
            ("localhost", "file:///", false),
            ("localhost:8080", "file:///home/ana/r.docx", false),
            ("127.0.0.1", "file:///home/ana/r.docx", false),
            ("localhost", "javascript:fetch('http://localhost/')", false),
            ("localhost", "http://localhost\u{2215}evil.example/", false),
            ("localhost", "http://localhost%2eevil.example/", false),
            ("localhost", "http://localhost./", false),
            ("localhost", "http://localhost/a b", false),
            ("localhost", "http://localhost/a\\b", false),
            ("localhost", "http://localhost/\u{e9}", false),
            ("127.0.0.1", "http://127.0.0.1:8080/", true),
            ("127.0.0.1", "http://127.0.0.1.nip.io/", false),
            ("127.0.0.1", "http://127.1/", false),
            ("[::1]", "http://[::1]:8080/", true),
            ("[::1]", "http://[::1].evil.example/", false),
            ("[::1]", "http://[::2]/", false),
            ("localhost:8080", "http://localhost:8080/", true),
            ("localhost:8080", "http://localhost/", false),
            ("localhost:8080", "http://localhost:80800/", false),
            ("docs.rs", "https://docs.rs/serde?x=@evil", true),
            ("docs.rs", "https://static.docs.rs/", false),
            ("docs.rs", "https://docs.rs.evil.example/", false),
            ("docs.rs", "https://mydocs.rs/", false),
            ("*.docs.rs", "https://static.docs.rs/", true),
            ("*.docs.rs", "https://a.b.docs.rs/", true),
            ("*.docs.rs", "https://docs.rs/", false),
            ("*.docs.rs", "https://.docs.rs/", false),
            ("*.docs.rs", "https://mydocs.rs/", false),
        ] {
            let one = TrustedDestination::parse(destination).unwrap();
            assert_eq!(one.covers(url), covered, "{destination} {url}");
            assert_eq!(one.to_string(), destination);
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "", "*", "*.", "*.com", "*.localhost", "*.[::1]", "*.10.0.0.1", "http://docs.rs",
            "docs.rs/", "a b", "a..b", ".docs.rs", "docs.rs:", "docs.rs:http", "docs.rs:99999",
            "docs.rs:+80", "user@docs.rs", "[::1", "[docs.rs]", "a*.docs.rs", "döcs.rs",
        ] {
            assert!(TrustedDestination::parse(text).is_err(), "{text}");
        }
    }
}
