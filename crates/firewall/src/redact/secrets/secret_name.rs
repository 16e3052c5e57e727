//! Classifies a name by the kind of secret that it announces.

use std::ops::Range;

use super::folded_name;
use super::name_words::{
    ATTRIBUTE_WORDS, AUTH, CHOSEN_KEY_WORDS, KEPT_THINGS, KEY, KEY_QUALIFIERS, KEYS_OF_THINGS,
    NAME_WORDS, PASS, PASSWORD, PASSWORD_QUALIFIER_WORDS, PUBLIC, PUBLIC_PHRASE_WORDS, QUALIFIER,
    SECRET, SIGNED_WORDS, WEAK,
};
use super::slice;
use crate::redact::word_ending_trie::WordFlags;

/// Headings of columns of accounts.
const ACCOUNT_HEADINGS: &[&str] = &[
    "user", "username", "user name", "login", "account", "benutzer", "benutzername", "konto",
    "usuario", "utilisateur", "identifiant", "utente", "gebruiker", "bruger", "brukernavn",
    "bruker", "anvandare", "uzivatel", "uzytkownik", "felhasznalo", "utilizator", "kasutaja",
    "pengguna", "kullanici", "e-mail", "email", "mail",
];

/// The kind of secret that a name announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretKind {
    /// A password: nearly any value counts.
    Password,
    /// `pass`, `pw`: a password, or the number of passed tests.
    Pass,
    /// A token or key: the value must have letters and digits.
    Secret,
    /// `JWT_SECRET`, `session_secret`: what software signs with, a token or words that somebody chose.
    Chosen,
    /// `key`, `auth`: the value must look random.
    Weak,
}

/// Splits the last word off a name. Words end at punctuation and before a capital in `camelCase`.
pub(super) fn split_last_word(name: &[u8]) -> (&[u8], &[u8]) {
    let is_end = |b: &u8| b.is_ascii_alphabetic();
    let Some(last) = name.iter().rposition(is_end) else { return (&[], &[]) };
    let (name, _) = name.split_at_checked(last + 1).unwrap_or((name, &[]));
    let capital = name.last().is_some_and(u8::is_ascii_uppercase);
    let run = if capital {
        name.iter().rev().take_while(|b| b.is_ascii_uppercase()).count()
    } else {
        let low = name.iter().rev().take_while(|b| b.is_ascii_lowercase()).count();
        let before = name.len().checked_sub(low + 1).and_then(|at| name.get(at));
        low + usize::from(before.is_some_and(u8::is_ascii_uppercase))
    };
    name.split_at_checked(name.len() - run).unwrap_or((&[], name))
}

fn is_in_list(word: &[u8], list: &[&str]) -> bool {
    list.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word))
}

/// The kind of secret that a name announces; `None` if it announces none.
pub(crate) fn secret_kind(name: &[u8]) -> Option<SecretKind> {
    if name.is_ascii() {
        return kind_of_ascii_name(name);
    }
    if folded_name::ends_with_password_word(name) {
        return Some(SecretKind::Password);
    }
    if folded_name::ends_with_token_word(name) {
        return Some(SecretKind::Secret);
    }
    kind_of_ascii_name(folded_name::FoldedName::fold(name).as_bytes())
}

/// True for a name, in one word of lower-case letters, that ends in a word for a password.
pub(crate) fn ends_with_password(name: &[u8]) -> bool {
    if folded_name::ends_with_password_word(name) {
        return true;
    }
    let of_password = |name: &[u8]| NAME_WORDS.lookup(name).of_endings & PASSWORD != 0;
    match name.is_ascii() {
        true => of_password(name),
        false => of_password(folded_name::FoldedName::fold(name).as_bytes()),
    }
}

/// True for a word that says which of several secrets a name is about.
pub(crate) fn is_qualifier(word: &[u8]) -> bool {
    NAME_WORDS.lookup(word).of_word & QUALIFIER != 0 && !is_in_list(word, PASSWORD_QUALIFIER_WORDS)
}

/// What the heading of a column says that it holds: passwords, or tokens, which a weak name such as
/// `key` does not say.
pub(super) fn kind_of_heading(heading: &[u8]) -> Option<SecretKind> {
    if is_password_heading(heading) {
        return Some(SecretKind::Password);
    }
    let kind = secret_kind(heading)?;
    let is_word = heading.trim_ascii().iter().all(u8::is_ascii_alphabetic);
    (matches!(kind, SecretKind::Secret | SecretKind::Chosen) || kind == SecretKind::Pass && is_word)
        .then_some(kind)
}

/// True for the heading of a column of accounts.
pub(super) fn is_account_heading(cell: &[u8]) -> bool {
    const IN_OTHER_SCRIPTS: [&str; 5] = ["логин", "пользователь", "用户名", "ユーザー名", "사용자"];
    let around = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'`' | b'*');
    let start = cell.iter().take_while(|byte| around(byte)).count();
    let end = cell.len() - cell.iter().rev().take_while(|byte| around(byte)).count();
    let cell = slice(cell, start..end.max(start));
    let is_folded = !cell.is_empty()
        && is_in_list(folded_name::FoldedName::fold(cell).as_bytes(), ACCOUNT_HEADINGS);
    is_folded || IN_OTHER_SCRIPTS.iter().any(|known| known.as_bytes() == cell)
}

/// True for the heading of a column of what passwords belong to: accounts, machines, networks.
pub(super) fn is_owner_heading(cell: &[u8]) -> bool {
    const OWNERS: &[&str] = &[
        "name", "nombre", "nom", "nome", "naam", "host", "hostname", "server", "system", "service",
        "dienst", "servicio", "servizio", "device", "gerat", "appareil", "dispositivo", "apparaat",
        "ssid", "network", "netzwerk", "wifi", "wlan", "router", "url", "site", "website",
        "portal", "domain", "database", "datenbank", "role", "rolname", "machine", "where", "wo",
        "wofur",
    ];
    let cell = cell.trim_ascii();
    is_account_heading(cell) || is_in_list(folded_name::FoldedName::fold(cell).as_bytes(), OWNERS)
}

/// What a heading announces in its row: beside an account, a secret is a password.
pub(super) fn kind_in_row(
    bytes: &[u8],
    heading: &Range<usize>,
    kind: SecretKind,
    row: &[u8],
) -> SecretKind {
    let is_bare = slice(bytes, heading.clone()).trim_ascii().eq_ignore_ascii_case(b"secret");
    let mut cells = row.split(|b| matches!(b, b',' | b';' | b'|' | b'\t'));
    match is_bare && cells.any(is_account_heading) {
        true => SecretKind::Password,
        false => kind,
    }
}

/// True for `JWT_SECRET`, `sessionsecret`, `signing_key`: the word for a secret behind what it signs.
fn is_made_up_by_people(rest: &[u8], word: &[u8]) -> bool {
    if word.eq_ignore_ascii_case(b"key") {
        return is_in_list(split_last_word(rest).1, CHOSEN_KEY_WORDS);
    }
    let Some(from) = word.len().checked_sub(b"secret".len()) else { return false };
    let (front, end) = word.split_at_checked(from).unwrap_or_default();
    let qualifier = if front.is_empty() { split_last_word(rest).1 } else { front };
    end.eq_ignore_ascii_case(b"secret") && is_in_list(qualifier, SIGNED_WORDS)
}

/// True for the heading of a column of passwords, in one word or several: `Nouveau mot de passe`.
pub(super) fn is_password_heading(heading: &[u8]) -> bool {
    if secret_kind(heading) == Some(SecretKind::Password) {
        return true;
    }
    let folded = folded_name::FoldedName::fold(heading);
    let letters: Vec<u8> =
        folded.as_bytes().iter().copied().filter(u8::is_ascii_alphabetic).collect();
    NAME_WORDS.lookup(&letters).of_endings & PASSWORD != 0
}

fn kind_of_ascii_name(name: &[u8]) -> Option<SecretKind> {
    let (rest, word) = split_last_word(name);
    let found = NAME_WORDS.lookup(word);
    if found.of_endings == 0 {
        return match is_password_in_two_words(rest, word) {
            true => Some(SecretKind::Password),
            false => kind_before_purpose(rest),
        };
    }
    kind_by_last_word(rest, word, found)
        .or_else(|| kind_before_qualifier(rest, word).filter(|_| found.of_word & QUALIFIER != 0))
}

/// `mot_de_passe`, `pass_phrase`: the last word alone is about other things.
fn is_password_in_two_words(rest: &[u8], word: &[u8]) -> bool {
    let before: &[&str] = match word.to_ascii_lowercase().as_slice() {
        b"passe" => &["de", "palavra"],
        b"phrase" | b"word" | b"code" => &["pass"],
        _ => return false,
    };
    is_in_list(split_last_word(rest).1, before)
}

/// The kind of the key in `apiKeyForMaps`, `api_key_for_maps`, before what it is for.
fn kind_before_purpose(rest: &[u8]) -> Option<SecretKind> {
    let (before, word) = split_last_word(rest);
    if !word.eq_ignore_ascii_case(b"for") {
        return None;
    }
    let (rest, word) = split_last_word(before);
    kind_by_last_word(rest, word, NAME_WORDS.lookup(word))
        .filter(|kind| *kind == SecretKind::Secret)
}

/// The kind that a name announces without its last word, which says which of several it is:
/// `DB_PASSWORD_PROD`, `smtpPasswordOld`, `token_value`, `secret_key_base`.
fn kind_before_qualifier(rest: &[u8], qualifier: &[u8]) -> Option<SecretKind> {
    let (before, word) = split_last_word(rest);
    let found = NAME_WORDS.lookup(word);
    let kind = kind_by_last_word(before, word, found)?;
    let is_of_text = is_in_list(qualifier, PASSWORD_QUALIFIER_WORDS);
    let is_key_base = found.of_endings & KEY != 0 && is_in_list(qualifier, &["base"]);
    match kind {
        SecretKind::Password => Some(kind),
        SecretKind::Pass if !is_of_text && !is_in_list(qualifier, &["value", "string"]) => {
            Some(kind)
        }
        SecretKind::Secret | SecretKind::Chosen if !is_of_text || is_key_base => Some(kind),
        SecretKind::Pass | SecretKind::Secret | SecretKind::Chosen | SecretKind::Weak => None,
    }
}

fn kind_by_last_word(rest: &[u8], word: &[u8], found: WordFlags) -> Option<SecretKind> {
    if found.of_endings & PASSWORD != 0 {
        return Some(SecretKind::Password);
    }
    if found.of_word & PASS != 0 {
        return Some(SecretKind::Pass);
    }
    // What is added to a password before it is hashed is stored beside the hash.
    if rest.is_empty() && word.eq_ignore_ascii_case(b"salt") {
        return None;
    }
    // The place of an object in a bucket: `"S3Key": …`, but not `S3_KEY`.
    if found.of_word & KEY != 0 && matches!(rest, b"S3" | b"s3") && word.starts_with(b"K") {
        return None;
    }
    let (before, qualifier) = split_last_word(rest);
    if is_of_application(rest, word) {
        return None;
    }
    let is_alone = before.is_empty() && word.eq_ignore_ascii_case(b"key");
    if is_alone && is_in_list(qualifier, KEYS_OF_THINGS) {
        return None;
    }
    let is_shared = qualifier.eq_ignore_ascii_case(b"shared");
    if found.of_word & KEY != 0 && is_shared && is_in_list(split_last_word(before).1, &["pre"]) {
        return Some(SecretKind::Pass);
    }
    let key = found.of_word & KEY != 0 && is_in_list(split_last_word(rest).1, KEY_QUALIFIERS);
    let kind = if is_made_up_by_people(rest, word) {
        SecretKind::Chosen
    } else if key || found.of_endings & SECRET != 0 || found.of_word & AUTH != 0 {
        SecretKind::Secret
    } else if found.of_word & WEAK != 0 || word.len() > 8 && found.of_endings & KEY != 0 {
        SecretKind::Weak
    } else {
        return None;
    };
    (!is_public(rest)).then_some(kind)
}

/// True for the name of a key by which a vendor knows an application, and which pages show:
/// `PUSHER_APP_KEY`.
fn is_of_application(rest: &[u8], word: &[u8]) -> bool {
    let (before, qualifier) = split_last_word(rest);
    let (_, vendor) = split_last_word(before);
    word.eq_ignore_ascii_case(b"key")
        && qualifier.eq_ignore_ascii_case(b"app")
        && vendor.eq_ignore_ascii_case(b"pusher")
}

/// True if a word of the name marks its value as public.
pub(crate) fn is_public(mut name: &[u8]) -> bool {
    // The hump of `WebSocket` makes two words of it.
    if name.get(..13).is_some_and(|head| head.eq_ignore_ascii_case(b"sec-websocket")) {
        return true;
    }
    for _ in 0..6 {
        let (rest, word) = split_last_word(name);
        if word.is_empty() {
            return false;
        }
        if NAME_WORDS.lookup(word).of_word & PUBLIC != 0 {
            return true;
        }
        name = rest;
    }
    false
}

/// True for the name of a key that its vendor calls public: `RECAPTCHA_SITE_KEY`.
pub(super) fn is_published(name: &[u8]) -> bool {
    let (rest, word) = split_last_word(name);
    let is_key = word.eq_ignore_ascii_case(b"key");
    is_of_application(rest, word)
        || word.eq_ignore_ascii_case(b"sitekey")
        || is_key && is_in_list(split_last_word(rest).1, &["site", "publishable", "public"])
}

/// True if the word before this position, beyond a blank, says that a key is public: `cache key`.
pub(super) fn is_public_phrase(bytes: &[u8], key: usize) -> bool {
    const MAX_WORD_BYTES: usize = 16;
    let run = slice(bytes, key.saturating_sub(MAX_WORD_BYTES)..key);
    let Some(before) = run.strip_suffix(b" ") else { return false };
    let len = before.iter().rev().take_while(|b| b.is_ascii_alphabetic()).count();
    is_in_list(slice(before, before.len() - len..before.len()), PUBLIC_PHRASE_WORDS)
}

/// True for the last part of the name of a type of a resource: `AWS::ApiGateway::ApiKey`.
pub(super) fn is_name_of_type(bytes: &[u8], name: usize) -> bool {
    slice(bytes, name.saturating_sub(2)..name) == b"::"
        && bytes.get(name).is_some_and(u8::is_ascii_uppercase)
}

/// True for the name of an attribute of a secret, such as its length or file.
pub(super) fn is_attribute(name: &[u8]) -> bool {
    is_in_list(split_last_word(name).1, ATTRIBUTE_WORDS)
}

/// True for the name of an identifier of a client, of Entra or of an account, whose form is that of the
/// tokens of other vendors: `PAYPAL_CLIENT_ID`, `tenantId`.
pub(super) fn is_of_directory(mut name: &[u8]) -> bool {
    for _ in 0..6 {
        let (rest, word) = split_last_word(name);
        if is_in_list(
            word,
            &[
                "client", "azure", "arm", "aad", "entra", "tenant", "subscription", "directory",
                "organization",
            ],
        ) {
            return true;
        }
        name = rest;
    }
    false
}

/// True for the name of a thing that a vendor keeps.
pub(super) fn is_of_thing(name: &[u8]) -> bool {
    is_in_list(split_last_word(name).1, KEPT_THINGS)
}

/// True for the name of an identifier: its last word is `id`, `uuid` or the like.
pub(super) fn is_identifier(name: &[u8]) -> bool {
    let (_, word) = split_last_word(name);
    [&b"id"[..], b"ids", b"uuid", b"guid", b"uid", b"oid", b"org"]
        .iter()
        .any(|w| w.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
