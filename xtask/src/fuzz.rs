//! `cargo xtask fuzz [--seconds N] [TARGET]`: made-up input for every parser of the policy crate,
//! and for redaction, frames and queries of the firewall.
//!
//! The targets of a crate are a workspace of their own, which only a nightly compiler builds. What
//! the fuzzer learns stays under the target folder, and a later run begins with it.

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use crate::{process, workspace};

/// The targets of one crate.
struct Home {
    folder: &'static str,
    targets: &'static [&'static str],
    /// Files in use, which every target begins with beside its own seeds.
    documents: &'static [&'static str],
}

const HOMES: [Home; 2] = [
    Home {
        folder: "crates/policy/fuzz",
        targets: &["policy", "contracts_keys", "signed_file"],
        documents: &["crates/policy/assets", "xtask/harness/interop/documents"],
    },
    Home {
        folder: "crates/firewall/fuzz",
        targets: &["redactor", "frame", "query"],
        documents: &["crates/firewall/assets/rules"],
    },
];
const CARGO_FUZZ: &str = "0.13.2";

/// Options of `fuzz`.
#[derive(clap::Args)]
pub struct Args {
    /// How long each target runs.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub seconds: u32,
    /// Only this target: policy, contracts_keys, signed_file, redactor, frame or query.
    pub target: Option<String>,
}

/// Build and run the targets one after the other, each on one thread.
///
/// # Errors
/// When a tool is missing and cannot be installed, and when an input makes a target panic, take
/// too long or use too much memory; the fuzzer then names the file that holds it.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let known = || HOMES.iter().flat_map(|home| home.targets.iter().map(move |t| (home, *t)));
    let wanted = |target: &str| args.target.as_deref().is_none_or(|chosen| chosen == target);
    let chosen: Vec<(&Home, &str)> = known().filter(|(_, target)| wanted(target)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = known().map(|(_, target)| target).collect();
        bail!("no such target; there are {}", names.join(", "));
    }
    tools(sh)?;
    let place = workspace::metadata()?.target_directory.join("fuzz");
    for (home, target) in chosen {
        let corpus = place.join("corpus").join(target);
        let artifacts = place.join("artifacts").join(target);
        sh.create_dir(&corpus)?;
        sh.create_dir(&artifacts)?;
        let folder = home.folder;
        process::run(
            process::nightly_cargo(sh)
                .args(["fuzz", "run", "--fuzz-dir", folder, "--target-dir"])
                .arg(place.join("build"))
                .args([target, corpus.as_str(), &format!("{folder}/seeds/{target}")])
                .args(home.documents)
                .arg("--")
                .arg(format!("-dict={folder}/{target}.dict"))
                .arg(format!("-artifact_prefix={artifacts}/"))
                .arg(format!("-max_total_time={}", args.seconds))
                .args(["-max_len=8192", "-timeout=10", "-rss_limit_mb=2048", "-verbosity=1"])
                .args(["-print_final_stats=1"]),
        )?;
    }
    Ok(())
}

/// The nightly compiler, which must be there, and `cargo fuzz`, which is installed if it is not.
fn tools(sh: &Shell) -> Result<()> {
    let nightly = cmd!(sh, "rustup run nightly rustc --version").quiet().ignore_stderr().read();
    if nightly.is_err() {
        bail!(
            "fuzzing needs a nightly compiler: `rustup toolchain install nightly --profile minimal`"
        );
    }
    let found = cmd!(sh, "cargo fuzz --version").quiet().ignore_stderr().read();
    if found.is_err() {
        process::run(
            process::cargo(sh).args(["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ]),
        )?;
    }
    Ok(())
}
