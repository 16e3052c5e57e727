//! What xtask and the harness share: child processes, installation of external programs, the
//! workspace metadata of cargo, and test counts.

pub mod child;
pub mod install;
pub mod process;
pub mod tally;
pub mod workspace;
