//! Recognises servers that were set up for a folder or a file of this machine, and for nothing else.

use super::{TransportSettings, UpstreamSettings};

/// Words of variables and options for what leads to a service, or lets one in there.
const OF_SERVICES: [&str; 33] = [
    "key", "token", "secret", "password", "passwd", "pass", "credential", "credentials", "auth",
    "oauth", "cookie", "login", "user", "username", "account", "email", "mail", "host", "hostname",
    "url", "uri", "endpoint", "domain", "server", "api", "client", "tenant", "org", "organization",
    "bucket", "address", "dsn", "remote",
];
/// Words of variables and options for files of a program that are not all it keeps.
const OF_PROGRAMS: [&str; 28] = [
    "config", "conf", "cfg", "log", "logs", "cache", "cert", "certs", "ca", "bin", "binary",
    "executable", "program", "interpreter", "lib", "pythonpath", "tmpdir", "temp", "output", "out",
    "download", "downloads", "screenshot", "screenshots", "export", "profile", "session", "state",
];
/// Words of a path that leads to what lets a program in at a service.
const OF_CREDENTIALS: [&str; 6] =
    ["credential", "credentials", "token", "tokens", "oauth", "secrets"];
/// Variables of a system, which say nothing of the server that is started with them.
const OF_SYSTEM: [&str; 6] = ["PATH", "HOME", "PWD", "SHELL", "NODE_PATH", "VIRTUAL_ENV"];
/// Programs that start the one that is named to them.
const LAUNCHERS: [&str; 12] =
    ["node", "python", "python3", "uv", "uvx", "npx", "pipx", "bun", "bunx", "deno", "pnpm", "npm"];
/// What stands between a launcher and the program.
const LAUNCH_WORDS: [&str; 5] = ["run", "tool", "x", "dlx", "exec"];
/// Options of launchers that take a value.
const LAUNCH_OPTIONS: [&str; 8] =
    ["--from", "--with", "--package", "-p", "--directory", "--project", "--python", "--env-file"];
/// Endings of programs.
const SCRIPTS: [&str; 9] = [".js", ".mjs", ".cjs", ".ts", ".py", ".jar", ".sh", ".rb", ".exe"];

impl UpstreamSettings {
    /// Whether it is a process that is given a folder or a file, and nothing that leads elsewhere: no
    /// address, no account and no key of a service. Its own instructions may say so too. Where its program and its own settings lie says
    /// nothing.
    pub(crate) fn keeps_local_files(&self, instructions: Option<&str>) -> bool {
        let TransportSettings::Stdio { command, args, env, .. } = &self.transport else {
            return false;
        };
        let variables = env
            .iter()
            .filter(|(name, _)| !OF_SYSTEM.contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let Some(args) = arguments_of_program(command, args) else { return false };
        let given: Vec<(&str, &str)> = variables.chain(named_values(args)).collect();
        !given.iter().any(|(name, value)| leads_elsewhere(name, value))
            && (given.iter().any(|(name, value)| is_kept(name, value))
                || instructions.is_some_and(says_kept_here))
    }
}

/// Words of instructions for a service or an account there.
const SAYS_SERVICE: [&str; 22] = [
    "account", "accounts", "api", "cloud", "email", "host", "http", "https", "inbox", "login",
    "oauth", "online", "password", "remote", "send", "sends", "server", "sync", "syncs", "token",
    "url", "web",
];

/// Whether the instructions of a server say that it keeps what it has in a folder of the user
/// (`State lives under ~/.notes`), and mention no service.
fn says_kept_here(instructions: &str) -> bool {
    const KEPT: [&str; 12] = [
        "data", "database", "everything", "memory", "notes", "state", "store", "stored", "stores",
        "tasks", "todos", "vault",
    ];
    const LIES: [&str; 10] =
        ["kept", "keeps", "lives", "live", "persisted", "saved", "stored", "stores", "is", "are"];
    if words(instructions).any(|word| SAYS_SERVICE.contains(&word.as_str())) {
        return false;
    }
    let said: Vec<&str> = instructions.split_whitespace().collect();
    said.iter().enumerate().any(|(at, place)| {
        let before = said.get(at.saturating_sub(6)..at).unwrap_or_default();
        let is_mark = |c: char| matches!(c, '`' | '"' | '\'' | '(' | ')');
        let place = place.trim_end_matches(['.', ',', ';', ':']).trim_matches(is_mark);
        let is_place = place.starts_with("~/") && is_kept("", place);
        let has = |known: &[&str]| {
            before.iter().any(|word| known.contains(&word.to_ascii_lowercase().as_str()))
        };
        is_place && has(&KEPT) && has(&LIES)
    })
}

/// The arguments behind the program that is started. `None` where it runs in a container or a shell, which
/// takes arguments of its own.
fn arguments_of_program<'a>(command: &str, args: &'a [String]) -> Option<&'a [String]> {
    const WRAPPERS: [&str; 9] =
        ["docker", "podman", "sh", "bash", "zsh", "cmd", "ssh", "env", "powershell"];
    let base = |word: &str| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
        name.strip_suffix(".exe").or(name.strip_suffix(".cmd")).unwrap_or(&name).to_owned()
    };
    let mut program = base(command);
    let mut rest = args;
    // One launcher may start another: `uv run python server.py`.
    while LAUNCHERS.contains(&program.as_str()) {
        let (first, behind) = rest.split_first()?;
        rest = behind;
        if LAUNCH_OPTIONS.contains(&first.as_str()) {
            rest = rest.split_first()?.1;
        } else if first == "-m" {
            return Some(rest.split_first()?.1);
        } else if !first.starts_with('-') && !LAUNCH_WORDS.contains(&first.as_str()) {
            program = base(first);
        }
    }
    (!WRAPPERS.contains(&program.as_str())).then_some(rest)
}

/// Each argument with the option that names it: `--root X`, `--root=X`.
fn named_values(args: &[String]) -> impl Iterator<Item = (&str, &str)> {
    let before = std::iter::once("").chain(args.iter().map(String::as_str));
    before.zip(args).map(|(before, arg)| match arg.split_once('=') {
        Some((name, value)) if name.starts_with('-') => (name, value),
        _ if arg.starts_with('-') => (arg.as_str(), ""),
        _ if before.starts_with('-') && !before.contains('=') => (before, arg.as_str()),
        _ => ("", arg.as_str()),
    })
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase)
}

/// The address of a file of a database: `sqlite:////home/ana/shop.db`.
fn file_address(value: &str) -> Option<&str> {
    let (scheme, rest) = value.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let is_file = matches!(scheme.as_str(), "sqlite" | "sqlite3" | "duckdb")
        && rest.starts_with('/')
        && !rest.contains(['@', '?']);
    is_file.then_some(rest)
}

/// Whether a setting names a service or an account there. A file of SQLite may be called an address.
fn leads_elsewhere(name: &str, value: &str) -> bool {
    if file_address(value).is_some() {
        return false;
    }
    let is_host = value.rsplit_once(':').is_some_and(|(host, port)| {
        host.len() > 1 && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
    });
    words(name).any(|word| OF_SERVICES.contains(&word.as_str()))
        || value.contains("://")
        || value.contains('@')
        || is_host
}

/// Whether a setting is a place on this machine where things are kept.
fn is_kept(name: &str, value: &str) -> bool {
    let value = file_address(value).unwrap_or(value);
    let begins = ["/", "~/", "./", "../", "${HOME}", "$HOME"];
    let mut drive = value.bytes();
    let is_drive = drive.next().is_some_and(|b| b.is_ascii_alphabetic())
        && drive.next() == Some(b':')
        && matches!(drive.next(), Some(b'\\' | b'/'));
    let file = value.rsplit(['/', '\\']).next().unwrap_or(value).to_ascii_lowercase();
    let is_of_program = words(name).any(|word| OF_PROGRAMS.contains(&word.as_str()))
        || SCRIPTS.iter().any(|ending| file.ends_with(ending))
        || words(&file).any(|word| OF_SERVICES.contains(&word.as_str()))
        || words(&file).any(|word| OF_PROGRAMS.contains(&word.as_str()))
        || words(value).any(|word| OF_CREDENTIALS.contains(&word.as_str()));
    (is_drive || begins.iter().any(|start| value.starts_with(start))) && !is_of_program
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn keeps(command: &str, args: &[&str], env: &[(&str, &str)]) -> bool {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let env: BTreeMap<String, String> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let Some(args) = arguments_of_program(command, &args) else { return false };
        let variables = env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let given: Vec<(&str, &str)> = variables.chain(named_values(args)).collect();
        !given.iter().any(|(name, value)| leads_elsewhere(name, value))
            && given.iter().any(|(name, value)| is_kept(name, value))
    }

    #[test]
    fn a_folder_or_a_file_and_nothing_else_shows_that_things_are_kept_here() {
        let bank = "/home/ana/bank";
        assert!(keeps("node", &["/srv/bank/index.js"], &[("MEMORY_BANK_ROOT", bank)]));
        assert!(keeps("notes-mcp", &["/home/ana/notes"], &[]));
        assert!(keeps("fsext", &["--lock-root", "/home/ana/docs"], &[]));
        assert!(keeps("uvx", &["--from", "trove==1", "trove", "--path=~/trove"], &[]));
        assert!(keeps("uv", &["run", "python", "server.py", "/home/ana/x"], &[]));
        assert!(keeps("npx", &["-y", "tasks"], &[("TASKS_FILE", r"C:\Users\ana\tasks.json")]));
        assert!(keeps("mcp-alchemy", &[], &[("DB_URL", "sqlite:////home/ana/shop.db")]));
        assert!(keeps("python3", &["-m", "notes", "/home/ana/notes"], &[("LEVEL", "error")]));
    }

    #[test]
    fn instructions_say_where_things_are_kept() {
        for text in [
            "Notes and todos for agents. State lives under ~/.agent-notes. Use it often.",
            "All data is stored in `~/.todos`.",
        ] {
            assert!(says_kept_here(text), "{text}");
        }
        for text in [
            "Sends mail. State lives under ~/.mailer.",
            "State lives under ~/.x; syncs with the cloud.",
            "The token is stored in ~/.x/token.",
            "All data is stored in ~/.config/x/config.json",
            "State lives under ~/.gmail/oauth.json",
            "Read ~/.notes before you ask",
            "State lives elsewhere.",
            "",
        ] {
            assert!(!says_kept_here(text), "{text}");
        }
    }

    #[test]
    fn a_key_an_account_an_address_or_the_place_of_a_program_does_not() {
        let data = ("DATA_DIR", "/home/ana/data");
        assert!(!keeps("node", &["/srv/bank/index.js"], &[]));
        assert!(!keeps("uv", &["--directory", "/srv/x", "run", "server.py"], &[]));
        assert!(!keeps("python3", &["-m", "notes"], &[]));
        for other in [
            ("SLACK_TOKEN", "x"),
            ("GMAIL_OAUTH_PATH", "/home/ana/.gmail/oauth.json"),
            ("ES_HOST", "search"),
            ("IMAP_USER", "ana"),
            ("BASE", "https://example.com"),
            ("REDIS", "cache.example.com:6379"),
            ("FROM", "ana@example.com"),
            ("DB", "postgres://localhost/shop"),
        ] {
            assert!(!keeps("npx", &["-y", "x"], &[data, other]), "{other:?}");
        }
        for only in [
            ("X_CONFIG_PATH", "/home/ana/x.json"),
            ("LOG_FILE", "/tmp/x"),
            ("GMAIL_PATH", "/home/ana/.gmail/credentials.json"),
        ] {
            assert!(!keeps("npx", &["-y", "x"], &[only]), "{only:?}");
        }
        assert!(!keeps("docker", &["run", "-v", "/home/ana:/data", "x"], &[data]));
        assert!(!keeps("npx", &["-y", "x", "--host=db", "/home/ana"], &[]));
        assert!(!keeps("npx", &["mcp-remote", "https://example.com/mcp", "/home/ana"], &[]));
        assert!(!keeps("x", &["--db", "sqlite://host/x?mode=ro"], &[]));
    }
}
