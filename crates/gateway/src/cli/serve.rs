//! `weaver serve`.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use super::args::Serve;
use super::{Exit, Failure};
use crate::config;
use crate::serve::{self, ServeError};

/// Which messages go to standard error: `warn`, or what `WEAVER_LOG` says.
fn start_logging() {
    let filter = EnvFilter::try_from_env("WEAVER_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let logger = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    // A host that has its own logger keeps it.
    let _ = logger.try_init();
}

pub(super) fn run(args: &Serve) -> Result<Exit, Failure> {
    start_logging();
    let config = config::load(&args.config)?;
    let store = config.store.clone();
    serve::run(config, args.unsigned_development).map_err(|error| match error {
        ServeError::Documents(error) => Failure::from(error),
        ServeError::Version(error) => Failure::from(error),
        ServeError::Store(error) => Failure::store(&store, &error),
        error @ ServeError::Principal { .. } => {
            Failure::new(Exit::Invalid, error.code(), error).next("`weaver check` says more")
        }
        ServeError::Kernel(error) if error.code().starts_with("ledger.") => {
            Failure::new(Exit::Store, error.code(), error)
        }
        error => Failure::new(Exit::Internal, error.code(), error),
    })?;
    Ok(Exit::Ok)
}
