//! `weaver serve`.

use super::args::Serve;
use super::{Exit, Failure};
use crate::config;
use crate::serve::{self, ServeError};

pub(super) fn run(args: &Serve) -> Result<Exit, Failure> {
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
