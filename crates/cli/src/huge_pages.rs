//! Huge pages of memory: for a gateway, and not for the small program between it and a client.
//!
//! The allocator asks for pages of 2 MiB, which pays where much is allocated. The program that every
//! client starts has little to keep, and would hold several such pages of its own.

use std::ffi::OsStr;

/// Does without them where the verb is that of a client's program, as early as possible: what is
/// touched by then stays as it is.
pub(crate) fn avoid(verb: Option<&OsStr>) {
    if verb.is_some_and(|verb| verb == "serve") {
        // Where the system has no such pages, there is nothing to set.
        let _ = rustix::thread::disable_transparent_huge_pages(true);
    }
}

/// Uses them in a gateway. A child has the setting of whoever started it.
pub(crate) fn allow() {
    let _ = rustix::thread::disable_transparent_huge_pages(false);
}
