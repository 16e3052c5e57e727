//! The limits on approvals in the policy in force.

use std::time::Duration;

use weaver_policy::PolicySet;
use weaver_policy::approval::ReceiptTime;
use weaver_types::Timestamp;

/// How long a request lives.
pub(crate) fn life(policy: &PolicySet) -> Duration {
    Duration::from_secs(policy.approvals().ttl_s.into())
}

/// This time, with how far the clock of whoever signed may be off.
pub(crate) fn moment(policy: &PolicySet, now: Timestamp) -> ReceiptTime {
    ReceiptTime { now, skew: Duration::from_secs(policy.approvals().clock_skew_s.into()) }
}
