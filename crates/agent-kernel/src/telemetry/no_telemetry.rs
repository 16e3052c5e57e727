//! The replacement for telemetry in a build without the feature `otel`.

use super::OperationReport;

/// Reports nothing.
#[derive(Default)]
pub(crate) struct Telemetry(());

impl Telemetry {
    pub(crate) fn enable(&self) -> bool {
        false
    }

    pub(crate) fn is_on(&self) -> bool {
        false
    }

    pub(crate) fn report(&self, _: &OperationReport<'_>) {}
}
