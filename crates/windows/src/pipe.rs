//! Named pipes that one user alone can open.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr::null_mut;

use tokio::net::windows::named_pipe::{NamedPipeClient, NamedPipeServer, ServerOptions};
use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{PSECURITY_DESCRIPTOR, SECURITY_ATTRIBUTES};
use windows_sys::Win32::System::Pipes::{GetNamedPipeClientProcessId, GetNamedPipeServerProcessId};

use crate::handle::check;
use crate::user::UserSid;

/// The bytes that a pipe holds in each direction before its writer waits.
const BUFFER_BYTES: u32 = 64 * 1024;

/// A named pipe of this process. Only one user can open it, and only from this machine.
#[derive(Debug)]
pub struct PrivatePipe {
    name: OsString,
    descriptor: SecurityDescriptor,
}

impl PrivatePipe {
    /// The pipe of this name for this user; nothing is opened yet.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(name: impl Into<OsString>, user: &UserSid) -> io::Result<Self> {
        Ok(Self { name: name.into(), descriptor: SecurityDescriptor::for_user(user)? })
    }

    /// Opens the first instance. Needs a tokio runtime.
    ///
    /// # Errors
    /// Those of the system; that access is denied, if another process has a pipe of this name.
    pub fn create_first(&self) -> io::Result<NamedPipeServer> {
        self.create(true)
    }

    /// Opens one more instance, for the next client. Needs a tokio runtime.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create_next(&self) -> io::Result<NamedPipeServer> {
        self.create(false)
    }

    fn create(&self, is_first: bool) -> io::Result<NamedPipeServer> {
        let mut attributes = SECURITY_ATTRIBUTES {
            nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or_default(),
            lpSecurityDescriptor: self.descriptor.0,
            bInheritHandle: 0,
        };
        let mut options = ServerOptions::new();
        options
            .first_pipe_instance(is_first)
            .reject_remote_clients(true)
            .in_buffer_size(BUFFER_BYTES)
            .out_buffer_size(BUFFER_BYTES);
        let name: &OsStr = &self.name;
        // SAFETY: the attributes and the descriptor in them outlive the call.
        unsafe { options.create_with_security_attributes_raw(name, (&raw mut attributes).cast()) }
    }
}

/// The process that opened the pipe at the other end.
///
/// # Errors
/// Those of the system.
pub fn client_process(pipe: &NamedPipeServer) -> io::Result<u32> {
    let mut process = 0;
    // SAFETY: the pipe is open; the id is written to a variable of ours.
    check(unsafe { GetNamedPipeClientProcessId(pipe.as_raw_handle(), &raw mut process) })?;
    Ok(process)
}

/// The process that created the pipe at the other end.
///
/// # Errors
/// Those of the system.
pub fn server_process(pipe: &NamedPipeClient) -> io::Result<u32> {
    let mut process = 0;
    // SAFETY: the pipe is open; the id is written to a variable of ours.
    check(unsafe { GetNamedPipeServerProcessId(pipe.as_raw_handle(), &raw mut process) })?;
    Ok(process)
}

/// A security descriptor in memory of the system, freed when dropped.
#[derive(Debug)]
struct SecurityDescriptor(PSECURITY_DESCRIPTOR);

// SAFETY: nothing changes the descriptor after it was made, and no thread owns it.
unsafe impl Send for SecurityDescriptor {}
// SAFETY: as above.
unsafe impl Sync for SecurityDescriptor {}

impl SecurityDescriptor {
    /// Lets in this user and nobody else: protected from inherited entries, one entry.
    fn for_user(user: &UserSid) -> io::Result<Self> {
        let text = format!("D:P(A;;GA;;;{user})");
        let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
        let mut descriptor: PSECURITY_DESCRIPTOR = null_mut();
        // SAFETY: the text ends with a zero; the descriptor is written to a variable of ours.
        check(unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                units.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                null_mut(),
            )
        })?;
        Ok(Self(descriptor))
    }
}

impl Drop for SecurityDescriptor {
    fn drop(&mut self) {
        // SAFETY: it is of the system's allocator, and not used again.
        unsafe { LocalFree(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::windows::named_pipe::ClientOptions;

    use super::*;

    #[test]
    fn a_name_has_one_owner_and_both_ends_are_known() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let user = UserSid::current().unwrap();
            let name = format!(r"\\.\pipe\weaver-test-{}", std::process::id());
            let pipe = PrivatePipe::new(&name, &user).unwrap();
            let first = pipe.create_first().unwrap();
            assert!(pipe.create_first().is_err(), "the name is taken");
            let next = pipe.create_next().unwrap();
            let client = ClientOptions::new().open(&name).unwrap();
            first.connect().await.unwrap();
            assert_eq!(client_process(&first).unwrap(), std::process::id());
            assert_eq!(server_process(&client).unwrap(), std::process::id());
            drop(next);
        });
    }
}
