//! Extracts e-mail addresses, URLs and hosts.

use super::code_name::{self, Surroundings};
use super::{ValueClass, ValueToken, domain};

/// The only single-word host that needs no port.
const LOCALHOST: &str = "localhost";
/// Ports that make a single word a host: a lower number is more likely a count or a time.
const PORTS: std::ops::RangeInclusive<u32> = 80..=65_535;

/// Characters, besides white space, that end a piece of text with a URL.
const PIECE_ENDS: [char; 5] = ['<', '>', '"', '`', '|'];
/// Characters that end a host or an address without a scheme.
const HOST_ENDS: [char; 12] = ['(', ')', '{', '}', '[', ']', ',', ';', '\'', '*', '!', '~'];
/// How many URLs inside each other are read. Each of them goes on to the end of the outer one.
const MAX_NESTED_URLS: usize = 16;
/// Punctuation after an address that is not part of it.
const TRAILING: [char; 13] = ['.', ',', ';', ':', '!', '?', '\'', ')', ']', '}', '*', '_', '~'];

/// Parses an e-mail address, to lower case. `None` if the text is anything else.
#[must_use]
pub fn email(text: &str) -> Option<String> {
    let text = text.strip_prefix("mailto:").unwrap_or(text);
    let (local, host) = text.split_once('@')?;
    let plain = |c: char| c.is_alphanumeric() || "!#$%&*+-/=?^_{}~.".contains(c);
    let host = host.strip_suffix('.').unwrap_or(host);
    let sound = !local.is_empty() && local.chars().all(plain) && domain::is_name(host);
    (sound && text.len() <= 320).then(|| format!("{}@{}", lower(local), lower(host)))
}

/// Parses a host: a name or an address, also with a port or as a URL without a path.
#[must_use]
pub fn host(text: &str) -> Option<String> {
    let text = text.trim();
    let token = match text.contains("://") {
        true => parse_url(text),
        false => without_scheme(text),
    };
    token.filter(|token| token.class == ValueClass::Host).map(|token| token.key)
}

/// Parses a URL. The result is a host if the URL has no path.
#[must_use]
pub fn url(text: &str) -> Option<ValueToken> {
    let text = text.trim();
    if text.contains(|c: char| c.is_whitespace() || PIECE_ENDS.contains(&c)) {
        return None;
    }
    if text.contains("://") { parse_url(text) } else { without_scheme(text) }
}

/// Appends every address in a text. Lenient: anything that a reader may take for an address counts.
/// Names of files and of code are left out if `skips_code`. False if some were not read.
pub(super) fn find(text: &str, skips_code: bool, out: &mut Vec<ValueToken>) -> bool {
    let mut complete = true;
    let ends = |c: char| c.is_whitespace() || PIECE_ENDS.contains(&c);
    let (mut rest, mut word_before, mut mark_before) = (text, "", None);
    while !rest.is_empty() {
        let (piece, tail) =
            rest.split_at_checked(rest.find(ends).unwrap_or(rest.len())).unwrap_or((rest, ""));
        let mark = tail.chars().next();
        if may_hold_address(piece) {
            let is_code = mark_before == Some('`') && mark == Some('`');
            let around = Surroundings { word_before, is_code, ..Surroundings::default() };
            complete &= find_in_piece(piece, around, skips_code, out);
        }
        if !piece.is_empty() {
            word_before = piece;
        }
        mark_before = mark;
        rest = tail.get(mark.map_or(0, char::len_utf8)..).unwrap_or_default();
    }
    complete
}

/// Appends the addresses in a piece of text without white space. False if it has too many URLs
/// inside each other.
fn find_in_piece(
    piece: &str,
    around: Surroundings<'_>,
    skips_code: bool,
    out: &mut Vec<ValueToken>,
) -> bool {
    let mut rest = piece;
    for _ in 0..MAX_NESTED_URLS {
        let Some(at) = rest.find("://") else {
            // What follows a scheme was read with its URL.
            if rest.len() == piece.len() {
                push_schemeless(rest, around, skips_code, out);
            }
            return true;
        };
        let start = scheme_start(rest, at);
        push_schemeless(rest.get(..start).unwrap_or_default(), around, false, out);
        let whole = rest.get(start..).unwrap_or_default().trim_end_matches(TRAILING);
        let key = || ValueToken::new(ValueClass::Url, whole.to_owned());
        out.push(parse_url(whole).unwrap_or_else(key));
        rest = rest.get(at.saturating_add(3)..).unwrap_or_default();
    }
    !rest.contains("://")
}

/// Whether a piece of text has a character that an address needs, or names `localhost`.
fn may_hold_address(piece: &str) -> bool {
    piece.contains(['.', '@', '\\', ':', '。', '｡', '/']) || piece.contains(LOCALHOST)
}

/// The start of the scheme that ends at `at`.
fn scheme_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let plain = |b: &&u8| b.is_ascii_alphanumeric() || b"+-.".contains(b);
    at.saturating_sub(before.iter().rev().take_while(plain).count())
}

/// Appends the addresses in a piece of text without a scheme.
fn push_schemeless(
    piece: &str,
    around: Surroundings<'_>,
    skips_code: bool,
    out: &mut Vec<ValueToken>,
) {
    let mut rest = Some(piece);
    while let Some(text) = rest {
        let (part, tail) =
            text.split_at_checked(text.find(HOST_ENDS).unwrap_or(text.len())).unwrap_or((text, ""));
        let next = tail.chars().next();
        rest = next.and_then(|next| tail.get(next.len_utf8()..));
        push_part(part, Surroundings { next, ..around }, skips_code, out);
    }
}

/// Appends the addresses in a part of a piece.
fn push_part(part: &str, around: Surroundings<'_>, skips_code: bool, out: &mut Vec<ValueToken>) {
    if let Some(token) = relative(part).or_else(|| ipv6(part)) {
        out.push(token);
        return;
    }
    let part = part.trim_end_matches(TRAILING).trim_start_matches(['.', ':', '-', '=', '_']);
    if part.contains('@') {
        push_around_at(part, out);
    } else if let Some(token) = without_scheme(part) {
        let bare = !part.contains(['/', '?', '#', ':', '\\']);
        if !(skips_code && bare && code_name::is_code_name(part, around)) {
            out.push(token);
        }
    } else if let Some(unc) = part.strip_prefix("\\\\") {
        let host = unc.split(['\\', '/']).next().unwrap_or_default();
        out.push(ValueToken::new(ValueClass::Host, lower(host)));
    } else {
        let separators = ['/', '\\', '?', '=', '&', '#', ':'];
        let mut path = part;
        while let Some(inner) =
            path.split(separators).next().filter(|inner| inner.len() < part.len())
        {
            let end = inner.len() == path.len();
            let before = part.get(..part.len().saturating_sub(path.len())).unwrap_or_default();
            let ends_path =
                end && before.ends_with(['/', '\\']) && !before.contains(['?', '=', '#']);
            let around = Surroundings { ends_path, ..around };
            if !(skips_code && ends_path && code_name::is_code_name(inner, around)) {
                out.extend(without_scheme(inner));
            }
            if end {
                break;
            }
            path = path.get(inner.len().saturating_add(1)..).unwrap_or_default();
        }
    }
}

/// Appends the addresses in a part with an `@`.
fn push_around_at(part: &str, out: &mut Vec<ValueToken>) {
    let whole = part.strip_prefix("mailto:").unwrap_or(part);
    let whole =
        match whole.rsplit_once('@').and_then(|(_, host)| domain::host_before_sentence(host)) {
            // The next sentence follows without a blank.
            Some(host) => host_end(whole, host),
            None => whole,
        };
    if let Some(key) = email(whole) {
        out.push(ValueToken::new(ValueClass::Email, key));
        return;
    }
    for inner in whole.split(['?', '=', '&', '/', ':', '\\']) {
        if let Some(key) = email(inner) {
            out.push(ValueToken::new(ValueClass::Email, key));
        } else if let Some((_, host)) = inner.rsplit_once('@') {
            // A mention (`@name`) is not an address.
            if domain::is_host(host) {
                out.push(ValueToken::new(ValueClass::Email, lower(inner)));
            }
        } else {
            out.extend(without_scheme(inner));
        }
    }
}

/// Parses a scheme-relative URL (`//host/path`). Its host may be a single word.
fn relative(part: &str) -> Option<ValueToken> {
    let rest = part.strip_prefix("//")?;
    let rest = rest.trim_end_matches(TRAILING);
    let host =
        rest.split(['/', '?', '#', ':', '\\']).next().filter(|host| domain::is_name(host))?;
    (!host.is_empty()).then(|| url_token("", rest))
}

/// Parses an IPv6 address, to its shortest form.
fn ipv6(part: &str) -> Option<ValueToken> {
    let part = part.trim_end_matches(['.', ',', ';']);
    let digits = part.contains(|c: char| c.is_ascii_digit());
    let address = part.parse::<std::net::Ipv6Addr>().ok().filter(|_| digits)?;
    Some(ValueToken::new(ValueClass::Host, address.to_string()))
}

/// Whether this is a host of any name with a port, as in `intranet:8080/path`, or `localhost`.
fn with_port(host: &str, rest: &str) -> bool {
    let port = rest.strip_prefix(':').and_then(|rest| rest.split(['/', '?', '#']).next());
    let port = port.and_then(|port| port.parse().ok()).filter(|port| PORTS.contains(port));
    let written = host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b));
    // A word of prose before a colon often starts with a capital letter.
    let low = host.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let times = host.bytes().all(|b| b.is_ascii_digit());
    host == LOCALHOST || port.is_some() && written && low && !times && domain::is_name(host)
}

/// The text up to the end of `host`, which follows its last `@`.
fn host_end<'t>(text: &'t str, host: &str) -> &'t str {
    let start = text.rfind('@').map_or(0, |at| at.saturating_add(1));
    text.get(..start.saturating_add(host.len())).unwrap_or(text)
}

/// Parses a host or URL without a scheme.
fn without_scheme(text: &str) -> Option<ValueToken> {
    let end = text.find(['/', '?', '#', ':']).unwrap_or(text.len());
    let (host, rest) = text.split_at_checked(end)?;
    if with_port(host, rest) {
        return Some(url_token("", text));
    }
    if !domain::is_host(host) {
        let host = domain::host_before_sentence(host)?;
        return Some(ValueToken::new(ValueClass::Host, lower(host)));
    }
    let port = rest.strip_prefix(':').and_then(|rest| rest.split(['/', '?', '#']).next());
    if port.is_some_and(|port| port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit())) {
        return Some(ValueToken::new(ValueClass::Host, lower(host)));
    }
    Some(url_token("", text))
}

fn parse_url(text: &str) -> Option<ValueToken> {
    let (scheme, rest) = text.split_once("://")?;
    let named = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    if scheme.is_empty() || !named || rest.is_empty() {
        return None;
    }
    let scheme = lower(scheme);
    Some(url_token(if matches!(scheme.as_str(), "http" | "https") { "" } else { &scheme }, rest))
}

/// The canonical form of a URL: without `http` or `https`, default port, fragment and lone slash.
/// The result is a host if nothing follows the host.
fn url_token(scheme: &str, rest: &str) -> ValueToken {
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let authority = lower(authority);
    let port = if scheme.is_empty() { [":443", ":80"].as_slice() } else { &[] };
    let cut = port.iter().find_map(|port| authority.strip_suffix(port)).unwrap_or(&authority);
    let cut = cut.strip_suffix('.').unwrap_or(cut);
    let path = if path == "/" { "" } else { path };
    if scheme.is_empty() && path.is_empty() && !cut.contains('@') {
        return ValueToken::new(ValueClass::Host, cut);
    }
    let mark = if scheme.is_empty() { "" } else { "://" };
    ValueToken::new(ValueClass::Url, format!("{scheme}{mark}{cut}{path}"))
}

fn lower(text: &str) -> String {
    text.replace(['。', '｡'], ".").to_lowercase()
}
