//! Whether a path lies inside a folder, by its text alone.
//!
//! The text is normalised lexically and never looked up: the decision has no file system, and a link
//! could change between decision and call. What readers of paths understand differently (backslashes,
//! drive letters, `~`, control characters) lies inside nothing. A link below the folder can still lead
//! out of it; keeping a tool from following it is the business of confinement.

/// The folders that a text leads through, without `.` and `..`.
struct NormalisedPath<'t> {
    absolute: bool,
    components: Vec<&'t str>,
}

/// Reads a path. `None` for one that another reader may understand otherwise: one with a
/// backslash, a control character, a drive letter, a scheme or a leading `~`, and one that climbs out
/// of where it starts.
fn read(text: &str) -> Option<NormalisedPath<'_>> {
    let mut bytes = text.bytes();
    let drive = bytes.next().is_some_and(|b| b.is_ascii_alphabetic()) && bytes.next() == Some(b':');
    if text.is_empty() || drive || text.starts_with('~') || has_scheme(text) {
        return None;
    }
    if text.chars().any(|c| c == '\\' || c.is_control()) {
        return None;
    }
    let mut components = Vec::new();
    for component in text.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop()?;
            }
            component => components.push(component),
        }
    }
    Some(NormalisedPath { absolute: text.starts_with('/'), components })
}

/// Whether a text begins like a URL (RFC 3986 §3.1): `file:`, or a scheme before `//`. Whoever takes
/// URLs too goes elsewhere with it than below a relative folder.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let legal = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    legal && (scheme.eq_ignore_ascii_case("file") || rest.starts_with("//"))
}

/// Whether a text can serve as a containing folder.
pub(super) fn is_root(root: &str) -> bool {
    read(root).is_some() && !root.split('/').any(|component| component == "..")
}

/// Whether the path is the folder or below it. Both must be absolute, or both relative.
pub(super) fn inside(path: &str, root: &str) -> bool {
    let (Some(path), Some(root)) = (read(path), read(root)) else { return false };
    path.absolute == root.absolute && path.components.starts_with(&root.components)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_the_folder_is_inside() {
        for path in ["/data", "/data/", "/data/a", "//data/./a//b", "/data/x/../a", "/x/../data/a"]
        {
            assert!(inside(path, "/data"), "{path}");
        }
        assert!(inside("src/a.rs", "src"));
        assert!(inside("./src/a.rs", "src/"));
        assert!(inside("a", ".") && inside("ab:c", ".") && inside("notes: 1/a", "."));
        for url in ["file:///etc/passwd", "FILE:/etc/passwd", "file:x", "https://evil.example/a"] {
            assert!(!inside(url, "."), "{url}");
        }
        assert!(inside("/anything", "/"));
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
        ];
        for path in outside {
            assert!(!inside(path, "/data"), "{path:?}");
        }
        for path in ["../a", "a/../../b", "C:a", "~root", "/a"] {
            assert!(!inside(path, "."), "{path}");
        }
        // A percent sign is a character like any other: nothing is decoded.
        assert!(inside("/data/%2e%2e/etc", "/data"));
    }

    #[test]
    fn a_folder_says_where_it_is() {
        assert!(is_root("/") && is_root("/a/b/") && is_root("src") && is_root("."));
        assert!(!is_root("/a/../b") && !is_root("C:/a") && !is_root("a\\b") && !is_root("~"));
    }
}
