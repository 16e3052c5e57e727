//! `cargo xtask mutants`: breaks single files in many small ways, and says which ways no test sees.

use std::fs;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::process;

/// The files with the highest authority: what decides, what proves, what masks.
const FILES: [&str; 7] = [
    "crates/weaver-types/src/decision.rs",
    "crates/policy/src/approval/person.rs",
    "crates/policy/src/approval/release.rs",
    "crates/agent-kernel/src/token/form.rs",
    "crates/firewall/src/redact/fixpoint.rs",
    "crates/trace-store/src/merkle/proof.rs",
    "crates/trace-store/src/verify/walk.rs",
];

/// How long the tests of one mutant may take, in seconds.
const TIMEOUT: &str = "300";

/// Which files.
#[derive(clap::Args)]
pub struct Args {
    /// Source files, from the root of the repository; without any, those of the highest authority.
    files: Vec<String>,
}

/// Mutates each file and runs the tests of its crate.
///
/// # Errors
/// When `cargo mutants` is not installed, or a mutant survives.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    if cmd!(sh, "cargo mutants --version").quiet().ignore_stderr().read().is_err() {
        bail!("`cargo mutants` is missing: cargo install --locked cargo-mutants");
    }
    let given: Vec<&str> = args.files.iter().map(String::as_str).collect();
    let files = if given.is_empty() { FILES.as_slice() } else { &given };
    let mut survived = Vec::new();
    for file in files {
        let package = package_of(file)?;
        let run = process::cargo(sh)
            .args(["mutants", "--jobs", "1", "--baseline", "skip", "--timeout", TIMEOUT])
            .args(["--file", file, "--package", &package, "--test-package", &package])
            .args(["--test-tool", "nextest", "--output", "target/mutants"]);
        if run.run().is_err() {
            survived.push(*file);
        }
    }
    if !survived.is_empty() {
        bail!("mutants survived or could not be tested: {}", survived.join(", "));
    }
    Ok(())
}

/// The package that a file belongs to.
fn package_of(file: &str) -> Result<String> {
    let folder = file.split("/src/").next().unwrap_or(file);
    let manifest = fs::read_to_string(format!("{folder}/Cargo.toml"))
        .with_context(|| format!("`{file}` lies in no crate"))?;
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \""));
    let name = name.and_then(|name| name.strip_suffix('"'));
    name.map(str::to_owned).with_context(|| format!("`{folder}/Cargo.toml` names no package"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_there_and_has_its_package() {
        let root = crate::workspace::root().unwrap();
        for file in FILES {
            let path = root.join(file);
            assert!(path.is_file(), "{file}");
            assert!(package_of(path.to_str().unwrap()).unwrap().starts_with("weaver-"), "{file}");
        }
        assert!(package_of("nowhere/src/x.rs").is_err());
    }
}
