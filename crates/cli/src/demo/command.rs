//! `weaver demo`.

use std::path::Path;

use super::{DemoError, DemoOptions};
use crate::args::Demo;
use crate::output::OutputFormat;
use crate::{Exit, Failure, demo};

pub(crate) fn run(args: Demo) -> Result<Exit, Failure> {
    let options = DemoOptions { format: OutputFormat::from_flag(args.json), keep: args.keep };
    demo::run(&options, &mut anstream::stdout()).map_err(failure)?;
    Ok(Exit::Ok)
}

/// The small MCP server behind the demo.
pub(crate) fn serve(root: &Path) -> Result<Exit, Failure> {
    demo::serve_files(root).map_err(failure)?;
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
