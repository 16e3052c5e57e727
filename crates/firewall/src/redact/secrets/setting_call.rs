//! Passwords that are words in calls that set a named value: `settings.setValue("db/password", "…")`.

use std::ops::Range;

use super::assigned_value;
use super::chosen_word::is_word_of_nobody_else;
use super::secret_name::{self, SecretKind};
use super::{byte_at, slice};
use crate::redact::validators::words;

/// The longest chain of names before the bracket of a call, and the longest name of a value, in bytes.
const MAX_CALL_BYTES: usize = 64;
const MAX_NAME_BYTES: usize = 48;

/// Beginnings of names of calls that set a value.
const SETTING: &[&str] =
    words!["set" "put" "add" "store" "save" "write" "define" "property" "prop"];
/// Parts of what such a call belongs to, if the name of the value says little.
const OF_SETTINGS: &[&str] = words!["config" "conf" "setting" "pref" "prop" "env" "option" "param" "store" "vault" "keychain" "defaults" "registry"];
/// Parts of names of calls that set a text which a page shows, or a type.
const OF_TEXTS: &[&str] = words![
    "attr" "label" "text" "title" "type" "hint" "error" "message" "placeholder" "name" "class" "style" "field" "rule"
    "header" "column" "i18n" "lang" "locale" "translat" "valid" "schema" "item"
];

/// The value at the comma behind the name of a password.
pub(super) fn value_at(bytes: &[u8], comma: usize) -> Option<Range<usize>> {
    let quote = byte_at(bytes, comma.wrapping_sub(1));
    if byte_at(bytes, comma) != b',' || !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let run = slice(bytes, comma.saturating_sub(MAX_NAME_BYTES)..comma - 1);
    let open = run.iter().rposition(|b| *b == quote)?;
    let name = slice(run, open + 1..run.len());
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"_-./:".contains(b);
    if name.is_empty() || !name.iter().all(is_name) {
        return None;
    }
    let last = name.rsplit(|b| matches!(b, b'/' | b':')).next()?;
    if !matches!(secret_name::secret_kind(last), Some(SecretKind::Password | SecretKind::Pass)) {
        return None;
    }
    let bracket = comma - 1 - run.len() + open;
    let call = slice(bytes, bracket.saturating_sub(MAX_CALL_BYTES)..bracket).strip_suffix(b"(")?;
    let is_chain = |b: &&u8| b.is_ascii_alphanumeric() || b"_.$>-:".contains(b);
    let len = call.iter().rev().take_while(is_chain).count();
    let chain =
        std::str::from_utf8(slice(call, call.len() - len..call.len())).ok()?.to_ascii_lowercase();
    let (owner, method) = chain.rsplit_once(['.', '>', ':']).unwrap_or(("", &chain));
    let is_any = |list: &[&str], text: &str| list.iter().any(|part| text.contains(part));
    let sets = SETTING.iter().any(|start| method.starts_with(start));
    let is_of_settings = is_any(OF_SETTINGS, &chain)
        || last.len() < name.len()
        || name.contains(&b'.')
        || name.contains(&b'_');
    if !sets
        || !is_of_settings
        || is_any(OF_TEXTS, method)
        || is_any(&["i18n", "lang", "locale", "translat", "error", "label"], owner)
    {
        return None;
    }
    let value = assigned_value::value_after(bytes, comma + 1, b',')?;
    let text = std::str::from_utf8(slice(bytes, value.range.clone())).ok()?;
    (value.quoted && is_word_of_nobody_else(text)).then_some(value.range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_password_in_a_call_that_sets_it() {
        for (text, found) in [
            ("s.setValue(\"db/password\", \"Kaisersemmel\");", true),
            ("config.set('password', 'Kaisersemmel')", true),
            ("System.setProperty(\"mail.password\", \"Kaisersemmel\")", true),
            ("os.environ.setdefault(\"DB_PASSWORD\", \"Kaisersemmel\")", true),
            ("$this->setConfig('admin_password', 'Kaisersemmel')", true),
            ("x.setAttribute(\"db.password\", \"Kaisersemmel\")", false),
            ("i18n.set(\"form.password\", \"Kaisersemmel\")", false),
            ("config.set('password', 'required')", false),
            ("config.set('password', newEntry)", false),
            ("x.set('password', 'Kaisersemmel')", false),
            ("config.get('password', 'Kaisersemmel')", false),
            ("config.set('port', 'Kaisersemmel')", false),
        ] {
            let comma = text.find(", ").unwrap();
            assert_eq!(value_at(text.as_bytes(), comma).is_some(), found, "{text}");
        }
    }
}
