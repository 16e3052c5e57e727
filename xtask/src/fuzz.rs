//! `cargo xtask fuzz [--seconds N] [TARGET]`: fuzzes every parser of the policy crate, and
//! redaction, frames and queries of the firewall.
//!
//! The fuzz targets of a crate are a separate workspace, which only a nightly compiler builds. The
//! corpus is kept in the target folder, so that a later run starts with it.

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use crate::{process, workspace};

/// The targets of one crate.
struct FuzzWorkspace {
    folder: &'static str,
    targets: &'static [&'static str],
    /// Real documents that every target starts with, besides its own seeds.
    documents: &'static [&'static str],
}

const FUZZ_WORKSPACES: [FuzzWorkspace; 2] = [
    FuzzWorkspace {
        folder: "crates/policy/fuzz",
        targets: &["policy", "contracts_keys", "signed_file"],
        documents: &["crates/policy/assets", "xtask/harness/interop/documents"],
    },
    FuzzWorkspace {
        folder: "crates/firewall/fuzz",
        targets: &["redactor", "frame", "query"],
        documents: &["crates/firewall/assets/rules"],
    },
];
const CARGO_FUZZ_VERSION: &str = "0.13.2";

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
/// If a tool is missing and cannot be installed, or an input makes a target panic, take too long or
/// use too much memory; the fuzzer then names the file with that input.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let known = || {
        FUZZ_WORKSPACES.iter().flat_map(|workspace_of_target| {
            workspace_of_target.targets.iter().map(move |t| (workspace_of_target, *t))
        })
    };
    let wanted = |target: &str| args.target.as_deref().is_none_or(|chosen| chosen == target);
    let chosen: Vec<(&FuzzWorkspace, &str)> =
        known().filter(|(_, target)| wanted(target)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = known().map(|(_, target)| target).collect();
        bail!("no such target; there are {}", names.join(", "));
    }
    ensure_tools(sh)?;
    let fuzz_folder = workspace::metadata()?.target_directory.join("fuzz");
    for (workspace_of_target, target) in chosen {
        let corpus = fuzz_folder.join("corpus").join(target);
        let artifacts = fuzz_folder.join("artifacts").join(target);
        sh.create_dir(&corpus)?;
        sh.create_dir(&artifacts)?;
        let folder = workspace_of_target.folder;
        process::run(
            process::nightly_cargo(sh)
                .args(["fuzz", "run", "--fuzz-dir", folder, "--target-dir"])
                .arg(fuzz_folder.join("build"))
                .args([target, corpus.as_str(), &format!("{folder}/seeds/{target}")])
                .args(workspace_of_target.documents)
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

/// Checks for the nightly compiler, and installs `cargo fuzz` if it is missing.
fn ensure_tools(sh: &Shell) -> Result<()> {
    let nightly = cmd!(sh, "rustup run nightly rustc --version").quiet().ignore_stderr().read();
    if nightly.is_err() {
        bail!(
            "fuzzing needs a nightly compiler: `rustup toolchain install nightly --profile minimal`"
        );
    }
    let found = cmd!(sh, "cargo fuzz --version").quiet().ignore_stderr().read();
    if found.is_err() {
        process::run(
            process::cargo(sh)
                .args(["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ_VERSION]),
        )?;
    }
    Ok(())
}
