//! Findings about who can release holds, and about what expires.

use std::collections::BTreeSet;
use std::time::Duration;

use weaver_policy::{Approver, Effect, Keys, PolicySet};
use weaver_types::{ApprovalAuthority, Capability, PrincipalId, Rung, SinkKind, Timestamp};

use super::{FindingCollector, LintCode};

/// Anything that expires within this time expires soon.
const SOON: Duration = Duration::from_secs(30 * 24 * 3_600);

fn has_valid_authority(approver: &Approver, authority: &ApprovalAuthority, now: Timestamp) -> bool {
    approver.has_authority(authority) && approver.keys.values().any(|key| key.is_valid_at(now))
}

/// Reports holds that too few people can release.
pub(super) fn check_releasable(
    set: &PolicySet,
    tools: &[Capability],
    now: Timestamp,
    findings: &mut FindingCollector,
) {
    // A policy in code has no keys document; its host knows the approvers.
    let Some(keys) = set.keys() else { return };
    let carried: BTreeSet<&String> =
        keys.approvers.values().flat_map(|approver| &approver.roles).collect();
    let mut check = |place: String, authority: &ApprovalAuthority| {
        for role in authority.roles.iter().flatten().filter(|role| !carried.contains(role)) {
            let message = format!("no approver has the role `{role}`");
            let remedy = "give it to an approver in the keys document, or leave it out";
            findings.add(LintCode::UnknownApproverRole, place.clone(), message, remedy);
        }
        let needed = usize::from(authority.quorum.max(1));
        let able = count_able_approvers(keys, authority, now);
        if able < needed {
            let message =
                format!("it needs {needed} of the approvers, and {able} have the authority now");
            let remedy = "give approvers the trust, clearance, scopes and roles, or ask for less";
            findings.add(LintCode::NobodyCanRelease, place, message, remedy);
        }
    };
    for rule in &set.policy().rules {
        if rule.effect == Effect::RequireApproval {
            check(format!("rule `{}`", rule.name), &rule.authority);
        }
    }
    let bounds = set.approvals();
    if tools.iter().any(|tool| tool.rung() == Rung::L4) {
        check("floor".to_owned(), &bounds.floor);
    }
    if tools.iter().any(|tool| tool.sink() != SinkKind::None) {
        check("flow".to_owned(), &bounds.flow);
    }
    if bounds.signal != ApprovalAuthority::default() {
        check("signal".to_owned(), &bounds.signal);
    }
}

fn count_able_approvers(keys: &Keys, authority: &ApprovalAuthority, now: Timestamp) -> usize {
    keys.approvers.values().filter(|approver| has_valid_authority(approver, authority, now)).count()
}

/// Reports approvers whose own calls are not told from those of others. An approver cannot release
/// the calls of their principals, so a principal that is misspelt or left out gives them that.
pub(super) fn check_approver_principals(set: &PolicySet, findings: &mut FindingCollector) {
    let Some(keys) = set.keys() else { return };
    let policy = set.policy();
    // The subjects of an issuer are principals that no policy lists.
    let is_subject = |id: &PrincipalId| {
        id.as_str().split_once(':').is_some_and(|(issuer, _)| policy.issuers.contains_key(issuer))
    };
    let is_team = policy.principals.len() > 1 || !policy.issuers.is_empty();
    for (person, approver) in &keys.approvers {
        let place = format!("approver `{person}`");
        let unknown = approver
            .principals
            .iter()
            .filter(|id| !policy.principals.contains_key(*id) && !is_subject(id));
        for id in unknown {
            let message = format!(
                "the policy names no principal `{id}`, so it keeps `{person}` from releasing nobody's calls"
            );
            let remedy =
                "correct it in `principals` of the keys document, or name it in the policy";
            findings.add(LintCode::UnknownApproverPrincipal, place.clone(), message, remedy);
        }
        let is_principal = policy.principals.keys().any(|id| id.as_str() == person);
        if is_team && approver.principals.is_empty() && !is_principal {
            let message = "it has no `principals`: if this person makes calls too, they can \
                           release their own"
                .to_owned();
            let remedy =
                "list the principals that this person acts as, also as subject of an issuer";
            findings.add(LintCode::ApproverWithoutPrincipals, place, message, remedy);
        }
    }
}

/// Reports what has expired or expires soon.
pub(super) fn check_expiry(set: &PolicySet, now: Timestamp, findings: &mut FindingCollector) {
    let mut check = |place: String, end: Option<Timestamp>, remedy: &str| {
        let Some(end) = end.filter(|end| *end <= now.after(SOON)) else { return };
        let word = if end <= now { "ended" } else { "ends" };
        findings.add(LintCode::EndsSoon, place, format!("it {word} at {end}"), remedy);
    };
    let renew = "set `expires` later, raise `version`, sign it again";
    check("policy".to_owned(), set.policy().expires, renew);
    check("contracts".to_owned(), set.contracts().expires, renew);
    let Some(keys) = set.keys() else { return };
    check("keys".to_owned(), keys.expires, renew);
    for (person, approver) in &keys.approvers {
        // A person's last key counts.
        let last = approver.keys.values().map(|key| key.not_after);
        let last = last.map(|end| end.unwrap_or(Timestamp::from_micros(i64::MAX))).max();
        check(format!("approver `{person}`"), last, "add a key that counts for longer");
    }
    for (name, signer) in &keys.signers {
        let end = signer.key.not_after;
        check(format!("signer `{name}`"), end, "add a signer whose key counts for longer");
    }
}
