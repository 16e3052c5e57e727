//! Classifies a name by the kind of secret that it announces.

use std::sync::LazyLock;

use super::folded_name;
use crate::redact::lexicon::Lexicon;
use crate::redact::validate::words;

/// What kind of value stands behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretKind {
    /// A password: nearly any value counts.
    Password,
    /// `pass`, `pw`: a password, or how many tests passed.
    Pass,
    /// A token or key: the value has letters and digits.
    Secret,
    /// `key`, `auth`: the value has to look random.
    Weak,
}

/// Ends of the last word of a name.
const PASSWORDS: &[&str] = words![
    "password" "passwd" "passphrase" "passcode" "pwd" "passwort" "kennwort" "contrasena" "senha"
    "motdepasse" "wachtwoord" "parola" "haslo" "pswd" "passw" "losenord" "adgangskode" "passord"
    "salasana" "heslo" "jelszo" "sifre" "palavrapasse"
];

const SECRETS: &[&str] = words![
    "token" "secret" "apikey" "accesskey" "secretkey" "privatekey" "authkey" "signingkey"
    "masterkey" "encryptionkey" "licensekey" "appkey" "subscriptionkey" "sharedkey" "accountkey"
    "deploykey" "sessionkey" "clientkey" "serverkey" "consumerkey" "userkey" "writekey"
    "sharedaccesskey" "bearer" "jwt" "credential" "credentials"
];

const PASSES: &[&str] = words![
    "pass" "pw" "psw" "mdp" "psk" "presharedkey"
];

/// Whole last words.
const WHOLE: &[&str] = words![
    "creds" "cred" "auth" "pat"
];

const WEAK: &[&str] = words![
    "secrets" "key" "api" "login" "access" "license" "licence" "cookie" "salt" "keys" "session" "sid" "sig"
    "hmac"
];

/// Words before `key` that make it a strong name: `api_key`, `access-key`.
const KEYS: &[&str] = words![
    "api" "access" "secret" "private" "auth" "signing" "master" "encryption" "license" "app"
    "application" "subscription" "shared" "account" "deploy" "session" "client" "server"
    "consumer" "user" "write" "admin" "service" "security" "authentication" "storage" "functions"
    "integration" "rest" "live" "prod" "production" "sandbox" "test"
];

/// Words that turn a key or token into something that anyone may see.
const OPEN: &[&str] = words![
    "public" "pub" "csrf" "xsrf" "foreign" "primary" "partition" "sort" "cache" "next" "prev"
    "previous" "page" "continuation" "cursor" "idempotency" "routing" "bucket" "object" "schema"
    "sequence" "translation" "i18n" "group" "index" "row" "field" "column" "event" "map" "hot"
    "keyboard" "resume" "sync" "dedupe" "natural" "surrogate" "composite" "unique" "authenticity"
    "lookup" "host" "verification" "max" "min" "num" "per" "total"
];

/// Last words of names that hold something about a secret, or nothing of the kind.
const ABOUT: &[&str] = words![
    "name" "names" "url" "uri" "file" "filename" "path" "vault" "version" "size" "length" "type"
    "region" "host" "hostname" "port" "email" "mail" "date" "time" "count" "format" "alg"
    "algorithm" "label" "title" "description" "prefix" "suffix" "arn" "model" "ref" "selector"
    "hash" "checksum" "digest" "endpoint" "issuer" "audience" "scope" "expires" "location" "bucket"
];

/// Takes the last word off a name: words end at punctuation and where `camelCase` has a capital.
pub(super) fn pop(name: &[u8]) -> (&[u8], &[u8]) {
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

fn is_one(word: &[u8], list: &[&str]) -> bool {
    list.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word))
}

/// What the last word of a name means: bits of [`lexicon`].
static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut lexicon = Lexicon::default();
    for (words, meaning) in [
        (PASSWORDS, PASSWORD),
        (SECRETS, SECRET),
        (PASSES, PASS),
        (WHOLE, AUTH),
        (WEAK, FAINT),
        (OPEN, SEEN),
        (&["key"][..], KEY),
    ] {
        words.iter().for_each(|word| lexicon.add(word, meaning));
    }
    lexicon
});

const PASSWORD: u8 = 1;
const SECRET: u8 = 2;
const PASS: u8 = 4;
const AUTH: u8 = 8;
const FAINT: u8 = 16;
const SEEN: u8 = 32;
const KEY: u8 = 64;

/// What the name tells, if anything.
pub(super) fn secret_kind(name: &[u8]) -> Option<SecretKind> {
    if name.is_ascii() {
        return tells_in_ascii(name);
    }
    if folded_name::is_password(name) {
        return Some(SecretKind::Password);
    }
    tells_in_ascii(folded_name::FoldedName::of(name).as_bytes())
}

/// True for a word for a password where one would stand as a value: `"password": "Mot de passe"`.
pub(super) fn is_label(value: &[u8]) -> bool {
    if folded_name::is_password(value) {
        return true;
    }
    let folded = folded_name::FoldedName::of(value);
    let letters: Vec<u8> =
        folded.as_bytes().iter().copied().filter(u8::is_ascii_alphabetic).collect();
    letters.len() > 3 && LEXICON.look(&letters).whole & PASSWORD != 0
}

/// True for the heading of a column of passwords, of one word or more: `Nouveau mot de passe`.
pub(super) fn is_password_heading(heading: &[u8]) -> bool {
    if secret_kind(heading) == Some(SecretKind::Password) {
        return true;
    }
    let folded = folded_name::FoldedName::of(heading);
    let letters: Vec<u8> =
        folded.as_bytes().iter().copied().filter(u8::is_ascii_alphabetic).collect();
    LEXICON.look(&letters).ends & PASSWORD != 0
}

fn tells_in_ascii(name: &[u8]) -> Option<SecretKind> {
    let (rest, word) = pop(name);
    let found = LEXICON.look(word);
    if found.ends == 0 {
        return None;
    }
    if found.ends & PASSWORD != 0 {
        return Some(SecretKind::Password);
    }
    if found.whole & PASS != 0 {
        return Some(SecretKind::Pass);
    }
    let key = found.whole & KEY != 0 && is_one(pop(rest).1, KEYS);
    let told = if key || found.ends & SECRET != 0 || found.whole & AUTH != 0 {
        SecretKind::Secret
    } else if found.whole & FAINT != 0 || word.len() > 8 && found.ends & KEY != 0 {
        SecretKind::Weak
    } else {
        return None;
    };
    (!is_open(rest)).then_some(told)
}

/// True when a word of the name says that its value is no secret.
pub(super) fn is_open(mut name: &[u8]) -> bool {
    for _ in 0..6 {
        let (rest, word) = pop(name);
        if word.is_empty() {
            return false;
        }
        if LEXICON.look(word).whole & SEEN != 0 {
            return true;
        }
        name = rest;
    }
    false
}

/// True for the name of something about a secret, such as its length or file.
pub(super) fn is_about(name: &[u8]) -> bool {
    is_one(pop(name).1, ABOUT)
}

/// True for the name of an identifier: its last word is `id`, `uuid` and the like.
pub(super) fn is_identifier(name: &[u8]) -> bool {
    let (_, word) = pop(name);
    [&b"id"[..], b"ids", b"uuid", b"guid", b"uid", b"oid"]
        .iter()
        .any(|w| w.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_they_hold() {
        for (name, expected) in [
            ("password", Some(SecretKind::Password)),
            ("PGPASSWORD", Some(SecretKind::Password)),
            ("db.userPassword2", Some(SecretKind::Password)),
            ("pass", Some(SecretKind::Pass)),
            ("apiKey", Some(SecretKind::Secret)),
            ("X-Api-Key", Some(SecretKind::Secret)),
            ("slackToken", Some(SecretKind::Secret)),
            ("APIKEY", Some(SecretKind::Secret)),
            ("key", Some(SecretKind::Weak)),
            ("monkey", None),
            ("keyword", None),
            ("tokens", None),
            ("passwordHash", None),
            ("secret_name", None),
            ("nextPageToken", None),
            ("public_key", None),
            ("author", None),
            ("contraseña", Some(SecretKind::Password)),
            ("DB_CONTRASEÑA", Some(SecretKind::Password)),
            ("пароль", Some(SecretKind::Password)),
            ("über", None),
        ] {
            assert_eq!(secret_kind(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn words_are_taken_from_the_end() {
        assert_eq!(pop(b"myAPIKey2"), (&b"myAPI"[..], &b"Key"[..]));
        assert_eq!(pop(b"MY_TOKEN"), (&b"MY_"[..], &b"TOKEN"[..]));
        assert_eq!(pop(b"__"), (&b""[..], &b""[..]));
    }
}
