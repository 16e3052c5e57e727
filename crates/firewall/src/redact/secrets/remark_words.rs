//! Words of what stands in for a secret, and of remarks about one.

use super::secret_name;
use crate::redact::validators::words;

/// Words of references to a secret, and of what stands in for one.
pub(super) const STAND_INS: &[&str] = words![
    "secret" "secrets" "key" "token" "password" "change" "this" "long" "random" "string" "here" "dev" "development"
    "local" "default" "super" "very" "some" "generate" "generated" "value" "prod" "production" "staging" "stage" "qa"
    "test" "tests" "testing" "jwt" "session" "cookie" "auth" "service" "api" "web" "app" "my" "your" "the" "please" "must"
    "config" "env" "name" "credentials" "creds" "vault" "ref" "backend" "frontend" "server" "client" "only" "not" "for"
];

/// What is written for a password that is elsewhere.
const NO_PASSWORDS: &[&str] = words![
    "provided" "whatever" "anything" "something" "unchanged" "secure" "plain" "plaintext" "hashed" "encrypted" "never"
    "always" "array" "varchar" "supplied" "generated" "random" "inherit" "external" "vault" "keyring" "keychain" "prompted"
    "mypassword" "yourpassword" "somepassword" "thepassword" "pending" "unused" "blank" "removed" "expired" "locked"
];

/// Words of settings, pages and remarks, which are no part of a phrase.
const WORDS_OF_REMARKS: &[&str] = words![
    "see" "read" "from" "stored" "ask" "use" "same" "none" "unset" "by" "to" "of" "on" "off" "at" "is" "so" "and" "or" "time"
    "field" "input" "reset" "forgot" "forgotten" "confirm" "icon" "required" "optional" "visible" "hidden" "toggle" "show"
    "hide" "label" "error" "page" "form" "new" "old" "user" "username" "login" "row" "group" "control" "btn" "button" "text"
    "type" "set" "file" "path" "var" "run" "based" "less" "free" "auto" "manual" "min" "max" "length" "policy" "strength"
    "with" "without" "basic" "true" "false" "null" "no" "yes" "should" "be" "it" "via" "per" "up" "out" "id" "email"
    "mail" "name" "code" "hash" "salt" "case" "sensitive" "end" "encrypted" "two" "factor" "single" "sign" "role" "admin"
    "root" "guest" "host" "port" "url" "link" "phone" "number" "data" "object" "list" "map" "null" "class" "func" "self" "this"
    "get" "has" "is" "are" "was" "all" "any" "non" "empty" "valid" "invalid" "wrong" "bad" "good" "weak" "strong" "foo" "bar"
    "baz" "example" "sample" "dummy" "fake" "mock" "expired" "changed" "change" "update" "updated" "created" "deleted"
    "groß" "klein" "und" "oder" "nicht" "bitte" "siehe" "benutzer" "konto" "eingeben" "pour" "voir" "avec" "para" "per"
    "manager" "store" "storage" "access" "account" "accounts" "authentication" "authorization" "protected" "policy"
];

/// True for a word that is about a secret, not a part of one.
pub(crate) fn is_word_of_remarks(word: &str) -> bool {
    let lower = word.to_lowercase();
    let is_in = |list: &[&str]| list.contains(&lower.as_str());
    is_in(STAND_INS)
        || is_in(NO_PASSWORDS)
        || is_in(WORDS_OF_REMARKS)
        || secret_name::secret_kind(lower.as_bytes()).is_some()
}
