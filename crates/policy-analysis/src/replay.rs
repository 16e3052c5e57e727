//! Replay of recorded calls under a draft: per call the verdict then, and the verdict with the draft.
//!
//! What depends on the policy alone is decided again: rules, roles, permissions, agents,
//! justifications, the floor, limits. What depended on facts that are gone (where the values of the
//! arguments came from, signals, preconditions, the state of the system) is carried over from the
//! record, where every check is kept. A call for which neither is enough is reported as one that
//! cannot be judged again, never guessed at.

mod report;
mod verdict;

use weaver_policy::{PolicySet, Windows};
use weaver_types::{Timestamp, Verdict};

use crate::history::RecordedCall;
pub use report::{DraftReplay, ReplayCounts, ReplayedCall, RuleCounts};
use verdict::Judge;
pub use verdict::NotJudged;
pub(crate) use verdict::{capability, stopping_rules};

/// Replays calls in the order in which they were made: those that the draft allows count against its
/// limits. The draft counts as enforced, whatever it observes.
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
    let mut judge = Judge { draft, windows: Windows::new() };
    let mut report = DraftReplay::between(since, now);
    for call in calls {
        report.add(call, judge.judge(call));
    }
    report
}

/// The verdict that counted then: what was enforced. A call that people released was held.
fn verdict_then(call: &RecordedCall) -> Verdict {
    if call.released { Verdict::Hold } else { call.decision.verdict }
}
