//! Replays recorded calls under a draft policy: for each call, the recorded verdict and the
//! draft's.
//!
//! Checks that depend only on the policy are evaluated again: rules, roles, permissions, agents,
//! justifications, the floor and limits. Checks that depended on facts which no longer exist (the
//! origins of argument values, signals, preconditions, the state of the system) are carried over
//! from the log, which records every check. If neither suffices, the call is reported as impossible
//! to judge; the replay never guesses.

mod draft_evaluator;
mod report;

use weaver_policy::{PolicySet, RateLimitWindows};
use weaver_types::{Timestamp, Verdict};

use crate::history::RecordedCall;
use draft_evaluator::DraftEvaluator;
pub use draft_evaluator::UnjudgedReason;
pub(crate) use draft_evaluator::{capability_under, stopping_rules};
pub use report::{DraftReplay, ReplayCounts, ReplayedCall, RuleCounts};

/// Replays calls in their original order. Calls that the draft allows count against its rate
/// limits. The draft is treated as enforced, even if it only observes.
///
/// ```
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_policy_analysis::replay::replay;
/// use weaver_types::Timestamp;
///
/// let draft = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let report = replay(&draft, &[], Timestamp::default(), Timestamp::default());
/// assert_eq!(report.summary(), "no calls in less than a day");
/// # Ok::<(), weaver_policy::LoadError>(())
/// ```
#[must_use]
pub fn replay<'c>(
    draft: &PolicySet,
    calls: impl IntoIterator<Item = &'c RecordedCall>,
    since: Timestamp,
    now: Timestamp,
) -> DraftReplay {
    let mut judge = DraftEvaluator { draft, windows: RateLimitWindows::new() };
    let mut report = DraftReplay::between(since, now);
    for call in calls {
        report.add(call, judge.evaluate(call));
    }
    report
}

/// The recorded verdict, as enforced. A call that people released counts as held.
fn recorded_verdict(call: &RecordedCall) -> Verdict {
    if call.released { Verdict::Hold } else { call.decision.verdict }
}
