//! Secrets of servers in the system's keychain: a real Secret Service on a bus of its own, and none at
//! all.

use std::path::Path;
#[cfg(feature = "keychain")]
use std::process::Command;
use std::process::Stdio;

use crate::fixture::SECRET;
use crate::newcomer::Home;
use crate::support::Run;

/// No bus, so that no keychain of whoever runs the tests is touched.
const NO_BUS: (&str, &str) = ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus");
const ENVIRONMENT_FILE: &str = ".config/weaver/.weaver/secrets.env";

fn weaver(home: &Home, args: &[&str]) -> Run {
    let mut command = home.command(Path::new(env!("CARGO_BIN_EXE_weaver")));
    Run::new(command.env(NO_BUS.0, NO_BUS.1).args(args).stdin(Stdio::null()).output().unwrap())
}

#[test]
fn without_a_keychain_secrets_go_into_the_file_and_that_is_said() {
    let home = Home::new();
    home.with_cursor();
    let run = weaver(&home, &["init", "--yes", "--json", "--secrets", "keychain"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.json()["secrets_in"], "env", "{run:?}");
    let said = run.err.lines().filter(|line| line.contains("keychain")).collect::<Vec<_>>();
    assert!(said.len() == 1 && said[0].contains(".weaver/secrets.env instead"), "{run:?}");
    assert!(!run.out.contains(SECRET) && !run.err.contains(SECRET), "{run:?}");
    let config = home.read(".config/weaver/weaver.toml");
    assert!(config.contains("API_TOKEN = \"${API_TOKEN}\""), "{config}");
    assert!(home.read(ENVIRONMENT_FILE).contains(SECRET));
    let wrong = weaver(&home, &["update", "--yes", "--secrets", "drawer"]);
    assert!(wrong.code == 2 && wrong.err.contains("env or keychain"), "{wrong:?}");
}

#[test]
fn a_secret_that_cannot_be_read_is_refused_with_its_place() {
    let home = Home::new();
    home.with_cursor();
    assert_eq!(weaver(&home, &["init", "--yes"]).code, 0);
    let config = home.read(".config/weaver/weaver.toml");
    let named = config.replace("\"${API_TOKEN}\"", "\"${keychain:API_TOKEN}\"");
    assert_ne!(config, named);
    home.write(".config/weaver/weaver.toml", &named);
    let run = weaver(&home, &["check"]);
    assert_eq!(run.code, 3, "{run:?}");
    let line = 1 + named.lines().position(|line| line.contains("keychain:")).unwrap();
    assert!(run.err.contains("`API_TOKEN` cannot be read"), "{run:?}");
    assert!(run.err.contains(&format!("weaver.toml:{line}:")), "{run:?}");
}

/// GNOME Keyring, unlocked, on a bus of its own; in it, Weaver from the setup to a removed entry.
#[cfg(feature = "keychain")]
const SESSION: &str = r#"
set -e
printf keyring | gnome-keyring-daemon --unlock --components=secrets > /dev/null
printf "of another" | secret-tool store --label=other service weaver username API_TOKEN
"$WEAVER" init --yes --secrets keychain > ../init.out 2> ../init.err
secret-tool lookup service weaver username API_TOKEN_2 > ../found
secret-tool lookup service weaver username API_TOKEN > ../other
"$WEAVER" check > ../check.out 2>&1
secret-tool clear service weaver username API_TOKEN_2
if "$WEAVER" check > ../gone.out 2>&1; then exit 9; fi
"#;

#[test]
#[cfg(feature = "keychain")]
#[ignore = "takes dbus, gnome-keyring and secret-tool, which `cargo xtask crosscheck` installs"]
fn a_secret_service_keeps_the_secrets() {
    let home = Home::new();
    home.with_cursor();
    let mut session = home.command(Path::new("/usr/bin/dbus-run-session"));
    session.args(["--", "sh", "-c", SESSION]).env("WEAVER", env!("CARGO_BIN_EXE_weaver"));
    session.env("XDG_RUNTIME_DIR", home.path("work"));
    let ended = Run::new(Command::output(&mut session).unwrap());
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(home.read("found"), SECRET);
    assert_eq!(home.read("other"), "of another", "the entry of somebody else stays");
    let config = home.read(".config/weaver/weaver.toml");
    assert!(config.contains("API_TOKEN = \"${keychain:API_TOKEN_2}\""), "{config}");
    assert!(!config.contains(SECRET) && !config.contains("environment ="), "{config}");
    assert!(!home.path(ENVIRONMENT_FILE).exists());
    let said = home.read("init.out") + &home.read("init.err");
    assert!(said.contains("the system's keychain") && !said.contains(SECRET), "{said}");
    let gone = home.read("gone.out");
    assert!(
        gone.contains("no entry `API_TOKEN_2`") && gone.contains("secret-tool store"),
        "{gone}"
    );
}
