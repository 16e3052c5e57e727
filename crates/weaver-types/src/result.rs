//! The result of a call as a host sees it.

use serde::{Deserialize, Serialize};

use crate::id::{CallId, CapabilityId};

/// Why a call failed, in the eight codes of the SecondBrain kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolErrorCode {
    /// The requested resource is absent.
    NotFound,
    /// Policy blocked the call.
    PermissionDenied,
    /// The call took longer than allowed.
    Timeout,
    /// The arguments are wrong.
    ValidationError,
    /// The network failed.
    NetworkError,
    /// A rate limit was hit.
    RateLimited,
    /// A budget is used up.
    BudgetExceeded,
    /// Anything else.
    Unexpected,
}

impl ToolErrorCode {
    /// All eight.
    pub const ALL: [Self; 8] = [
        Self::NotFound,
        Self::PermissionDenied,
        Self::Timeout,
        Self::ValidationError,
        Self::NetworkError,
        Self::RateLimited,
        Self::BudgetExceeded,
        Self::Unexpected,
    ];
}

/// Where the data of a result came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolProvenance {
    /// How old the data may be, in seconds, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness_s: Option<u64>,
    /// The source, as a URI or path.
    pub source_uri: String,
}

/// The result of a call: data or an error, with the ids that locate it in the log and in traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult<T> {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool_id: CapabilityId,
    /// Whether it succeeded.
    pub success: bool,
    /// What it returned; absent on failure.
    pub data: Option<T>,
    /// Why it failed; absent on success.
    pub error_code: Option<ToolErrorCode>,
    /// The error message, redacted; empty on success.
    #[serde(default)]
    pub error_message: String,
    /// Execution time in microseconds, without the time held.
    pub latency_us: u64,
    /// Attempts after the first.
    pub retries: u8,
    /// 32 hexadecimal digits that correlate the calls of one run.
    pub trace_id: String,
    /// 16 hexadecimal digits of this call's span.
    pub span_id: String,
    /// Where the data came from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<ToolProvenance>,
}

impl<T> ToolResult<T> {
    /// A success.
    #[must_use]
    pub fn ok(call_id: CallId, tool_id: CapabilityId, data: T) -> Self {
        Self::empty(call_id, tool_id, Some(data))
    }

    /// A failure.
    #[must_use]
    pub fn error(
        call_id: CallId,
        tool_id: CapabilityId,
        code: ToolErrorCode,
        message: impl Into<String>,
    ) -> Self {
        let mut result = Self::empty(call_id, tool_id, None);
        result.error_code = Some(code);
        result.error_message = message.into();
        result
    }

    /// Sets the execution time.
    #[must_use]
    pub fn with_latency(mut self, latency_us: u64) -> Self {
        self.latency_us = latency_us;
        self
    }

    /// The execution time in milliseconds.
    #[must_use]
    pub fn latency_ms(&self) -> f64 {
        std::time::Duration::from_micros(self.latency_us).as_secs_f64() * 1000.0
    }

    /// A result with `data`; a success when there is some.
    fn empty(call_id: CallId, tool_id: CapabilityId, data: Option<T>) -> Self {
        Self {
            call_id,
            tool_id,
            success: data.is_some(),
            data,
            error_code: None,
            error_message: String::new(),
            latency_us: 0,
            retries: 0,
            trace_id: String::new(),
            span_id: String::new(),
            provenance: None,
        }
    }
}
