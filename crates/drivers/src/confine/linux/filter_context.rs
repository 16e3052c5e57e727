//! What the system call filter depends on.

/// The process, and the protections that are already in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FilterContext {
    /// The id of this process, which the program keeps.
    pub(super) process_id: u32,
    /// The process leads its own process group.
    pub(super) leads_process_group: bool,
    /// Landlock limits tracing to processes under the same rules.
    pub(super) landlock_limits_tracing: bool,
    /// Mounts or file ownership protect the metadata of the denied files.
    pub(super) state_is_protected: bool,
}
