//! Telemetry: spans and metrics of the kernel's operations, through the OpenTelemetry API. It only
//! observes, and is not built without the feature `otel`.

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

/// Whether this build has telemetry: the feature `otel`.
pub const OTEL_AVAILABLE: bool = cfg!(feature = "otel");

/// The measured operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Grant,
    Invoke,
}

/// The report of a finished operation.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "nothing reads it in such a build"))]
pub(crate) struct OperationReport<'a> {
    pub(crate) operation: Operation,
    pub(crate) caller: Caller<'a>,
    pub(crate) capability: &'a CapabilityId,
    pub(crate) call: Option<&'a str>,
    pub(crate) mode: ResponseMode,
    pub(crate) status: &'static str,
    pub(crate) reason: Option<&'static str>,
    /// Whether a decision refused it.
    pub(crate) denied: bool,
    pub(crate) started_at: Timestamp,
    pub(crate) duration: Duration,
    /// Whether spans and metrics are wanted.
    pub(crate) emit: weaver_types::TelemetrySettings,
}
