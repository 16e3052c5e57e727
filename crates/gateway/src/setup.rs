//! Making a gateway out of the MCP configurations that are on a machine: what `weaver init` does.
//!
//! Setting up has steps, each a value: [`Selection`] takes servers out of clients' files, gives them
//! legal names and keeps secrets apart; [`Draft`] is the folder before it is signed, from which
//! servers are started; [`Review`] is what each tool will be allowed; and [`SetupFolder`] writes
//! everything beside its place, checks it as the gateway would, and moves it there in one step, so
//! that an interrupted setup leaves either nothing or all of it.
//!
//! Nothing here decides about calls: what comes out is documents, which count once they are signed.

mod documents;
mod error;
mod folder;
mod local_writes;
mod permission;
mod posture;
mod program_path;
mod review;
mod revision;
mod secret_place;
mod secrets;
mod selection;
mod update;

pub use documents::{Draft, SEARCH_PROFILE, ServerSection};
pub use error::SetupError;
pub use folder::{OwnKeys, SetupFolder};
pub use permission::Permission;
pub use posture::Posture;
pub use review::{Review, ReviewError, ReviewRow};
pub use revision::PolicyRevision;
pub use secret_place::SecretPlace;
pub use secrets::ExtractedSecret;
pub use selection::{
    Machine, Origin, SelectedServer, Selection, ServerFolders, SkippedServer, TakenNames,
    UNKNOWN_VALUE, matching_server,
};
pub use update::{Changes, Update};

#[cfg(test)]
mod careful_tests;
