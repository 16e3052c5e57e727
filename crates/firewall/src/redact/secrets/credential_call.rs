//! Passwords in calls that take them by their place: `HTTPBasicAuth("bob", "…")`,
//! `mysqli_connect($host, "app", "…")`.
//!
//! The name of the call says where a password may be. What stands there counts if it looks like one;
//! behind a name that is only about credentials, any text that is no placeholder does.

use std::ops::Range;

use super::chosen_word::{is_chosen_word, is_phrase_with_signs};
use super::token_stats::is_uuid;
use crate::redact::validators::{
    is_joined_words, looks_like_password, not_its_name, not_placeholder, not_template,
};

/// The most arguments that are read.
const MAX_ARGUMENTS: usize = 5;
/// Ends of names of calls that take a host, a database or the like before the user.
const CONNECTING: [&str; 9] = [
    "pdo->__construct", "mysqli_connect", "mysql_connect", "sqlsrv_connect", "odbc_connect",
    "connect", "connection", "pdo", "mysqli",
];
/// Ends of names that take the user first, although those of the others end like them.
const USER_FIRST: [&str; 4] = ["oci_connect", "oci_pconnect", "new_connect", "oracledb.connect"];
/// Parts of names that are only about credentials.
const OF_CREDENTIALS: [&str; 4] = ["credential", "basic", "passwordauth", "auth="];

/// Parts of names that log in, behind whose account a word is a password, too.
const OF_LOGINS: [&str; 5] = ["login", "logon", "signin", "sign_in", "authenticate"];

/// The password among the arguments of the call whose name and bracket are the label.
pub(crate) fn credential_in_call(
    text: &str,
    label: Range<usize>,
    end: usize,
) -> Option<Range<usize>> {
    const MAX_NAME_BYTES: usize = 24;
    let before =
        text.get(text.floor_char_boundary(label.end.saturating_sub(MAX_NAME_BYTES))..label.end)?;
    let name: String = before
        .trim_end_matches('(')
        .chars()
        .rev()
        .take_while(|c| c.is_alphanumeric() || "_.=> -".contains(*c))
        .filter(|c| *c != ' ')
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    let name = name.to_ascii_lowercase();
    let ends = |list: &[&str]| list.iter().any(|end| name.ends_with(end));
    let is_oracle = ends(&USER_FIRST) || name.ends_with("oracle.connect");
    let first: usize =
        if ends(&CONNECTING) && !is_oracle || name.ends_with("ftp_login") { 2 } else { 1 };
    let is_of_credentials = OF_CREDENTIALS.iter().any(|part| name.contains(part));
    let is_of_login = OF_LOGINS.iter().any(|part| name.contains(part));
    let values = quoted_arguments(text.get(..end)?, label.end)?;
    let user = first.checked_sub(1).and_then(|at| values.get(at).cloned().flatten());
    let user = user.and_then(|user| text.get(user)).unwrap_or_default().to_owned();
    values.into_iter().enumerate().skip(first).find_map(|(number, value)| {
        let value = value?;
        let password = text.get(value.clone())?;
        let is_bare = !password.contains(char::is_whitespace)
            && !is_uuid(password.as_bytes())
            && not_template(password);
        let is_any = is_of_credentials
            && number == first
            && password.len() > 3
            && not_its_name(password)
            && not_placeholder(password);
        let is_host = password.split_once('.').is_some_and(|(_, domain)| {
            domain.contains('.')
                && domain.bytes().all(|b| b.is_ascii_lowercase() || b"-.:".contains(&b))
        });
        let is_word = (is_of_login || is_of_credentials)
            && number == first
            && !user.is_empty()
            && !user.eq_ignore_ascii_case(password)
            && (is_chosen_word(password) || is_phrase_with_signs(password));
        (is_word
            || is_bare
                && !is_host
                && (is_any || looks_like_password(password) || is_joined_words(password)))
        .then_some(value)
    })
}

/// The arguments of a call, of which those in quotation marks have a range; `None` for one that names
/// its arguments, whose names say more than their places.
fn quoted_arguments(text: &str, start: usize) -> Option<Vec<Option<Range<usize>>>> {
    let mut arguments = Vec::new();
    let mut at = start;
    while arguments.len() < MAX_ARGUMENTS {
        let rest = text.get(at..)?;
        let rest = rest.trim_start();
        // What makes an option of a text: `Some("…")`.
        let wrapped = ["Some(", "Just(", "b", "[]byte(", "Secret("]
            .iter()
            .find_map(|call| rest.strip_prefix(call).filter(|rest| rest.starts_with(['"', '\''])));
        let rest = wrapped.unwrap_or(rest);
        at = text.len() - rest.len();
        let quote = rest.chars().next().filter(|c| "\"'`".contains(*c));
        let len = match quote {
            Some(quote) => {
                let inner = rest.get(1..)?;
                let len = inner
                    .find([quote, '\n', '\\'])
                    .filter(|len| inner.get(*len..).is_some_and(|rest| rest.starts_with(quote)))?;
                arguments.push(Some(at + 1..at + 1 + len));
                len + 2
            }
            None => {
                arguments.push(None);
                0
            }
        };
        let rest = rest.get(len..)?;
        let stop = rest.find(['(', ')', ',', '{', ';', '"', '\'', '='])?;
        at += len + stop;
        match rest.as_bytes().get(stop) {
            Some(b',') => at += 1,
            Some(b')') => return Some(arguments),
            Some(b'=') => return None,
            // A call within: what follows it is not read.
            _ => return Some(arguments),
        }
    }
    Some(arguments)
}
