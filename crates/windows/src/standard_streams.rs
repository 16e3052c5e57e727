//! The standard streams of this process, kept from its children.

use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};

/// Keeps the standard streams of this process from the children that it starts from now on, apart
/// from those that are given to a child by name. Without this a daemon would hold the pipes of the
/// client in whose process it was started, and the client would wait for their end.
pub fn keep_standard_streams() {
    let streams =
        [io::stdin().as_raw_handle(), io::stdout().as_raw_handle(), io::stderr().as_raw_handle()];
    for stream in streams.into_iter().filter(|stream| !stream.is_null()) {
        // Fails for a console, which is no handle that a detached process could use.
        // SAFETY: the call has no pointers; a handle that is not open is an error.
        let _ = unsafe { SetHandleInformation(stream, HANDLE_FLAG_INHERIT, 0) };
    }
}
