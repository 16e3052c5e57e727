//! Tests the keychain against GNOME Keyring.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use xshell::Shell;

use super::{STEP_TIMEOUT, run_ignored_test};
use crate::child;

const TEST: &str = "keychain::a_secret_service_keeps_the_secrets";
const PROGRAMS: [&str; 3] = ["dbus-run-session", "gnome-keyring-daemon", "secret-tool"];
/// The Debian packages that contain them.
const PACKAGES: [&str; 4] = ["dbus", "dbus-bin", "gnome-keyring", "libsecret-tools"];

/// Stores the secrets of a setup in the keyring and reads them back, if it is installed. It is
/// installed automatically only in CI.
pub(super) fn run(sh: &Shell) -> Result<()> {
    if !is_installed() && std::env::var_os("CI").is_some() {
        install();
    }
    if !is_installed() {
        let packages = PACKAGES.join(", ");
        eprintln!("crosscheck: no Secret Service was tried; it takes the packages {packages}");
        return Ok(());
    }
    run_ignored_test(sh, "weaver-cli", TEST)?;
    println!("crosscheck: a Secret Service kept the secrets of a setup");
    Ok(())
}

fn is_installed() -> bool {
    PROGRAMS.iter().all(|program| Path::new("/usr/bin").join(program).exists())
}

/// Installs the packages, which needs root. The caller checks whether that worked.
fn install() {
    for arguments in [
        &["update"][..],
        &[&["install", "--yes", "--no-install-recommends"], &PACKAGES[..]].concat(),
    ] {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        match child::run(&mut command, "", STEP_TIMEOUT) {
            Ok(output) if output.status.success() => {}
            Ok(output) => eprintln!("{}", output.tail()),
            Err(error) => eprintln!("{error:#}"),
        }
    }
}
