//! `weaver demo`: the main job in one command, offline, on real processes and real files.
//!
//! The demo starts `weaver serve` as its child, which in turn starts `weaver
//! demo-server`, and talks to it as any MCP client would. A scripted agent stands in
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
mod documents;
mod error;
mod folder;
mod script;
mod server;
mod step;
mod tickets;
mod transcript;

use std::path::Path;

use crate::args::Demo;
use crate::output::OutputFormat;
use crate::{Exit, Failure};
use error::DemoError;
use folder::DemoFolder;
use transcript::Transcript;

pub(crate) fn run(args: &Demo) -> Result<Exit, Failure> {
    play(args).map_err(failure)?;
    Ok(Exit::Ok)
}

/// Runs the small MCP server behind the demo.
pub(crate) fn serve(root: &Path) -> Result<Exit, Failure> {
    server::serve_files(root).map_err(failure)?;
    Ok(Exit::Ok)
}

fn failure(error: DemoError) -> Failure {
    let exit = match &error {
        DemoError::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            return Failure::output_closed();
        }
        DemoError::NotEmpty(_) | DemoError::NotFolder(_) => Exit::Usage,
        DemoError::File { .. } | DemoError::Root { .. } => Exit::Invalid,
        DemoError::Unexpected { .. } | DemoError::Ledger(_) => Exit::Failed,
        _ => Exit::Internal,
    };
    Failure::new(exit, error.code(), error)
}

/// Runs the demo and prints what happens, step by step.
///
/// # Errors
///
/// [`DemoError`]: the folder is not usable, a process cannot be started or does not answer, Weaver
/// gives an unexpected answer, or the ledger does not verify.
fn play(args: &Demo) -> Result<(), DemoError> {
    let colour = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    let mut out = anstream::stdout();
    let mut transcript = Transcript::new(&mut out, OutputFormat::from_flag(args.json), colour);
    let folder = DemoFolder::open(args.keep.as_deref())?;
    let written = documents::write(&folder)?;
    script::run_steps(&folder, written.approver, &mut transcript)?;
    let report = script::verify(&folder, &mut transcript)?;
    transcript.close(&folder, &report, written.passphrase.as_ref().map(|text| text.as_str()))
}
