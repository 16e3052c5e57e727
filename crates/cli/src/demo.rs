//! `weaver demo`: the main job in one command, offline, on real processes and real files.
//!
//! The demo starts `weaver serve` as its child, which in turn starts [`weaver
//! demo-server`](serve_files), and talks to it as any MCP client would. A scripted agent stands in
//! for a model: it reads, writes, tries to delete, and obeys a poisoned note. One scripted person
//! approves a call; another tries to approve one without the authority. The demo checks Weaver's
//! answers and, at the end, the files. An unexpected answer ends the demo with an error, so it is
//! also a test of the installation.
//!
//! The demo opens no network connection, reads no file of the user, and leaves nothing behind
//! unless asked to.

mod answer;
mod approver;
mod client;
pub(crate) mod command;
mod documents;
mod error;
mod folder;
mod script;
mod server;
mod step;
mod tickets;
mod transcript;

use std::io::Write;
use std::path::PathBuf;

use crate::output::OutputFormat;
use folder::DemoFolder;
use transcript::Transcript;

pub(crate) use error::DemoError;
pub(crate) use server::serve_files;

/// Options of `weaver demo`.
#[derive(Debug, Clone, Default)]
pub(crate) struct DemoOptions {
    /// Text, or one JSON line per step.
    pub(crate) format: OutputFormat,
    /// A new or empty folder that keeps the demo's files; `None` for a temporary folder that is
    /// removed.
    pub(crate) keep: Option<PathBuf>,
}

/// Runs the demo and writes what happens to `out`, step by step.
///
/// # Errors
///
/// [`DemoError`]: the folder is not usable, a process cannot be started or does not answer, Weaver
/// gives an unexpected answer, or the ledger does not verify.
pub(crate) fn run(options: &DemoOptions, out: &mut dyn Write) -> Result<(), DemoError> {
    let colour = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    let mut transcript = Transcript::new(out, options.format, colour);
    let folder = DemoFolder::open(options.keep.as_deref())?;
    let written = documents::write(&folder)?;
    script::run_steps(&folder, written.approver, &mut transcript)?;
    let report = script::verify(&folder, &mut transcript)?;
    transcript.close(&folder, &report, written.passphrase.as_ref().map(|text| text.as_str()))
}
