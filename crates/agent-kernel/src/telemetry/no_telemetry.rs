//! No telemetry: what stands in where the feature is not built.

use super::Report;

/// Reports nothing.
#[derive(Default)]
pub(crate) struct Telemetry(());

#[expect(clippy::unused_self, reason = "the other build has something to look at")]
impl Telemetry {
    pub(crate) fn begin(&self) -> bool {
        false
    }

    pub(crate) fn is_on(&self) -> bool {
        false
    }

    pub(crate) fn report(&self, _: &Report<'_>) {}
}
