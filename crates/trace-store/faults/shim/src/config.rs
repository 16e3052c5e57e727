//! The configuration of the shim, from environment variables.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicU64, Ordering};

use libc::c_int;

/// The kinds of calls, as letters in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CallKind {
    Open = b'O',
    Write = b'W',
    Sync = b'S',
    Truncate = b'T',
    Close = b'C',
    Rename = b'R',
    Unlink = b'U',
    /// Bytes written to the standard output.
    Output = b'A',
    /// A sync that reported success without being done.
    Dropped = b'D',
    /// Bytes read.
    Read = b'r',
}

/// What happens to a chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is not made and fails with this error.
    Errno(c_int),
    /// A write stores only half of its bytes and returns that count.
    Short,
    /// The process is killed before it.
    KillBefore,
    /// The process is killed after it.
    KillAfter,
}

/// Which call is chosen, and what happens to it.
#[derive(Debug)]
struct Fault {
    /// `None`: a call of any kind.
    kind: Option<CallKind>,
    /// From 1: the first and the last.
    nth: RangeInclusive<u64>,
    action: Action,
    matching_calls: AtomicU64,
}

/// The configuration.
#[derive(Debug)]
pub(crate) struct Config {
    /// Only calls on files below this folder are recorded and made to fail.
    pub(crate) root: Vec<u8>,
    /// The path of the trace.
    pub(crate) trace: Option<Vec<u8>>,
    /// Syncs report success without being done.
    pub(crate) drop_syncs: bool,
    fault: Option<Fault>,
}

impl Config {
    /// `None` without a root: then the shim does nothing.
    pub(crate) fn from_environment() -> Option<Self> {
        let bytes = |name| std::env::var_os(name).map(OsString::into_vec);
        Some(Self {
            root: bytes("WEAVER_FAULTS_ROOT").filter(|root| !root.is_empty())?,
            trace: bytes("WEAVER_FAULTS_TRACE"),
            drop_syncs: bytes("WEAVER_FAULTS_DROP_SYNCS").is_some(),
            fault: bytes("WEAVER_FAULTS_FAIL").map(|text| Fault::parse(&text)),
        })
    }

    /// Counts this call, and returns the action for it, if any.
    pub(crate) fn action(&self, kind: CallKind) -> Option<Action> {
        let fault = self.fault.as_ref()?;
        if fault.kind.is_some_and(|wanted| wanted != kind) {
            return None;
        }
        let nth = fault.matching_calls.fetch_add(1, Ordering::Relaxed) + 1;
        fault.nth.contains(&nth).then_some(fault.action)
    }
}

impl Fault {
    /// Reads `kind:nth:action`, where `nth` may end in `+`, for every later one too, or in `-` and
    /// the number of the last one. Invalid text kills the process: a test that injects no fault by
    /// mistake must not pass.
    fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text).into_owned();
        let mut parts = text.split(':');
        let kind = match parts.next().unwrap_or_default() {
            "any" => None,
            "open" => Some(CallKind::Open),
            "write" => Some(CallKind::Write),
            "sync" => Some(CallKind::Sync),
            "truncate" => Some(CallKind::Truncate),
            "close" => Some(CallKind::Close),
            "rename" => Some(CallKind::Rename),
            "unlink" => Some(CallKind::Unlink),
            _ => std::process::abort(),
        };
        let nth = parts.next().unwrap_or_default();
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| std::process::abort());
        let nth = match (nth.strip_suffix('+'), nth.split_once('-')) {
            (Some(first), _) => number(first)..=u64::MAX,
            (None, Some((first, last))) => number(first)..=number(last),
            (None, None) => number(nth)..=number(nth),
        };
        let action = match parts.next().unwrap_or_default() {
            "EIO" => Action::Errno(libc::EIO),
            "ENOSPC" => Action::Errno(libc::ENOSPC),
            "EINTR" => Action::Errno(libc::EINTR),
            "EMFILE" => Action::Errno(libc::EMFILE),
            "short" => Action::Short,
            "kill-before" => Action::KillBefore,
            "kill-after" => Action::KillAfter,
            _ => std::process::abort(),
        };
        Self { kind, nth, action, matching_calls: AtomicU64::new(0) }
    }
}
