//! The few calls of Windows that Weaver needs and that neither the standard library nor tokio has in
//! a safe form.
//!
//! - `UserSid`: the user of this process and of others.
//! - `PrivatePipe`: named pipes that one user alone can open, and the processes at their ends.
//! - `ProcessJob`: processes that end with another one.
//! - `process_start`, `process_parent`: one process of all that ever have its id, and its starter.
//! - `keep_standard_streams`: standard streams that no child inherits.
//!
//! All unsafe code is here, one call a block. On other systems the crate is empty.
#![cfg(windows)]

mod handle;
mod job;
mod pipe;
mod process;
mod standard_streams;
mod user;

pub use job::ProcessJob;
pub use pipe::{PrivatePipe, client_process, server_process};
pub use process::{process_parent, process_start};
pub use standard_streams::keep_standard_streams;
pub use user::UserSid;
