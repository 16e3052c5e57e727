//! Variables of the environment inside a text: `${VAR}`, `${VAR:-default}` and `${env:VAR}`.

use super::node::shown;

/// Where variables come from: a name in, its value out if it is set.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What is wrong with a text, and what to do about it.
pub(super) type Refusal = (String, String);

/// Replaces every variable. A `$` without a brace stays as it is, and what a variable holds is not
/// looked at again. A default stands in for a variable that is unset or empty.
pub(super) fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, Refusal> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inner, tail)) = after.split_once('}') else {
            let message = format!("`${{{}` has no closing brace", shown(after));
            return Err((message, "write `${NAME}`".to_owned()));
        };
        out.push_str(&variable(inner, lookup)?);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

fn variable(inner: &str, lookup: Lookup<'_>) -> Result<String, Refusal> {
    let plain = inner.strip_prefix("env:").unwrap_or(inner);
    let (name, default) = match plain.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (plain, None),
    };
    if !is_name(name) {
        let message = format!("`${{{}}}` names no variable of the environment", shown(inner));
        return Err((message, "write `${NAME}`, `${NAME:-default}` or `${env:NAME}`".to_owned()));
    }
    match (lookup(name), default) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => {
            let remedy = format!("set {name} before starting, or write `${{{name}:-default}}`");
            Err((format!("the variable {name} is not set"), remedy))
        }
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, Refusal> {
        expand(text, &|name| match name {
            "HOME" => Some("/home/ann".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${HOME}".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn every_form_is_replaced() {
        for (text, wanted) in [
            ("${HOME}/x", "/home/ann/x"),
            ("a${env:HOME}b${HOME}", "a/home/annb/home/ann"),
            ("${NONE:-fall back}", "fall back"),
            ("${env:NONE:-x}", "x"),
            ("${HOME:-x}", "/home/ann"),
            ("${EMPTY:-x}", "x"),
            ("[${EMPTY}]", "[]"),
            ("${NONE:-}", ""),
            ("${NESTED}", "${HOME}"),
            ("$HOME $ {HOME}", "$HOME $ {HOME}"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_is_refused_by_name() {
        for (text, part) in [
            ("${NONE}", "NONE is not set"),
            ("${HOME", "no closing brace"),
            ("${}", "names no variable"),
            ("${input:key}", "names no variable"),
            ("${1X}", "names no variable"),
        ] {
            let (message, remedy) = expanded(text).unwrap_err();
            assert!(message.contains(part) && !remedy.is_empty(), "{text}: {message}");
        }
    }
}
