//! Installing from npm and PyPI, and telling a registry that is out of reach from one that refuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::child::{self, Output};

const PATIENCE: Duration = Duration::from_secs(600);

/// Words by which npm and pip say that they reached nobody.
const NO_REACH: [&str; 16] = [
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

/// What came of installing from one registry.
pub enum InstallOutcome {
    /// Everything is there.
    Ready,
    /// The registry, or the program that asks it, is not there.
    OutOfReach(String),
    /// It was reached, and it did not work.
    Broken(String),
}

/// Where a package comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    Npm,
    PyPi,
}

/// Why a program is not there.
#[derive(Clone, Debug)]
pub enum MissingProgram {
    OutOfReach(String),
    Broken(String),
}

impl InstallOutcome {
    /// Why it is not there.
    pub fn missing(&self) -> Option<MissingProgram> {
        match self {
            Self::Ready => None,
            Self::OutOfReach(reason) => Some(MissingProgram::OutOfReach(reason.clone())),
            Self::Broken(reason) => Some(MissingProgram::Broken(reason.clone())),
        }
    }
}

/// Installs npm packages into a folder, without running any script of theirs. `lists` is the folder
/// of `package.json` and its lock file; `command` makes a command of a program.
pub fn node_modules(
    folder: &Path,
    lists: &Path,
    command: &dyn Fn(&Path) -> Command,
) -> InstallOutcome {
    outcome(
        "npm",
        (|| {
            let lock = "package-lock.json";
            if stamped(folder, &lists.join(lock)) {
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

/// Installs a list of Python packages into an environment in `folder`. `command` makes a command of
/// a program.
pub fn environment(
    folder: &Path,
    list: &Path,
    command: &dyn Fn(&Path) -> Command,
) -> InstallOutcome {
    outcome(
        "PyPI",
        (|| {
            if stamped(folder, list) {
                return Ok(None);
            }
            let python = program(folder, "python");
            if !python.exists() {
                let mut make = command(Path::new("python3"));
                let made = child::run(make.args(["-m", "venv"]).arg(folder), "", PATIENCE)?;
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

/// A program of a Python environment.
pub fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
}

/// Runs the installation; gives its output only where it failed.
fn install(command: &mut Command, folder: &Path, list: &Path) -> Result<Option<Output>> {
    eprintln!("installing {} into {}", list.display(), folder.display());
    let output = child::run(command, "", PATIENCE)?;
    if !output.status.success() {
        return Ok(Some(output));
    }
    fs::copy(list, stamp(folder))?;
    Ok(None)
}

fn outcome(registry: &str, done: Result<Option<Output>>) -> InstallOutcome {
    match done {
        Ok(None) => InstallOutcome::Ready,
        Ok(Some(output)) if reached_nobody(&output) => {
            InstallOutcome::OutOfReach(format!("{registry} is out of reach"))
        }
        Ok(Some(output)) => InstallOutcome::Broken(output.tail()),
        Err(error) if is_absent(&error) => InstallOutcome::OutOfReach(format!("{error:#}")),
        Err(error) => InstallOutcome::Broken(format!("{error:#}")),
    }
}

fn reached_nobody(output: &Output) -> bool {
    let said = |word: &str| output.stderr.contains(word) || output.stdout.contains(word);
    NO_REACH.iter().any(|word| said(word))
}

/// The installing program itself is not on this machine.
fn is_absent(error: &anyhow::Error) -> bool {
    let io = error.root_cause().downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::NotFound)
}

/// Whether the folder was filled from exactly this list.
fn stamped(folder: &Path, list: &Path) -> bool {
    match (fs::read(stamp(folder)), fs::read(list)) {
        (Ok(done), Ok(wanted)) => done == wanted,
        _ => false,
    }
}

fn stamp(folder: &Path) -> PathBuf {
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
        assert!(matches!(of("npm error code ENOTFOUND"), InstallOutcome::OutOfReach(_)));
        assert!(matches!(of("npm error code EINTEGRITY"), InstallOutcome::Broken(_)));
        assert!(matches!(of("npm error code E404"), InstallOutcome::Broken(_)));
    }

    #[test]
    fn a_machine_without_the_installer_is_out_of_reach() {
        let error = child::run(&mut Command::new("no-such-installer"), "", PATIENCE).err().unwrap();
        assert!(matches!(outcome("npm", Err(error)), InstallOutcome::OutOfReach(_)));
    }

    #[test]
    fn a_changed_list_is_installed_again() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list");
        fs::write(&list, "a==1\n").unwrap();
        assert!(!stamped(dir.path(), &list));
        fs::copy(&list, stamp(dir.path())).unwrap();
        assert!(stamped(dir.path(), &list));
        fs::write(&list, "a==2\n").unwrap();
        assert!(!stamped(dir.path(), &list));
    }
}
