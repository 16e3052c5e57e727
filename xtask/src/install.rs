//! Installs packages from npm and PyPI, and tells an unreachable registry from a failed
//! installation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::child::{self, Output};

const INSTALL_TIMEOUT: Duration = Duration::from_secs(600);

/// Texts in the output of npm and pip that mean that the registry could not be reached.
const UNREACHABLE_MARKERS: [&str; 16] = [
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENOTCACHED",
    "ENOTFOUND",
    "ETIMEDOUT",
    "ERR_SOCKET_TIMEOUT",
    "ConnectTimeoutError",
    "Connection refused",
    "Failed to establish a new connection",
    "Name or service not known",
    "NameResolutionError",
    "ProxyError",
    "Temporary failure in name resolution",
];

/// The registry that a package comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    Npm,
    PyPi,
}

/// Why a program is missing.
#[derive(Clone, Debug)]
pub enum MissingProgram {
    /// The registry or the installing program is not available.
    OutOfReach(String),
    /// The installation failed.
    Broken(String),
}

/// The outcome of an installation from one registry.
pub type InstallOutcome = Result<(), MissingProgram>;

/// Installs npm packages into a folder without running their scripts. `lists` is the folder with
/// `package.json` and its lock file; `command` makes a command from a program.
pub fn node_modules(
    folder: &Path,
    lists: &Path,
    command: &dyn Fn(&Path) -> Command,
) -> InstallOutcome {
    outcome(
        "npm",
        (|| {
            let lock = "package-lock.json";
            if is_installed(folder, &lists.join(lock)) {
                return Ok(None);
            }
            for name in ["package.json", lock] {
                let (from, to) = (lists.join(name), folder.join(name));
                fs::copy(&from, to).with_context(|| format!("cannot copy {}", from.display()))?;
            }
            let mut npm = command(Path::new("npm"));
            npm.current_dir(folder);
            npm.args([
                "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
                "--fetch-retries=1",
            ]);
            install(&mut npm, folder, &lists.join(lock))
        })(),
    )
}

/// Installs a list of Python packages into a virtual environment in `folder`. `command` makes a
/// command from a program.
pub fn environment(
    folder: &Path,
    list: &Path,
    command: &dyn Fn(&Path) -> Command,
) -> InstallOutcome {
    outcome(
        "PyPI",
        (|| {
            if is_installed(folder, list) {
                return Ok(None);
            }
            let python = program(folder, "python");
            if !python.exists() {
                let mut make = command(Path::new("python3"));
                let made = child::run(make.args(["-m", "venv"]).arg(folder), "", INSTALL_TIMEOUT)?;
                if !made.status.success() {
                    return Ok(Some(made));
                }
            }
            let mut pip = command(&python);
            pip.args(["-m", "pip", "install", "--quiet", "--retries", "1", "-r"]).arg(list);
            install(&mut pip, folder, list)
        })(),
    )
}

/// The path of a program in a Python environment.
pub fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
}

/// Runs the installation; returns its output only if it failed.
fn install(command: &mut Command, folder: &Path, list: &Path) -> Result<Option<Output>> {
    eprintln!("installing {} into {}", list.display(), folder.display());
    let output = child::run(command, "", INSTALL_TIMEOUT)?;
    if !output.status.success() {
        return Ok(Some(output));
    }
    fs::copy(list, stamp_file(folder))?;
    Ok(None)
}

fn outcome(registry: &str, done: Result<Option<Output>>) -> InstallOutcome {
    match done {
        Ok(None) => Ok(()),
        Ok(Some(output)) if is_unreachable(&output) => {
            Err(MissingProgram::OutOfReach(format!("{registry} is out of reach")))
        }
        Ok(Some(output)) => Err(MissingProgram::Broken(output.tail())),
        Err(error) if is_missing_program(&error) => {
            Err(MissingProgram::OutOfReach(format!("{error:#}")))
        }
        Err(error) => Err(MissingProgram::Broken(format!("{error:#}"))),
    }
}

fn is_unreachable(output: &Output) -> bool {
    let said = |word: &str| output.stderr.contains(word) || output.stdout.contains(word);
    UNREACHABLE_MARKERS.iter().any(|word| said(word))
}

/// Whether the installing program is not on this machine.
fn is_missing_program(error: &anyhow::Error) -> bool {
    let io = error.root_cause().downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::NotFound)
}

/// Whether the folder was installed from exactly this list.
fn is_installed(folder: &Path, list: &Path) -> bool {
    match (fs::read(stamp_file(folder)), fs::read(list)) {
        (Ok(done), Ok(wanted)) => done == wanted,
        _ => false,
    }
}

fn stamp_file(folder: &Path) -> PathBuf {
    folder.join("installed-from")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn ended(stderr: &str) -> Output {
        let status = std::os::unix::process::ExitStatusExt::from_raw(256);
        Output { status, stdout: String::new(), stderr: stderr.to_owned() }
    }

    #[cfg(unix)]
    #[test]
    fn out_of_reach_and_broken_are_told_apart() {
        let of = |stderr: &str| outcome("npm", Ok(Some(ended(stderr))));
        assert!(matches!(of("npm error code ENOTFOUND"), Err(MissingProgram::OutOfReach(_))));
        assert!(matches!(of("npm error code EINTEGRITY"), Err(MissingProgram::Broken(_))));
        assert!(matches!(of("npm error code E404"), Err(MissingProgram::Broken(_))));
    }

    #[test]
    fn a_machine_without_the_installer_is_out_of_reach() {
        let error =
            child::run(&mut Command::new("no-such-installer"), "", INSTALL_TIMEOUT).err().unwrap();
        assert!(matches!(outcome("npm", Err(error)), Err(MissingProgram::OutOfReach(_))));
    }

    #[test]
    fn a_changed_list_is_installed_again() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list");
        fs::write(&list, "a==1\n").unwrap();
        assert!(!is_installed(dir.path(), &list));
        fs::copy(&list, stamp_file(dir.path())).unwrap();
        assert!(is_installed(dir.path(), &list));
        fs::write(&list, "a==2\n").unwrap();
        assert!(!is_installed(dir.path(), &list));
    }
}
