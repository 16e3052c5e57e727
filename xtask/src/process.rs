//! Runs child processes: cargo with a clean environment, and commands whose output is both shown
//! and kept.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use xshell::{Cmd, Shell, cmd};

/// How a verb ends; a failure is printed.
pub fn exit_code(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Cargo, without the variables that `cargo run` set for this process.
///
/// Some build scripts watch those variables. With them, a nested build and a build from the
/// terminal would undo each other's cache.
pub fn cargo(sh: &Shell) -> Cmd<'_> {
    without_cargo_run(cmd!(sh, "cargo"))
}

/// The same for the nightly toolchain, which the environment of `cargo run` would override.
pub fn nightly_cargo(sh: &Shell) -> Cmd<'_> {
    without_cargo_run(cmd!(sh, "rustup run nightly cargo"))
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
}

fn without_cargo_run(mut command: Cmd<'_>) -> Cmd<'_> {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_set_by_cargo_run) {
            command = command.env_remove(name);
        }
    }
    command
}

fn is_set_by_cargo_run(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_MANIFEST_")
        || matches!(name, "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE")
}

/// Colours the output of children if a person is watching.
pub fn colour() -> &'static str {
    if std::io::stderr().is_terminal() { "always" } else { "never" }
}

/// Run a command, show both its streams as they arrive, and return them, standard output first.
///
/// The second value tells whether the command succeeded. Standard input is empty.
///
/// # Errors
/// If the command cannot be started or its streams cannot be read.
pub fn stream(command: Cmd<'_>) -> Result<(String, bool)> {
    let shown = command.to_string();
    eprintln!("$ {shown}");
    let mut child = Command::from(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let out = child.stdout.take().context("no standard output to read")?;
    let err = child.stderr.take().context("no standard error to read")?;
    let reader = thread::spawn(move || tee(err, &mut std::io::stderr()));
    let mut text = tee(out, &mut std::io::stdout())?;
    let errors = reader.join().map_err(|_| anyhow!("the reader of standard error died"))??;
    text.push_str(&errors);
    let status = child.wait().with_context(|| format!("cannot wait for `{shown}`"))?;
    Ok((text, status.success()))
}

/// Copy a stream line by line, and keep the copy as text.
fn tee(from: impl Read, to: &mut impl Write) -> Result<String> {
    let mut reader = BufReader::new(from);
    let mut text = String::new();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        text.push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(text)
}

/// Run a command whose output goes directly to the terminal.
///
/// # Errors
/// If the command fails; names the command.
pub fn run(command: Cmd<'_>) -> Result<()> {
    let shown = command.to_string();
    if command.run().is_err() {
        bail!("`{shown}` failed");
    }
    Ok(())
}
