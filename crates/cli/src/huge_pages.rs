//! Transparent huge pages: used by a gateway, but not by the shim between a client and the daemon.
//!
//! The allocator asks for pages of 2 MiB, which pays for a process that allocates much. Each client
//! starts a shim that allocates little and would still hold several such pages.

use std::ffi::OsStr;

/// Turns huge pages off if the verb is that of the shim. Called as early as possible, because pages
/// that are touched before keep their size.
pub(crate) fn disable_for_shim(verb: Option<&OsStr>) {
    if verb.is_some_and(|verb| verb == "serve") {
        // Where the system has no such pages, there is nothing to set.
        let _ = rustix::thread::disable_transparent_huge_pages(true);
    }
}

/// Turns huge pages on in a gateway, which inherits the setting of the process that started it.
pub(crate) fn enable() {
    let _ = rustix::thread::disable_transparent_huge_pages(false);
}
