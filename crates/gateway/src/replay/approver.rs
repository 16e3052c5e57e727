//! Who releases what is held in a replay: people made up for it, with every authority that the
//! policy asks for. Their keys exist for one replay only and are in force nowhere else.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::json;
use weaver_policy::Policy;
use weaver_policy::approval::{
    ApprovalRequest, Resolution, ResolutionVerdict, SignedStandingApproval, StandingApproval,
};
use weaver_types::signature::SigningKey;
use weaver_types::{Authority, Random, RandomError, Timestamp};

/// The most people that there are: the most signatures under one standing approval.
const MAX_PEOPLE: u8 = 16;
/// The people of a replay.
pub struct Approver {
    people: Vec<(String, SigningKey)>,
}

impl Approver {
    /// As many people as the policy may ask for, with fresh keys.
    pub fn new(policy: &Policy, random: &dyn Random) -> Result<Self, RandomError> {
        let quorum = authorities(policy).map(|authority| authority.quorum).max().unwrap_or(1);
        let mut people = Vec::new();
        for number in 1..=quorum.clamp(1, MAX_PEOPLE) {
            let mut seed = [0_u8; 32];
            random.fill(&mut seed)?;
            people.push((format!("replay-{number}"), SigningKey::from_seed(seed)));
        }
        Ok(Self { people })
    }

    /// The keys document that names them.
    pub fn document(&self, policy: &Policy) -> String {
        let mut out = "kind = \"keys\"\nformat = 1\nid = \"replay\"\nversion = 1\n".to_owned();
        let scopes: BTreeSet<&String> = authorities(policy).flat_map(|one| &one.scopes).collect();
        let scopes = json!(scopes);
        for (name, key) in &self.people {
            let key = key.public();
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "[approvers.{name}]\nkey = \"{key}\"\ntrust = 1000\nclearance = \"restricted\"\nscopes = {scopes}"
            );
        }
        out
    }

    /// The same standing approval signed by all of them; `None` where it has no canonical form.
    pub fn standing(&self, standing: &StandingApproval) -> Option<Vec<u8>> {
        let at = standing.opened_at;
        let envelopes = self.people.iter().map(|(_, key)| standing.envelope(key, at));
        let envelopes = envelopes.collect::<Result<_, _>>().ok()?;
        SignedStandingApproval { standing: standing.clone(), envelopes }.to_json().ok()
    }

    /// What each of them says to a request: yes.
    pub fn answers<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        at: Timestamp,
    ) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
        self.people.iter().filter_map(move |(name, key)| {
            let said = Resolution::new(request, ResolutionVerdict::Granted, name, at).ok()?;
            Some((name.as_str(), said.sign(key).ok()?.to_json().ok()?))
        })
    }
}

/// Everything that the policy asks of approvers.
fn authorities(policy: &Policy) -> impl Iterator<Item = &Authority> {
    let bounds = &policy.approvals;
    let fixed = [&bounds.floor, &bounds.flow, &bounds.signal, &bounds.standing.authority];
    policy.rules.iter().map(|rule| &rule.authority).chain(fixed)
}
