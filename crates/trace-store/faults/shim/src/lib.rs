//! A library for `LD_PRELOAD` that stands between a process and the file calls of the C library.
//!
//! It records them in the order in which they happen, with path, offset and bytes, and can fail,
//! shorten or drop a chosen one, or kill the process at it. Environment variables configure it:
//!
//! | variable | meaning |
//! |---|---|
//! | `WEAVER_FAULTS_ROOT` | only files below this absolute path count; without it nothing happens |
//! | `WEAVER_FAULTS_TRACE` | the file to append the trace to |
//! | `WEAVER_FAULTS_FAIL` | `kind:nth:action`, for example `sync:3:EIO` or `write:17+:ENOSPC` |
//! | `WEAVER_FAULTS_DROP_SYNCS` | every sync reports success without being done |
//!
//! Each function makes the system call itself, so it needs no address of the function it hides.
//! What a process writes through a mapping is not seen: SQLite maps only the `-shm` file, which it
//! builds anew from the write-ahead log when the first connection opens a file.
//!
//! It runs on Linux with 64-bit files only; elsewhere it is empty.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod calls;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod config;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod recorder;
