//! Records file calls, one at a time: decides its fate, makes it, and appends it to the trace.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libc::{c_int, c_long};

use crate::config::{Action, CallKind, Config};

/// Descriptors from this number on are not followed.
const MAX_FDS: usize = 4096;
const IGNORED: u8 = 0;
const FOLLOWED: u8 = 1;

/// The state of the shim in a process.
pub(crate) struct Recorder {
    pub(crate) config: Config,
    trace: Option<c_int>,
    /// For each descriptor, whether it lies below the root.
    followed: [AtomicU8; MAX_FDS],
    /// Held while a call is made and recorded, so that the trace has their order.
    turn: Mutex<()>,
}

/// The recorder, when the environment asks for one.
pub(crate) fn recorder() -> Option<&'static Recorder> {
    static RECORDER: OnceLock<Option<Recorder>> = OnceLock::new();
    RECORDER.get_or_init(|| Config::from_environment().map(Recorder::new)).as_ref()
}

impl Recorder {
    fn new(config: Config) -> Self {
        let trace = config.trace.as_ref().map(|path| open_trace(path));
        let followed = [const { AtomicU8::new(IGNORED) }; MAX_FDS];
        Self { config, trace, followed, turn: Mutex::new(()) }
    }

    /// Whether a path counts: the root itself, or below it.
    pub(crate) fn is_under_root(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(self.config.root.as_slice());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    pub(crate) fn follows(&self, fd: c_int) -> bool {
        self.slot(fd).is_some_and(|slot| slot.load(Ordering::Relaxed) == FOLLOWED)
    }

    pub(crate) fn set_followed(&self, fd: c_long, followed: bool) {
        if let Some(slot) = c_int::try_from(fd).ok().and_then(|fd| self.slot(fd)) {
            slot.store(if followed { FOLLOWED } else { IGNORED }, Ordering::Relaxed);
        }
    }

    fn slot(&self, fd: c_int) -> Option<&AtomicU8> {
        self.followed.get(usize::try_from(fd).ok()?)
    }

    pub(crate) fn lock_order(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one call and records it. `make` gives the result of the system call; `entry` the
    /// descriptor, the offset and the bytes of the trace, given that result.
    pub(crate) fn call<'a>(
        &self,
        kind: CallKind,
        make: impl FnOnce(Option<Action>) -> c_long,
        entry: impl FnOnce(c_long) -> (c_int, i64, &'a [u8]),
    ) -> c_long {
        let turn = self.lock_order();
        let action = self.config.action(kind);
        if action == Some(Action::KillBefore) {
            kill();
        }
        let result = match action {
            Some(Action::Errno(errno)) => {
                // A descriptor is closed even if `close` reports an error.
                if kind == CallKind::Close {
                    make(None);
                }
                set_errno(errno);
                -1
            }
            action => make(action),
        };
        let errno = if result < 0 { errno() } else { 0 };
        let (fd, offset, bytes) = entry(result);
        let kind =
            if kind == CallKind::Sync && self.config.drop_syncs { CallKind::Dropped } else { kind };
        self.record(kind, (fd, offset), if result < 0 { -i64::from(errno) } else { result }, bytes);
        if action == Some(Action::KillAfter) {
            kill();
        }
        drop(turn);
        if result < 0 {
            set_errno(errno);
        }
        result
    }

    /// Appends an entry: kind, descriptor, offset, result, number of bytes, bytes; all numbers in
    /// little-endian order.
    pub(crate) fn record(&self, kind: CallKind, location: (c_int, i64), result: i64, bytes: &[u8]) {
        let Some(trace) = self.trace else { return };
        let mut head = [0_u8; 25];
        let parts: [&[u8]; 5] = [
            &[kind as u8],
            &location.0.to_le_bytes(),
            &location.1.to_le_bytes(),
            &result.to_le_bytes(),
            &u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes(),
        ];
        let mut at = head.iter_mut();
        for byte in parts.into_iter().flatten() {
            if let Some(slot) = at.next() {
                *slot = *byte;
            }
        }
        let parts = [
            libc::iovec { iov_base: head.as_ptr().cast_mut().cast(), iov_len: head.len() },
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() },
        ];
        // SAFETY: both parts are borrowed for the length of the call, and are only read.
        let written = unsafe { libc::syscall(libc::SYS_writev, trace, parts.as_ptr(), 2) };
        // Half a trace would prove something wrong.
        if usize::try_from(written) != Ok(head.len() + bytes.len()) {
            std::process::abort();
        }
    }
}

fn open_trace(path: &[u8]) -> c_int {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
    let Ok(path) = std::ffi::CString::new(path) else { std::process::abort() };
    // SAFETY: `path` ends with a zero byte and lives until the call returns.
    let fd =
        unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0o600) };
    match c_int::try_from(fd) {
        Ok(fd) if fd >= 0 => fd,
        _ => std::process::abort(),
    }
}

/// The way `kill -9` ends it: nothing is flushed, nothing runs any more.
fn kill() {
    // SAFETY: two integers; the call does not return.
    unsafe { libc::syscall(libc::SYS_kill, libc::getpid(), libc::SIGKILL) };
}

fn errno() -> c_int {
    // SAFETY: the C library gives the address of this thread's own number.
    unsafe { *libc::__errno_location() }
}

fn set_errno(errno: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno }
}
