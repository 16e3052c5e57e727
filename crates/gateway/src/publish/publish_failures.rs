//! Counts failures to sign or to deliver checkpoints.

use crate::telemetry::EventCounter;

/// How many attempts failed since the gateway began.
#[derive(Debug, Default)]
pub(crate) struct PublishFailures {
    pub(crate) signing: EventCounter,
    pub(crate) publishing: EventCounter,
}
