//! The paths in a value, wherever they stand: whether each lies inside a folder, or one fits a pattern.

use serde_json::Value;
use weaver_types::Pointer;

use super::path;
use crate::critical::{Role, names_path, role};
use crate::pattern::Pattern;

/// How deep a value is searched. What lies deeper counts as a path outside of every folder.
const MAX_DEPTH: usize = 16;

/// Whether the value holds a path.
pub(super) fn holds_paths(at: &Pointer, value: &Value) -> bool {
    !every_path(&name_of(at), value, &|_| false, 0)
}

/// Whether the value holds a path, and all of its paths lie inside these folders.
pub(super) fn all_inside(at: &Pointer, value: &Value, folders: &[String]) -> bool {
    let inside = |text: &str| folders.iter().any(|folder| path::inside(text, folder));
    holds_paths(at, value) && every_path(&name_of(at), value, &inside, 0)
}

/// Whether a path in the value fits one of these patterns, or may, being nested too deep.
pub(super) fn any_fits(at: &Pointer, value: &Value, patterns: &[Pattern]) -> bool {
    let fits_none = |text: &str| !patterns.iter().any(|pattern| pattern.matches(text));
    !every_path(&name_of(at), value, &fits_none, 0)
}

/// The name of the field at a place: that of the list, for its items.
fn name_of(at: &Pointer) -> String {
    let name = at.as_str().rsplit('/').find(|step| step.parse::<usize>().is_err());
    name.unwrap_or_default().replace("~1", "/").replace("~0", "~")
}

/// Whether every path in a value of this name is such a one.
fn every_path(name: &str, value: &Value, such: &dyn Fn(&str) -> bool, depth: usize) -> bool {
    match value {
        Value::String(text) => !is_path(name, text) || such(text),
        Value::Array(items) => {
            depth < MAX_DEPTH && items.iter().all(|item| every_path(name, item, such, depth + 1))
        }
        Value::Object(members) => {
            let mut members = members.iter();
            // The name of a member may be a path itself: a map of files to their contents.
            depth < MAX_DEPTH
                && members.all(|(name, value)| {
                    (!begins_as_path(name) || such(name))
                        && every_path(name, value, such, depth + 1)
                })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn is_path(name: &str, text: &str) -> bool {
    names_path(name) || role(name) != Role::Text && begins_as_path(text)
}

/// Whether a text begins as paths do: at the root, at home, here, above, on a drive, or as a URL of
/// a file.
fn begins_as_path(text: &str) -> bool {
    let mut bytes = text.bytes();
    let drive = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && bytes.next() == Some(b':')
        && matches!(bytes.next(), Some(b'/' | b'\\'));
    let scheme = text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("file:"));
    drive
        || scheme
        || ["/", "~", "./", "../", "\\", "..\\"].iter().any(|head| text.starts_with(head))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inside(value: &Value) -> bool {
        all_inside(&Pointer::parse("").unwrap(), value, &["/data".to_owned()])
    }

    #[test]
    fn every_path_of_a_call_must_lie_inside() {
        for value in [
            json!({ "path": "/data/a", "head": 3 }),
            json!({ "source": "/data/a", "destination": "/data/b" }),
            json!({ "paths": ["/data/a", "/data/b"] }),
            json!({ "path": "/data/a", "content": "/etc/passwd, as text" }),
            json!({ "path": "/data/a", "other": "none, as such" }),
            json!({ "path": "/data/a", "other": "a:b" }),
            json!({ "path": "/data/a", "other": "1:/2" }),
            json!({ "repo_path": "/data", "options": { "file": "/data/x/../y" } }),
            json!({ "files": { "/data/a": "text of it" } }),
        ] {
            assert!(inside(&value), "{value}");
        }
        for value in [json!({}), json!({ "name": "x", "content": "/etc/passwd, as text" })] {
            assert!(!inside(&value) && !holds_paths(&Pointer::parse("").unwrap(), &value));
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
        ] {
            assert!(!inside(&value), "{value}");
            assert!(holds_paths(&Pointer::parse("").unwrap(), &value), "{value}");
        }
    }

    #[test]
    fn one_path_that_fits_is_enough() {
        let patterns = ["*/.ssh*", "/etc/*"].map(|text| Pattern::parse(text).unwrap());
        let fits =
            |at: &str, value: Value| any_fits(&Pointer::parse(at).unwrap(), &value, &patterns);
        assert!(fits("/files", json!(["a", "b", "/etc/passwd"])));
        assert!(fits("", json!({ "path": "a", "more": { "target": "x/.ssh/id" } })));
        assert!(fits("/path", json!("/etc/passwd")));
        assert!(!fits("/files", json!(["a", "b"])) && !fits("/files", json!([])));
        assert!(!fits("/content", json!("/etc/passwd")) && !fits("/path", json!(7)));
        let mut deep = json!("a");
        for _ in 0..=MAX_DEPTH {
            deep = json!([deep]);
        }
        assert!(fits("/files", deep));
    }

    #[test]
    fn the_place_names_its_own_value_and_too_deep_is_outside() {
        let list = |at: &str, value| {
            all_inside(&Pointer::parse(at).unwrap(), &value, &["notes".to_owned()])
        };
        assert!(list("/paths", json!(["notes/a", "notes/b"])));
        assert!(list("/paths/0", json!("notes/a")) && !list("/titles", json!(["notes/a"])));
        let deep = |wrap: fn(Value) -> Value, levels| {
            (0..levels).fold(json!("/data/a"), |inner, _| wrap(inner))
        };
        let wraps: [fn(Value) -> Value; 2] =
            [|inner| json!([inner]), |inner| json!({ "path": inner })];
        for wrap in wraps {
            assert!(inside(&deep(wrap, 16)));
            assert!(!inside(&deep(wrap, 17)));
        }
    }
}
