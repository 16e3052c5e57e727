//! Applies a release to the results of a decision: holds that it covers become allow results.

use weaver_types::{CheckResult, Verdict};

use super::ReleaseProof;
use crate::query::PolicyQuery;

/// Replaces each hold that the release covers with an allow result that names the release.
/// Constraints are kept. A release for another call has no effect.
pub(crate) fn apply_release(
    release: &ReleaseProof,
    query: &PolicyQuery<'_>,
    results: &mut [CheckResult],
) {
    if !release.matches_query(query) {
        return;
    }
    for result in results.iter_mut().filter(|check_result| release.releases(check_result)) {
        let detail = format!("{}: {}", release.description(), result.detail);
        *result = CheckResult::new(result.check, Verdict::Allow, release.reason_code(), detail)
            .with_constraints(std::mem::take(&mut result.constraints));
    }
}
