//! References in texts: environment variables as `${VAR}`, `${VAR:-default}` and `${env:VAR}`, and
//! entries of the system's keychain as `${keychain:NAME}`.

use super::node::excerpt;
use crate::secret::{KeychainError, is_entry_name};

/// A reference in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference<'a> {
    /// A variable of the environment.
    Variable(&'a str),
    /// An entry of the system's keychain.
    Keychain(&'a str),
}

/// Resolves references; `None` if the variable or entry does not exist. Only keychain lookups can
/// fail.
pub(super) type ReferenceLookup<'a> =
    &'a dyn Fn(Reference<'_>) -> Result<Option<String>, KeychainError>;

/// A problem of a text and its remedy.
pub(super) type MessageAndRemedy = (String, String);

/// Expands all references. A `$` without a brace stays, and values are not expanded again. A
/// default replaces an unset or empty variable.
pub(super) fn expand(text: &str, lookup: ReferenceLookup<'_>) -> Result<String, MessageAndRemedy> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inner, tail)) = after.split_once('}') else {
            let message = format!("`${{{}` has no closing brace", excerpt(after));
            return Err((message, "write `${NAME}`".to_owned()));
        };
        let value = match inner.strip_prefix("keychain:") {
            Some(name) => keychain_entry(name, lookup)?,
            None => variable(inner, lookup)?,
        };
        out.push_str(&value);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// A secret has no default, because a default in the configuration would not be secret.
fn keychain_entry(name: &str, lookup: ReferenceLookup<'_>) -> Result<String, MessageAndRemedy> {
    if !is_entry_name(name) {
        let message = format!("`${{keychain:{}}}` names no entry of a keychain", excerpt(name));
        let remedy = "write `${keychain:NAME}` with letters, digits and `_.-` in the name";
        return Err((message, remedy.to_owned()));
    }
    match lookup(Reference::Keychain(name)) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => {
            let message = format!("the keychain has no entry `{name}` of the service `weaver`");
            Err((message, crate::secret::add_entry_hint(name)))
        }
        Err(error) => {
            let message = format!("the secret `{name}` cannot be read: {error}");
            Err((message, error.remedy().to_owned()))
        }
    }
}

fn variable(inner: &str, lookup: ReferenceLookup<'_>) -> Result<String, MessageAndRemedy> {
    let plain = inner.strip_prefix("env:").unwrap_or(inner);
    let (name, default) = match plain.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (plain, None),
    };
    if !is_name(name) {
        let message = format!("`${{{}}}` names no variable of the environment", excerpt(inner));
        let forms = "write `${NAME}`, `${NAME:-default}`, `${env:NAME}` or `${keychain:NAME}`";
        return Err((message, forms.to_owned()));
    }
    match (lookup(Reference::Variable(name)).ok().flatten(), default) {
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

    fn expand_text(text: &str) -> Result<String, MessageAndRemedy> {
        expand(text, &|reference| {
            let value = match reference {
                Reference::Variable("HOME") => "/home/ann",
                Reference::Variable("EMPTY") => "",
                Reference::Variable("NESTED") => "${HOME}",
                Reference::Keychain("github-token") => "of the keychain",
                Reference::Keychain("LOCKED") => return Err(KeychainError::TimedOut),
                _ => return Ok(None),
            };
            Ok(Some(value.to_owned()))
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
            ("Bearer ${keychain:github-token}", "Bearer of the keychain"),
        ] {
            assert_eq!(expand_text(text).as_deref(), Ok(wanted), "{text}");
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
            // A variable of the name is another thing.
            ("${keychain:HOME}", "the keychain has no entry `HOME`"),
            ("${keychain:}", "names no entry"),
            ("${keychain:github-token:-x}", "names no entry"),
            ("${keychain:LOCKED}", "`LOCKED` cannot be read"),
        ] {
            let (message, remedy) = expand_text(text).unwrap_err();
            assert!(message.contains(part) && !remedy.is_empty(), "{text}: {message}");
        }
    }
}
