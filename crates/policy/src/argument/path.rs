//! Decides from the text alone whether a path is inside a folder.
//!
//! The text is normalised lexically and never looked up: a decision has no file system, and a
//! symbolic link could change between the decision and the call. A path that programs interpret
//! differently (backslashes, drive letters, `~`, control characters) is inside no folder. A
//! symbolic link inside the folder can still lead out of it; preventing that is the job of
//! confinement.

use std::borrow::Cow;

use weaver_text::invisible;

/// The components of a path, without `.` and `..`.
struct NormalisedPath<'t> {
    absolute: bool,
    components: Vec<&'t str>,
}

/// The path of this machine that a `file:` URL names, decoded: `file:///a`, `file:/a` and
/// `file://localhost/a`, in any case. `None` for what names a host, and for what programs may read in
/// different ways: more slashes or backslashes (also encoded), `..`, a query or fragment, an escape
/// within an escape, and characters that a URL does not have.
pub(crate) fn local_file_path(url: &str) -> Option<String> {
    const LOCALHOST: &str = "//localhost/";
    let rest = url.split_at_checked(5).filter(|(head, _)| head.eq_ignore_ascii_case("file:"))?.1;
    let path = match rest.get(..LOCALHOST.len()) {
        Some(head) if head.eq_ignore_ascii_case(LOCALHOST) => rest.get(LOCALHOST.len() - 1..)?,
        _ => match rest.strip_prefix("//") {
            Some(path) => path,
            None => rest,
        },
    };
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'?' | b'#');
    if !path.starts_with('/')
        || path.starts_with("//")
        || path == "/"
        || !path.bytes().all(is_plain)
    {
        return None;
    }
    let (decoded, is_valid) = percent_decoded(path);
    let has_encoded_slash = decoded.matches('/').count() != path.matches('/').count();
    let climbs = decoded.split('/').any(|component| component == "..");
    let is_read_alike = is_valid
        && !has_encoded_slash
        && !climbs
        && !decoded.contains(['\\', '%'])
        && !decoded.chars().any(char::is_control);
    is_read_alike.then_some(decoded)
}

/// The text with percent-encoding decoded where it is valid, and whether it is everywhere.
pub(crate) fn percent_decoded(text: &str) -> (String, bool) {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut rest, mut is_valid) = (text.as_bytes(), true);
    while let Some((&first, tail)) = rest.split_first() {
        let digit = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        rest = match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                tail.get(2..).unwrap_or_default()
            }
            _ => {
                is_valid &= first != b'%';
                bytes.push(first);
                tail
            }
        };
    }
    let decoded = String::from_utf8_lossy(&bytes);
    is_valid &= matches!(decoded, Cow::Borrowed(_));
    (decoded.into_owned(), is_valid)
}

/// Normalises a path. `None` for one that another program may interpret differently (with a
/// backslash, a control character, a drive letter, a scheme or a leading `~`), and for one that
/// climbs above its start. Blanks at the start and components of blanks and dots are refused too:
/// some programs drop them.
fn normalise(text: &str) -> Option<NormalisedPath<'_>> {
    let mut bytes = text.bytes();
    let drive = bytes.next().is_some_and(|b| b.is_ascii_alphabetic()) && bytes.next() == Some(b':');
    if text.is_empty() || drive || text.starts_with('~') || has_scheme(text) {
        return None;
    }
    let has_blank_start = text.starts_with(char::is_whitespace);
    if has_blank_start || text.chars().any(|c| c == '\\' || c.is_control()) {
        return None;
    }
    let mut components = Vec::new();
    for component in text.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop()?;
            }
            component if without_ignored_end(component).is_empty() => return None,
            component => components.push(component),
        }
    }
    Some(NormalisedPath { absolute: text.starts_with('/'), components })
}

/// A component without the blanks and dots at its end, which Windows drops.
fn without_ignored_end(component: &str) -> &str {
    component.trim_end_matches(['.', ' '])
}

/// A component as file systems may store it: without invisible characters (HFS+), the name of a
/// stream (NTFS), and blanks and dots at its end.
fn stored_component(component: &str) -> String {
    let visible: String = component.chars().filter(|c| !invisible::is_invisible(*c)).collect();
    let name = visible.split("::").next().unwrap_or_default();
    without_ignored_end(name).to_owned()
}

/// A path as programs may resolve it: with `/` between its components as file systems store them,
/// and without `.` and `..`; that of a local `file:` URL is the path that it names. `None` for one
/// that may lead anywhere: with a control character or any other `file:`, or where `..` climbs above
/// its start, its drive or its home folder. The path is not bound to a folder by this, so more can be
/// read than by [`normalise`].
pub(super) fn resolved_form(text: &str) -> Option<String> {
    if text.chars().any(char::is_control) {
        return None;
    }
    let text = text.trim_start();
    let of_url;
    let text = match text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("file:")) {
        true => {
            of_url = local_file_path(text)?;
            &of_url
        }
        false => text,
    };
    let mut components: Vec<String> = Vec::new();
    for component in text.split(['/', '\\']) {
        match component {
            "" | "." => {}
            ".." => {
                let left = components.pop()?;
                if components.is_empty() && (left.starts_with('~') || left.ends_with(':')) {
                    return None;
                }
            }
            component => match stored_component(component) {
                empty if empty.is_empty() => return None,
                component => components.push(component),
            },
        }
    }
    let start = if text.starts_with(['/', '\\']) { "/" } else { "" };
    Some(format!("{start}{}", components.join("/")))
}

/// Whether a text starts like a URL (RFC 3986 §3.1): `file:`, or a scheme before `//`. A tool that
/// also accepts URLs would not resolve it below a relative folder.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let legal = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    legal && (scheme.eq_ignore_ascii_case("file") || rest.starts_with("//"))
}

/// Whether a text can be used as a containing folder.
pub(super) fn is_valid_folder(root: &str) -> bool {
    normalise(root).is_some() && !root.split('/').any(|component| component == "..")
}

/// Whether the path is the folder itself or below it. Both must be absolute, or both relative. A local
/// `file:` URL is the path that it names.
pub(super) fn is_inside(path: &str, root: &str) -> bool {
    let of_url = local_file_path(path);
    let path = of_url.as_deref().unwrap_or(path);
    let (Some(path), Some(root)) = (normalise(path), normalise(root)) else { return false };
    path.absolute == root.absolute && path.components.starts_with(&root.components)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_the_folder_is_inside() {
        for path in ["/data", "/data/", "/data/a", "//data/./a//b", "/data/x/../a", "/x/../data/a"]
        {
            assert!(is_inside(path, "/data"), "{path}");
        }
        assert!(is_inside("src/a.rs", "src"));
        assert!(is_inside("./src/a.rs", "src/"));
        assert!(is_inside("a", ".") && is_inside("ab:c", ".") && is_inside("notes: 1/a", "."));
        for url in ["file:///etc/passwd", "FILE:/etc/passwd", "file:x", "https://evil.example/a"] {
            assert!(!is_inside(url, "."), "{url}");
        }
        assert!(is_inside("/anything", "/"));
        for url in ["file:///data/a", "FILE:/data/a%20b", "file://LocalHost/data/x/%61"] {
            assert!(is_inside(url, "/data"), "{url}");
        }
        for url in [
            "file:///etc/passwd",
            "file://evil.example/data/a",
            "file:////data/a",
            "file:///data/../etc/x",
            "file:///data/%2e%2e/etc/x",
            "file:///data/%252e%252e/etc/x",
            "file:///data%2fa",
            "file:data/a",
            "file:///data/a?b",
            "file:///data/%5ca",
            "file:///data/a%00",
        ] {
            assert!(!is_inside(url, "/data"), "{url}");
        }
    }

    #[test]
    fn what_leaves_the_folder_or_cannot_be_read_is_not() {
        let outside = [
            "",
            "/",
            "/database",
            "/data/../etc",
            "/data/..",
            "/../data/a",
            "data/a",
            "/data\\a",
            "/data/a\0",
            "/data/a\n",
            "C:/data",
            "~/data",
            "/data/x/../../etc/passwd",
            // Some systems drop blanks and dots at the end of a component.
            "/data/.. /x",
            "/data/... /x",
            " /data/a",
        ];
        for path in outside {
            assert!(!is_inside(path, "/data"), "{path:?}");
        }
        for path in ["../a", "a/../../b", "C:a", "~root", "/a", "  /etc/passwd", "a/.. /b"] {
            assert!(!is_inside(path, "."), "{path}");
        }
        // A percent sign is a character like any other: nothing is decoded.
        assert!(is_inside("/data/%2e%2e/etc", "/data"));
    }

    #[test]
    fn a_path_is_resolved_from_its_text() {
        for (path, resolved) in [
            ("", ""),
            (".", ""),
            ("/etc/passwd", "/etc/passwd"),
            ("//etc/./passwd/", "/etc/passwd"),
            ("/tmp/../etc/x", "/etc/x"),
            ("a/./.git//hooks", "a/.git/hooks"),
            ("~/a/../.ssh/id", "~/.ssh/id"),
            ("C:\\Users\\a\\.ssh\\id", "C:/Users/a/.ssh/id"),
            ("\\etc\\x", "/etc/x"),
            ("  /etc/x", "/etc/x"),
            ("a/.git /hooks", "a/.git/hooks"),
            ("a/.git./hooks", "a/.git/hooks"),
            ("a/.git::$INDEX_ALLOCATION/hooks", "a/.git/hooks"),
            ("a/.g\u{200c}it/hooks", "a/.git/hooks"),
            ("File:///etc/x", "/etc/x"),
            ("file:/home/a/.%73sh/id", "/home/a/.ssh/id"),
        ] {
            assert_eq!(resolved_form(path).as_deref(), Some(resolved), "{path}");
        }
        for path in
            ["../a", "/..", "a/../../b", "~/../a", "C:\\..\\a", "/a\n", "file://h/x", "a/.. /b"]
        {
            assert_eq!(resolved_form(path), None, "{path:?}");
        }
    }

    #[test]
    fn a_folder_says_where_it_is() {
        assert!(
            is_valid_folder("/")
                && is_valid_folder("/a/b/")
                && is_valid_folder("src")
                && is_valid_folder(".")
        );
        assert!(
            !is_valid_folder("/a/../b")
                && !is_valid_folder("C:/a")
                && !is_valid_folder("a\\b")
                && !is_valid_folder("~")
        );
    }
}
