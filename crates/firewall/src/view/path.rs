//! Paths into JSON: `orders[0].lines[].price`, `$.orders[10:20]`, `["a.b"]`. Other forms that models
//! write are read too: JSON Pointer (`/orders/0`), and numbers as names (`orders.0`).

use weaver_types::JsonPointer;

use crate::error::HandleError;
use crate::query::query_error;

/// The most steps of a path.
const MAX_STEPS: usize = 32;
/// The longest path, in bytes.
pub(crate) const MAX_PATH_BYTES: usize = super::args::MAX_TEXT;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    /// The field of an object.
    Key(String),
    /// The item of a list.
    Index(usize),
    /// Some items of a list: start (inclusive) and end (exclusive).
    Slice(usize, usize),
}

impl PathStep {
    /// The item that it names in a list: `[3]`, or `3` as a name.
    pub(crate) fn list_index(&self) -> Option<usize> {
        match self {
            Self::Index(at) => Some(*at),
            Self::Key(key) if key.bytes().all(|byte| byte.is_ascii_digit()) => key.parse().ok(),
            Self::Key(_) | Self::Slice(..) => None,
        }
    }
}

/// Parses a path. The empty path and `$` refer to the whole value.
pub(crate) fn parse(path: &str) -> Result<Vec<PathStep>, HandleError> {
    if let Some(pointer) = path.strip_prefix('/') {
        return parse_pointer(pointer);
    }
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    let mut first = true;
    while !rest.is_empty() {
        if steps.len() >= MAX_STEPS {
            return Err(query_error(format!("`path` has more than {MAX_STEPS} steps")));
        }
        let (step, after) = match rest.strip_prefix('[') {
            Some(inner) => parse_bracket(inner)?,
            None => {
                let bare = rest.strip_prefix('.');
                if bare.is_none() && !first {
                    return Err(malformed());
                }
                let name = bare.unwrap_or(rest);
                let end = name.find(['.', '[']).unwrap_or(name.len());
                let (key, after) = name.split_at_checked(end).ok_or_else(malformed)?;
                if key.is_empty() {
                    return Err(malformed());
                }
                (PathStep::Key(key.to_owned()), after)
            }
        };
        steps.push(step);
        rest = after;
        first = false;
    }
    Ok(steps)
}

/// Parses a JSON Pointer (RFC 6901) without its first slash.
fn parse_pointer(pointer: &str) -> Result<Vec<PathStep>, HandleError> {
    let names = pointer.split('/').map(JsonPointer::unescape_step);
    let steps: Vec<PathStep> = names.take(MAX_STEPS + 1).map(PathStep::Key).collect();
    match steps.len() > MAX_STEPS {
        true => Err(query_error(format!("`path` has more than {MAX_STEPS} steps"))),
        false => Ok(steps),
    }
}

/// Parses what is in brackets; also returns the rest of the path.
fn parse_bracket(inner: &str) -> Result<(PathStep, &str), HandleError> {
    if inner.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(inner).into_iter::<String>();
        let key = values.next().and_then(Result::ok).ok_or_else(malformed)?;
        let after = inner.get(values.byte_offset()..).and_then(|after| after.strip_prefix(']'));
        return Ok((PathStep::Key(key), after.ok_or_else(malformed)?));
    }
    let (inside, after) = inner.split_once(']').ok_or_else(malformed)?;
    let number = |text: &str, default: usize| match text.trim() {
        "" => Ok(default),
        text => text.parse::<usize>().map_err(|_| malformed()),
    };
    let step = match (inside.trim(), inside.split_once(':')) {
        ("" | "*", _) => PathStep::Slice(0, usize::MAX),
        (_, Some((from, to))) => PathStep::Slice(number(from, 0)?, number(to, usize::MAX)?),
        (index, None) => PathStep::Index(number(index, 0)?),
    };
    Ok((step, after))
}

fn malformed() -> HandleError {
    query_error(
        "`path` is not a valid path; write it like `orders[0].lines[].price` or `[\"a.b\"]`"
            .to_owned(),
    )
}

/// Appends a key to a path, quoted if necessary.
pub(crate) fn append_key(before: &str, key: &str) -> String {
    let plain = !key.is_empty() && !key.contains(['.', '[', ']', '"', '$', '/']);
    match (plain, before.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!("{before}.{key}"),
        (false, _) => format!("{before}[{}]", serde_json::Value::from(key)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_read() {
        let key = |name: &str| PathStep::Key(name.to_owned());
        for (path, steps) in [
            ("", vec![]),
            ("$", vec![]),
            ("a", vec![key("a")]),
            ("$.a.b", vec![key("a"), key("b")]),
            ("[3]", vec![PathStep::Index(3)]),
            ("a[].b", vec![key("a"), PathStep::Slice(0, usize::MAX), key("b")]),
            ("a[*]", vec![key("a"), PathStep::Slice(0, usize::MAX)]),
            ("a[2:5]", vec![key("a"), PathStep::Slice(2, 5)]),
            ("[:5][1:]", vec![PathStep::Slice(0, 5), PathStep::Slice(1, usize::MAX)]),
            ("[\"x.y]\"].z", vec![key("x.y]"), key("z")]),
            ("/a/0/b~1c~01", vec![key("a"), key("0"), key("b/c~1")]),
            ("a.0", vec![key("a"), key("0")]),
        ] {
            assert_eq!(parse(path).unwrap(), steps, "{path}");
        }
        for bad in ["a..b", "a[", "a[x]", "a[-1]", "a]b[", ".", "[\"x\"", "[0]a", "a[1:2:3]"] {
            assert_eq!(parse(bad).unwrap_err().code(), "invalid_constraint", "{bad}");
        }
        assert!(parse(&"a.".repeat(40)).is_err());
        let steps = |count: usize| parse(&vec!["a"; count].join("."));
        assert_eq!(steps(32).unwrap().len(), 32);
        assert!(steps(33).unwrap_err().to_string().contains("more than 32 steps"));
        assert!(parse(&"/a".repeat(32)).is_ok() && parse(&"/a".repeat(33)).is_err());
    }

    #[test]
    fn a_key_is_written_in_quotes_where_a_path_would_read_it_otherwise() {
        for (before, key, path) in [
            ("", "a", "a"),
            ("x", "a", "x.a"),
            ("x", "a.b", "x[\"a.b\"]"),
            ("", "a[0]", "[\"a[0]\"]"),
            ("", "", "[\"\"]"),
            ("x", "$a", "x[\"$a\"]"),
            ("x", "a\"b", "x[\"a\\\"b\"]"),
        ] {
            assert_eq!(append_key(before, key), path);
        }
    }

    proptest! {
        #[test]
        fn a_written_key_is_read_as_it_was(keys in prop::collection::vec(any::<String>(), 1..5)) {
            prop_assume!(keys.iter().all(|key| !key.is_empty()));
            let path = keys.iter().fold(String::new(), |path, key| append_key(&path, key));
            let steps: Vec<PathStep> = keys.into_iter().map(PathStep::Key).collect();
            prop_assert_eq!(parse(&path).unwrap(), steps);
        }

        #[test]
        fn no_path_makes_the_reader_panic(path in any::<String>()) {
            let _ = parse(&path);
        }
    }
}
