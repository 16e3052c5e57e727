//! Users of servers: `git@host:path`, `ssh://git@host`, `https://user@host/`. They look like e-mail
//! addresses but name an account on a machine.

use weaver_text::reveal::BARRIER;

use super::candidate::{byte_at, byte_before};
use crate::redact::validators::{not_its_name, not_template, words};

/// The longest user and password that is read, in bytes.
const MAX_USERINFO: usize = 256;
/// The longest scheme, in bytes.
const MAX_SCHEME: usize = 24;
/// The longest path after `user@host:`, in bytes.
const MAX_PATH: usize = 256;

/// Schemes of servers that people log in to or fetch from; a part of a scheme counts, as in
/// `git+ssh`. Schemes whose URLs contain a person's address (`mailto`, `sip`, `xmpp`, `facetime`,
/// `imap`, `smtp`) are excluded.
const SCHEMES: &[&str] = words![
    "http" "https" "ssh" "git" "svn" "hg" "bzr" "ftp" "ftps" "sftp" "scp" "rsync" "ws" "wss"
    "dav" "davs" "smb" "nfs" "postgres" "postgresql" "mysql" "mariadb" "mongodb" "redis"
    "rediss" "valkey" "memcached" "amqp" "amqps" "mqtt" "mqtts" "kafka" "nats" "clickhouse"
    "cassandra" "couchbase" "couchdb" "neo4j" "bolt" "oracle" "sqlserver" "mssql" "db2"
    "snowflake" "cockroachdb" "influxdb" "elasticsearch" "socks" "socks4" "socks5" "socks5h"
    "rtsp" "rtmp" "telnet" "vnc" "rdp" "docker" "abfs" "abfss" "wasb" "wasbs" "ldap" "ldaps"
];

/// True if what precedes the `@` is the user of a server whose name ends at `end`.
pub(super) fn is_account(bytes: &[u8], at: usize, end: usize) -> bool {
    is_git_account(bytes, at)
        || has_scp_path(bytes, end)
        || is_in_url(bytes, at, end)
        || is_of_command(bytes, at)
}

/// True for the first argument of a command that logs in to a server: `ssh deploy@web-1.corp.net`.
fn is_of_command(bytes: &[u8], at: usize) -> bool {
    const COMMANDS: [&[u8]; 6] = [b"ssh", b"scp", b"sftp", b"mosh", b"ssh-copy-id", b"sshfs"];
    const MAX_USER_BYTES: usize = 32;
    let run = bytes.get(at.saturating_sub(MAX_USER_BYTES)..at).unwrap_or_default();
    let user =
        run.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte));
    let start = at - user.count();
    let before = bytes.get(start.saturating_sub(13)..start).unwrap_or_default();
    let Some(before) = before.strip_suffix(b" ") else { return false };
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./@".contains(byte);
    let word = before.rsplit(|byte| !part(byte)).next().unwrap_or_default();
    COMMANDS.contains(&word)
}

/// The account that every Git host has.
fn is_git_account(bytes: &[u8], at: usize) -> bool {
    let start = at.saturating_sub(3);
    let bounded = !matches!(byte_before(bytes, start), b'.' | b'-' | b'_' | b'+' | 0x80..)
        && !byte_before(bytes, start).is_ascii_alphanumeric();
    bytes.get(start..at) == Some(b"git") && bounded
}

/// True for a path after the host, as `scp` and Git write it: `:repo.git`, `:~/x`, `:/srv/x`. A
/// password after an address, as in lists of stolen credentials, looks different.
fn has_scp_path(bytes: &[u8], end: usize) -> bool {
    if byte_at(bytes, end) != b':' {
        return false;
    }
    let rest = bytes.get(end + 1..).unwrap_or_default();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<>,;()[]#?".contains(byte);
    let length = rest.iter().take(MAX_PATH).take_while(|byte| !ends(byte)).count();
    let path = rest.get(..length).unwrap_or_default();
    let path = path.strip_suffix(b".").unwrap_or(path);
    path.starts_with(b"~/")
        || path.strip_prefix(b"/").is_some_and(|inner| {
            inner.contains(&b'/') || !inner.is_empty() && inner.iter().all(u8::is_ascii_lowercase)
        })
        || path.len() > 4 && path.ends_with(b".git")
}

/// True for the user in a URL of a server. With a password it counts only if that is a placeholder
/// or a reference: a real password was already masked together with its user.
fn is_in_url(bytes: &[u8], at: usize, end: usize) -> bool {
    let floor = at.saturating_sub(MAX_USERINFO);
    let mut start = at;
    while start > floor && is_userinfo_byte(byte_before(bytes, start)) {
        start -= 1;
    }
    let Some(scheme_end) = start.checked_sub(3) else { return false };
    if bytes.get(scheme_end..start) != Some(b"://") {
        return false;
    }
    let user = bytes.get(start..at).unwrap_or_default();
    let password =
        user.iter().position(|byte| *byte == b':').and_then(|colon| user.get(colon + 1..));
    let is_none = |word: &[u8]| {
        std::str::from_utf8(word).is_ok_and(|word| !not_template(word) || !not_its_name(word))
    };
    // Addresses of people have no password: `smtp://user:password@mx.corp.net`.
    let is_account = match password {
        Some(password) => is_none(password),
        None => is_server_scheme(bytes, scheme_end),
    };
    is_account && !another_at_follows(bytes, end)
}

/// A masked user, such as a token, reads as one barrier.
fn is_userinfo_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._~%+-:${}*".contains(&byte) || char::from(byte) == BARRIER
}

/// True if the scheme that ends here belongs to a server.
fn is_server_scheme(bytes: &[u8], end: usize) -> bool {
    let floor = end.saturating_sub(MAX_SCHEME);
    let mut start = end;
    while start > floor
        && (byte_before(bytes, start).is_ascii_alphanumeric() || byte_before(bytes, start) == b'+')
    {
        start -= 1;
    }
    let scheme = bytes.get(start..end).unwrap_or_default();
    let mut parts = scheme.split(|byte| *byte == b'+');
    parts.any(|part| SCHEMES.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(part)))
}

/// True if another `@` follows in the same authority; then the first one is part of the user.
fn another_at_follows(bytes: &[u8], end: usize) -> bool {
    let rest = bytes.get(end..).unwrap_or_default();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'`<>[]()".contains(byte);
    rest.iter().take(MAX_USERINFO).take_while(|byte| !ends(byte)).any(|byte| *byte == b'@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_hosts_of_repositories_stands_by_itself() {
        for (text, is_one) in [
            ("git@", true),
            ("/git@", true),
            (" git@", true),
            ("xgit@", false),
            ("-git@", false),
            (".git@", false),
            ("_git@", false),
            ("+git@", false),
            ("\u{e9}git@", false),
            ("gut@", false),
            ("it@", false),
        ] {
            assert_eq!(is_git_account(text.as_bytes(), text.len() - 1), is_one, "{text}");
        }
    }

    #[test]
    fn a_path_after_a_host_is_one_of_scp() {
        let long = |length: usize| format!(":{}.git", "a".repeat(length - 4));
        let (most, more) = (long(256), long(257));
        for (text, is_one) in [
            (":~/x", true),
            (":/srv/x", true),
            (":repo.git", true),
            (":a.git", true),
            (":repo.git.", true),
            (":repo.git, and", true),
            (most.as_str(), true),
            (more.as_str(), false),
            (":/srv", true),
            (":/", false),
            (":/srv1", false),
            (":.git", false),
            (":repo.gits", false),
            (":re po.git", false),
            (":22", false),
            ("/repo.git", false),
            ("", false),
        ] {
            assert_eq!(has_scp_path(text.as_bytes(), 0), is_one, "{text}");
        }
    }

    #[test]
    fn a_user_in_the_url_of_a_server_has_no_real_password() {
        let long = |length: usize| format!("https://{}@corp.net", "a".repeat(length));
        let (most, more) = (long(256), long(257));
        for (text, is_one) in [
            ("https://jane@corp.net", true),
            ("see ssh://jane@corp.net", true),
            ("git+ssh://jane@corp.net", true),
            ("HTTPS://jane@corp.net", true),
            ("https://jane:${PW}@corp.net", true),
            ("https://jane:password@corp.net", true),
            ("smtp://jane:password@corp.net", true),
            ("smtp://jane:hunter2@corp.net", false),
            ("smtp://jane@corp.net", false),
            ("https://jane:@corp.net", false),
            ("https://jane:hunter2@corp.net", false),
            ("mailto://jane@corp.net", false),
            ("xhttps://jane@corp.net", false),
            ("https:/jane@corp.net", false),
            ("://jane@corp.net", false),
            ("jane@corp.net", false),
            (most.as_str(), true),
            (more.as_str(), false),
        ] {
            let at = text.find('@').unwrap();
            assert_eq!(is_in_url(text.as_bytes(), at, at + 9), is_one, "{text}");
        }
    }

    #[test]
    fn where_another_at_follows_the_one_before_it_is_in_the_user() {
        let far = |length: usize| format!("{}@", "a".repeat(length));
        let (near, beyond) = (far(255), far(256));
        for (text, follows) in [
            ("@corp.net", true),
            (":x@corp.net", true),
            ("/@x", false),
            ("?a=@x", false),
            (" @x", false),
            ("\"@x", false),
            ("", false),
            (near.as_str(), true),
            (beyond.as_str(), false),
        ] {
            assert_eq!(another_at_follows(text.as_bytes(), 0), follows, "{text}");
        }
        assert!(is_account(b"https://jane@corp.net", 12, 21));
        assert!(!is_account(b"https://jane@corp.net@x.org", 12, 21));
    }
}
