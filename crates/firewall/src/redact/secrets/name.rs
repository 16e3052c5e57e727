//! What a name tells about the value that it is given.

use crate::redact::validate::words;

/// What kind of value stands behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
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
    "motdepasse" "wachtwoord" "parola" "haslo" "pswd" "passw"
];

const SECRETS: &[&str] = words![
    "token" "secret" "apikey" "accesskey" "secretkey" "privatekey" "authkey" "signingkey"
    "masterkey" "encryptionkey" "licensekey" "appkey" "subscriptionkey" "sharedkey" "accountkey"
    "deploykey" "sessionkey" "clientkey" "serverkey" "consumerkey" "userkey" "writekey"
    "sharedaccesskey" "bearer" "jwt" "credential" "credentials"
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

fn ends(word: &[u8], list: &[&str]) -> bool {
    list.iter().any(|known| {
        word.len()
            .checked_sub(known.len())
            .and_then(|at| word.get(at..))
            .is_some_and(|end| known.as_bytes().eq_ignore_ascii_case(end))
    })
}

/// Whether a name can end as those that tell something: most names are told by two letters.
fn may_tell(name: &[u8]) -> bool {
    let mut letters = name.iter().rev().skip_while(|b| !b.is_ascii_alphabetic());
    let last = letters.next().map_or(0, |b| b.to_ascii_lowercase());
    let before = letters.next().map_or(0, |b| b.to_ascii_lowercase());
    matches!(
        [before, last],
        [b'r' | b'w' | b'e' | b'i', b'd']
            | [b's' | b'd' | b'c' | b'i', b'e']
            | [b'r' | b'e' | b'w' | b'a' | b'l', b't']
            | [b'n' | b'h' | b'l', b'a']
            | [b's' | b'l' | b't' | b'd' | b'y', b's']
            | [b'e' | b'i' | b'o', b'n']
            | [b'l', b'o']
            | [b's' | b'p', b'w']
            | [b'e', b'y' | b'r']
            | [b'a', b'l' | b'c']
            | [b'n' | b'i', b'g']
            | [b't', b'h']
            | [b'p', b'i']
            | [b'd', b'p']
    )
}

/// What the name tells, if anything.
pub(super) fn tells(name: &[u8]) -> Option<Tells> {
    if !may_tell(name) {
        return None;
    }
    let (rest, word) = pop(name);
    if ends(word, PASSWORDS) {
        return Some(Tells::Password);
    }
    if [&b"pass"[..], b"pw", b"psw", b"mdp"].iter().any(|w| w.eq_ignore_ascii_case(word)) {
        return Some(Tells::Pass);
    }
    let (_, before) = pop(rest);
    let told = if word.eq_ignore_ascii_case(b"key") && is_one(before, KEYS)
        || ends(word, SECRETS)
        || is_one(word, WHOLE)
    {
        Tells::Secret
    } else if is_one(word, WEAK) || word.len() > 8 && ends(word, &["key"]) {
        Tells::Weak
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
        if is_one(word, OPEN) {
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
            ("password", Some(Tells::Password)),
            ("PGPASSWORD", Some(Tells::Password)),
            ("db.userPassword2", Some(Tells::Password)),
            ("pass", Some(Tells::Pass)),
            ("apiKey", Some(Tells::Secret)),
            ("X-Api-Key", Some(Tells::Secret)),
            ("slackToken", Some(Tells::Secret)),
            ("APIKEY", Some(Tells::Secret)),
            ("key", Some(Tells::Weak)),
            ("monkey", None),
            ("keyword", None),
            ("tokens", None),
            ("passwordHash", None),
            ("secret_name", None),
            ("nextPageToken", None),
            ("public_key", None),
            ("author", None),
        ] {
            assert_eq!(tells(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn every_word_that_tells_passes_the_first_look() {
        for word in [PASSWORDS, SECRETS, WHOLE, WEAK].concat() {
            assert!(may_tell(word.as_bytes()), "{word}");
            assert!(may_tell(word.to_ascii_uppercase().as_bytes()), "{word}");
        }
        assert!(["pass", "pw", "psw", "mdp"].iter().all(|word| may_tell(word.as_bytes())));
    }

    #[test]
    fn words_are_taken_from_the_end() {
        assert_eq!(pop(b"myAPIKey2"), (&b"myAPI"[..], &b"Key"[..]));
        assert_eq!(pop(b"MY_TOKEN"), (&b"MY_"[..], &b"TOKEN"[..]));
        assert_eq!(pop(b"__"), (&b""[..], &b""[..]));
    }
}
