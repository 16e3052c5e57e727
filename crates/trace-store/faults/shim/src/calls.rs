//! The functions of the C library that the shim replaces.
//!
//! Their callers keep the contracts of the C library: paths end with a zero byte, buffers have the
//! length given. Each passes its arguments on to the system call of the same meaning. `open` and
//! its relatives take their mode as a plain third argument: on the 64-bit Linux targets a variadic
//! argument is passed like a plain one, and it is passed on only as the kernel would read it.

use std::ffi::CStr;

use libc::{c_char, c_int, c_long, c_void, iovec, mode_t, off_t, size_t, ssize_t};

use crate::config::{Action, CallKind};
use crate::recorder::{Recorder, recorder};

/// Marks an open of a folder in the trace.
const FOLDER: i64 = 1 << 32;

/// # Safety
/// As `openat` of the C library.
unsafe fn open_at(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the arguments are the caller's, whose contract is that of the system call.
    let make = || unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) };
    // SAFETY: the caller's path ends with a zero byte.
    let name = unsafe { CStr::from_ptr(path) }.to_bytes();
    let result = match recorder() {
        Some(recorder) if recorder.is_under_root(name) => recorder.call(
            CallKind::Open,
            |_| make(),
            |fd| {
                recorder.set_followed(fd, true);
                let kind = if is_folder(fd) { FOLDER } else { 0 };
                (to_int(fd), i64::from(flags) | kind, name)
            },
        ),
        Some(recorder) => {
            let fd = make();
            recorder.set_followed(fd, false);
            fd
        }
        None => make(),
    };
    to_int(result)
}

fn is_folder(fd: c_long) -> bool {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `stat` has room for what `fstat` writes, and all-zero bytes are a valid value of it.
    let mode = unsafe {
        libc::fstat(to_int(fd), stat.as_mut_ptr());
        stat.assume_init().st_mode
    };
    mode & libc::S_IFMT == libc::S_IFDIR
}

fn to_int(number: c_long) -> c_int {
    c_int::try_from(number).unwrap_or(-1)
}

/// The recorder, when it follows this descriptor.
fn following(fd: c_int) -> Option<&'static Recorder> {
    recorder().filter(|recorder| recorder.follows(fd))
}

/// # Safety
/// As `open` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
}

/// # Safety
/// As `open64` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
}

/// # Safety
/// As `openat` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { open_at(folder, path, flags, mode) }
}

/// # Safety
/// As `openat64` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { open_at(folder, path, flags, mode) }
}

/// The first `written` bytes of a caller's buffer; none when the call failed.
///
/// # Safety
/// `bytes` points to at least `written` bytes that live as long as the caller's call.
unsafe fn written_bytes<'a>(bytes: *const c_void, written: c_long) -> &'a [u8] {
    match usize::try_from(written) {
        // SAFETY: the kernel has just read these bytes from there.
        Ok(length) if length > 0 => unsafe { std::slice::from_raw_parts(bytes.cast(), length) },
        _ => &[],
    }
}

fn shortened_length(length: size_t, action: Option<Action>) -> size_t {
    if action == Some(Action::Short) { length.div_ceil(2) } else { length }
}

/// # Safety
/// As `write` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, length: size_t) -> ssize_t {
    // SAFETY: the caller's contract.
    let make = |length: size_t| unsafe { libc::syscall(libc::SYS_write, fd, bytes, length) };
    let result = match recorder() {
        Some(recorder) if recorder.follows(fd) => {
            let from = position(fd);
            recorder.call(
                CallKind::Write,
                |action| make(shortened_length(length, action)),
                // SAFETY: the caller's buffer, as far as the kernel read it.
                |written| (fd, from, unsafe { written_bytes(bytes, written) }),
            )
        }
        Some(recorder) if fd == libc::STDOUT_FILENO => {
            let turn = recorder.lock_order();
            let written = make(length);
            // SAFETY: the caller's buffer, as far as the kernel read it.
            recorder.record(CallKind::Output, (fd, 0), written, unsafe {
                written_bytes(bytes, written)
            });
            drop(turn);
            written
        }
        _ => make(length),
    };
    result as ssize_t
}

/// Where the next `write` goes.
fn position(fd: c_int) -> i64 {
    // SAFETY: integers only.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        let whence = if flags & libc::O_APPEND == 0 { libc::SEEK_CUR } else { libc::SEEK_END };
        libc::lseek(fd, 0, whence)
    }
}

/// # Safety
/// As `pwrite` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(
    fd: c_int,
    bytes: *const c_void,
    length: size_t,
    at: off_t,
) -> ssize_t {
    // SAFETY: the caller's contract.
    let make = |length: size_t| unsafe { libc::syscall(libc::SYS_pwrite64, fd, bytes, length, at) };
    let result = match following(fd) {
        Some(recorder) => recorder.call(
            CallKind::Write,
            |action| make(shortened_length(length, action)),
            // SAFETY: the caller's buffer, as far as the kernel read it.
            |written| (fd, at, unsafe { written_bytes(bytes, written) }),
        ),
        None => make(length),
    };
    result as ssize_t
}

/// # Safety
/// As `pwrite64` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(
    fd: c_int,
    bytes: *const c_void,
    length: size_t,
    at: off_t,
) -> ssize_t {
    // SAFETY: the caller's contract.
    unsafe { pwrite(fd, bytes, length, at) }
}

/// On a file that is followed it writes the first part alone: fewer bytes than asked for are
/// allowed, and callers go on.
///
/// # Safety
/// As `writev` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if following(fd).is_some() && count > 0 {
        // SAFETY: there is at least one part, and it describes a buffer of the caller.
        return unsafe {
            let part = *parts;
            write(fd, part.iov_base, part.iov_len)
        };
    }
    // SAFETY: the caller's contract.
    unsafe { libc::syscall(libc::SYS_writev, fd, parts, count) as ssize_t }
}

/// # Safety
/// As `read` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, bytes: *mut c_void, length: size_t) -> ssize_t {
    // SAFETY: the caller's contract.
    let result = unsafe { libc::syscall(libc::SYS_read, fd, bytes, length) };
    note_read((fd, -1), result);
    result as ssize_t
}

/// # Safety
/// As `pread64` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread64(
    fd: c_int,
    bytes: *mut c_void,
    length: size_t,
    at: off_t,
) -> ssize_t {
    // SAFETY: the caller's contract.
    let result = unsafe { libc::syscall(libc::SYS_pread64, fd, bytes, length, at) };
    note_read((fd, at), result);
    result as ssize_t
}

/// Records a read from a descriptor at an offset; -1 means its current position.
fn note_read(location: (c_int, i64), result: c_long) {
    if result >= 0
        && let Some(recorder) = following(location.0)
    {
        let _turn = recorder.lock_order();
        recorder.record(CallKind::Read, location, result, &[]);
    }
}

fn sync(fd: c_int, number: c_long) -> c_int {
    // SAFETY: an integer.
    let make = || unsafe { libc::syscall(number, fd) };
    to_int(match following(fd) {
        Some(recorder) => recorder.call(
            CallKind::Sync,
            |_| if recorder.config.drop_syncs { 0 } else { make() },
            |_| (fd, 0, &[]),
        ),
        None => make(),
    })
}

/// As `fsync` of the C library.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fsync)
}

/// As `fdatasync` of the C library.
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fdatasync)
}

/// As `ftruncate` of the C library.
#[unsafe(no_mangle)]
pub extern "C" fn ftruncate(fd: c_int, length: off_t) -> c_int {
    // SAFETY: integers.
    let make = || unsafe { libc::syscall(libc::SYS_ftruncate, fd, length) };
    to_int(match following(fd) {
        Some(recorder) => recorder.call(CallKind::Truncate, |_| make(), |_| (fd, length, &[])),
        None => make(),
    })
}

/// As `ftruncate64` of the C library.
#[unsafe(no_mangle)]
pub extern "C" fn ftruncate64(fd: c_int, length: off_t) -> c_int {
    ftruncate(fd, length)
}

/// As `close` of the C library.
#[unsafe(no_mangle)]
pub extern "C" fn close(fd: c_int) -> c_int {
    // SAFETY: an integer.
    let make = || unsafe { libc::syscall(libc::SYS_close, fd) };
    to_int(match following(fd) {
        Some(recorder) => {
            recorder.set_followed(c_long::from(fd), false);
            recorder.call(CallKind::Close, |_| make(), |_| (fd, 0, &[]))
        }
        None => make(),
    })
}

/// # Safety
/// As `rename` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the caller's contract.
    let make = || unsafe {
        libc::syscall(libc::SYS_renameat2, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0)
    };
    // SAFETY: the caller's paths end with a zero byte.
    let (old, new) = unsafe { (CStr::from_ptr(from), CStr::from_ptr(to)) };
    to_int(match recorder() {
        Some(recorder) if recorder.is_under_root(new.to_bytes()) => {
            let names = [old.to_bytes_with_nul(), new.to_bytes()].concat();
            recorder.call(CallKind::Rename, |_| make(), |_| (-1, 0, &names))
        }
        _ => make(),
    })
}

/// # Safety
/// As `unlink` of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller's contract.
    let make = || unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0) };
    // SAFETY: the caller's path ends with a zero byte.
    let name = unsafe { CStr::from_ptr(path) }.to_bytes();
    to_int(match recorder() {
        Some(recorder) if recorder.is_under_root(name) => {
            recorder.call(CallKind::Unlink, |_| make(), |_| (-1, 0, name))
        }
        _ => make(),
    })
}
