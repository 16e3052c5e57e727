//! What each tool will be allowed, for a person to look through before anything is signed.

use std::collections::BTreeMap;

use weaver_policy::Match;
use weaver_policy_analysis::propose::{Proposal, ToolDescription, option_injection, propose};
use weaver_types::{CapabilityId, Effects, SinkKind, UpstreamName};

use super::documents::{self, ToolRule};
use super::local_writes::{self, LocalWriteBounds};
use super::permission::Permission;
use super::posture::{Posture, goes_out};
use super::selection::ServerFolders;
use crate::listing::ListedFeature;
use crate::serve::ProposalError;

/// The tools of all servers, each with what it will be allowed.
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
    /// What it says of itself, in one line.
    pub description: String,
    /// What happens when it is called.
    pub permission: Permission,
    /// Why somebody should look at it; nothing where its words leave no doubt.
    pub doubt: Option<String>,
    /// What is proposed as its contract.
    pub proposal: Proposal,
    /// What the posture says by itself.
    by_posture: Permission,
    suspicious: bool,
    /// What bounds it, where it is a local write.
    pub(super) local_write: Option<LocalWriteBounds>,
    /// What a call fits in which an argument would be read as an option of a program.
    pub(super) option_injection: Option<Match>,
}

/// Why a tool cannot be allowed what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// No server lists it.
    #[error("no server lists a tool `{0}`")]
    Unknown(String),
    /// It takes something out of the machine.
    #[error(
        "`{0}` takes something out of this machine, so its calls are always held; to release some in \
         advance, use `weaver approve standing grant`"
    )]
    GoesOut(CapabilityId),
}

impl Review {
    /// Proposes a contract for each tool, and what the posture makes of it. Tools that cannot be
    /// used are told beside it. `folders` are those that each server was set up for.
    #[must_use]
    pub fn of(
        posture: Posture,
        listed: Vec<(UpstreamName, Vec<ListedFeature>)>,
        folders: &ServerFolders,
    ) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut rows: Vec<ReviewRow> = Vec::new();
        for (server, tools) in listed {
            for tool in tools {
                match row(posture, &server, &tool, folders) {
                    Ok(row) if rows.iter().any(|one| one.id == row.id) => {
                        problems.push(format!("`{}` is listed twice", row.id));
                    }
                    Ok(row) => rows.push(row),
                    Err(problem) => problems.push(problem.to_string()),
                }
            }
        }
        // By server, and there what is doubtful first.
        let order = |row: &ReviewRow| (row.server.clone(), row.doubt.is_none(), row.id.clone());
        rows.sort_by_key(order);
        (Self { posture, rows }, problems)
    }

    /// The posture.
    #[must_use]
    pub fn posture(&self) -> Posture {
        self.posture
    }

    /// The tools, by server, the doubtful ones first.
    #[must_use]
    pub fn rows(&self) -> &[ReviewRow] {
        &self.rows
    }

    /// Changes what a tool is allowed.
    ///
    /// # Errors
    /// [`ReviewError`].
    pub fn set(&mut self, id: &str, permission: Permission) -> Result<(), ReviewError> {
        let row = self.rows.iter_mut().find(|row| row.id.as_str() == id);
        let row = row.ok_or_else(|| ReviewError::Unknown(id.to_owned()))?;
        if permission == Permission::Allow
            && row.by_posture != Permission::Allow
            && goes_out(&row.proposal)
            && row.proposal.effects.writes()
        {
            return Err(ReviewError::GoesOut(row.id.clone()));
        }
        row.permission = permission;
        Ok(())
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

    /// The rules: those of the posture, and those for tools that are allowed something else.
    pub(super) fn rules(&self) -> String {
        let changed = |wanted: Permission| -> Vec<&CapabilityId> {
            let rows = self.rows.iter().filter(|row| row.permission == wanted);
            rows.filter(|row| row.permission != row.by_posture).map(|row| &row.id).collect()
        };
        let chosen = "chosen in the review";
        let allowed = changed(Permission::Allow);
        let mut out = self.posture.rules().to_owned();
        if self.posture == Posture::Locked && !allowed.is_empty() {
            // Rules add up to the strictest: what is to go through must not match the other rule.
            let list: Vec<String> =
                allowed.iter().map(|id| documents::quoted(id.as_str())).collect();
            let except = format!("match = {{ not = {{ capability = [{}] }} }}", list.join(", "));
            out = out.replace("match = {}", &except);
            let rule = ToolRule { name: "chosen", effect: "allow", more: "" };
            out.push_str(&documents::rule(&rule, &allowed, chosen));
        }
        if self.posture.bounds_local_writes() {
            out.push_str(&local_writes::rules(&self.rows));
        }
        for (permission, name, effect) in [
            (Permission::Ask, "ask-first", "require_approval"),
            (Permission::Deny, "never", "deny"),
        ] {
            let tools = changed(permission);
            if !tools.is_empty() {
                // Somebody chose it, so it is enforced where the posture observes, too.
                let rule = ToolRule { name, effect, more: self.posture.enforcement().word };
                out.push_str(&documents::rule(&rule, &tools, chosen));
            }
        }
        out
    }

    /// The tools whose words speak to a model.
    pub(super) fn suspicious(&self) -> impl Iterator<Item = &CapabilityId> {
        self.rows.iter().filter(|row| row.suspicious).map(|row| &row.id)
    }

    /// The contracts, with what the review says of them.
    pub(super) fn contracts(&self) -> BTreeMap<CapabilityId, Proposal> {
        self.rows.iter().map(|row| (row.id.clone(), row.contract())).collect()
    }
}

impl ReviewRow {
    /// The proposal, as the review leaves it.
    fn contract(&self) -> Proposal {
        let mut proposal = self.proposal.clone();
        if self.suspicious && self.permission == Permission::Deny {
            // Its words are not approved: without a digest it stays out of sight.
            proposal.upstream_digest = None;
        }
        if self.permission == Permission::Allow
            && self.by_posture == Permission::Ask
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
        }
        proposal
    }
}

fn destroys(proposal: &Proposal) -> bool {
    proposal.counted_sink() == SinkKind::Destructive
}

fn row<'l>(
    posture: Posture,
    server: &UpstreamName,
    listed: &'l ListedFeature,
    folders: &ServerFolders,
) -> Result<ReviewRow, &'l ProposalError> {
    let capability = listed.capability.as_ref()?;
    let tool = ToolDescription::of(&listed.tool);
    let bounds = posture.bounds_local_writes();
    let local_write = bounds.then(|| LocalWriteBounds::of(server, &tool, folders)).flatten();
    let mut proposal = match &local_write {
        Some(local) => local.write.proposal.clone(),
        None => propose(&tool),
    };
    proposal.upstream_digest = capability.spec().upstream_digest;
    let suspicions = weaver_agent_kernel::suspicions(capability);
    let suspicious = !suspicions.is_empty();
    let by_posture = posture.permission(&proposal);
    let doubt = if suspicious {
        let words: Vec<&str> = suspicions.iter().map(String::as_str).collect();
        Some(format!("its description speaks to the model ({})", words.join(", ")))
    } else {
        doubt(&proposal)
    };
    let first = tool.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Ok(ReviewRow {
        id: capability.id().clone(),
        server: server.to_string(),
        description: weaver_text::escape::line(weaver_text::escape::truncate(first.trim(), 160))
            .into_owned(),
        permission: if suspicious { Permission::Deny } else { by_posture },
        doubt,
        proposal,
        by_posture,
        suspicious,
        local_write,
        option_injection: bounds.then(|| option_injection(&tool)).flatten(),
    })
}

/// What leaves the meaning of a tool open.
fn doubt(proposal: &Proposal) -> Option<String> {
    let why = proposal.reasons.get("effects")?;
    let open = ["no word says", "takes a program"].iter().any(|words| why.contains(words));
    open.then(|| why.clone())
}
