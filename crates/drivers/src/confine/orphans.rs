//! Processes whose parents have ended.
//!
//! A confined child adopts its own orphans. When it ends, they pass to the next process above it that
//! adopts, with nothing left that tells whose they were. A host that adopts them gets hold of them,
//! and ends them.

/// Makes this process the parent of descendants whose own parents have ended. What a confined server
/// leaves behind is then found, and killed, when the server has ended.
///
/// A host that starts confined servers calls this once at startup. It then starts no confined child
/// of its own with [`Launcher::command`](super::Launcher::command), which would be taken for one that
/// was left behind. It has no effect on systems other than Linux.
///
/// # Errors
/// The system's error if it refuses.
pub fn adopt_orphans() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        crate::adopted::begin();
    }
    Ok(())
}

/// Kills what confined servers of this process have left, once all of them have ended. Processes pass to this one only
/// if it [adopts](adopt_orphans) orphans.
///
/// # Errors
/// An error if there is still some of it.
pub fn kill_orphans() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    if !crate::adopted::kill_leftovers() {
        return Err(std::io::Error::other("processes that a server left cannot be ended"));
    }
    Ok(())
}
