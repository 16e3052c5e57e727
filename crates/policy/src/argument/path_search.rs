//! Finds the paths in a value at any depth: whether each is inside a folder, or one matches a
//! pattern.

use serde_json::Value;
use weaver_types::JsonPointer;

use super::file_name::all_named_places_satisfy;
use super::path;
use crate::critical::{ArgumentRole, argument_role, names_content, names_path};
use crate::pattern::{FoldedText, Pattern};

/// How deeply a value is searched. Anything deeper counts as a path outside of every folder, so
/// nesting cannot hide a path.
const MAX_DEPTH: usize = 16;

/// Whether the value contains a path.
pub(super) fn holds_paths(at: &JsonPointer, value: &Value) -> bool {
    !all_paths_satisfy(&field_name(at), value, &PathTest { is_path, holds: &|_| false }, 0)
}

/// Whether the value contains a path, and all of its paths are inside these folders.
pub(super) fn all_paths_inside(at: &JsonPointer, value: &Value, folders: &[String]) -> bool {
    let inside = |text: &str| folders.iter().any(|folder| path::is_inside(text, folder));
    let test = PathTest { is_path, holds: &inside };
    holds_paths(at, value) && all_paths_satisfy(&field_name(at), value, &test, 0)
}

/// Whether a path in the value matches one of these patterns, as it is written or as programs
/// resolve it (a relative one also from `./`), or may lead anywhere, or is nested too deeply to tell. A
/// name in another argument counts as one in the folders of the call. Case is ignored, as many file
/// systems do.
pub(super) fn any_path_matches(at: &JsonPointer, value: &Value, patterns: &[Pattern]) -> bool {
    let fits_none = |text: &str| {
        let Some(resolved) = path::resolved_form(text) else { return false };
        let relative = (!resolved.starts_with('/')).then(|| format!("./{resolved}"));
        let readings = [text, &resolved, relative.as_deref().unwrap_or(text)].map(FoldedText::of);
        !patterns.iter().any(|one| readings.iter().any(|reading| one.matches_any_case(reading)))
    };
    let test = PathTest { is_path: may_be_path, holds: &fits_none };
    !(all_paths_satisfy(&field_name(at), value, &test, 0)
        && all_named_places_satisfy(value, may_be_path, &fits_none))
}

/// The name of the field at a pointer. An item has the name of its list.
fn field_name(at: &JsonPointer) -> String {
    let name = at.as_str().rsplit('/').find(|step| step.parse::<usize>().is_err());
    JsonPointer::unescape_step(name.unwrap_or_default())
}

/// What counts as a path, by the name of its field and its text, and what has to hold for it.
struct PathTest<'a> {
    is_path: fn(&str, &str) -> bool,
    holds: &'a dyn Fn(&str) -> bool,
}

/// Whether every path in the value passes the test. `name` is the name of the value's
/// field.
fn all_paths_satisfy(name: &str, value: &Value, test: &PathTest<'_>, depth: usize) -> bool {
    match value {
        Value::String(text) => !(test.is_path)(name, text) || (test.holds)(text),
        Value::Array(items) => {
            depth < MAX_DEPTH
                && items.iter().all(|item| all_paths_satisfy(name, item, test, depth + 1))
        }
        Value::Object(members) => {
            let mut members = members.iter();
            // A member name may be a path itself, as in a map from files to their contents.
            depth < MAX_DEPTH
                && members.all(|(name, value)| {
                    (!looks_like_path(name) || (test.holds)(name))
                        && all_paths_satisfy(name, value, test, depth + 1)
                })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn is_path(name: &str, text: &str) -> bool {
    // `output` is also the name of a format.
    let is_output = || {
        ["output", "out"].contains(&name) && (text.contains(['/', '\\']) || text.starts_with('.'))
    };
    let is_named = || names_path(name) && !(may_name_content(name) && is_no_path(text));
    is_named() || !names_content(name) && (looks_like_path(text) || is_output())
}

/// Names of paths that others use for a content, or for where something is from: `source` is what a
/// cell of a notebook holds.
fn may_name_content(name: &str) -> bool {
    ["source", "src", "target", "root", "destination"].contains(&name)
}

/// Whether a text is of several lines, or the address of a page, and looks like no path.
fn is_no_path(text: &str) -> bool {
    let text = text.trim();
    let is_page = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    (text.contains('\n') || is_page) && !looks_like_path(text)
}

/// Like [`is_path`], and for a content that is nothing but an absolute path: `new` of a tool that
/// renames.
fn may_be_path(name: &str, text: &str) -> bool {
    let is_absolute = || text.starts_with(['/', '~']) && !text.starts_with("//");
    let is_alone = || is_absolute() && !text.contains(char::is_whitespace) && !text.contains("..");
    is_path(name, text) || argument_role(name) != ArgumentRole::Text && is_alone()
}

/// Whether a text looks like a path: it starts at the root, in the home, current or parent folder, on
/// a drive or with `file:`, or it climbs to a parent folder. Blanks at its start do not count.
fn looks_like_path(text: &str) -> bool {
    let text = text.trim_start();
    let mut bytes = text.bytes();
    let drive = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && bytes.next() == Some(b':')
        && matches!(bytes.next(), Some(b'/' | b'\\'));
    let scheme = text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("file:"));
    drive
        || scheme
        || ["/", "~", "./", ".\\", "\\"].iter().any(|head| text.starts_with(head))
        || text.split(['/', '\\']).any(|component| component == "..")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_inside(value: &Value) -> bool {
        all_paths_inside(&JsonPointer::parse("").unwrap(), value, &["/data".to_owned()])
    }

    #[test]
    fn every_path_of_a_call_must_lie_inside() {
        for value in [
            json!({ "path": "/data/a", "head": 3 }),
            json!({ "source": "/data/a", "destination": "/data/b" }),
            json!({ "paths": ["/data/a", "/data/b"] }),
            json!({ "path": "/data/a", "content": "/etc/passwd, as text" }),
            json!({ "path": "/data/a", "edits": [{ "search": "// a", "replace": "/* a */" }] }),
            json!({ "path": "/data/a", "imageData": "/9j/4AAQ", "newCode": "~" }),
            json!({ "path": "/data/a", "other": "none, as such" }),
            json!({ "path": "/data/a", "other": "a:b" }),
            json!({ "path": "/data/a", "other": "1:/2" }),
            json!({ "path": "/data/a", "other": "main..feature/x" }),
            json!({ "path": "/data/a", "other": "wait... what" }),
            json!({ "repo_path": "/data", "options": { "file": "/data/x/../y" } }),
            json!({ "files": { "/data/a": "text of it" } }),
        ] {
            assert!(is_inside(&value), "{value}");
        }
        for value in [json!({}), json!({ "name": "x", "content": "/etc/passwd, as text" })] {
            assert!(!is_inside(&value) && !holds_paths(&JsonPointer::parse("").unwrap(), &value));
        }
        for value in [
            json!({ "path": "a" }),
            json!({ "path": "/data/a", "other": "/etc/passwd" }),
            json!({ "path": "/data/a", "other": "~/.ssh/id" }),
            json!({ "path": "/data/a", "other": "../x" }),
            json!({ "path": "/data/a", "other": "file:///etc/passwd" }),
            json!({ "path": "/data/a", "other": "C:\\x" }),
            json!({ "source": "/data/a", "destination": "b" }),
            json!({ "paths": ["/data/a", "/data/../etc"] }),
            json!({ "path": "/data/a", "more": { "list": [["/etc"]] } }),
            json!({ "path": "/data/a", "files": { "/home/u/.ssh/authorized_keys": "k" } }),
            json!({ "path": "/data/a", "other": "a/../../../etc/x" }),
            json!({ "path": "/data/a", "other": "a\\..\\..\\x" }),
            json!({ "path": "/data/a", "other": "  /etc/passwd" }),
            json!({ "path": "/data/a", "other": { "a/../../../etc/x": 1 } }),
        ] {
            assert!(!is_inside(&value), "{value}");
            assert!(holds_paths(&JsonPointer::parse("").unwrap(), &value), "{value}");
        }
    }

    #[test]
    fn one_path_that_fits_is_enough() {
        let patterns = ["*/.ssh*", "/etc/*"].map(|text| Pattern::parse(text).unwrap());
        let fits = |at: &str, value: Value| {
            any_path_matches(&JsonPointer::parse(at).unwrap(), &value, &patterns)
        };
        assert!(fits("/files", json!(["a", "b", "/etc/passwd"])));
        assert!(fits("", json!({ "path": "a", "more": { "target": "x/.ssh/id" } })));
        for path in [
            "/etc/passwd", "//etc/cron.d/x", "/./etc/x", "/tmp/../etc/x", "\\etc\\x", "/ETC/x",
            "a/.Ssh/authorized_keys", "a/.ſſh", "a/../../b", "file:///etc/x", ".ssh/id", ".ssh",
            "a/.ssh. /id", " /etc/x",
        ] {
            assert!(fits("/path", json!(path)), "{path}");
        }
        for path in ["", "/data/etc/x", "/etcetera", "~/notes/a", "C:\\data\\a"] {
            assert!(!fits("/path", json!(path)), "{path}");
        }
        for content in ["x = 1\ny = 2", "https://example.org/a/.ssh/b"] {
            assert!(!fits("", json!({ "path": "/data/a.ipynb", "source": content })), "{content}");
        }
        for path in ["x\n/../.ssh/id", "/etc/x\n", "x/.ssh/id\n"] {
            assert!(fits("", json!({ "path": "/data/a", "source": path })), "{path}");
        }
        assert!(!fits("/files", json!(["a", "b"])) && !fits("/files", json!([])));
        assert!(!fits("/content", json!("/etc/passwd")) && !fits("/path", json!(7)));
        let mut deep = json!("a");
        for _ in 0..=MAX_DEPTH {
            deep = json!([deep]);
        }
        assert!(fits("/files", deep));
    }

    #[test]
    fn a_name_beside_a_folder_is_a_file_in_it() {
        let patterns = ["*/.bash*", "*/.git/*", "/home/ana/.*", "/home/ana/bin/*", "*/AGENTS.md"]
            .map(|text| Pattern::parse(text).unwrap());
        let fits =
            |value: Value| any_path_matches(&JsonPointer::parse("").unwrap(), &value, &patterns);
        for (name, text) in [
            ("new_name", ".bashrc"),
            ("newName", ".bashrc"),
            ("name", ".bashrc"),
            ("new", ".bashrc"),
            ("title", ".bashrc"),
            ("as_name", " .bashrc "),
            ("script", "bin/ls"),
            ("document", ".psqlrc"),
            ("new_title", ".git/hooks/pre-commit"),
            ("title", "AGENTS.md"),
        ] {
            let call = json!({ "path": "/home/ana/notes.txt", name: text, "content": "x" });
            assert!(fits(call), "{name} {text}");
            let call = json!({ "folder": "/home/ana/", "options": { name: text } });
            assert!(fits(call), "{name} {text}");
        }
        for call in [
            json!({ "path": "/home/ana/notes.txt", "new_name": "notes2.txt" }),
            json!({ "path": "/home/ana/notes", "extension": ".md", "pattern": ".bash*" }),
            json!({ "path": "/home/ana/work/.gitignore", "content": ".bashrc" }),
            json!({ "folder": "/home/ana/work", "title": ".NET is great. See docs/a" }),
            json!({ "folder": "/home/ana/work/a", "name": "bin/ls", "url": "https://b.example/.git/x" }),
            json!({ "title": ".bashrc" }),
        ] {
            assert!(!fits(call.clone()), "{call}");
        }
        let many = vec!["a/b.txt"; 5_000];
        assert!(fits(json!({ "folder": "/data", "names": many })));
    }

    #[test]
    fn the_place_names_its_own_value_and_too_deep_is_outside() {
        let list = |at: &str, value| {
            all_paths_inside(&JsonPointer::parse(at).unwrap(), &value, &["notes".to_owned()])
        };
        assert!(list("/paths", json!(["notes/a", "notes/b"])));
        assert!(list("/paths/0", json!("notes/a")) && !list("/titles", json!(["notes/a"])));
        let deep = |wrap: fn(Value) -> Value, levels| {
            (0..levels).fold(json!("/data/a"), |inner, _| wrap(inner))
        };
        let wraps: [fn(Value) -> Value; 2] =
            [|inner| json!([inner]), |inner| json!({ "path": inner })];
        for wrap in wraps {
            assert!(is_inside(&deep(wrap, 16)));
            assert!(!is_inside(&deep(wrap, 17)));
        }
    }
}
