//! `cargo xtask fuzz [--seconds N] [TARGET]`: made-up input for every parser of the policy crate.
//!
//! The targets are a workspace of their own, which only a nightly compiler builds. What the fuzzer
//! learns stays under the target folder, and a later run begins with it.

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use crate::{process, workspace};

const FOLDER: &str = "crates/policy/fuzz";
/// Documents in use, which every target begins with beside its own seeds.
const DOCUMENTS: [&str; 2] = ["crates/policy/assets", "xtask/interop/documents"];
const TARGETS: [&str; 3] = ["policy", "contracts_keys", "signed_file"];
const CARGO_FUZZ: &str = "0.13.2";

/// Options of `fuzz`.
#[derive(clap::Args)]
pub struct Args {
    /// How long each target runs.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub seconds: u32,
    /// Only this target: policy, contracts_keys or signed_file.
    pub target: Option<String>,
}

/// Build and run the targets one after the other, each on one thread.
///
/// # Errors
/// When a tool is missing and cannot be installed, and when an input makes a target panic, take
/// too long or use too much memory; the fuzzer then names the file that holds it.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let chosen: Vec<&str> =
        TARGETS.into_iter().filter(|t| args.target.as_deref().is_none_or(|c| c == *t)).collect();
    if chosen.is_empty() {
        bail!("no such target; there are {}", TARGETS.join(", "));
    }
    tools(sh)?;
    let home = workspace::metadata()?.target_directory.join("fuzz");
    for target in chosen {
        let corpus = home.join("corpus").join(target);
        let artifacts = home.join("artifacts").join(target);
        sh.create_dir(&corpus)?;
        sh.create_dir(&artifacts)?;
        process::run(
            process::nightly_cargo(sh)
                .args(["fuzz", "run", "--fuzz-dir", FOLDER, "--target-dir"])
                .arg(home.join("build"))
                .args([target, corpus.as_str(), &format!("{FOLDER}/seeds/{target}")])
                .args(DOCUMENTS)
                .arg("--")
                .arg(format!("-dict={FOLDER}/{target}.dict"))
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
        process::run(process::cargo(sh).args([
            "install",
            "cargo-fuzz",
            "--locked",
            "--version",
            CARGO_FUZZ,
        ]))?;
    }
    Ok(())
}
