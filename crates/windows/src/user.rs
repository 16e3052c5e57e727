//! Who runs a process.

use std::fmt;
use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::ptr::null_mut;

use windows_sys::Win32::Foundation::{HANDLE, LocalFree};
use windows_sys::Win32::Security::Authorization::ConvertSidToStringSidW;
use windows_sys::Win32::Security::{GetTokenInformation, TOKEN_QUERY, TOKEN_USER, TokenUser};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcessId, OpenProcessToken, PROCESS_QUERY_LIMITED_INFORMATION,
};

use crate::handle::{check, open_process, own};

/// The longest text of a SID, with its end: 15 parts of ten digits and a head.
const MAX_SID_UNITS: usize = 256;

/// The security identifier of a user, as `S-1-5-21-…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSid(String);

impl UserSid {
    /// The user of this process.
    ///
    /// # Errors
    /// Those of the system.
    pub fn current() -> io::Result<Self> {
        // SAFETY: the call has no arguments.
        Self::of_process(unsafe { GetCurrentProcessId() })
    }

    /// The user of the running process with this id.
    ///
    /// # Errors
    /// Those of the system: there is no such process, or its user may not be asked.
    pub fn of_process(process: u32) -> io::Result<Self> {
        let process = open_process(process, PROCESS_QUERY_LIMITED_INFORMATION)?;
        let mut token: HANDLE = null_mut();
        // SAFETY: the process is open; the token is written to a variable of ours.
        check(unsafe { OpenProcessToken(process.as_raw_handle(), TOKEN_QUERY, &raw mut token) })?;
        // SAFETY: the call succeeded, so the token is a new handle.
        of_token(&unsafe { own(token) }?)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserSid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn of_token(token: &OwnedHandle) -> io::Result<UserSid> {
    // A TOKEN_USER and the SID behind it, of at most 68 bytes. Words keep it aligned.
    let mut buffer = [0_u64; 32];
    let bytes = u32::try_from(size_of_val(&buffer)).unwrap_or_default();
    let mut written = 0;
    // SAFETY: the token is open, and the buffer is as long as stated.
    check(unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            buffer.as_mut_ptr().cast(),
            bytes,
            &raw mut written,
        )
    })?;
    // SAFETY: the call succeeded, so a TOKEN_USER is at the beginning of the buffer, which is aligned
    // for it.
    let sid = unsafe { (*buffer.as_ptr().cast::<TOKEN_USER>()).User.Sid };
    let mut text: *mut u16 = null_mut();
    // SAFETY: the SID is in the buffer, which is still there.
    check(unsafe { ConvertSidToStringSidW(sid, &raw mut text) })?;
    // SAFETY: the call succeeded, so the text ends with a zero.
    let units: Vec<u16> = (0..MAX_SID_UNITS)
        .map(|at| unsafe { *text.add(at) })
        .take_while(|unit| *unit != 0)
        .collect();
    // SAFETY: the text is of the system's allocator, and not used again.
    unsafe { LocalFree(text.cast()) };
    String::from_utf16(&units).map(UserSid).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_its_children_have_one_user() {
        let own = UserSid::current().unwrap();
        assert!(own.as_str().starts_with("S-1-"), "{own}");
        assert_eq!(UserSid::of_process(std::process::id()).unwrap(), own);
        assert!(UserSid::of_process(0).is_err(), "the idle process");
    }
}
