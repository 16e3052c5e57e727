//! The time limits that the policy sets for approvals.

use std::time::Duration;

use weaver_policy::PolicySet;
use weaver_policy::approval::ReceiptTime;
use weaver_types::Timestamp;

/// How long a request stays open.
pub(crate) fn request_ttl(policy: &PolicySet) -> Duration {
    Duration::from_secs(policy.approvals().ttl_s.into())
}

/// The receipt time `now`, with how far the signer's clock may differ.
pub(crate) fn receipt_time(policy: &PolicySet, now: Timestamp) -> ReceiptTime {
    ReceiptTime { now, skew: Duration::from_secs(policy.approvals().clock_skew_s.into()) }
}
