//! E-mail addresses, URLs and hosts.

use super::{Class, Token, domain};

/// The one host of a single word that is one without a port.
const LOCAL: &str = "localhost";
/// The ports that make a host of a single word: a lower number is more likely a count or a time.
const PORTS: std::ops::RangeInclusive<u32> = 80..=65_535;

/// What ends a piece of text in which a URL may stand.
const OUTSIDE: [char; 5] = ['<', '>', '"', '`', '|'];
/// What ends a host or an address that stands without a scheme.
const INSIDE: [char; 12] = ['(', ')', '{', '}', '[', ']', ',', ';', '\'', '*', '!', '~'];
/// What follows a word and is no part of it.
const TRAILING: [char; 13] = ['.', ',', ';', ':', '!', '?', '\'', ')', ']', '}', '*', '_', '~'];

/// An e-mail address, in lower case. `None` for what is anything else, or more.
#[must_use]
pub fn email(text: &str) -> Option<String> {
    let text = text.strip_prefix("mailto:").unwrap_or(text);
    let (local, host) = text.split_once('@')?;
    let plain = |c: char| c.is_alphanumeric() || "!#$%&*+-/=?^_{}~.".contains(c);
    let host = host.strip_suffix('.').unwrap_or(host);
    let sound = !local.is_empty() && local.chars().all(plain) && domain::is_name(host);
    (sound && text.len() <= 320).then(|| format!("{}@{}", lower(local), lower(host)))
}

/// The host that a text is: a name or an address, perhaps with a port, or a URL of nothing more.
#[must_use]
pub fn host(text: &str) -> Option<String> {
    let text = text.trim();
    let token = match text.contains("://") {
        true => of_url(text),
        false => bare(text),
    };
    token.filter(|token| token.class == Class::Host).map(|token| token.key)
}

/// The URL that a text is, or the host where it is one of nothing more.
#[must_use]
pub fn url(text: &str) -> Option<Token> {
    let text = text.trim();
    if text.contains(|c: char| c.is_whitespace() || OUTSIDE.contains(&c)) {
        return None;
    }
    if text.contains("://") { of_url(text) } else { bare(text) }
}

/// Everything in a text that somebody could be sent to. Wide: what readers of texts may take for
/// an address is one.
pub(super) fn find(text: &str, out: &mut Vec<Token>) {
    let ends = |c: char| c.is_whitespace() || OUTSIDE.contains(&c);
    for piece in text.split(ends).filter(|piece| names_a_place(piece)) {
        let mut rest = piece;
        while let Some(at) = rest.find("://") {
            let start = scheme_start(rest, at);
            plain(rest.get(..start).unwrap_or_default(), out);
            let whole = rest.get(start..).unwrap_or_default().trim_end_matches(TRAILING);
            let key = || Token::new(Class::Url, whole.to_owned());
            out.push(of_url(whole).unwrap_or_else(key));
            rest = rest.get(at.saturating_add(3)..).unwrap_or_default();
            if !rest.contains("://") {
                return;
            }
        }
        plain(rest, out);
    }
}

/// Whether there is anything in a piece of text that the name of a place needs.
fn names_a_place(piece: &str) -> bool {
    piece.contains(['.', '@', '\\', ':', '。', '｡', '/']) || piece.contains(LOCAL)
}

/// Where the scheme begins that ends at this place.
fn scheme_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let plain = |b: &&u8| b.is_ascii_alphanumeric() || b"+-.".contains(b);
    at.saturating_sub(before.iter().rev().take_while(plain).count())
}

/// What stands in a piece of text without a scheme.
fn plain(piece: &str, out: &mut Vec<Token>) {
    for part in piece.split(INSIDE) {
        if let Some(token) = relative(part).or_else(|| internet_6(part)) {
            out.push(token);
            continue;
        }
        let part = part.trim_end_matches(TRAILING).trim_start_matches(['.', ':', '-', '=', '_']);
        if part.contains('@') {
            at(part, out);
        } else if let Some(token) = bare(part) {
            out.push(token);
        } else if let Some(unc) = part.strip_prefix("\\\\") {
            let host = unc.split(['\\', '/']).next().unwrap_or_default();
            out.push(Token::new(Class::Host, lower(host)));
        } else {
            let inner = part.split(['/', '\\', '?', '=', '&', '#', ':']);
            out.extend(inner.filter(|inner| inner.len() < part.len()).filter_map(bare));
        }
    }
}

/// What stands around an `@`.
fn at(part: &str, out: &mut Vec<Token>) {
    let whole = part.strip_prefix("mailto:").unwrap_or(part);
    let whole = match whole.rsplit_once('@').and_then(|(_, host)| domain::before_a_sentence(host)) {
        // The next sentence, without a blank before it.
        Some(host) => host_end(whole, host),
        None => whole,
    };
    if let Some(key) = email(whole) {
        out.push(Token::new(Class::Email, key));
        return;
    }
    for inner in whole.split(['?', '=', '&', '/', ':', '\\']) {
        if let Some(key) = email(inner) {
            out.push(Token::new(Class::Email, key));
        } else if let Some((_, host)) = inner.rsplit_once('@') {
            // A mention of somebody is no address.
            if domain::is_host(host) {
                out.push(Token::new(Class::Email, lower(inner)));
            }
        } else {
            out.extend(bare(inner));
        }
    }
}

/// A URL that takes its scheme from where it stands, as in `//host/path`. Its host may be one word.
fn relative(part: &str) -> Option<Token> {
    let rest = part.strip_prefix("//")?;
    let rest = rest.trim_end_matches(TRAILING);
    let host =
        rest.split(['/', '?', '#', ':', '\\']).next().filter(|host| domain::is_name(host))?;
    (!host.is_empty()).then(|| keyed("", rest))
}

/// An address of the sixth version of the Internet protocol, in its shortest form.
fn internet_6(part: &str) -> Option<Token> {
    let part = part.trim_end_matches(['.', ',', ';']);
    let digits = part.contains(|c: char| c.is_ascii_digit());
    let address = part.parse::<std::net::Ipv6Addr>().ok().filter(|_| digits)?;
    Some(Token::new(Class::Host, address.to_string()))
}

/// A host of one word, or of few numbers, with a port, as in `intranet:8080/path`; or this machine.
fn with_port(host: &str, rest: &str) -> bool {
    let port = rest.strip_prefix(':').and_then(|rest| rest.split(['/', '?', '#']).next());
    let port = port.and_then(|port| port.parse().ok()).filter(|port| PORTS.contains(port));
    let written = host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b));
    // A word of prose before a colon is written with a capital letter as often as not.
    let low = host.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let times = host.bytes().all(|b| b.is_ascii_digit());
    host == LOCAL || port.is_some() && written && low && !times && domain::is_name(host)
}

/// The text up to the end of this part of it.
fn host_end<'t>(text: &'t str, host: &str) -> &'t str {
    let start = text.rfind('@').map_or(0, |at| at.saturating_add(1));
    text.get(..start.saturating_add(host.len())).unwrap_or(text)
}

/// A host or URL without a scheme.
fn bare(text: &str) -> Option<Token> {
    let end = text.find(['/', '?', '#', ':']).unwrap_or(text.len());
    let (host, rest) = text.split_at_checked(end)?;
    if with_port(host, rest) {
        return Some(keyed("", text));
    }
    if !domain::is_host(host) {
        let host = domain::before_a_sentence(host)?;
        return Some(Token::new(Class::Host, lower(host)));
    }
    let port = rest.strip_prefix(':').and_then(|rest| rest.split(['/', '?', '#']).next());
    if port.is_some_and(|port| port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit())) {
        return Some(Token::new(Class::Host, lower(host)));
    }
    Some(keyed("", text))
}

fn of_url(text: &str) -> Option<Token> {
    let (scheme, rest) = text.split_once("://")?;
    let named = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    if scheme.is_empty() || !named || rest.is_empty() {
        return None;
    }
    let scheme = lower(scheme);
    Some(keyed(if matches!(scheme.as_str(), "http" | "https") { "" } else { &scheme }, rest))
}

/// The form in which URLs are compared: the whole of it but for `http` and `https`, the fragment
/// and a lone slash. Where nothing follows the host, it is a host.
fn keyed(scheme: &str, rest: &str) -> Token {
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let authority = lower(authority);
    let port = if scheme.is_empty() { [":443", ":80"].as_slice() } else { &[] };
    let cut = port.iter().find_map(|port| authority.strip_suffix(port)).unwrap_or(&authority);
    let cut = cut.strip_suffix('.').unwrap_or(cut);
    let path = if path == "/" { "" } else { path };
    if scheme.is_empty() && path.is_empty() && !cut.contains('@') {
        return Token::new(Class::Host, cut);
    }
    let mark = if scheme.is_empty() { "" } else { "://" };
    Token::new(Class::Url, format!("{scheme}{mark}{cut}{path}"))
}

fn lower(text: &str) -> String {
    text.replace(['。', '｡'], ".").to_lowercase()
}
