//! The host of a URL or of a host name.

fn is_scheme(text: &str) -> bool {
    let text = text.to_lowercase();
    matches!(&*text, "http" | "https" | "ws" | "wss" | "ftp" | "ftps" | "sftp" | "ssh" | "git")
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_digit())
        && text.parse::<u32>().is_ok_and(|port| port <= 65_535)
}

fn is_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Splits off `:` and a port.
fn without_port(text: &str) -> Option<&str> {
    match text.split_once(':') {
        None => Some(text),
        Some((host, port)) => is_port(port).then_some(host),
    }
}

fn host(text: &str) -> Option<String> {
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return None;
    }
    if !text.contains("://") && text.contains('@') {
        let (name, domain) = text.split_once('@')?;
        let formed = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
            && domain.len() <= 253
            && domain.split('.').all(is_label);
        return formed.then(|| domain.to_ascii_lowercase());
    }
    let authority = match text.split_once("://") {
        Some((scheme, _)) if !is_scheme(scheme) => return None,
        Some((_, rest)) => rest.split(['/', '?', '#']).next()?,
        None => text,
    };
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, after) = rest.split_once(']')?;
        let formed = !address.is_empty()
            && address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':' || b == b'.')
            && (after.is_empty() || after.strip_prefix(':').is_some_and(is_port));
        return formed.then(|| format!("[{}]", address.to_ascii_lowercase()));
    }
    let name = without_port(authority)?;
    let name = name.strip_suffix('.').unwrap_or(name);
    (name.len() <= 253 && name.split('.').all(is_label)).then(|| name.to_ascii_lowercase())
}

/// Whether the text has a host that is in the list.
pub(crate) fn is_in(text: &str, list: &[&str]) -> bool {
    host(text).is_some_and(|host| {
        list.iter().any(|entry| match entry.strip_prefix("*.") {
            Some(name) => host.ends_with(&format!(".{name}")),
            None => host == *entry,
        })
    })
}
