//! Recognises secrets in clients' configurations, and replaces them by variables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

use serde_json::json;
use weaver_firewall::{Disclosure, Firewall};

use crate::clients::{ServerEntry, ServerTransport};

/// A secret that was found. Its `Debug` form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ExtractedSecret {
    /// The variable that replaces it.
    pub variable: String,
    /// The server it belongs to.
    pub server: String,
    pub(super) value: String,
}

impl fmt::Debug for ExtractedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variable, server, value: _ } = self;
        f.debug_struct("ExtractedSecret")
            .field("variable", variable)
            .field("server", server)
            .finish()
    }
}

/// Words in names of variables and headers whose values are secret.
const SECRET_NAME_WORDS: [&str; 12] = [
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "API_KEY",
    "KEY", "AUTH", "COOKIE", "DSN",
];
/// Prefixes of well-known services' secrets.
const SECRET_PREFIXES: [&str; 12] = [
    "ghp_", "gho_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "AKIA", "AIza", "npm_",
    "hf_", "pat_",
];
/// Shorter values are rarely secrets and often words such as `none`.
const MIN_SECRET_CHARS: usize = 8;

/// Whether this value of a variable or header is a secret.
fn is_secret(name: &str, value: &str) -> bool {
    if value.chars().count() < MIN_SECRET_CHARS || value.contains("${") {
        return false;
    }
    let name = name.to_ascii_uppercase().replace('-', "_");
    let words: BTreeSet<&str> = name.split('_').collect();
    let named = SECRET_NAME_WORDS.iter().any(|one| match *one {
        "KEY" | "AUTH" | "DSN" => words.contains(one),
        other => name.contains(other),
    });
    if name == "AUTHORIZATION" || looks_secret(value) {
        return true;
    }
    !value.starts_with(['/', '~', '.']) && (named || is_masked(&name, value))
}

/// Whether the firewall would mask the value under this name as a secret.
fn is_masked(name: &str, value: &str) -> bool {
    /// Masks secrets and no personal data.
    static SECRETS: LazyLock<Firewall> =
        LazyLock::new(|| Firewall::new().with_disclosure(Disclosure::Personal));
    let named = json!({ name: value });
    SECRETS.redact_value(&named).0 != named
}

/// Whether a value alone shows that it is secret: a known prefix, or a password in a URL.
fn looks_secret(value: &str) -> bool {
    let known = SECRET_PREFIXES.iter().any(|prefix| value.starts_with(prefix)) && value.len() >= 16;
    let login =
        value.split_once("://").and_then(|(_, rest)| rest.split('/').next()?.split_once('@'));
    known
        || login
            .is_some_and(|(user, _)| user.split_once(':').is_some_and(|(_, word)| !word.is_empty()))
}

/// The parts of `--token=VALUE`, `TOKEN=VALUE` or a parameter of an address, whose value is a
/// secret.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let word = name.trim_start_matches('-');
    let is_name = !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (is_name && is_secret(word, value)).then_some((name, value))
}

/// Every value of an entry that nobody else should read: its secrets, and all of its variables and
/// headers, except paths and short words.
#[must_use]
pub fn private_values(entry: &ServerEntry) -> Vec<String> {
    let mut values: Vec<String> = match &entry.transport {
        ServerTransport::Program { env, .. } => env.values().cloned().collect(),
        ServerTransport::Address { headers, .. } => headers.values().cloned().collect(),
    };
    values.retain(|value| {
        value.chars().count() >= MIN_SECRET_CHARS && !value.starts_with(['/', '$'])
    });
    let secrets = extract("", &mut entry.clone(), &mut BTreeMap::new());
    values.extend(secrets.into_iter().map(|secret| secret.value));
    values
}

/// Replaces the secrets in an entry by variables. `used_variables` holds the variables of all
/// servers, so that no two secrets share one.
pub(super) fn extract(
    server: &str,
    entry: &mut ServerEntry,
    used_variables: &mut BTreeMap<String, String>,
) -> Vec<ExtractedSecret> {
    let mut secrets = Vec::new();
    let mut store =
        |name: &str, value: &mut String, used_variables: &mut BTreeMap<String, String>| {
            let (before, secret) = match value.strip_prefix("Bearer ") {
                Some(secret) => ("Bearer ", secret.to_owned()),
                None => ("", value.clone()),
            };
            let variable = variable_name(server, name, &secret, used_variables);
            *value = format!("{before}${{{variable}}}");
            secrets.push(ExtractedSecret { variable, server: server.to_owned(), value: secret });
        };
    match &mut entry.transport {
        ServerTransport::Program { env, args, .. } => {
            for (name, value) in env.iter_mut().filter(|(name, value)| is_secret(name, value)) {
                store(name, value, used_variables);
            }
            let mut after = String::new();
            for arg in args.iter_mut() {
                let option = after.trim_start_matches('-').to_owned();
                let named = after.starts_with("--") && is_secret(&option, arg);
                after.clone_from(arg);
                if named || (looks_secret(arg) && !arg.contains("${")) {
                    let name = if named { option } else { "argument".to_owned() };
                    store(&name, arg, used_variables);
                } else if let Some((option, value)) = assignment(arg) {
                    let (option, mut value) = (option.to_owned(), value.to_owned());
                    store(option.trim_start_matches('-'), &mut value, used_variables);
                    *arg = format!("{option}={value}");
                }
            }
        }
        ServerTransport::Address { url, headers } => {
            for (name, value) in headers.iter_mut().filter(|(name, value)| is_secret(name, value)) {
                store(name, value, used_variables);
            }
            if let Some((address, query)) = url.split_once('?') {
                let parameter = |parameter: &str| match assignment(parameter) {
                    Some((name, value)) => {
                        let mut value = value.to_owned();
                        store(name, &mut value, used_variables);
                        format!("{name}={value}")
                    }
                    None => parameter.to_owned(),
                };
                let parameters: Vec<String> = query.split('&').map(parameter).collect();
                *url = format!("{address}?{}", parameters.join("&"));
            }
        }
    }
    secrets
}

/// The variable's own name if it is free, otherwise prefixed with the server's name.
fn variable_name(
    server: &str,
    name: &str,
    secret: &str,
    used_variables: &mut BTreeMap<String, String>,
) -> String {
    let legal = |text: &str| -> String {
        let upper = text
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
        let text: String = upper.collect();
        let digit = text.starts_with(|c: char| c.is_ascii_digit());
        if digit || text.is_empty() { format!("_{text}") } else { text }
    };
    let variable = legal(name);
    let long = format!("{}_{variable}", legal(server));
    let numbered = (2..).map(|number| format!("{long}_{number}"));
    // `Authorization` alone says nothing about its purpose.
    let first = (variable != "AUTHORIZATION" && variable != "ARGUMENT").then(|| variable.clone());
    let mut names = first.into_iter().chain([long.clone()]).chain(numbered);
    let free = |name: &String| used_variables.get(name).is_none_or(|value| value == secret);
    let name = names.find(free).unwrap_or(long);
    used_variables.insert(name.clone(), secret.to_owned());
    name
}

/// The text of the file of variables.
pub(super) fn file_text(secrets: &[ExtractedSecret]) -> String {
    format!(
        "# Secrets that stood in the configurations of MCP clients, one NAME=VALUE a line; a value in\n\
         # double quotes is a JSON text. weaver.toml names these variables. Keep this file for\n\
         # yourself alone (mode 600).\n{}",
        variable_lines(secrets)
    )
}

/// One line per variable, in the order of the names.
pub(super) fn variable_lines(secrets: &[ExtractedSecret]) -> String {
    let by_name: BTreeMap<&str, &str> =
        secrets.iter().map(|one| (one.variable.as_str(), one.value.as_str())).collect();
    let line = |(name, value): (&str, &str)| {
        let plain =
            !value.contains(['\n', '\r']) && !value.starts_with('"') && value.trim() == value;
        let value =
            if plain { value.to_owned() } else { serde_json::Value::from(value).to_string() };
        format!("{name}={value}\n")
    };
    by_name.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_by_name_and_form() {
        for (name, value, wanted) in [
            ("GITHUB_TOKEN", "abcdefgh12", true),
            ("Authorization", "Bearer abcdefgh", true),
            ("X-Api-Key", "abcdefgh12", true),
            ("DATABASE_URL", "postgres://ann:word@host/db", true),
            ("DATABASE_URL", "postgres://host/db", false),
            ("KEY_FILE", "/home/ann/key.pem", false),
            ("MONKEY", "bananas-for-all", false),
            ("TOKEN", "none", false),
            ("TOKEN", "${GITHUB_TOKEN}", false),
            ("ANYTHING", "ghp_0123456789abcdef", true),
            ("LOG_LEVEL", "information", false),
            ("EMAIL_PASS", "abcdefgh12", true),
            ("SMTP_PWD", "abcdefgh12", true),
            ("API_HEADERS", "Authorization:Bearer eyK3s9Xq0vT7bLm2", true),
            ("EMAIL_USER", "ann@corp.example.com", false),
            ("NODE_ENV", "production", false),
            ("BYPASS_CACHE", "always-on", false),
            ("PYTHONPATH", "lib:vendor:tools", false),
        ] {
            assert_eq!(is_secret(name, value), wanted, "{name}={value}");
        }
    }

    #[test]
    fn one_name_for_two_secrets_is_told_apart() {
        let program = |token: &str| {
            ServerEntry::from(ServerTransport::Program {
                command: "x".to_owned(),
                args: vec!["--token".to_owned(), format!("{token}-arg")],
                env: BTreeMap::from([("TOKEN".to_owned(), token.to_owned())]),
                cwd: None,
            })
        };
        let mut used_variables = BTreeMap::new();
        let (mut one, mut other) = (program("secret-one"), program("secret-two"));
        let mut found = extract("a", &mut one, &mut used_variables);
        found.extend(extract("b", &mut other, &mut used_variables));
        let names: Vec<&str> = found.iter().map(|one| one.variable.as_str()).collect();
        assert_eq!(names, ["TOKEN", "A_TOKEN", "B_TOKEN", "B_TOKEN_2"]);
        assert!(!format!("{found:?}{one:?}").contains("secret-"));
        assert!(file_text(&found).contains("\nTOKEN=secret-one\n"));
    }

    #[test]
    fn a_secret_that_is_assigned_in_an_argument_is_replaced() {
        let args = [
            "--api-key=0123456789",
            "-e",
            "TOKEN=abcdefgh12",
            "--region=eu-central-1",
            "a b=0123456789",
            "--key=/home/ann/key.pem",
        ];
        let mut program = ServerEntry::from(ServerTransport::Program {
            command: "x".to_owned(),
            args: args.map(str::to_owned).to_vec(),
            env: BTreeMap::new(),
            cwd: None,
        });
        let found = extract("s", &mut program, &mut BTreeMap::new());
        let values: Vec<&str> = found.iter().map(|one| one.value.as_str()).collect();
        assert_eq!(values, ["0123456789", "abcdefgh12"]);
        let ServerTransport::Program { args, .. } = program.transport else { panic!("no program") };
        assert_eq!(args[..3], ["--api-key=${API_KEY}", "-e", "TOKEN=${TOKEN}"]);
        assert_eq!(
            args[3..],
            ["--region=eu-central-1", "a b=0123456789", "--key=/home/ann/key.pem"]
        );
    }

    #[test]
    fn a_secret_in_an_address_is_replaced() {
        let url = "https://mcp.example.com/mcp?profile=ann&api_key=0123456789&x";
        let address = ServerTransport::Address { url: url.to_owned(), headers: BTreeMap::new() };
        let mut address = ServerEntry::from(address);
        assert_eq!(private_values(&address), ["0123456789"]);
        extract("s", &mut address, &mut BTreeMap::new());
        let ServerTransport::Address { url, .. } = address.transport else { panic!("no address") };
        assert_eq!(url, "https://mcp.example.com/mcp?profile=ann&api_key=${API_KEY}&x");
    }
}
