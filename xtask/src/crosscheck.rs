//! `cargo xtask crosscheck`: compares this project's output with programs that share no code with
//! it.
//!
//! A test of `weaver-trace-store` writes stores, exports, checkpoints, receipts and equivocation
//! proofs, valid and mutated, with its own verdicts; the Python verifier judges the same files. An
//! OpenTelemetry collector receives traces and metrics, and a Secret Service stores secrets.
//! Everything is written to `target/crosscheck/`.

mod secret_service;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xshell::Shell;

use crate::child;
use crate::install::{self, MissingProgram};
use crate::tally::Tally;
use crate::{test, workspace};

const VERIFIER: &str = "crates/trace-store/python/verify_log.py";
const VECTORS: &str = "crates/trace-store/tests/data/rfc6962.json";
const TEST: &str = "crosscheck::cases_for_the_second_verifier";
const COLLECTOR_TEST: &str = "telemetry::a_collector_that_others_wrote_takes_in_all_of_it";
/// The most lines that the verifier may have, so that a person can read it in one go.
const MAX_LINES: usize = 310;
const STEP_TIMEOUT: Duration = Duration::from_secs(600);

/// Write the cases, judge them with the second verifier and compare; send a gateway's telemetry to
/// the collector; store the secrets of a setup in the Secret Service.
///
/// # Errors
/// If a verdict differs, a case of RFC 6962 fails, one of the other programs loses data, or there
/// is no Python with the package that the verifier needs.
pub fn run(sh: &Shell) -> Result<()> {
    let root = workspace::root()?;
    let lines = fs::read_to_string(root.join(VERIFIER))?.lines().count();
    ensure!(lines <= MAX_LINES, "{VERIFIER} has {lines} lines, at most {MAX_LINES}");
    let folder = workspace::metadata()?.target_directory.into_std_path_buf().join("crosscheck");
    let cases = folder.join("cases");
    if cases.exists() {
        fs::remove_dir_all(&cases).with_context(|| format!("cannot empty {}", cases.display()))?;
    }
    let python = prepare_python(&folder, &root)?;
    write_cases(sh, &cases)?;
    let list = cases.join("cases.jsonl");
    let mut judge = Command::new(&python);
    judge.arg("-B").arg(root.join("xtask/crosscheck/judge.py"));
    judge.arg(root.join(VERIFIER)).arg(&list).arg(root.join(VECTORS));
    let said = child::run(&mut judge, "", STEP_TIMEOUT)?.succeeded("the second verifier")?;
    let compared = compare_verdicts(&fs::read_to_string(&list)?, &said)?;
    println!("{compared}");
    check_collector(sh, &python)?;
    secret_service::run(sh)
}

/// Sends the spans and metrics of a gateway through the collector, if PyPI can be reached.
fn check_collector(sh: &Shell, python: &Path) -> Result<()> {
    let mut asked = Command::new(python);
    asked.args(["-c", "import rotel; print(list(rotel.__path__)[0])"]);
    let found = child::run(&mut asked, "", STEP_TIMEOUT)?;
    if !found.status.success() {
        eprintln!("crosscheck: no collector was tried, since PyPI is out of reach");
        return Ok(());
    }
    let package = found.succeeded("the package of the collector")?;
    let _named =
        sh.push_env("WEAVER_OTLP_COLLECTOR", Path::new(package.trim()).join("rotel-agent"));
    run_ignored_test(sh, "weaver-cli", COLLECTOR_TEST)?;
    println!("crosscheck: a collector took in all spans and metrics");
    Ok(())
}

/// Makes the test write its cases to this folder.
fn write_cases(sh: &Shell, cases: &Path) -> Result<()> {
    let _told = sh.push_env("WEAVER_CROSSCHECK", cases);
    run_ignored_test(sh, "weaver-trace-store", TEST)
}

/// Runs one test that other runs skip. It is built like all tests, so that nothing is built twice.
fn run_ignored_test(sh: &Shell, package: &str, test: &str) -> Result<()> {
    let only = format!("package({package}) and test(={test})");
    let args = ["--run-ignored=only".to_owned(), "-E".to_owned(), only];
    test::nextest(sh, &args, &mut Tally::default())
}

/// A Python with the package that the verifier needs: installed from PyPI into a separate
/// environment, or else the system's.
fn prepare_python(folder: &Path, root: &Path) -> Result<PathBuf> {
    let (venv, cache) = (folder.join("venv"), folder.join("pip-cache"));
    let list = root.join("xtask/crosscheck/requirements.txt");
    let command = |program: &Path| {
        let mut command = Command::new(program);
        command.env("PIP_CACHE_DIR", &cache).env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        command.env("PIP_NO_INPUT", "1");
        command
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let reason = match install::environment(&venv, &list, &command) {
        Ok(()) => return Ok(install::program(&venv, "python")),
        Err(MissingProgram::OutOfReach(reason) | MissingProgram::Broken(reason)) => reason,
    };
    let mut own = Command::new("python3");
    own.args(["-c", "import cryptography"]);
    match child::run(&mut own, "", STEP_TIMEOUT) {
        Ok(output) if output.status.success() => {
            eprintln!("{reason}; the machine's own python3 has `cryptography`, so it is used");
            Ok(PathBuf::from("python3"))
        }
        _ => bail!(
            "the second verifier needs python3 and the package `cryptography`, and neither PyPI nor \
             this machine has it ready: {reason}"
        ),
    }
}

/// Compares the verdicts line by line. The last line of the second verifier counts the cases of RFC
/// 6962.
fn compare_verdicts(cases: &str, said: &str) -> Result<String> {
    let read = |text: &str| -> Result<Vec<Value>> {
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    };
    let (ours, mut theirs) = (read(cases)?, read(said)?);
    let vectors = theirs.pop().context("the second verifier said nothing")?;
    ensure!(ours.len() == theirs.len() && !ours.is_empty(), "the second verifier left cases out");
    let mut differing = 0;
    for (case, judged) in ours.iter().zip(&theirs).filter(|(a, b)| a["good"] != b["good"]) {
        differing += 1;
        let (path, mine, other) = (&case["path"], &case["text"], &judged["text"]);
        eprintln!("{path}: here {} ({mine}), there {} ({other})", case["good"], judged["good"]);
    }
    ensure!(differing == 0, "{differing} of {} verdicts differ", ours.len());
    let right = &vectors["right"];
    ensure!(vectors["vectors"] == *right, "{right} cases of RFC 6962 of {}", vectors["vectors"]);
    let good = ours.iter().filter(|case| case["good"] == true).count();
    let all = ours.len();
    Ok(format!("crosscheck: {all} verdicts agree, {good} of them good; {right} cases of RFC 6962"))
}

#[cfg(test)]
mod tests {
    use super::compare_verdicts;

    const CASES: &str = "{\"good\":true,\"path\":\"a\",\"text\":null}\n{\"good\":false,\"path\":\"b\",\"text\":\"x\"}\n";

    #[test]
    fn one_other_verdict_or_one_missing_fails() {
        let said = |verdicts: &[bool], right: u32| {
            let mut lines: Vec<String> =
                verdicts.iter().map(|good| format!("{{\"good\":{good},\"text\":\"\"}}")).collect();
            lines.push(format!("{{\"right\":{right},\"vectors\":704}}"));
            compare_verdicts(CASES, &lines.join("\n"))
        };
        assert!(said(&[true, false], 704).unwrap().contains("2 verdicts agree, 1 of them good"));
        assert!(said(&[true, true], 704).is_err());
        assert!(said(&[false, false], 704).is_err());
        assert!(said(&[true], 704).is_err());
        assert!(said(&[true, false], 703).is_err());
        assert!(compare_verdicts("", "").is_err());
    }
}
