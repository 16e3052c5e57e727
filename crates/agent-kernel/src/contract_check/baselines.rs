//! The approved versions of capabilities in a ledger, for those that no signed document pins.
//!
//! A record holds the approved version of one tool. A mark says that all tools of a tool surface were
//! approved at once, so that a tool that was not among them is new. Baselines only tighten: what a
//! signed contract does not allow, no baseline allows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use weaver_types::canonical::CanonicalError;
use weaver_types::ledger::{
    Batch, Durability, LedgerError, Namespace, Record, RecordKey, RecordWrite, VersionGuard,
    all_records,
};
use weaver_types::{Capability, CapabilityId, Digest, Effects, EventKind, Tenant, Timestamp};

use super::contract_record;
use crate::event_payload::EventPayload;

/// The tool surface of all tools of a kernel.
pub const KERNEL_TOOL_SURFACE: &str = "kernel";
/// The most approved versions that a ledger holds.
pub const MAX_BASELINES: usize = 100_000;
/// How many approved tools one event lists.
const MAX_TOOLS_PER_EVENT: usize = 500;
/// How many records one batch writes.
const MAX_RECORDS_PER_BATCH: usize = 200;
/// The longest name of an approver, in characters.
const MAX_APPROVER_CHARS: usize = 128;

/// An approved version of one capability.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// The fingerprint of this version.
    pub fingerprint: Digest,
    /// The digest of its description by its server, if it comes from a server.
    pub upstream_digest: Option<Digest>,
    /// Its effects.
    pub effects: Effects,
    /// Who approved it.
    pub approved_by: String,
    /// When it was approved.
    pub at: Timestamp,
    /// The version itself; `None` if it is too large to be stored.
    pub contract: Option<Box<Capability>>,
}

impl Baseline {
    /// The digest by which versions are compared.
    pub(super) fn identity(&self) -> Digest {
        self.upstream_digest.unwrap_or(self.fingerprint)
    }

    fn matches(&self, live: &Capability) -> bool {
        match (self.upstream_digest, live.spec().upstream_digest) {
            (None, None) => self.fingerprint == live.fingerprint(),
            (approved, found) => approved == found,
        }
    }
}

/// How a capability compares with the baselines.
#[derive(Debug, Clone, PartialEq)]
pub enum BaselineState<'b> {
    /// No approval covers it.
    None,
    /// It is the approved version.
    Match(&'b Baseline),
    /// It differs from the approved version.
    Changed(&'b Baseline),
    /// Its tool surface was approved without it.
    New,
    /// The record cannot be read, for this reason.
    Unreadable(&'b BaselineReadError),
}

/// Why baselines cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineReadError {
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// There are more than [`MAX_BASELINES`].
    #[error("there are more than {MAX_BASELINES}")]
    TooMany,
    /// A record of another kind is among them.
    #[error("a record of another form is among them")]
    ForeignRecord,
    /// A record is not canonical JSON.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// A record was written by a newer build.
    #[error("its form is newer than version {known}")]
    Newer {
        /// The newest version that this build reads.
        known: u8,
    },
    /// A record has unknown fields or lacks some.
    #[error("its form is not known")]
    Form,
    /// A record is stored under the id of another capability.
    #[error("it is about another capability")]
    OtherCapability,
    /// The contract in a record is not valid.
    #[error("its contract cannot be read")]
    Contract,
    /// The contract in a record has another fingerprint.
    #[error("its contract is not the one of its fingerprint")]
    Fingerprint,
}

/// The parameters of an approval of baselines.
#[derive(Debug, Clone, Copy)]
pub struct BaselineApproval<'a> {
    /// The tenant of the ledger.
    pub tenant: &'a Tenant,
    /// The tool surface whose tools are all approved at once, in place of its earlier approvals; `None`
    /// to approve only the named tools.
    pub tool_surface: Option<&'a str>,
    /// Who approves.
    pub by: &'a str,
    /// When they were approved.
    pub at: Timestamp,
}

/// Why baselines could not be approved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The name of the approver is empty, too long, or not plain text.
    #[error("who approves must be 1 to 128 characters of plain text")]
    Name,
    /// There would be more than [`MAX_BASELINES`].
    #[error("a ledger holds at most {limit} approved versions")]
    Full {
        /// The bound.
        limit: usize,
    },
    /// A version has no stored form.
    #[error("`{id}` has no form that can be stored")]
    Form {
        /// The capability.
        id: CapabilityId,
    },
}

impl BaselineError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name => "baseline.name",
            Self::Full { .. } => "baseline.full",
            Self::Form { .. } => "baseline.form",
        }
    }
}

/// All baselines of a ledger.
#[derive(Debug, Default)]
pub struct Baselines {
    tools: BTreeMap<String, (u64, Result<Baseline, BaselineReadError>)>,
    tool_surfaces: BTreeMap<String, u64>,
    /// Why none of them can be read, if so.
    problem: Option<BaselineReadError>,
}

impl Baselines {
    /// Reads all baselines page by page; `page` returns the records after an id. Read errors are
    /// kept: a tool that they may concern then counts as not approved.
    pub fn read(
        page: impl FnMut(Option<&str>) -> Result<Vec<(String, Record)>, LedgerError>,
    ) -> Self {
        let mut out = Self::default();
        for found in all_records(page) {
            match found {
                Ok((id, record)) => out.insert_record(&id, &record),
                Err(error) => {
                    out.problem = Some(error.into());
                    break;
                }
            }
            if out.tools.len() > MAX_BASELINES {
                out.problem = Some(BaselineReadError::TooMany);
                break;
            }
        }
        out
    }

    fn insert_record(&mut self, id: &str, record: &Record) {
        match id.split_once(':') {
            Some(("tool", id)) => {
                let baseline = contract_record::read_record(id, &record.value);
                self.tools.insert(id.to_owned(), (record.version, baseline));
            }
            Some(("surface", surface)) => {
                self.tool_surfaces.insert(surface.to_owned(), record.version);
            }
            _ => self.problem = Some(BaselineReadError::ForeignRecord),
        }
    }

    /// Drops the versions themselves from memory; the ledger keeps them.
    pub(crate) fn without_contracts(mut self) -> Self {
        for (_, baseline) in self.tools.values_mut() {
            if let Ok(baseline) = baseline {
                baseline.contract = None;
            }
        }
        self
    }

    /// True when nothing was ever approved here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.tool_surfaces.is_empty() && self.problem.is_none()
    }

    /// Compares a capability with its baseline.
    #[must_use]
    pub fn compare(&self, live: &Capability) -> BaselineState<'_> {
        if let Some(problem) = &self.problem {
            return BaselineState::Unreadable(problem);
        }
        match self.tools.get(live.id().as_str()) {
            Some((_, Err(problem))) => BaselineState::Unreadable(problem),
            Some((_, Ok(baseline))) if baseline.matches(live) => BaselineState::Match(baseline),
            Some((_, Ok(baseline))) => BaselineState::Changed(baseline),
            None if self.covers_new_tool(live) => BaselineState::New,
            None => BaselineState::None,
        }
    }

    fn covers_new_tool(&self, live: &Capability) -> bool {
        let namespace = || live.id().as_str().split_once('.').map(|(namespace, _)| namespace);
        let upstream = live.spec().upstream_digest.and_then(|_| namespace());
        self.tool_surfaces.contains_key(KERNEL_TOOL_SURFACE)
            || upstream.is_some_and(|name| self.tool_surfaces.contains_key(name))
    }

    /// The approved version of a capability, if there is one that can be read.
    #[must_use]
    pub fn get(&self, id: &CapabilityId) -> Option<&Baseline> {
        self.tools.get(id.as_str())?.1.as_ref().ok()
    }

    /// The ids in a tool surface that have an approved version.
    #[must_use]
    pub fn approved_ids(&self, surface: &str) -> BTreeSet<&str> {
        self.tools.keys().map(String::as_str).filter(|id| belongs_to(id, surface)).collect()
    }

    /// The batches that approve these versions, with an event that names the approver. The last
    /// batch marks the tool surface.
    ///
    /// # Errors
    /// [`BaselineError`]; nothing is approved then.
    pub fn approval_batches(
        &self,
        tools: &[&Capability],
        approval: BaselineApproval<'_>,
    ) -> Result<Vec<Batch>, BaselineError> {
        let name = approval.by.trim();
        if name.is_empty()
            || name.chars().count() > MAX_APPROVER_CHARS
            || name.chars().any(char::is_control)
        {
            return Err(BaselineError::Name);
        }
        let is_new = |live: &&&Capability| !self.tools.contains_key(live.id().as_str());
        if self.tools.len() + tools.iter().filter(is_new).count() > MAX_BASELINES {
            return Err(BaselineError::Full { limit: MAX_BASELINES });
        }
        let mut batches = Vec::new();
        for chunk in tools.chunks(MAX_RECORDS_PER_BATCH) {
            let mut batch = Batch::new(Durability::Disk);
            for live in chunk {
                self.add_approval(live, approval, &mut batch)?;
            }
            batches.push(batch);
        }
        if let Some(surface) = approval.tool_surface {
            batches.splice(0..0, self.removal_batches(surface, tools, approval));
        }
        let mut last = batches.pop().unwrap_or_else(|| Batch::new(Durability::Disk));
        if let Some(surface) = approval.tool_surface {
            self.mark_tool_surface(surface, approval, &mut last);
        }
        last.events.extend(approval_event(tools, approval));
        batches.push(last);
        Ok(batches)
    }

    fn add_approval(
        &self,
        live: &Capability,
        approval: BaselineApproval<'_>,
        batch: &mut Batch,
    ) -> Result<(), BaselineError> {
        let id = live.id();
        let form = || BaselineError::Form { id: id.clone() };
        let value = contract_record::to_record_bytes(live, approval.by.trim(), approval.at)
            .ok_or_else(form)?;
        let key = key(approval.tenant, "tool", id.as_str());
        let version = self.tools.get(id.as_str()).map(|(version, _)| *version);
        batch.expect.push(VersionGuard { key: key.clone(), version });
        batch.put.push(RecordWrite { key, value, expires_at: None });
        Ok(())
    }

    /// The batches that remove the baselines of the tool surface that are not among `tools`.
    fn removal_batches(
        &self,
        surface: &str,
        tools: &[&Capability],
        approval: BaselineApproval<'_>,
    ) -> Vec<Batch> {
        let live: BTreeSet<&str> = tools.iter().map(|live| live.id().as_str()).collect();
        let approved = self.approved_ids(surface);
        let removed: Vec<&&str> = approved.difference(&live).collect();
        let batch = |chunk: &[&&str]| {
            let delete = chunk.iter().map(|id| key(approval.tenant, "tool", id)).collect();
            Batch { delete, ..Batch::new(Durability::Disk) }
        };
        removed.chunks(MAX_RECORDS_PER_BATCH).map(batch).collect()
    }

    /// Marks the tool surface as approved completely.
    fn mark_tool_surface(&self, surface: &str, approval: BaselineApproval<'_>, batch: &mut Batch) {
        let key = key(approval.tenant, "surface", surface);
        let version = self.tool_surfaces.get(surface).copied();
        batch.expect.push(VersionGuard { key: key.clone(), version });
        batch.put.push(RecordWrite { key, value: b"{\"v\":1}".to_vec(), expires_at: None });
    }
}

/// Whether the id belongs to a tool surface.
fn belongs_to(id: &str, surface: &str) -> bool {
    surface == KERNEL_TOOL_SURFACE || id.split_once('.').is_some_and(|(first, _)| first == surface)
}

/// The key of the baseline of one tool.
pub(crate) fn tool_key(tenant: &Tenant, id: &CapabilityId) -> RecordKey {
    key(tenant, "tool", id.as_str())
}

fn key(tenant: &Tenant, kind: &str, id: &str) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Baseline, format!("{kind}:{id}"))
}

/// The event of an approval.
fn approval_event(
    tools: &[&Capability],
    approval: BaselineApproval<'_>,
) -> Option<weaver_types::ledger::NewEvent> {
    let named = tools.iter().take(MAX_TOOLS_PER_EVENT).map(|live| {
        json!({
            "capability": live.id(),
            "fingerprint": live.fingerprint(),
            "upstream_digest": live.spec().upstream_digest,
        })
    });
    EventPayload::new()
        .with("approved_by", approval.by.trim())
        .with_optional("surface", approval.tool_surface.map(|surface| json!(surface)))
        .with("tools", Value::Array(named.collect()))
        .with("tools_total", tools.len())
        .into_global_event(EventKind::ContractApproved, approval.at)
}

#[cfg(test)]
mod tests;
