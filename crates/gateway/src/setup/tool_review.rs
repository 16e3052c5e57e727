//! The tools that a gateway has, reviewed again.
//!
//! Only what a person chooses is written: the contract of the tool says anew what the tool does, and
//! the rules that a setup writes about single tools name it anew. Everything else in both documents
//! stays, byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use weaver_policy::{Contract, Contracts, Effect, MatchConditions, PolicySet, Rule};
use weaver_policy_analysis::propose::ContractProposal;
use weaver_types::signature::SigningKey;
use weaver_types::{CapabilityId, Effects, Rung, SinkKind, Timestamp, UpstreamName};

use super::contract_text;
use super::documents::{self, ToolRule};
use super::error::SetupError;
use super::local_writes::{self, KnownNames};
use super::permission::Permission;
use super::policy_text;
use super::posture::Posture;
use super::review::{CHOSEN, Review, ReviewError, ReviewRow};
use super::revision::{PolicyRevision, with_exception};
use super::selection::Selection;
use super::tool_choice::ToolChoice;
use super::update::{GatewayUpdate, with_version};
use crate::config::UpstreamSettings;
use crate::listing::ListingResult;

/// The names of rules that a setup writes about single tools; a number may follow.
const TOOL_RULES: [&str; 16] = [
    "out-of-bounds", "options", "addresses", "mutations", "deletions", "programs", "saved-files",
    "git-settings", "unpacking", "expressions", "statements", "queries", "sensitive-places",
    "ask-first", "never", "not-bounded",
];

/// The tools of an existing gateway, as it treats them and as they would be set up now.
pub struct ToolReview {
    update: GatewayUpdate,
    review: Review,
    present: BTreeMap<CapabilityId, PresentTool>,
    chosen: BTreeSet<CapabilityId>,
    /// Servers that did not answer, and why.
    pub unreachable: BTreeMap<UpstreamName, String>,
    /// Unusable tools, and why.
    pub problems: Vec<String>,
}

/// How a gateway treats a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentTool {
    /// What happens when it is called.
    pub permission: Permission,
    /// What its contract says that it does, with the sink if it names one; `None` without a contract.
    pub class: Option<(Effects, Option<SinkKind>)>,
    /// Whether its description is not the one that was approved.
    pub is_changed: bool,
}

impl ToolReview {
    /// Compares what servers list now with the documents in force. `servers` are those that were
    /// listed.
    #[must_use]
    pub fn new(
        update: GatewayUpdate,
        listed: Vec<(UpstreamName, ListingResult)>,
        servers: &[UpstreamSettings],
    ) -> Self {
        let (mut answered, mut unreachable) = (Vec::new(), BTreeMap::new());
        for (name, result) in listed {
            match result {
                Ok(tools) => answered.push((name, tools)),
                Err(problem) => drop(unreachable.insert(name, problem.to_string())),
            }
        }
        let posture = update.posture();
        let (mut review, problems) =
            Review::propose(posture, answered, &Selection::folders_of(servers));
        let contracts = update.contracts_by_id();
        let present = review.rows().iter().map(|row| {
            let contract = contracts.get(&row.id).copied();
            (row.id.clone(), present_tool(&update.policy, posture, row, contract))
        });
        let present: BTreeMap<CapabilityId, PresentTool> = present.collect();
        for (id, tool) in &present {
            if tool.class.is_some() && !tool.is_changed {
                review.approve_description(id);
            }
        }
        Self { update, review, present, chosen: BTreeSet::new(), unreachable, problems }
    }

    /// Leaves only these tools.
    pub fn retain(&mut self, keeps: impl Fn(&CapabilityId) -> bool) {
        self.review.retain(keeps);
    }

    /// The tools as they would be set up now, with what was chosen.
    #[must_use]
    pub fn review(&self) -> &Review {
        &self.review
    }

    /// How the gateway treats a tool of the review.
    #[must_use]
    pub fn present(&self, id: &CapabilityId) -> Option<&PresentTool> {
        self.present.get(id)
    }

    /// The tools for which something was chosen.
    pub fn chosen(&self) -> impl Iterator<Item = &ReviewRow> {
        self.review.rows().iter().filter(|row| self.chosen.contains(&row.id))
    }

    /// Chooses for a tool.
    ///
    /// # Errors
    /// [`ReviewError`].
    pub fn choose(&mut self, id: &str, choice: ToolChoice) -> Result<(), ReviewError> {
        self.review.choose(id, choice)?;
        let row = self.review.rows().iter().find(|row| row.id.as_str() == id);
        self.chosen.extend(row.map(|row| row.id.clone()));
        Ok(())
    }

    /// Writes and signs what was chosen.
    ///
    /// # Errors
    /// [`SetupError`]; then the gateway is unchanged.
    pub fn apply(&self, key: &SigningKey, now: Timestamp) -> Result<(), SetupError> {
        let mut review = self.review.clone();
        review.retain(|id| self.chosen.contains(id));
        let contracts = self.contracts_text(&review.contracts())?;
        let policy = self.policy_text(&review)?;
        if let Some(contracts) = &contracts {
            self.check_contracts(contracts, &review.contracts(), now)?;
        }
        self.update.put_documents(contracts.as_deref(), policy.as_deref(), key, now)
    }

    /// The contracts under the next version; `None` if none is changed.
    fn contracts_text(
        &self,
        chosen: &BTreeMap<CapabilityId, ContractProposal>,
    ) -> Result<Option<String>, SetupError> {
        let before = &self.update.contracts;
        let after = contract_text::with_contracts(before, chosen)
            .ok_or_else(|| self.manual_edit_error("contracts.toml"))?;
        if after == *before {
            return Ok(None);
        }
        let version = self.update.policy.contracts().version.saturating_add(1);
        let text = with_version(&after, version);
        text.map(Some).ok_or_else(|| self.manual_edit_error("contracts.toml"))
    }

    /// Proves that the text says of the chosen tools what was chosen, and of all others what it
    /// said before.
    fn check_contracts(
        &self,
        text: &str,
        chosen: &BTreeMap<CapabilityId, ContractProposal>,
        now: Timestamp,
    ) -> Result<(), SetupError> {
        let revision = PolicyRevision::open(&self.update.config().file, now)?;
        let after = revision.with_contracts(text, now)?;
        let is_chosen = |id: &str| chosen.keys().any(|one| one.as_str() == id);
        let others = |contracts: &Contracts| -> BTreeMap<String, Contract> {
            let all = contracts.capabilities.iter();
            let others = all.filter(|(pattern, _)| !is_chosen(pattern.as_str()));
            others.map(|(pattern, one)| (pattern.as_str().to_owned(), one.clone())).collect()
        };
        let says = |(id, wanted): (&CapabilityId, &ContractProposal)| {
            let found = after.contracts().capabilities.iter();
            let mut found = found.filter(|(pattern, _)| pattern.as_str() == id.as_str());
            found.next().is_some_and(|(_, contract)| {
                contract.effects == Some(wanted.effects)
                    && contract.sink == wanted.sink
                    && contract.rung.is_none()
                    && contract.critical_arguments == wanted.critical_arguments
                    && contract.sends_to == wanted.sends_to
                    && contract.upstream_digest == wanted.upstream_digest
            })
        };
        let same = others(self.update.policy.contracts()) == others(after.contracts());
        match same && chosen.iter().all(says) {
            true => Ok(()),
            false => Err(self.manual_edit_error("contracts.toml")),
        }
    }

    /// The policy under the next version, with the rules that a setup would write about the chosen
    /// tools in place of those that it wrote; `None` if it stays as it is.
    fn policy_text(&self, review: &Review) -> Result<Option<String>, SetupError> {
        let cannot = || self.manual_edit_error("policy.toml");
        let before = &self.update.policy_text;
        let mut text = before.clone();
        for row in review.rows() {
            for rule in self.rules_about(&row.id) {
                text = policy_text::without_capability(&text, &rule.name, row.id.as_str())
                    .ok_or_else(cannot)?;
            }
        }
        let known = KnownNames::of(&self.update.policy, &text);
        text = policy_text::with_rules(text, &review.tool_rules(&known));
        if review.posture() == Posture::Locked {
            text = self.with_locked_choices(text, review, &known).ok_or_else(cannot)?;
        }
        if text == *before {
            return Ok(None);
        }
        let version = self.update.policy.policy().version.saturating_add(1);
        with_version(&text, version).map(Some).ok_or_else(cannot)
    }

    /// Where every call waits, an allowed tool is an exception, and one that is to wait again is
    /// held by a rule of its own.
    fn with_locked_choices(
        &self,
        mut text: String,
        review: &Review,
        known: &KnownNames,
    ) -> Option<String> {
        let was_allowed = |id: &CapabilityId| {
            self.present.get(id).is_some_and(|one| one.permission == Permission::Allow)
        };
        let allowed = review.changed_to(Permission::Allow);
        let allowed: Vec<_> = allowed.into_iter().filter(|id| !was_allowed(id)).collect();
        let waits = review.rows().iter().filter(|row| row.permission == Permission::Ask);
        let waits: Vec<_> = waits.map(|row| &row.id).filter(|id| was_allowed(id)).collect();
        let free = |name: &str| local_writes::free_name(name, 1, |name| known.rules.contains(name));
        if !allowed.is_empty() {
            let list: Vec<String> =
                allowed.iter().map(|id| documents::toml_string(id.as_str())).collect();
            let exception = format!("{{ capability = [{}] }}", list.join(", "));
            text = with_exception(&text, "everything-waits", &exception)?;
            let rule = ToolRule { name: &free("chosen"), effect: "allow", extra_lines: "" };
            text.push_str(&documents::tool_rule_text(&rule, &allowed, CHOSEN));
        }
        if !waits.is_empty() {
            let name = free("ask-first");
            let rule = ToolRule { name: &name, effect: "require_approval", extra_lines: "" };
            text.push_str(&documents::tool_rule_text(&rule, &waits, CHOSEN));
        }
        Some(text)
    }

    /// The rules of a setup that name a tool.
    fn rules_about(&self, id: &CapabilityId) -> impl Iterator<Item = &Rule> {
        let rules = self.update.policy.policy().rules.iter();
        rules.filter(|rule| is_tool_rule(&rule.name) && names(rule, id))
    }

    fn manual_edit_error(&self, name: &str) -> SetupError {
        let folder: &Path = &self.update.config().documents_folder;
        let reason = "what it says of the tool is written so that it cannot be changed here";
        SetupError::NeedsManualEdit { path: folder.join(name), reason }
    }
}

/// Whether a setup writes rules of this name about single tools.
fn is_tool_rule(name: &str) -> bool {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let base = base.strip_suffix('-').filter(|_| base.len() < name.len()).unwrap_or(name);
    TOOL_RULES.contains(&base)
}

/// Whether a rule names a tool by its id.
fn names(rule: &Rule, id: &CapabilityId) -> bool {
    rule.matches.capability.iter().any(|pattern| pattern.as_str() == id.as_str())
}

fn present_tool(
    set: &PolicySet,
    posture: Posture,
    row: &ReviewRow,
    contract: Option<&Contract>,
) -> PresentTool {
    let class = contract.map(|contract| {
        let effects = contract.effects.unwrap_or(Effects::UNDECLARED);
        (effects, contract.sink)
    });
    let pinned = contract.and_then(|contract| contract.upstream_digest);
    let is_changed = pinned.is_some() && pinned != row.proposal.upstream_digest;
    let rung = contract.and_then(|contract| contract.rung);
    let rung = rung.unwrap_or(class.map_or(Effects::UNDECLARED, |(effects, _)| effects).rung());
    // Rules about some of its calls say nothing of the others.
    let is_about_all = |rule: &&Rule| {
        let capability = rule.matches.capability.clone();
        names(rule, &row.id)
            && rule.matches == MatchConditions { capability, ..MatchConditions::default() }
    };
    let chosen = set.policy().rules.iter().filter(is_about_all).map(|rule| rule.effect);
    let by_posture = match posture {
        Posture::Observe => Permission::Allow,
        Posture::Locked => Permission::Ask,
        Posture::Careful if rung < Rung::L4 => Permission::Allow,
        Posture::Careful => Permission::Ask,
    };
    let by_rule = chosen.map(|effect| match effect {
        Effect::Allow => Permission::Allow,
        Effect::Deny => Permission::Deny,
        _ => Permission::Ask,
    });
    let permission = match by_rule.max() {
        Some(Permission::Allow) | None if is_changed || class.is_none() && row.is_suspicious() => {
            Permission::Deny
        }
        Some(Permission::Allow) if posture == Posture::Locked => Permission::Allow,
        by_rule => by_rule.unwrap_or(by_posture).max(match posture {
            Posture::Locked => Permission::Allow,
            Posture::Observe | Posture::Careful => by_posture,
        }),
    };
    PresentTool { permission, class, is_changed }
}
