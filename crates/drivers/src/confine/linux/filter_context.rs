//! What the filter for system calls has to know of the steps before it.

/// Who the server is, and what keeps it off others and off the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FilterContext {
    /// The number of this process, which the program that it becomes keeps.
    pub(super) process: u32,
    /// It leads a process group of its own.
    pub(super) own_group: bool,
    /// Landlock keeps tracing to processes under the same rules.
    pub(super) traced_by_rules: bool,
    /// Mounts, or another owner, keep it from modes, owners and times of the denied files.
    pub(super) state_covered: bool,
}
