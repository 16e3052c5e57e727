//! What the project's own chores share: child processes, installing what others wrote, the
//! workspace as cargo sees it, and counts of tests.

pub mod child;
pub mod install;
pub mod process;
pub mod tally;
pub mod workspace;
