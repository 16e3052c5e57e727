//! Host rules: which hosts a request may go to, compared in one normal form.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;

use super::{OperationError, Refusal};

/// A host that requests may go to: `api.example.com`, `*.example.com` for every name below it,
/// `api.example.com:8443`, `192.0.2.1`, `[2001:db8::1]:8080`. Without a port the rule covers only
/// the default port of the scheme.
///
/// Names are compared in the form in which they are connected to: lower case, ASCII, no trailing
/// dot.
///
/// ```
/// use weaver_drivers::http::HostRule;
///
/// let rule: HostRule = "Bücher.Example.".parse()?;
/// assert_eq!(rule, "xn--bcher-kva.example".parse()?);
/// # Ok::<(), weaver_drivers::http::OperationError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostRule {
    name: String,
    is_wildcard: bool,
    port: Option<u16>,
}

impl HostRule {
    /// The rule for exactly the host of a URL.
    pub(super) fn from_url(url: &Url) -> Option<Self> {
        Some(Self { name: normal_host(url)?, is_wildcard: false, port: url.port() })
    }

    /// Whether the rule allows a request to this URL.
    pub(super) fn admits(&self, url: &Url) -> bool {
        let port = match self.port {
            Some(port) => url.port_or_known_default() == Some(port),
            None => url.port().is_none(),
        };
        let Some(host) = normal_host(url).filter(|_| port) else { return false };
        if !self.is_wildcard {
            return host == self.name;
        }
        host.strip_suffix(&self.name).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_wildcard { "*." } else { "" })?;
        f.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for HostRule {
    type Err = OperationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || OperationError::Host { text: text.escape_debug().take(80).collect() };
        let (is_wildcard, host) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let is_forbidden = |c: char| c.is_control() || c.is_whitespace() || "/\\?#@%*".contains(c);
        if host.is_empty() || host.contains(is_forbidden) {
            return Err(bad());
        }
        let url = Url::parse(&format!("https://{host}/")).map_err(|_| bad())?;
        let name = normal_host(&url).ok_or_else(bad)?;
        if is_wildcard && (!name.contains('.') || ip_literal(&url).is_some()) {
            return Err(bad());
        }
        // `Url::port` is `None` for the default port, so an explicit port is read from the text.
        let written = host.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        Ok(Self {
            name,
            is_wildcard,
            port: url.port().or(written.filter(|_| !host.ends_with(']'))),
        })
    }
}

/// The host of a URL in its normal form.
fn normal_host(url: &Url) -> Option<String> {
    match ip_literal(url) {
        Some(address) => Some(address.to_string()),
        None => {
            let name = url.host_str()?;
            let name = name.strip_suffix('.').unwrap_or(name);
            let legal = !name.is_empty() && !name.ends_with('.');
            legal.then(|| name.to_ascii_lowercase())
        }
    }
}

/// The IP address used as host, however it is written.
pub(crate) fn ip_literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let plain = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    plain.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// Whether the host is this machine, however it is written.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match ip_literal(url) {
        Some(address) => address.is_loopback(),
        None => normal_host(url).is_some_and(|name| name == "localhost"),
    }
}

/// The longest URL that is requested, in bytes.
pub(super) const MAX_URL: usize = 16 * 1024;

/// Parses a complete URL from an argument or a server: `http` or `https`, with a host, without user
/// info. Rejects characters that parsers treat differently.
pub(super) fn parse_url(text: &str) -> Result<Url, Refusal> {
    let is_forbidden = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if text.len() > MAX_URL || text.contains(is_forbidden) {
        return Err(Refusal::Url("it is too long, or holds blanks, controls or backslashes"));
    }
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        lower.starts_with(scheme).then(|| text.get(scheme.len()..).unwrap_or_default())
    });
    let rest = rest.ok_or(Refusal::Scheme)?;
    if rest.starts_with('/') {
        return Err(Refusal::Url("it has no host"));
    }
    let url = Url::parse(text).map_err(|_| Refusal::Url("it is not a URL"))?;
    normalized_url(url)
}

/// Normalises a URL to the form in which it is requested.
pub(super) fn normalized_url(mut url: Url) -> Result<Url, Refusal> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refusal::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::User);
    }
    let name = normal_host(&url).ok_or(Refusal::Url("it has no host"))?;
    if ip_literal(&url).is_none() && url.host_str() != Some(&name) {
        url.set_host(Some(&name)).map_err(|_| Refusal::Url("its host has no normal form"))?;
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(rule: &str, url: &str) -> bool {
        let rule: HostRule = rule.parse().unwrap();
        parse_url(url).is_ok_and(|url| rule.admits(&url))
    }

    #[test]
    fn hosts_are_compared_in_their_normal_form() {
        for (rule, url) in [
            ("api.example.com", "https://API.Example.COM/x"),
            ("api.example.com", "https://api.example.com./x"),
            ("API.example.com.", "https://api.example.com:443/"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
            ("xn--bcher-kva.example", "https://BÜCHER.example/"),
            ("api.example.com", "https://ａｐｉ.example.com/"),
            ("*.example.com", "https://a.b.example.com/"),
            ("example.com:8443", "https://example.com:8443/"),
            ("example.com:443", "https://example.com/"),
            ("127.0.0.1", "http://2130706433/"),
            ("127.0.0.1", "http://0x7f.1/"),
            ("127.0.0.1", "http://0177.0.0.1/"),
            ("127.0.0.1", "http://[::ffff:127.0.0.1]/"),
            ("[::1]:8080", "http://[0:0::1]:8080/"),
        ] {
            assert!(admits(rule, url), "{rule} {url}");
        }
    }

    #[test]
    fn what_only_looks_like_a_host_is_another() {
        for (rule, url) in [
            ("example.com", "https://example.com.evil.net/"),
            ("example.com", "https://evil-example.com/"),
            ("example.com", "https://a.example.com/"),
            ("example.com", "https://example.com:8443/"),
            ("example.com:443", "http://example.com/"),
            ("example.com", "https://example.com@evil.net/"),
            ("example.com", "https://evil.net/example.com"),
            ("example.com", "https://evil.net\\@example.com/"),
            ("example.com", "https://examplе.com/"),
            ("*.example.com", "https://example.com/"),
            ("*.example.com", "https://evilexample.com/"),
            ("*.example.com", "https://.example.com/"),
            ("127.0.0.1", "http://127.0.0.1.nip.io/"),
        ] {
            assert!(!admits(rule, url), "{rule} {url}");
        }
    }

    #[test]
    fn addresses_that_mean_two_things_are_refused() {
        for (url, code) in [
            ("https://user@example.com/", "http.user"),
            ("https://:pass@example.com/", "http.user"),
            ("//example.com/", "http.scheme"),
            ("https:example.com", "http.scheme"),
            ("https:\\\\example.com", "http.url"),
            ("https:///example.com", "http.url"),
            ("file:///etc/passwd", "http.scheme"),
            ("ftp://example.com/", "http.scheme"),
            ("gopher://example.com/", "http.scheme"),
            ("javascript:alert(1)", "http.scheme"),
            (" https://example.com/", "http.url"),
            ("https://exa\tmple.com/", "http.url"),
            ("https://example.com/\r\nX: y", "http.url"),
            ("https://", "http.url"),
            ("https://a..b..", "http.url"),
        ] {
            assert_eq!(parse_url(url).unwrap_err().code(), code, "{url}");
        }
    }

    #[test]
    fn a_rule_is_a_host_and_nothing_more() {
        for bad in
            ["", "*", "*.", "*.com", "a/b", "a@b", "https://a", "a b", "*.127.0.0.1", "a*", "::1"]
        {
            assert_eq!(bad.parse::<HostRule>().unwrap_err().code(), "http.host", "{bad}");
        }
    }
}
