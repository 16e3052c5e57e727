//! The words of which names of secrets are made, and what each means as the last one of a name.

use std::sync::LazyLock;

use crate::redact::validators::words;
use crate::redact::word_ending_trie::WordEndingTrie;

/// Endings of the last word of a name.
pub(crate) const PASSWORD_ENDINGS: &[&str] = words![
    "password" "passwd" "passphrase" "passcode" "pwd" "passwort" "kennwort" "contrasena" "senha"
    "motdepasse" "wachtwoord" "parola" "haslo" "pswd" "passw" "losenord" "adgangskode" "passord"
    "kenncode" "storepass" "keypass" "salasana" "heslo" "jelszo" "sifre" "palavrapasse"
];

const SECRET_ENDINGS: &[&str] = words![
    "token" "secret" "apikey" "accesskey" "secretkey" "privatekey" "authkey" "signingkey"
    "masterkey" "encryptionkey" "licensekey" "appkey" "subscriptionkey" "sharedkey" "accountkey"
    "deploykey" "sessionkey" "clientkey" "serverkey" "consumerkey" "userkey" "writekey"
    "sharedaccesskey" "bearer" "jwt" "credential" "credentials"
];

const PASS_WORDS: &[&str] = words![
    "pass" "pw" "psw" "mdp" "psk" "presharedkey" "bindpw" "rootpw" "userpw" "adminpw" "dbpw" "dbpass" "remotepass" "smtppass" "ftppass" "mailpass" "imappass" "adminpass" "rootpass"
    "userpass" "ldappass" "sqlpass" "wifipass" "webpass" "bindpass" "authpass" "mqttpass"
];

/// Complete last words.
const AUTH_WORDS: &[&str] = words![
    "creds" "cred" "auth" "pat" "totp"
];

const WEAK_WORDS: &[&str] = words![
    "secrets" "key" "api" "login" "access" "license" "licence" "cookie" "salt" "keys" "session" "sid"
    "hmac"
];

/// Words for a key, in some languages; a name ends with one of them.
const KEY_WORDS: &[&str] = words![
    "key" "schlussel" "sleutel" "nyckel" "nogle" "klucz" "kulcs" "avain" "anahtari"
];

/// Words before `key` that make it a strong name: `api_key`, `access-key`.
pub(super) const KEY_QUALIFIERS: &[&str] = words![
    "api" "access" "secret" "private" "auth" "signing" "master" "encryption" "license" "app"
    "application" "subscription" "shared" "account" "deploy" "session" "client" "server"
    "consumer" "user" "write" "admin" "service" "security" "authentication" "storage" "functions"
    "integration" "rest" "live" "prod" "production" "sandbox" "test" "jwt" "hmac" "aes" "cipher" "crypto" "webhook"
    "cookie" "sign" "wallet" "bot" "fernet" "map" "maps" "routing" "ingest" "ingestion" "activation" "weather" "geocoding" "local"
];

/// Words before `key` that say what a key encrypts or signs, which people make up as they do a secret.
pub(super) const CHOSEN_KEY_WORDS: &[&str] = words![
    "secret" "signing" "encryption" "jwt" "session" "cookie" "hmac" "master"
];

/// Words before `key`, alone with it in a name, that say that it names a thing: `fileKey`, `issue_key`.
pub(super) const KEYS_OF_THINGS: &[&str] = words![
    "file" "issue" "project" "space" "node" "document" "item" "record" "message"
];

/// Words before `secret` that say what is signed or encrypted with it.
pub(super) const SIGNED_WORDS: &[&str] = words![
    "jwt" "session" "cookie" "signing" "webhook" "hmac" "auth" "nextauth" "flask" "app" "refresh" "access"
    "encryption" "hash" "sso" "turn" "radius" "shared" "express" "sess"
];

/// Last words of names of things that a vendor keeps, whose values are identifiers: `"merchant": …`.
pub(super) const KEPT_THINGS: &[&str] = words![
    "list" "zone" "team" "space" "site" "location" "region" "cluster" "queue" "topic" "stream" "collection" "table"
    "base" "board" "card" "record" "folder" "network" "profile" "cursor" "etag" "slug" "run" "job" "release" "project"
    "workspace" "environment" "merchant" "plan" "price" "product" "subscription" "invoice" "charge" "payment" "refund"
    "order" "cart" "checkout" "event" "message" "thread" "channel" "conversation" "contact" "deal" "ticket" "issue"
    "task" "member" "owner" "author" "device" "node" "hash" "fingerprint" "digest" "version" "commit" "ulid" "ksuid"
    "nanoid" "cid" "arn" "urn" "organization" "customer" "tenant" "distribution" "deployment" "function" "resource"
];

/// Words that mark a key or token as public.
const PUBLIC_WORDS: &[&str] = words![
    "public" "pub" "csrf" "xsrf" "foreign" "primary" "partition" "sort" "cache" "next" "prev"
    "previous" "page" "continuation" "cursor" "idempotency" "bucket" "object" "schema"
    "sequence" "translation" "i18n" "group" "index" "row" "field" "column" "event" "hot"
    "keyboard" "resume" "sync" "dedupe" "natural" "surrogate" "composite" "unique" "authenticity"
    "lookup" "lock" "change" "host" "verification" "max" "min" "num" "per" "total" "restore" "publishable" "hashed"
    "site" "sitekey" "websocket" "component" "style"
];

/// Words for a public key that also precede it in a sentence: `cache key: x`.
pub(super) const PUBLIC_PHRASE_WORDS: &[&str] = words![
    "public" "foreign" "primary" "partition" "sort" "cache" "restore" "idempotency" "routing" "object"
    "unique" "composite" "surrogate" "lookup" "translation" "row" "shard" "dedupe" "kernel" "crashreporter" "content" "file"
];

/// Last words of names for an attribute of a secret, or for something unrelated.
pub(super) const ATTRIBUTE_WORDS: &[&str] = words![
    "name" "names" "url" "uri" "file" "filename" "path" "vault" "version" "size" "length" "type"
    "region" "host" "hostname" "port" "email" "mail" "date" "time" "count" "format" "alg"
    "algorithm" "label" "title" "description" "prefix" "suffix" "arn" "model" "ref" "selector"
    "hash" "checksum" "digest" "certificate" "cert" "endpoint" "issuer" "audience" "scope" "expires" "location" "bucket"
];

/// Last words of names that say which of several secrets it is: that of an environment, an age or a
/// role.
const QUALIFIER_WORDS: &[&str] = words![
    "prod" "production" "preprod" "staging" "stage" "stg" "dev" "devel" "development" "test" "qa"
    "uat" "sandbox" "old" "new" "current" "previous" "prev" "backup" "bak" "ro" "rw" "readonly"
    "primary" "secondary" "replica" "value" "string" "private"
];

/// The same for passwords: words that, after a word for a token, are about texts and models.
pub(super) const PASSWORD_QUALIFIER_WORDS: &[&str] = words![
    "text" "plain" "plaintext" "raw" "base"
];

/// What the last word of a name means, as flags.
pub(super) static NAME_WORDS: LazyLock<WordEndingTrie> = LazyLock::new(|| {
    let mut lexicon = WordEndingTrie::default();
    for (words, meaning) in [
        (PASSWORD_ENDINGS, PASSWORD),
        (SECRET_ENDINGS, SECRET),
        (PASS_WORDS, PASS),
        (AUTH_WORDS, AUTH),
        (WEAK_WORDS, WEAK),
        (PUBLIC_WORDS, PUBLIC),
        (KEY_WORDS, KEY),
        (QUALIFIER_WORDS, QUALIFIER),
        (PASSWORD_QUALIFIER_WORDS, QUALIFIER),
    ] {
        words.iter().for_each(|word| lexicon.add(word, meaning));
    }
    lexicon
});

pub(super) const PASSWORD: u8 = 1;
pub(super) const SECRET: u8 = 2;
pub(super) const PASS: u8 = 4;
pub(super) const AUTH: u8 = 8;
pub(super) const WEAK: u8 = 16;
pub(super) const PUBLIC: u8 = 32;
pub(super) const KEY: u8 = 64;
pub(super) const QUALIFIER: u8 = 128;
