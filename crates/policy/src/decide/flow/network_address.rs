//! Recognises texts that, as a whole, are an address of another machine.
//!
//! A program that is given such a text as a file, an image or a repository contacts the machine, and
//! what stands in the address leaves with the request. So this is lenient: anything that some
//! library takes for an address is one. It differs from [`values::destinations`], which finds
//! addresses within prose, in what it does not need: a top-level domain that anybody can register.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use weaver_text::values;

use super::address_role::AddressRole;
use crate::argument::is_listed;
use crate::argument::path::percent_decoded;
use crate::destination::{self, TrustedDestination};

/// Schemes under which a single word is a host that data can leave to. Under any other scheme a
/// word without a dot may be a part of a name that only the server knows (`note://inbox/1`).
const HOST_SCHEMES: &str = "\
    http https ws wss ftp ftps sftp ssh scp rsync git svn smb cifs nfs ldap ldaps gopher \
    telnet tftp dav davs s3 gs gcs az abfs abfss wasb wasbs hdfs oss r2 dict";
/// Schemes whose `//` many parsers supply or take backslashes for (WHATWG URL, section 4.4).
const SPECIAL_SCHEMES: [&str; 6] = ["http", "https", "ws", "wss", "ftp", "ftps"];
/// Endings of files that follow a dot where a host could stand: `db.sqlite`, `main.rs:12`.
const FILE_ENDINGS: &str = "\
    db sqlite sqlite3 duckdb mdb accdb json jsonl csv tsv txt parquet toml yaml yml xml html \
    css js ts jsx tsx rs py rb go java php sh pl md lua c h";

/// What GDAL reads over a network, behind `/vsi` (<https://gdal.org/user/virtual_file_systems.html>).
const NETWORK_FILE_SYSTEMS: &str = "curl s3 gs az adls oss swift hdfs webhdfs";
/// What several libraries write before a host and a port: `tcp:db.example.org:5432`.
const TRANSPORTS: &str = "tcp tcp4 tcp6 udp ssl tls openssl socks4 socks5 sctp";
/// What several libraries write before the parameters of a connection: `PG:host=db.example.org`.
const CONNECTION_PREFIXES: &str = "pg postgres postgresql mysql mariadb mssql odbc oci gdb mongodb";
/// What Windows writes before the name of another machine where paths are not normalised.
const VERBATIM_SHARES: [&str; 4] = [r"\\?\UNC\", r"\\.\UNC\", "//?/UNC/", "//./UNC/"];

/// Registries of images where nobody but their operator sees which names are asked for.
const PUBLIC_REGISTRIES: &str = "\
    docker.io index.docker.io registry-1.docker.io ghcr.io quay.io gcr.io mcr.microsoft.com \
    registry.k8s.io public.ecr.aws";

/// The lowest port that a name needs to be a host where the argument is not named for one.
const MIN_PORT: u32 = 80;

/// Whether a text is, as a whole, an address of another machine than this one, or a list of such.
/// `is_prose` says that the text may be one for people: then it is an address only if it has no
/// blank in it.
pub(super) fn is_remote(text: &str, role: AddressRole, is_prose: bool) -> bool {
    let text = trimmed(text);
    let (prefix, rest) = text.split_once(':').unwrap_or_default();
    if is_listed(prefix, &[CONNECTION_PREFIXES]) && has_host_parameter(rest) {
        return true;
    }
    if !text.contains(char::is_whitespace) {
        return is_remote_list(&without_hidden(text), role);
    }
    let is_list = matches!(role, AddressRole::Connection | AddressRole::Host);
    if is_prose && !is_list {
        return false;
    }
    let is_unspaced = !text.contains(' ');
    begins_as_url(text)
        || is_unspaced && is_remote_list(&without_hidden(text), role)
        || (is_unspaced || is_list)
            && text.split_whitespace().any(|part| is_remote_list(trimmed(part), role))
}

/// The same for a text without blanks: one item, or several.
fn is_remote_list(text: &str, role: AddressRole) -> bool {
    is_remote_item(text, role)
        || text.contains([',', ';', '|'])
            && text.split([',', ';', '|']).any(|part| is_remote_item(trimmed(part), role))
}

/// The same for one item, as it is and with its escapes decoded.
fn is_remote_item(text: &str, role: AddressRole) -> bool {
    if destination::is_local_file(text) || destination::is_data(text) {
        return false;
    }
    let (decoded, _) = percent_decoded(text);
    let (twice, _) = percent_decoded(&decoded);
    is_remote_as_written(text, role)
        || decoded != text && is_remote_as_written(&decoded, role)
        || twice != decoded && is_remote_as_written(&twice, role)
}

fn is_remote_as_written(text: &str, role: AddressRole) -> bool {
    if let Some(rest) = after_special_scheme(text) {
        return is_remote_authority("http", rest);
    }
    if let Some(at) = text.find("://") {
        let (scheme, rest) = text.split_at_checked(at).unwrap_or_default();
        let rest = rest.get(3..).unwrap_or_default();
        let is_first = is_scheme(scheme) && is_remote_authority(scheme, rest);
        return is_first || is_behind_prefix(text);
    }
    let share = VERBATIM_SHARES.iter().find_map(|prefix| text.strip_prefix(prefix));
    if let Some(rest) = share.or(text.strip_prefix("//")).or(text.strip_prefix("\\\\")) {
        let host = host_of(rest);
        return (host.text.contains('.') || host.has_port)
            && !is_this_machine(host.text)
            && is_host_like(host.text);
    }
    is_after_at(text, role)
        || is_host_with_port(text, role)
        || is_bare_host(text, role)
        || is_remote_path(text)
        || is_behind_prefix(text)
}

/// Whether a text is a path on another machine without a user before it: `host:/path` of scp and NFS,
/// `host::module/path` of rsync. `test_x.py::test_y` is a test in a file.
fn is_remote_path(text: &str) -> bool {
    let host = host_of(text);
    let (_, behind) = text.split_at_checked(host.text.len()).unwrap_or_default();
    let is_module = behind.starts_with("::") && !has_file_ending(host.text);
    let is_host = is_name(host.text, 2)
        || host.text.starts_with('[') && is_host_like(host.text)
        || host.text.parse::<Ipv4Addr>().is_ok();
    (behind.starts_with(":/") || is_module) && is_host && !is_this_machine(host.text)
}

/// Whether an address stands behind what a library writes before it: `/vsicurl/http://…`,
/// `php://filter/resource=http://…`, `tcp:host:80`.
fn is_behind_prefix(text: &str) -> bool {
    // Looked for once, as a text may have very many addresses.
    let bracket = text.find(['{', '(', '<', '[']);
    let is_nested = |(at, _): (usize, &str)| {
        let (before, after) = text.split_at_checked(at).unwrap_or_default();
        let (scheme, rest) = (last_scheme(before), after.get(3..).unwrap_or_default());
        let is_prefixed =
            scheme.len() < before.len() && bracket.is_none_or(|bracket| at <= bracket);
        is_prefixed && is_listed(scheme, &[HOST_SCHEMES]) && is_remote_authority(scheme, rest)
    };
    let is_network_file_system = |step: &str| {
        let name = step.strip_prefix("vsi").unwrap_or_default();
        is_listed(name.strip_suffix("_streaming").unwrap_or(name), &[NETWORK_FILE_SYSTEMS])
    };
    let (prefix, rest) = text.split_once(':').unwrap_or_default();
    text.match_indices("://").any(is_nested)
        || text.starts_with("/vsi") && text.split('/').any(is_network_file_system)
        || is_listed(prefix, &[TRANSPORTS]) && is_host_with_port(rest, AddressRole::Host)
}

/// Whether one of the parameters of a connection is the name of another machine.
fn has_host_parameter(parameters: &str) -> bool {
    parameters.split([' ', ';', ',', '&']).any(|part| {
        let (name, value) = part.split_once('=').unwrap_or_default();
        let host = host_of(value.trim_matches(['"', '\'']));
        is_listed(name, &["host hostaddr server"])
            && (is_name(host.text, 2) || host.text.parse::<Ipv4Addr>().is_ok())
            && !is_this_machine(host.text)
    })
}

/// Whether a text begins with an address, whatever follows behind a blank.
fn begins_as_url(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let has_scheme = first.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    (has_scheme || after_special_scheme(first).is_some())
        && is_remote_as_written(first, AddressRole::Other)
}

/// Whether what is behind the scheme of a URI begins with a host, as far as any reader takes it for one.
pub(super) fn begins_with_host(rest: &str) -> bool {
    is_remote_authority("", percent_decoded(rest).0.trim_start_matches(['/', '\\']))
}

/// Whether a URI has a second address in it, also where it is escaped
/// (`note://https%3A%2F%2Fexample.com`).
pub(super) fn has_address_within(uri: &str) -> bool {
    let mut text = Cow::Borrowed(uri);
    for _ in 0..3 {
        let rest = text.split_once(':').map_or("", |(_, rest)| rest);
        let is_address = |(at, _): (usize, &str)| {
            let (before, after) = rest.split_at_checked(at).unwrap_or_default();
            let scheme = last_scheme(before);
            let after = after.get(1..).unwrap_or_default();
            match after.strip_prefix("//") {
                Some(after) => is_scheme(scheme) && is_remote_authority(scheme, after),
                None => is_special(scheme) && after.starts_with(char::is_alphanumeric),
            }
        };
        if rest.match_indices(':').any(is_address) {
            return true;
        }
        let (decoded, _) = percent_decoded(&text);
        if decoded == text {
            return false;
        }
        text = Cow::Owned(decoded);
    }
    false
}

/// The characters of a scheme at the end of a text.
fn last_scheme(text: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    text.rsplit(|c| !is_plain(c)).next().unwrap_or_default()
}

/// Whether a trusted destination covers an address: a URL of its host, or another address whose host
/// it is (`postgres://user@db.example.org/sales`).
pub(super) fn is_covered(text: &str, destination: &TrustedDestination) -> bool {
    let text = text.trim();
    if destination.covers(text) {
        return true;
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.split_once('@').map_or(authority, |(_, host)| host);
    is_plain && !is_special(scheme) && destination.covers(&format!("http://{host}/"))
}

/// The text without blanks and quotes around it, and without `URL:` before it.
fn trimmed(text: &str) -> &str {
    let is_around = |c: char| c.is_whitespace() || c.is_control() || "<>\"'`".contains(c);
    let text = text.trim_matches(is_around);
    match text.split_at_checked(4) {
        Some((head, rest)) if head.eq_ignore_ascii_case("url:") => rest,
        _ => text,
    }
}

/// The text without what readers of addresses skip: line ends, tabs, and what is not displayed.
fn without_hidden(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| c.is_control() || !values::is_displayed(c.encode_utf8(&mut [0; 4]));
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_hidden(*c)).collect())
}

/// Whether a text before `://` is a scheme, also with others before it (`jdbc:mysql`, `git+ssh`).
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.:_".contains(&b))
}

fn is_special(scheme: &str) -> bool {
    SPECIAL_SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// What follows `http:` and the like, with or without slashes of any kind.
fn after_special_scheme(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(':').filter(|(scheme, _)| is_special(scheme))?;
    let rest = rest.trim_start_matches(['/', '\\']);
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '[').then_some(rest)
}

/// Whether what follows `scheme://` names another machine.
fn is_remote_authority(scheme: &str, rest: &str) -> bool {
    let scheme = scheme.rsplit([':', '+']).next().unwrap_or_default();
    let host = host_of(rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_plain = authority.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_one_reading = is_plain && !(is_special(scheme) && host.has_user);
    if is_this_machine(host.text) && is_one_reading {
        return false;
    }
    let is_network = is_listed(scheme, &[HOST_SCHEMES]);
    is_host_like(host.text)
        && (is_network
            || host.has_port
            || host.has_user
            || host.text.contains(['.', '%', ':'])
            || !host.text.is_ascii())
}

/// Whether a text begins as a host does, and not as a pattern or a placeholder.
fn is_host_like(host: &str) -> bool {
    let is_address = |rest: &str| rest.starts_with(|c: char| c.is_ascii_hexdigit() || c == ':');
    host.starts_with(|c: char| c.is_alphanumeric() || c == '%' || c == '_')
        || host.strip_prefix('[').is_some_and(is_address)
}

struct Host<'t> {
    text: &'t str,
    has_user: bool,
    has_port: bool,
}

/// The host at the beginning of a text, behind user information and before a port.
fn host_of(text: &str) -> Host<'_> {
    let ends = |c: char| matches!(c, '/' | '?' | '#' | '\\' | '"' | '\'') || c.is_whitespace();
    let authority = text.split(ends).next().unwrap_or_default();
    let (has_user, host) = match authority.rsplit_once('@') {
        Some((_, host)) => (true, host),
        None => (false, authority),
    };
    let end = match host.strip_prefix('[').and_then(|rest| rest.find(']')) {
        Some(end) => end + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (text, port) = host.split_at_checked(end).unwrap_or((host, ""));
    Host { text, has_user, has_port: port.len() > 1 }
}

/// Whether a host is this machine, in a spelling that every reader takes for it.
fn is_this_machine(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || bare.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a text has a host after an `@` as a place of data or code has: `git@host:path`,
/// `user:password@host/name`. An e-mail address is none.
fn is_after_at(text: &str, role: AddressRole) -> bool {
    let Some((user, rest)) = text.rsplit_once('@') else { return false };
    let host = host_of(rest);
    let (_, behind) = rest.split_at_checked(host.text.len()).unwrap_or_default();
    let has_password = user.contains(':');
    let is_named = is_name(host.text, 2) || host.text.parse::<Ipv4Addr>().is_ok();
    let is_word = is_name(host.text, 1) && (role != AddressRole::Other || user == "git");
    let is_place = behind.len() > 1 && behind.starts_with(':')
        || has_password && behind.starts_with('/')
        || is_named && matches!(role, AddressRole::Host | AddressRole::Connection);
    !user.is_empty()
        && !user.starts_with("mailto")
        && is_place
        && (is_named || is_word)
        && !is_this_machine(host.text)
}

/// Whether a text is a host and a port, with or without a path.
fn is_host_with_port(text: &str, role: AddressRole) -> bool {
    let host = host_of(text);
    let (_, behind) = text.split_at_checked(host.text.len()).unwrap_or_default();
    let Some(port) = behind.strip_prefix(':') else { return false };
    let digits = port.bytes().take_while(u8::is_ascii_digit).count();
    let end = port.get(digits..).unwrap_or_default();
    let is_port = (1..=5).contains(&digits) && (end.is_empty() || end.starts_with(['/', '?', '#']));
    if !is_port || is_this_machine(host.text) {
        return false;
    }
    if host.text.starts_with('[') || host.text.parse::<Ipv4Addr>().is_ok() {
        return true;
    }
    if matches!(role, AddressRole::Host | AddressRole::Connection) {
        return is_name(host.text, 1);
    }
    // `main.rs:12` is a line of a file, and `meta.size:5` a value.
    let number = port.get(..digits).and_then(|port| port.parse::<u32>().ok()).unwrap_or_default();
    let is_line = end.is_empty() && has_file_ending(host.text);
    is_name(host.text, 2) && !is_line && number >= MIN_PORT
}

/// Whether a text is a host without scheme and port, in an argument for one.
fn is_bare_host(text: &str, role: AddressRole) -> bool {
    let is_path = text.starts_with(['/', '~', '.', '\\']) || text.get(1..3) == Some(":\\");
    let is_host = |part: &str| {
        let part = part.strip_suffix('.').unwrap_or(part);
        let is_number = || {
            part.parse::<Ipv4Addr>().is_ok()
                || part.contains("::") && part.parse::<Ipv6Addr>().is_ok()
        };
        (is_name(part, 2) || is_number()) && !is_this_machine(part)
    };
    if is_path {
        return false;
    }
    let first = text.split(['/', '?', '#', ':']).next().unwrap_or_default();
    match role {
        AddressRole::Other => false,
        AddressRole::Host => [text, first].into_iter().any(|text| {
            // `dig @server name`
            is_host(text.strip_prefix('@').unwrap_or(text))
        }),
        AddressRole::Store if is_listed(first, &[PUBLIC_REGISTRIES]) => false,
        AddressRole::Store => {
            let has_path = text.get(first.len()..).is_some_and(|rest| rest.starts_with('/'));
            is_host(first) && (has_path || !has_file_ending(first))
        }
        AddressRole::Connection => {
            let is_file = |scheme| text.get(..7).unwrap_or_default().starts_with(scheme);
            !["sqlite:", "duckdb:", "file:"].into_iter().any(is_file)
                && text
                    .split([',', ';', '=', '@', '(', ')', '/', '\'', '"', ':', '?', '&'])
                    .any(|part| is_host(part) && !has_file_ending(part))
        }
    }
}

/// Whether a text is a name of hosts with at least so many labels, of which the last has a letter.
fn is_name(text: &str, labels: usize) -> bool {
    let is_label = |label: &str| {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        !label.is_empty() && label.chars().all(plain)
    };
    let last = text.rsplit(['.', '。', '｡']).next().unwrap_or_default();
    text.len() <= 253
        && text.split(['.', '。', '｡']).count() >= labels
        && text.split(['.', '。', '｡']).all(is_label)
        && last.chars().any(char::is_alphabetic)
}

/// Whether a name with one dot ends as files do.
fn has_file_ending(text: &str) -> bool {
    let Some((name, ending)) = text.split_once('.') else { return false };
    !name.is_empty() && is_listed(ending, &[FILE_ENDINGS])
}
