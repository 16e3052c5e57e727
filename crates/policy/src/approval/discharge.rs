//! What a release does to a decision: covered holds turn into allow contributions.

use weaver_types::{Contribution, Verdict};

use super::Release;
use crate::query::Query;

/// Turns each hold that the release covers into an allow contribution that says so. Constraints
/// stay. A release of another call changes nothing.
pub(crate) fn discharge(release: &Release, query: &Query<'_>, out: &mut [Contribution]) {
    if !release.fits(query) {
        return;
    }
    for held in out.iter_mut().filter(|contribution| release.covers(contribution)) {
        let detail = format!("{}: {}", release.description(), held.detail);
        *held = Contribution::new(held.check, Verdict::Allow, release.reason(), detail)
            .with_constraints(std::mem::take(&mut held.constraints));
    }
}
