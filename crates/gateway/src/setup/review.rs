//! What each tool will be allowed, for a person to review before anything is signed.

use std::collections::BTreeMap;

use weaver_policy::critical::{self, ArgumentRole};
use weaver_policy_analysis::propose::{ContractProposal, local_read};
use weaver_types::{CapabilityId, Effects, JsonPointer, SinkKind, UpstreamName};

use super::documents::{self, ToolRule};
use super::held_calls::HeldCalls;
use super::local_writes::{self, KnownNames, LocalWriteBounds, RuleTexts};
use super::permission::Permission;
use super::posture::{Posture, leaves_machine};
use super::selection::{Selection, ServerFolders};
use super::suspicious_passages::suspicious_passages;
use super::tool_choice::{ToolChoice, ToolClass};
use super::tool_doubt;
use crate::listing::ListedFeature;
use crate::serve::{FeatureKind, ProposalError};

/// The tools of all servers, each with its permission.
#[derive(Debug, Clone)]
pub struct Review {
    posture: Posture,
    rows: Vec<ReviewRow>,
}

/// One tool.
#[derive(Debug, Clone)]
pub struct ReviewRow {
    /// Its id.
    pub id: CapabilityId,
    /// Its server.
    pub server: String,
    /// Its description, in one line.
    pub description: String,
    /// What happens when it is called.
    pub permission: Permission,
    /// Why a person should look at it; `None` if its description leaves no doubt.
    pub doubt: Option<String>,
    /// The proposed contract.
    pub proposal: ContractProposal,
    /// The permission by the posture alone.
    posture_permission: Permission,
    suspicious: bool,
    /// Its bounds, if it is a local write.
    pub(super) local_write: Option<LocalWriteBounds>,
    /// The calls that a rule holds.
    pub(super) held_calls: Vec<HeldCalls>,
}

/// Why a tool's permission cannot be changed as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// No server lists it.
    #[error("no server lists a tool `{0}`")]
    Unknown(String),
    /// It sends something out of the machine.
    #[error(
        "`{0}` takes something out of this machine, so its calls are always held; if it does not, say \
         that it `reads` or `writes` here; `weaver approve standing grant` releases some in advance, but none \
         that a run makes after it has read something untrusted"
    )]
    LeavesMachine(CapabilityId),
}

impl Review {
    /// Proposes a contract for each tool, and a permission by the posture. Also returns the
    /// problems of unusable tools. `folders` are those that each server was set up for.
    #[must_use]
    pub fn propose(
        posture: Posture,
        listed: Vec<(UpstreamName, Vec<ListedFeature>)>,
        folders: &ServerFolders,
    ) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut rows: Vec<ReviewRow> = Vec::new();
        for (server, tools) in listed {
            for tool in tools {
                match review_row(posture, &server, &tool, folders) {
                    Ok(row) if rows.iter().any(|one| one.id == row.id) => {
                        problems.push(format!("`{}` is listed twice", row.id));
                    }
                    Ok(row) => rows.push(row),
                    Err(problem) => problems.push(problem.to_string()),
                }
            }
        }
        // By server; within a server the doubtful ones first.
        let order = |row: &ReviewRow| (row.server.clone(), row.doubt.is_none(), row.id.clone());
        rows.sort_by_key(order);
        (Self { posture, rows }, problems)
    }

    /// The posture.
    #[must_use]
    pub fn posture(&self) -> Posture {
        self.posture
    }

    /// The tools by server, the doubtful ones first.
    #[must_use]
    pub fn rows(&self) -> &[ReviewRow] {
        &self.rows
    }

    /// Changes the permission of a tool.
    ///
    /// # Errors
    /// [`ReviewError`].
    pub fn set_permission(&mut self, id: &str, permission: Permission) -> Result<(), ReviewError> {
        let row = self.rows.iter_mut().find(|row| row.id.as_str() == id);
        let row = row.ok_or_else(|| ReviewError::Unknown(id.to_owned()))?;
        if permission == Permission::Allow
            && row.posture_permission != Permission::Allow
            && leaves_machine(&row.proposal)
            && row.proposal.effects.writes()
        {
            return Err(ReviewError::LeavesMachine(row.id.clone()));
        }
        row.permission = permission;
        Ok(())
    }

    /// Applies what a person chose for a tool.
    ///
    /// # Errors
    /// [`ReviewError`].
    pub fn choose(&mut self, id: &str, choice: ToolChoice) -> Result<(), ReviewError> {
        match choice {
            ToolChoice::Permission(permission) => self.set_permission(id, permission),
            ToolChoice::Class(class) => self.set_class(id, class),
            ToolChoice::Proposed => self.accept_description(id),
        }
    }

    /// Classifies a tool as a person says, whatever its words suggest, and permits what the posture
    /// permits to such a tool. A description that addresses a model counts as read.
    fn set_class(&mut self, id: &str, class: ToolClass) -> Result<(), ReviewError> {
        let posture = self.posture;
        let row = self.rows.iter_mut().find(|row| row.id.as_str() == id);
        let row = row.ok_or_else(|| ReviewError::Unknown(id.to_owned()))?;
        let (effects, why) = match class {
            ToolClass::Reads => (Effects::READ_LOCAL, "reads on this machine, and nothing else"),
            ToolClass::Fetches => (Effects::READ_OPEN, "reads from outside, and changes nothing"),
            ToolClass::Writes => (Effects::WRITE_LOCAL, "writes on this machine alone"),
        };
        let proposal = &mut row.proposal;
        proposal.effects = effects;
        // An address that the agent writes can carry data out, also where nothing is changed.
        if class != ToolClass::Fetches || !proposal.critical_arguments.iter().any(names_address) {
            proposal.sink = Some(SinkKind::None);
            proposal.critical_arguments.clear();
            proposal.sends_to.clear();
            for field in ["sink", "critical_arguments", "sends_to"] {
                proposal.reasons.remove(field);
            }
        }
        proposal.reasons.insert("effects", format!("you said in the review that it {why}"));
        if class != ToolClass::Writes {
            row.local_write = None;
        }
        row.posture_permission = posture.permission(proposal);
        row.permission = row.posture_permission;
        row.doubt = None;
        Ok(())
    }

    /// Takes in a tool whose description addresses a model, since a person has read it.
    ///
    /// # Errors
    /// [`ReviewError::Unknown`].
    pub fn accept_description(&mut self, id: &str) -> Result<(), ReviewError> {
        let row = self.rows.iter_mut().find(|row| row.id.as_str() == id);
        let row = row.ok_or_else(|| ReviewError::Unknown(id.to_owned()))?;
        if row.suspicious {
            row.permission = row.posture_permission;
        }
        Ok(())
    }

    /// Refuses the tools that the clients leave out themselves.
    pub fn refuse_left_out(&mut self, selection: &Selection) {
        for row in &mut self.rows {
            let tool = row.id.as_str().split_once('.').map_or("", |(_, tool)| tool);
            let mut servers = selection.servers.iter().filter(|one| one.name == row.server);
            if servers.any(|server| server.leaves_out(tool)) {
                row.permission = Permission::Deny;
                row.doubt = Some("its client leaves it out".to_owned());
            }
        }
    }

    /// How many tools are allowed, held and refused.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for row in &self.rows {
            *counts.entry(row.permission.as_str()).or_insert(0) += 1;
        }
        counts
    }

    /// The rules: those of the posture, and those for tools whose permission was changed.
    pub(super) fn rules(&self) -> String {
        let mut out = self.posture.rules().to_owned();
        let allowed = self.changed_to(Permission::Allow);
        if self.posture == Posture::Locked && !allowed.is_empty() {
            // The strictest matching rule wins, so allowed tools must not match the general rule.
            let list: Vec<String> =
                allowed.iter().map(|id| documents::toml_string(id.as_str())).collect();
            let except = format!("match = {{ not = {{ capability = [{}] }} }}", list.join(", "));
            out = out.replace("match = {}", &except);
            let rule = ToolRule { name: "chosen", effect: "allow", extra_lines: "" };
            out.push_str(&documents::tool_rule_text(&rule, &allowed, CHOSEN));
        }
        out.push_str(&self.tool_rules(&KnownNames::default()).joined());
        out
    }

    /// The rules for single tools: what bounds local writes, and what was chosen in the review.
    pub(super) fn tool_rules(&self, known: &KnownNames) -> RuleTexts {
        let mut out = match self.posture.bounds_local_writes() {
            true => local_writes::rule_texts(&self.rows, known),
            false => RuleTexts::default(),
        };
        for (permission, name, effect) in [
            (Permission::Ask, "ask-first", "require_approval"),
            (Permission::Deny, "never", "deny"),
        ] {
            let tools = self.changed_to(permission);
            if !tools.is_empty() {
                let name = local_writes::free_name(name, 1, |name| known.rules.contains(name));
                // A person chose it, so it is enforced even under `observe`.
                let extra_lines = self.posture.policy_head().enforce_line;
                let rule = ToolRule { name: &name, effect, extra_lines };
                out.rules.push_str(&documents::tool_rule_text(&rule, &tools, CHOSEN));
            }
        }
        out
    }

    /// The tools whose permission is this one, and not that of the posture. One whose description
    /// addresses a model needs no rule: without a contract it stays hidden.
    pub(super) fn changed_to(&self, permission: Permission) -> Vec<&CapabilityId> {
        let rows = self.rows.iter().filter(|row| row.permission == permission);
        let rows = rows.filter(|row| !row.is_hidden());
        rows.filter(|row| row.permission != row.posture_permission).map(|row| &row.id).collect()
    }

    /// Takes a description as approved: somebody has read it before.
    pub(super) fn approve_description(&mut self, id: &CapabilityId) {
        for row in self.rows.iter_mut().filter(|row| row.id == *id && row.suspicious) {
            row.suspicious = false;
            row.permission = row.posture_permission;
        }
    }

    /// Leaves only these tools.
    pub(super) fn retain(&mut self, keeps: impl Fn(&CapabilityId) -> bool) {
        self.rows.retain(|row| keeps(&row.id));
    }

    /// The tools whose descriptions contain instructions for a model.
    pub(super) fn suspicious(&self) -> impl Iterator<Item = &CapabilityId> {
        self.rows.iter().filter(|row| row.suspicious).map(|row| &row.id)
    }

    /// The contracts, adjusted by the review. A tool whose description addresses a model gets none
    /// until a person has approved it.
    pub(super) fn contracts(&self) -> BTreeMap<CapabilityId, ContractProposal> {
        let rows = self.rows.iter().filter(|row| !row.is_hidden());
        rows.map(|row| (row.id.clone(), row.contract())).collect()
    }

    /// The proposed contracts of all tools, whatever the review says of them.
    pub(super) fn proposals(&self) -> BTreeMap<CapabilityId, &ContractProposal> {
        self.rows.iter().map(|row| (row.id.clone(), &row.proposal)).collect()
    }
}

/// The reason of rules about tools whose permission was changed.
pub(super) const CHOSEN: &str = "chosen in the review";

impl ReviewRow {
    /// Whether its description addresses a model.
    pub(super) fn is_suspicious(&self) -> bool {
        self.suspicious
    }

    /// Whether it stays hidden until a person approves its description.
    fn is_hidden(&self) -> bool {
        self.suspicious && self.permission == Permission::Deny
    }

    /// The proposed contract, adjusted by the review.
    fn contract(&self) -> ContractProposal {
        let mut proposal = self.proposal.clone();
        if self.permission == Permission::Allow
            && self.posture_permission == Permission::Ask
            && destroys(&proposal)
        {
            proposal.effects = Effects::WRITE_LOCAL;
            proposal.sink = Some(SinkKind::None);
            proposal.critical_arguments.clear();
            let why =
                "you chose in the review that it may write on this machine without a question";
            proposal.reasons.insert("effects", why.to_owned());
            proposal.reasons.remove("sink");
            proposal.reasons.remove("critical_arguments");
            proposal.sends_to.clear();
            proposal.reasons.remove("sends_to");
        }
        proposal
    }
}

fn destroys(proposal: &ContractProposal) -> bool {
    proposal.effective_sink() == SinkKind::Destructive
}

fn review_row<'l>(
    posture: Posture,
    server: &UpstreamName,
    listed: &'l ListedFeature,
    folders: &ServerFolders,
) -> Result<ReviewRow, &'l ProposalError> {
    let capability = listed.capability.as_ref()?;
    let tool = listed.description();
    let bounds = posture.bounds_local_writes() && listed.kind == FeatureKind::Tool;
    let local_write = bounds.then(|| LocalWriteBounds::from_tool(server, &tool, folders)).flatten();
    let local_read = bounds.then(|| local_read(&tool)).flatten();
    let mut proposal = match (&local_write, &local_read) {
        (Some(local), _) => local.write.proposal.clone(),
        (None, Some(local)) => local.proposal.clone(),
        (None, None) => listed.propose_contract(),
    };
    proposal.upstream_digest = capability.spec().upstream_digest;
    let suspicions = weaver_agent_kernel::suspicions(capability);
    let suspicious = !suspicions.is_empty();
    let posture_permission = posture.permission(&proposal);
    let doubt = if suspicious {
        let words: Vec<&str> = suspicions.iter().map(String::as_str).collect();
        let passages = suspicious_passages(capability);
        let quoted = passages.first().map(|one| format!(": \"{}\"", one.text)).unwrap_or_default();
        Some(format!("its description addresses a model{quoted} ({})", words.join(", ")))
    } else {
        tool_doubt::of_effects(&proposal)
    };
    let first = tool.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let held_calls = match bounds {
        true => {
            let folders = folders.get(server.as_str()).map(Vec::as_slice).unwrap_or_default();
            let addresses = local_read.map(|local| local.address_match);
            HeldCalls::of_tool(&tool, &proposal, addresses, folders)
        }
        false => Vec::new(),
    };
    Ok(ReviewRow {
        id: capability.id().clone(),
        server: server.to_string(),
        description: weaver_text::escape::line(weaver_text::escape::truncate(first.trim(), 160))
            .into_owned(),
        permission: if suspicious { Permission::Deny } else { posture_permission },
        doubt,
        proposal,
        posture_permission,
        suspicious,
        local_write,
        held_calls,
    })
}

/// Whether an argument takes an address of the network.
fn names_address(argument: &JsonPointer) -> bool {
    let name = argument.as_str().rsplit('/').next().unwrap_or_default();
    critical::argument_role(name) == ArgumentRole::Network
}
