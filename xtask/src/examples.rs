//! `cargo xtask examples [NAME] [--bless]`: run the examples and compare what they print.
//!
//! The expected output of the example `NAME` is `examples/golden/NAME.txt`. An example without
//! such a file must only succeed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{Message, Package, TargetKind};
use xshell::{Shell, cmd};

use crate::{process, workspace};

const PACKAGE: &str = "weaver-examples";

/// Options of `examples`.
#[derive(clap::Args)]
pub struct Args {
    /// Write what the examples print to their golden files.
    #[arg(long)]
    pub bless: bool,
    /// Run only this example.
    pub name: Option<String>,
}

/// Run every example, and report all that differ.
///
/// # Errors
/// If an example fails, does not print what its golden file says, or does not exist.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    let members = metadata.workspace_packages();
    let package = members
        .iter()
        .find(|package| package.name.as_str() == PACKAGE)
        .with_context(|| format!("the workspace has no package {PACKAGE}"))?;
    let mut names = example_names(package);
    names.retain(|name| args.name.as_ref().is_none_or(|wanted| wanted == name));
    if let (true, Some(name)) = (names.is_empty(), &args.name) {
        bail!("{PACKAGE} has no example `{name}`");
    }
    let programs = build(sh, &names)?;
    let golden = sh.current_dir().join("examples").join("golden");
    let mut failures = 0_usize;
    for (name, program) in &programs {
        match run_one(sh, name, program, &golden, args.bless) {
            Ok(how) => println!("example {name}: {how}"),
            Err(error) => {
                failures += 1;
                eprintln!("error: example {name}: {error:#}");
            }
        }
    }
    if failures > 0 {
        bail!("{failures} of {} examples failed", programs.len());
    }
    println!("{} examples ran", programs.len());
    Ok(())
}

/// The names of the examples, sorted.
fn example_names(package: &Package) -> Vec<String> {
    let examples = package.targets.iter().filter(|t| t.kind.contains(&TargetKind::Example));
    let mut names: Vec<String> = examples.map(|target| target.name.clone()).collect();
    names.sort();
    names
}

/// Builds the examples with all features of the workspace, as the tests do, so that nothing is
/// built twice. Returns their names and programs, sorted by name.
fn build(sh: &Shell, names: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let mut command = process::cargo(sh).args(["build", "--workspace", "--all-features"]);
    for name in names {
        command = command.args(["--example", name]);
    }
    let messages = command.arg("--message-format=json-render-diagnostics").read()?;
    let mut programs = Vec::new();
    for message in Message::parse_stream(messages.as_bytes()) {
        if let Message::CompilerArtifact(built) = message?
            && let Some(program) = built.executable
            && names.contains(&built.target.name)
        {
            programs.push((built.target.name, program.into_std_path_buf()));
        }
    }
    programs.sort();
    ensure!(programs.len() == names.len(), "cargo built {} of {}", programs.len(), names.len());
    Ok(programs)
}

fn run_one(
    sh: &Shell,
    name: &str,
    program: &Path,
    golden: &Path,
    bless: bool,
) -> Result<&'static str> {
    let output = cmd!(sh, "{program}").quiet().ignore_status().output()?;
    let printed = String::from_utf8(output.stdout).context("the output is not UTF-8")?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("it ended with {}", output.status);
    }
    let file = golden.join(format!("{name}.txt"));
    if bless {
        std::fs::create_dir_all(golden)?;
        std::fs::write(&file, &printed)
            .with_context(|| format!("cannot write {}", file.display()))?;
        return Ok("blessed");
    }
    if !file.exists() {
        return Ok("ran; no golden file");
    }
    let expected = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    match first_difference(&expected, &printed) {
        None => Ok("as expected"),
        Some(difference) => bail!(
            "{difference}; if that is right, run `cargo xtask examples --bless {name}` and review the change"
        ),
    }
}

/// The first line that differs, with both versions.
fn first_difference(expected: &str, printed: &str) -> Option<String> {
    let (mut left, mut right) = (expected.lines(), printed.lines());
    for number in 1_usize.. {
        let (want, got) = (left.next(), right.next());
        if want.is_none() && got.is_none() {
            break;
        }
        if want != got {
            let show =
                |line: Option<&str>| line.map_or("nothing more".to_owned(), |l| format!("`{l}`"));
            return Some(format!("line {number} should be {} and is {}", show(want), show(got)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_difference_is_shown() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(
            first_difference("a\nb\n", "a\nc\n").as_deref(),
            Some("line 2 should be `b` and is `c`")
        );
        assert_eq!(
            first_difference("a\n", "a\nb\n").as_deref(),
            Some("line 2 should be nothing more and is `b`")
        );
        assert_eq!(
            first_difference("a\nb\n", "a\n").as_deref(),
            Some("line 2 should be `b` and is nothing more")
        );
    }
}
