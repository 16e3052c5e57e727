//! `cargo xtask mutants`: breaks single files in many small ways, and says which ways no test sees.

use std::collections::BTreeMap;
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

/// The crates of which a sample is taken.
const CRATES: [&str; 4] =
    ["weaver-policy", "weaver-agent-kernel", "weaver-firewall", "weaver-trace-store"];

/// How long the tests of one mutant may take, in seconds.
const TIMEOUT: &str = "300";

/// Where the mutants are built, so that each run finds what other crates were compiled to.
const BUILD: &str = "target/mutants/build";

/// Which files, or how many of all mutants.
#[derive(clap::Args)]
pub struct Args {
    /// Source files, from the root of the repository; without any, those of the highest authority.
    files: Vec<String>,
    /// Instead of files: one of so many mutants of the crates that decide, call, mask and record,
    /// evenly spread.
    #[arg(long, value_name = "N", conflicts_with = "files")]
    sample: Option<u32>,
    /// Only this crate of the sample; may be given several times.
    #[arg(long = "crate", value_name = "NAME", requires = "sample")]
    crates: Vec<String>,
}

/// Mutates each file, or a sample of each crate, and runs the tests of the crate.
///
/// # Errors
/// When `cargo mutants` is not installed, or a mutant survives.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    if cmd!(sh, "cargo mutants --version").quiet().ignore_stderr().read().is_err() {
        bail!("`cargo mutants` is missing: cargo install --locked cargo-mutants");
    }
    // cargo-mutants makes only the last folder of its output.
    sh.create_dir("target/mutants")?;
    let mut survived = Vec::new();
    for Group { package, chosen } in groups(args)? {
        let target = sh.current_dir().join(BUILD);
        let run = process::cargo(sh)
            .env("CARGO_TARGET_DIR", target)
            .args(["mutants", "--jobs", "1", "--baseline", "skip", "--timeout", TIMEOUT])
            // What a feature leaves out is neither built nor tested.
            .arg("--all-features")
            .args(["--package", &package, "--test-package", &package, "--test-tool", "nextest"])
            .args(["--output", &format!("target/mutants/{package}")])
            .args(chosen);
        if run.run().is_err() {
            survived.push(package);
        }
    }
    if !survived.is_empty() {
        bail!("mutants survived or could not be tested: {}", survived.join(", "));
    }
    Ok(())
}

/// Mutants of one package.
struct Group {
    package: String,
    /// The arguments that choose them.
    chosen: Vec<String>,
}

/// What to mutate, by package.
fn groups(args: &Args) -> Result<Vec<Group>> {
    if let Some(sample) = args.sample {
        let shard = format!("0/{sample}");
        let chosen = ["--shard", &shard, "--sharding", "round-robin"].map(str::to_owned);
        let all = CRATES.iter().filter(|name| {
            args.crates.is_empty() || args.crates.iter().any(|wanted| wanted == *name)
        });
        let group = |name: &&str| Group { package: (*name).to_owned(), chosen: chosen.to_vec() };
        return Ok(all.map(group).collect());
    }
    let given: Vec<&str> = args.files.iter().map(String::as_str).collect();
    let files = if given.is_empty() { FILES.as_slice() } else { &given };
    let mut by_package = BTreeMap::<String, Vec<String>>::new();
    for file in files {
        let chosen = by_package.entry(package_of(file)?).or_default();
        chosen.extend(["--file".to_owned(), (*file).to_owned()]);
    }
    Ok(by_package.into_iter().map(|(package, chosen)| Group { package, chosen }).collect())
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
