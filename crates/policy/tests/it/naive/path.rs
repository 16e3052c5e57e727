//! Paths as texts.

use serde_json::Value as Json;
use weaver_policy::critical::{ArgumentRole, argument_role, names_path};

use weaver_text::invisible::is_invisible;

use super::reading::fits_one_any_case;

/// A path that could be read: whether it is absolute, and its steps.
#[derive(Debug, PartialEq, Eq)]
struct Path<'a> {
    absolute: bool,
    steps: Vec<&'a str>,
}

fn read(text: &str) -> Option<Path<'_>> {
    let mut first = text.chars();
    let drive = first.next().is_some_and(|c| c.is_ascii_alphabetic()) && first.next() == Some(':');
    let (scheme, rest) = text.split_once(':').unwrap_or_default();
    let letters = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let url = letters && (scheme.eq_ignore_ascii_case("file") || rest.starts_with("//"));
    if text.is_empty()
        || drive
        || url
        || text.starts_with('~')
        || text.starts_with(char::is_whitespace)
        || text.chars().any(|c| c == '\\' || c.is_control())
    {
        return None;
    }
    let mut steps = Vec::new();
    for step in text.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop()?;
            }
            name if name.chars().all(|c| c == '.' || c == ' ') => return None,
            name => steps.push(name),
        }
    }
    Some(Path { absolute: text.starts_with('/'), steps })
}

/// The path that a `file:` URL of this machine names; nothing for any other text.
fn of_url(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let rest = lower.starts_with("file:").then(|| text.get(5..))??;
    let path = match lower.starts_with("file://localhost/") {
        true => rest.get("//localhost".len()..)?,
        false => rest.strip_prefix("//").unwrap_or(rest),
    };
    let plain = path.chars().all(|c| ('!'..='~').contains(&c) && !"\\?#".contains(c));
    if !plain || !path.starts_with('/') || path.starts_with("//") || path.len() == 1 {
        return None;
    }
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).filter(|code| code.chars().all(|c| c.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(code, 16).ok().filter(|byte| *byte != b'/')?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    let path = String::from_utf8(bytes).ok()?;
    let odd = |c: char| c.is_control() || c == '%' || c == '\\';
    (!path.contains(odd) && !path.split('/').any(|step| step == "..")).then_some(path)
}

/// Whether the path is inside the folder, or is the folder.
pub(crate) fn is_inside(path: &str, folder: &str) -> bool {
    let path = of_url(path).unwrap_or_else(|| path.to_owned());
    match (read(&path), read(folder)) {
        (Some(path), Some(folder)) => {
            path.absolute == folder.absolute && path.steps.starts_with(&folder.steps)
        }
        _ => false,
    }
}

/// Whether a text begins as a path does.
fn begins_as_path(text: &str) -> bool {
    let text = text.trim_start();
    if text.replace('\\', "/").split('/').any(|step| step == "..") {
        return true;
    }
    let second = text.chars().nth(1) == Some(':');
    let drive = second && text.starts_with(|c: char| c.is_ascii_alphabetic());
    text.starts_with(['/', '~', '\\'])
        || text.starts_with("./")
        || text.starts_with(".\\")
        || text.to_ascii_lowercase().starts_with("file:")
        || drive && text.chars().nth(2).is_some_and(|c| c == '/' || c == '\\')
}

/// Whether a text of this name is a path.
fn is_path(name: &str, text: &str) -> bool {
    let ambiguous = matches!(name, "source" | "src" | "target" | "root" | "destination");
    let other = text.trim().contains('\n')
        || text.trim().starts_with("http://")
        || text.trim().starts_with("https://");
    if ambiguous && other && !begins_as_path(text) && !begins_as_path(text.trim()) {
        return false;
    }
    names_path(name) || begins_as_path(text) && !is_content(name)
}

/// Whether a text of this name could be a file beside a path of the call.
fn is_file_name(name: &str, text: &str) -> bool {
    let words = weaver_text::split::identifier(name);
    let last = words.last().map_or("", String::as_str);
    let kinds = "extension extensions ext suffix prefix pattern patterns glob filter query include \
                 exclude ignore format type selector";
    let named = "name names title new slug basename".split(' ').any(|one| one == last);
    let may_be = named || !is_content(name) && !kinds.split_whitespace().any(|one| one == last);
    let text = text.trim();
    may_be
        && text.len() < 256
        && text.chars().any(|c| matches!(c, '.' | '/' | '\\'))
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
        && !text.contains("://")
}

/// Each file name of the value in each folder and beside each file of it.
fn named_places(value: &Json) -> Vec<String> {
    let mut all = Vec::new();
    texts("", value, 0, &mut all);
    let all: Vec<(String, String)> =
        all.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    let mut places = Vec::new();
    for (_, file) in all.iter().filter(|(n, t)| !is_path(n, t) && is_file_name(n, t)) {
        for (_, path) in all.iter().filter(|(n, t)| is_path(n, t)) {
            let path = path.trim().trim_end_matches(['/', '\\']);
            let parent = path.rsplit_once(['/', '\\']).map_or("", |(parent, _)| parent);
            for folder in [path, parent] {
                let file = file.trim();
                let place =
                    if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
                places.push(place);
            }
        }
    }
    places
}

/// The texts of a value with the names above them, and how deep each stands.
fn texts(name: &str, value: &Json, depth: usize, out: &mut Vec<(String, Option<String>)>) {
    let nested = value.is_array() || value.is_object();
    if nested && depth == 16 {
        // Too deep to be looked at.
        out.push((name.to_owned(), None));
        return;
    }
    match value {
        Json::String(text) => out.push((name.to_owned(), Some(text.clone()))),
        Json::Array(list) => list.iter().for_each(|one| texts(name, one, depth + 1, out)),
        Json::Object(map) => map.iter().for_each(|(name, one)| {
            if begins_as_path(name) {
                out.push(("path".to_owned(), Some(name.clone())));
            }
            texts(name, one, depth + 1, out);
        }),
        _ => {}
    }
}

/// Whether a field of that name has a text, or what goes into one.
fn is_content(name: &str) -> bool {
    let ends = [
        "old", "new", "search", "replace", "replacement", "regex", "code", "data", "value",
        "insert", "snippet", "line", "lines", "patch", "diff",
    ];
    let words = weaver_text::split::identifier(name);
    argument_role(name) == ArgumentRole::Text
        || words.last().is_some_and(|last| ends.contains(&last.as_str()))
}

/// The paths of a value; nothing for one that is too deep to be looked at.
fn paths(at: &str, value: &Json) -> Vec<Option<String>> {
    let steps = at.split('/').skip(1).filter(|step| step.parse::<usize>().is_err());
    let name = steps.last().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    let mut all = Vec::new();
    texts(&name, value, 0, &mut all);
    all.retain(|(name, text)| text.as_ref().is_none_or(|text| is_path(name, text)));
    all.into_iter().map(|(_, text)| text).collect()
}

/// Whether the value has paths.
pub(crate) fn holds_paths(at: &str, value: &Json) -> bool {
    !paths(at, value).is_empty()
}

/// Whether the value has a path that fits one of the patterns, or may have one.
pub(crate) fn any_fits(at: &str, value: &Json, patterns: &[&str]) -> bool {
    let fits = |text: &str| fits_one_any_case(patterns, text);
    let named = named_places(value).into_iter().map(Some);
    paths(at, value).into_iter().chain(named).any(|text| {
        let Some(text) = text else { return true };
        let text = text.as_str();
        fits(text)
            || resolve(text).is_none_or(|resolved| {
                let relative = !resolved.starts_with('/');
                fits(&resolved) || relative && fits(&format!("./{resolved}"))
            })
    })
}

/// The path without `.` and `..`; nothing for one that may lead anywhere.
fn resolve(text: &str) -> Option<String> {
    if text.chars().any(char::is_control) {
        return None;
    }
    let text = match text.trim_start() {
        url if url.to_ascii_lowercase().starts_with("file:") => of_url(url)?,
        path => path.replace('\\', "/"),
    };
    let mut steps: Vec<String> = Vec::new();
    for step in text.split('/').filter(|step| !step.is_empty() && *step != ".") {
        if step != ".." {
            let seen: String = step.chars().filter(|c| !is_invisible(*c)).collect();
            let (name, _) = seen.split_once("::").unwrap_or((&seen, ""));
            let name = name.trim_end_matches(['.', ' ']);
            if name.is_empty() {
                return None;
            }
            steps.push(name.to_owned());
        } else if matches!(&steps[..], [only] if only.starts_with('~') || only.ends_with(':')) {
            return None;
        } else {
            steps.pop()?;
        }
    }
    let root = if text.starts_with('/') { "/" } else { "" };
    Some(root.to_owned() + &steps.join("/"))
}

/// Whether the value has paths, each of them inside one of the folders.
pub(crate) fn all_inside(at: &str, value: &Json, folders: &[&str]) -> bool {
    let fits = |text: &str| folders.iter().any(|folder| is_inside(text, folder));
    let paths = paths(at, value);
    !paths.is_empty() && paths.iter().all(|text| text.as_ref().is_some_and(|text| fits(text)))
}
