//! Passwords that are words in files of settings: behind a variable of an environment, behind a name with
//! points, and beside the account, the host or the port that they belong to.

use super::assigned_name::name_before;
use super::assigned_value::AssignedValue;
use super::chosen_word::{
    is_chosen_word, is_phrase_with_signs, is_said_instead, is_word_of_nobody_else,
};
use super::remark_words::is_word_of_remarks;
use super::{byte_at, line_value, slice};
use crate::redact::validators::{looks_like_password, not_a_word, words};

/// The longest line that names the account, in bytes.
const MAX_LINE_BYTES: usize = 96;
/// How far before a value the heading of its section is looked for, in bytes.
const MAX_SECTION_BYTES: usize = 240;
/// The fewest points of a name that settings alone have.
const MIN_POINTS: usize = 2;

/// Last words of names of accounts, and of what a password belongs to.
const ACCOUNTS: &[&str] = words![
    "user" "username" "user_name" "login" "account" "benutzer" "benutzername" "utilisateur" "identifiant" "usuario"
    "utente" "gebruiker" "konto" "uid" "bruger" "bruker" "uzytkownik" "uživatel" "user name" "логин" "пользователь"
    "kasutaja" "pengguna" "utilizator"
];
const SERVERS: &[&str] =
    words!["host" "hostname" "server" "url" "port" "database" "dbname" "db" "ssid" "email"];

/// Words of names whose values are texts that a page shows.
const NAMES_OF_TEXTS: &[&str] = words![
    "label" "title" "text" "message" "msg" "hint" "error" "forgot" "reset" "change" "confirm" "confirmation"
    "invalid" "wrong" "enter" "placeholder" "help" "tooltip" "caption" "field" "form" "i18n" "lang" "locale" "translation"
    "type" "scheme" "format" "column" "header"
];

/// True for a word that is a password of settings.
pub(super) fn is_word_in_settings(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    if !is_chosen_word(text) {
        return false;
    }
    let Some((sign, name)) = name_of(bytes, value) else { return false };
    if is_in_list_of_fields(bytes, &name, value) {
        return true;
    }
    if !ends_its_assignment(bytes, value) {
        return false;
    }
    let Ok(name_text) = std::str::from_utf8(slice(bytes, name.clone())) else { return false };
    let lower_name = name_text.to_lowercase();
    let mut name_words = lower_name.split(['_', '.', '-']);
    // `POSTGRES_PASSWORD=postgres` stands for a password.
    let names_itself = lower_name.contains(&text.to_lowercase());
    if names_itself || name_words.any(|word| NAMES_OF_TEXTS.contains(&word)) {
        return false;
    }
    is_variable(bytes, name_text, sign, value)
        || value.fills_line && !value.quoted && is_name_with_points(name_text, text)
        || value.fills_line
            && is_word_of_nobody_else(text)
            && (value.separator == b':'
                && byte_at(bytes, name.start.wrapping_sub(1)) != b'#'
                && is_name_of_settings(name_text)
                || is_value_of_variable(bytes, &name)
                || has_account_beside(bytes, value, text))
}

/// True for `vault_db_password: x` of YAML, whose name has words that program text writes otherwise.
fn is_name_of_settings(name: &str) -> bool {
    name.contains(['_', '-'])
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b))
}

/// True for `value: x` below `name: DB_PASSWORD`.
fn is_value_of_variable(bytes: &[u8], name: &std::ops::Range<usize>) -> bool {
    let is_capital = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
    let before = slice(bytes, name.start.saturating_sub(MAX_LINE_BYTES)..name.start);
    let before = before.trim_ascii_end();
    let before = before.strip_suffix(b"\"").unwrap_or(before);
    let variable = before.rsplit(|b| !is_capital(b)).next().unwrap_or_default();
    slice(bytes, name.clone()) == b"value" && variable.contains(&b'_')
}

/// True for a field among others, or of a command, where no object of program text stands:
/// `username=scan,password=x,uid=4`, `?user=a&password=x`, `user=a password=x`, `--password=x`.
fn is_in_list_of_fields(
    bytes: &[u8],
    name: &std::ops::Range<usize>,
    value: &AssignedValue,
) -> bool {
    let before = slice(bytes, name.start.saturating_sub(MAX_LINE_BYTES)..name.start);
    let run = before.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
    let is_program_text = run.len() > 1 && run.iter().any(|b| b"([{<\"'`$".contains(b));
    // What a flag takes: `-d 'password=x'`, `-F password=x`.
    let lead = slice(before, 0..before.len() - run.len()).trim_ascii_end();
    let is_of_flag = lead
        .rsplit(u8::is_ascii_whitespace)
        .next()
        .is_some_and(|flag| flag.starts_with(b"-") && flag.len() > 1);
    let is_behind_sign = match run.last() {
        Some(b',' | b'&' | b';') => run.contains(&b'='),
        Some(b'?') => run.contains(&b'/'),
        Some(b'-') => run == b"--",
        Some(b'\'' | b'"') => run.len() == 1 && is_of_flag,
        None => is_of_flag,
        _ => false,
    };
    let next = byte_at(bytes, value.range.end);
    value.separator == b'='
        && value.is_adjacent
        && !value.quoted
        && (next.is_ascii_whitespace() || b"\0,;&\"'".contains(&next))
        && (is_behind_sign && !is_program_text
            || line_value::is_beside_fields(bytes, name.start, value))
}

/// True for a password that is no word, of a variable for what software signs with: `JWT_SECRET=Hobel_87`.
pub(super) fn is_password_of_variable(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    let parts = || text.split(|c: char| !c.is_alphabetic()).filter(|part| part.len() > 2);
    let Some((sign, name)) = name_of(bytes, value) else { return false };
    std::str::from_utf8(slice(bytes, name)).is_ok_and(|name| {
        is_variable(bytes, name, sign, value)
            && ends_its_assignment(bytes, value)
            && looks_like_password(text)
            && parts().next().is_some()
            && !parts().any(is_word_of_remarks)
    })
}

/// True for words with a capital or a sign among them behind `"secret":`, which no name of a kept secret has.
pub(super) fn is_word_of_secret(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    let is_named = name_of(bytes, value)
        .is_some_and(|(_, name)| slice(bytes, name).eq_ignore_ascii_case(b"secret"));
    let has_capital = text.contains(char::is_uppercase);
    is_named
        && value.quoted
        && (text.contains(['-', '_', '.', '!', '+', '*']) && has_capital
            || text.contains(['&', '+', '*', '!']))
        && is_chosen_word(text)
}

/// True for a word behind a variable of an environment: `SESSION_SECRET=wolkenkratzer`.
pub(super) fn is_word_of_variable(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    let name = name_of(bytes, value);
    let name_text = name.as_ref().and_then(|(sign, name)| {
        Some((*sign, std::str::from_utf8(slice(bytes, name.clone())).ok()?))
    });
    name_text.is_some_and(|(sign, name)| {
        is_chosen_word(text)
            && ends_its_assignment(bytes, value)
            && !name.to_lowercase().contains(&text.to_lowercase())
            && is_variable(bytes, name, sign, value)
    })
}

/// True where nothing else follows but a remark, or another variable.
fn ends_its_assignment(bytes: &[u8], value: &AssignedValue) -> bool {
    let end = value.range.end + usize::from(value.quoted);
    let next = byte_at(bytes, end);
    let behind = slice(bytes, end..(end + MAX_LINE_BYTES).min(bytes.len()));
    let line = behind.split(|b| matches!(b, b'\r' | b'\n')).next().unwrap_or_default().trim_ascii();
    let is_blank = matches!(next, b' ' | b'\t');
    matches!(next, 0 | b'\r' | b'\n')
        || is_blank && (line.is_empty() || line.starts_with(b"#"))
        || next == b'"' && value.separator == b'='
        || is_blank && value.separator == b'=' && value.is_adjacent
}

/// Where the sign and the name of a value are.
fn name_of(bytes: &[u8], value: &AssignedValue) -> Option<(usize, std::ops::Range<usize>)> {
    const MAX_GAP: usize = 24;
    let before = slice(bytes, value.range.start.saturating_sub(MAX_GAP)..value.range.start);
    let blank = before.iter().rev().take_while(|b| b" \t\"'`".contains(b)).count();
    let sign = value.range.start.checked_sub(blank + 1)?;
    let is_sign = byte_at(bytes, sign) == value.separator;
    is_sign.then(|| name_before(bytes, sign).map(|name| (sign, name)))?
}

/// True for a variable of an environment: `DB_PASSWORD=x`, `DB_PASSWORD: x`.
fn is_variable(bytes: &[u8], name: &str, sign: usize, value: &AssignedValue) -> bool {
    let is_capital = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let is_bare = byte_at(bytes, sign.wrapping_sub(1)).is_ascii_alphanumeric();
    let is_written =
        if value.separator == b'=' { value.is_adjacent } else { value.fills_line || value.quoted };
    is_written && is_bare && name.contains('_') && name.bytes().all(is_capital)
}

/// True for `spring.datasource.password=x`, where no object of program text is meant.
fn is_name_with_points(name: &str, text: &str) -> bool {
    let is_object = ["this.", "self.", "req.", "request.", "window.", "process."];
    name.matches('.').count() >= MIN_POINTS
        && !is_object.iter().any(|start| name.starts_with(start))
        && is_word_of_nobody_else(text)
}

/// Where a phrase ends that fills its line beside an account: `password: drei Katzen am Herd`.
pub(super) fn end_of_phrase(bytes: &[u8], value: &AssignedValue) -> Option<usize> {
    let start = value.range.start;
    if value.quoted || byte_at(bytes, value.range.end) != b' ' {
        return None;
    }
    let rest = slice(bytes, start..(start + MAX_LINE_BYTES).min(bytes.len()));
    let line = rest.split(|b| matches!(b, b'\r' | b'\n')).next()?.trim_ascii_end();
    let text = std::str::from_utf8(line).ok()?;
    let whole = AssignedValue {
        range: start..start + line.len(),
        quoted: false,
        separator: value.separator,
        is_adjacent: value.is_adjacent,
        requires_token: false,
        fills_line: true,
    };
    (is_phrase_with_signs(text) && has_account_beside(bytes, &whole, text))
        .then_some(start + line.len())
}

/// True for a password whose account is in a line above or below: `user: raj` and `password: barnacle`.
fn has_account_beside(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    let is_section = value.separator == b':' || value.is_adjacent || is_in_section(bytes, value);
    is_section
        && lines_around(bytes, value).any(|line| {
            names_owner(line, value.separator, text) || line.trim_ascii() == b"stringData:"
        })
}

/// True below the heading of a section, `[client]`. In program text an assignment has blanks, too.
fn is_in_section(bytes: &[u8], value: &AssignedValue) -> bool {
    let start = value.range.start;
    let before = slice(bytes, start.saturating_sub(MAX_SECTION_BYTES)..start);
    let is_heading = |line: &[u8]| {
        let line = line.trim_ascii();
        line.starts_with(b"[") && line.ends_with(b"]") && !line.contains(&b',')
    };
    before.split(|b| *b == b'\n').any(is_heading)
}

/// Two lines above that of a value, and two below.
fn lines_around<'t>(bytes: &'t [u8], value: &AssignedValue) -> impl Iterator<Item = &'t [u8]> {
    let (start, end) = (value.range.start, value.range.end);
    let before = slice(bytes, start.saturating_sub(3 * MAX_LINE_BYTES)..start);
    let above = before.rsplit(|b| *b == b'\n').skip(1).take(2);
    let after = slice(bytes, end..(end + 3 * MAX_LINE_BYTES).min(bytes.len()));
    let below = after.split(|b| *b == b'\n').skip(1).take(2);
    above.chain(below)
}

/// True for `user: raj`, unless the account is called as its password is, or is none; and for `port=5432`.
fn names_owner(line: &[u8], separator: u8, password: &str) -> bool {
    let Some((name, account)) =
        std::str::from_utf8(line).ok().and_then(|line| line.split_once(char::from(separator)))
    else {
        return false;
    };
    let name = name.trim_start_matches([' ', '\t', '-']).trim_end().to_lowercase();
    let account = account.trim().trim_matches(['"', '\'']);
    let is_name = account.chars().all(|c| c.is_alphanumeric() || "._-@ ".contains(c));
    let last = name.rsplit(['_', '.', '-', ' ']).next().unwrap_or_default();
    let is_account = ACCOUNTS.contains(&last) || ACCOUNTS.contains(&name.as_str());
    let is_server = SERVERS.contains(&last)
        && account.bytes().any(|b| b.is_ascii_digit() || b == b'.')
        && !account.contains(['(', '{', '[', '<', '$']);
    let is_called = |known: &str| account.eq_ignore_ascii_case(known);
    line.len() <= MAX_LINE_BYTES
        && !account.is_empty()
        && account != password
        && (is_server
            || is_account
                && is_name
                && (not_a_word(account) && !is_said_instead(account)
                    || ["admin", "guest", "root", "user"].into_iter().any(is_called)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(text: &str) -> bool {
        let sign = text.find("PASSWORD").or(text.find("password")).unwrap() + "password".len();
        let rest = text.get(sign..).unwrap();
        let from = sign + rest.find(|c: char| c.is_alphabetic()).unwrap();
        let word = text.get(from..).unwrap().split(['\n', ' ', '"', ';', ',']).next().unwrap();
        let separator = if rest.trim_start().starts_with('=') { b'=' } else { b':' };
        let value = AssignedValue {
            range: from..from + word.len(),
            quoted: text.get(from - 1..from) == Some("\""),
            separator,
            is_adjacent: from == sign + 1,
            requires_token: false,
            fills_line: true,
        };
        is_word_in_settings(text.as_bytes(), &value, word)
    }

    #[test]
    fn a_word_is_a_password_behind_a_variable() {
        for (text, is) in [
            ("DB_PASSWORD=nelkenöl", true),
            ("DB_PASSWORD: nelkenöl\n", true),
            ("DB_PASSWORD: \"nelkenöl\"\n", true),
            ("export DB_PASSWORD=Ordner.Leitz\n", true),
            ("DB_PASSWORD=nelkenöl make", true),
            ("spring.datasource.password=nelkenöl", true),
            ("DB_PASSWORD = nelkenöl", false),
            ("DB_PASSWORD=required", false),
            ("NELKE_PASSWORD=nelke", false),
            ("FORGOT_PASSWORD=Nelkenöl", false),
            ("DB_PASSWORD: nelkenöl, x", false),
            ("this.form.password=nelkenoel", false),
            ("spring.datasource.password=nelkenOel", false),
            ("password=nelkenöl", false),
        ] {
            assert_eq!(is_found(text), is, "{text}");
        }
    }

    #[test]
    fn a_word_is_a_password_beside_an_account() {
        for (text, is) in [
            ("user: raj\npassword: barnacle", true),
            ("password: barnacle\nusername: raj\n", true),
            ("  login: \"raj\"\n  password: barnacle\n", true),
            ("user=raj\nhost=db\npassword=barnacle\n", true),
            ("[x]\nuser = raj\npassword = Hefezöpfe\n", true),
            ("port=5432\npassword=barnacle", true),
            ("user = raj\npassword = barnacle\n", false),
            ("user: barnacle\npassword: barnacle", false),
            ("user: string\npassword: barnacle", false),
            ("user: ${USER}\npassword: barnacle", false),
            ("city: Pune\npassword: barnacle", false),
            ("user: raj\npassword: generated", false),
            ("user: raj\npassword: mypassword", false),
            ("user: raj\npassword: newEntry", false),
            ("password: barnacle", false),
        ] {
            assert_eq!(is_found(text), is, "{text}");
        }
    }
}
