//! The approvers of a replay: made-up people with every authority that the policy asks for. Their
//! keys are generated for one replay and are valid nowhere else.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::json;
use weaver_policy::Policy;
use weaver_policy::approval::{
    ApprovalRequest, Resolution, ResolutionVerdict, SignedStandingApproval, StandingApproval,
};
use weaver_types::signature::SigningKey;
use weaver_types::{ApprovalAuthority, Random, RandomError, Timestamp};

/// The most approvers: the most signatures that a standing approval may carry.
const MAX_APPROVERS: u8 = 16;
/// The approvers of a replay.
pub struct Approver {
    approvers: Vec<(String, SigningKey)>,
}

impl Approver {
    /// Creates as many approvers as the policy may ask for, each with a new key.
    pub fn new(policy: &Policy, random: &dyn Random) -> Result<Self, RandomError> {
        let quorum = authorities(policy).map(|authority| authority.quorum).max().unwrap_or(1);
        let mut approvers = Vec::new();
        for number in 1..=quorum.clamp(1, MAX_APPROVERS) {
            let mut seed = [0_u8; 32];
            random.fill(&mut seed)?;
            approvers.push((format!("replay-{number}"), SigningKey::from_seed(seed)));
        }
        Ok(Self { approvers })
    }

    /// The keys document that declares the approvers.
    pub fn keys_document(&self, policy: &Policy) -> String {
        let mut out = "kind = \"keys\"\nformat = 1\nid = \"replay\"\nversion = 1\n".to_owned();
        let scopes: BTreeSet<&String> = authorities(policy).flat_map(|one| &one.scopes).collect();
        let scopes = json!(scopes);
        for (name, key) in &self.approvers {
            let key = key.public();
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "[approvers.{name}]\nkey = \"{key}\"\ntrust = 1000\nclearance = \"restricted\"\nscopes = {scopes}"
            );
        }
        out
    }

    /// The standing approval signed by all approvers; `None` if it has no canonical form.
    pub fn signed_standing_approval(&self, standing: &StandingApproval) -> Option<Vec<u8>> {
        let at = standing.opened_at;
        let envelopes = self.approvers.iter().map(|(_, key)| standing.envelope(key, at));
        let envelopes = envelopes.collect::<Result<_, _>>().ok()?;
        SignedStandingApproval { standing: standing.clone(), envelopes }.to_json().ok()
    }

    /// The signed grant of each approver for a request.
    pub fn signed_grants<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        at: Timestamp,
    ) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
        self.approvers.iter().filter_map(move |(name, key)| {
            let resolution = Resolution::new(request, ResolutionVerdict::Granted, name, at).ok()?;
            Some((name.as_str(), resolution.sign(key).ok()?.to_json().ok()?))
        })
    }
}

/// Every authority that the policy requires of approvers.
fn authorities(policy: &Policy) -> impl Iterator<Item = &ApprovalAuthority> {
    let bounds = &policy.approvals;
    let fixed = [&bounds.floor, &bounds.flow, &bounds.signal, &bounds.standing.authority];
    policy.rules.iter().map(|rule| &rule.authority).chain(fixed)
}
