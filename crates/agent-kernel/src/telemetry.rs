//! Telemetry: spans and metrics of what the kernel does, through the OpenTelemetry API. It watches
//! and changes nothing; without the feature `otel` none of it is built.

#[cfg(not(feature = "otel"))]
mod no_telemetry;
#[cfg(feature = "otel")]
mod otel;

use std::time::Duration;

use weaver_types::{CapabilityId, ResponseMode, Timestamp};

use crate::caller::Caller;

#[cfg(not(feature = "otel"))]
pub(crate) use no_telemetry::Telemetry;
#[cfg(feature = "otel")]
pub(crate) use otel::Telemetry;

/// Whether this build can be instrumented: the feature `otel`.
pub const OTEL_AVAILABLE: bool = cfg!(feature = "otel");

/// Which of the two operations is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Grant,
    Invoke,
}

/// What is known of an operation when it is over.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "nothing reads it in such a build"))]
pub(crate) struct Report<'a> {
    pub(crate) operation: Operation,
    pub(crate) caller: Caller<'a>,
    pub(crate) capability: &'a CapabilityId,
    pub(crate) call: Option<&'a str>,
    pub(crate) mode: ResponseMode,
    pub(crate) status: &'static str,
    pub(crate) reason: Option<&'static str>,
    /// Whether a decision stopped it.
    pub(crate) stopped: bool,
    pub(crate) started_at: Timestamp,
    pub(crate) took: Duration,
    /// Whether spans and metrics are wanted.
    pub(crate) emit: weaver_types::Emit,
}
