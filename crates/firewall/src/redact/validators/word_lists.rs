//! Words and phrases that tell a placeholder, a name or a file from a value.

use super::words;

/// Groups of a machine.
pub(super) const SYSTEM_GROUPS: &[&str] = words![
    "adm" "admin" "daemon" "docker" "node" "nobody" "nogroup" "root" "staff" "sudo" "users" "wheel"
    "www-data"
];

/// Endings of names that program text gives to credentials.
pub(super) const CREDENTIAL_NAME_ENDINGS: &[&str] = words![
    "auth" "authorization" "bearer" "credential" "credentials" "creds" "header" "headers" "jwt" "key"
    "secret" "token" "value"
];

/// Words that stand in for a value.
pub(super) const PLACEHOLDER_WORDS: &[&str] = words![
    "abc123" "active" "admin" "apikey" "api_key" "bar" "basic" "bearer" "bool" "boolean" "changed" "changeme"
    "correct" "credentials" "default" "digest" "disabled" "dummy" "empty" "enabled" "error"
    "example" "expired" "failed" "fake" "false" "field" "foo" "forgot" "forgotten" "guest" "hidden" "incorrect"
    "input" "integer" "invalid" "key" "mask" "masked" "missing" "must" "n/a" "negotiate" "new"
    "nil" "no" "none" "not" "null" "number" "object" "ok" "old" "optional" "passwd" "password"
    "passphrase" "placeholder" "prompt" "protected" "redacted" "required" "reset" "secret" "set" "short"
    "stored" "str" "string" "success" "test" "text" "todo" "token" "true" "undefined" "unknown"
    "unset" "user" "username" "valid" "value" "varchar" "void" "weak" "wrong" "yes" "your"
];

/// Lower-case phrases that mark a placeholder.
pub(super) const PLACEHOLDER_PHRASES: &[&str] = words![
    "abcdefghijklmnopqrstuvwxyz" "change-me" "change_me" "changeme" "changethis" "dummy"
    "enter-your" "enter_your" "example" "fixme" "insert-" "insert_" "my-secret-" "notreal"
    "not-a-real" "password-here" "placeholder" "redacted" "replace-" "replace_" "replaceme"
    "sample-" "sample_" "todo" "token-here" "xxxxxx" "your-" "your_" "yourapi" "yourkey"
    "yoursecret" "yourtoken" "wrong-secret" "wrong_secret" "wrongsecret" "wrong-pass" "wrong_pass" "wrongpass"
    "wrong-token" "wrong_token" "wrong-key" "wrong_key" "invalid-token" "invalid_token" "badpassword" "bad-password"
    "bad_password" "bad-secret" "bad_secret" "value_specified_in" "[hidden]"
];

/// File name extensions.
pub(super) const FILE_EXTENSIONS: &[&str] = words![
    "bin" "cer" "cert" "cfg" "com" "conf" "cpp" "crt" "cs" "css" "csv" "db" "der" "doc" "env"
    "exe" "gif" "go" "gz" "h" "htm" "html" "ico" "ini" "io" "java" "jar" "jks" "jpeg" "jpg" "js"
    "json" "key" "keytab" "kt" "log" "md" "mjs" "mp3" "mp4" "net" "org" "p12" "pdf" "pem" "pfx"
    "php" "png" "properties" "pub" "py" "rb" "rs" "sh" "so" "sql" "svg" "tar" "tf" "tgz" "toml"
    "ts" "tsx" "txt" "war" "wasm" "webp" "woff" "woff2" "xls" "xlsx" "xml" "yaml" "yml" "zip"
];
