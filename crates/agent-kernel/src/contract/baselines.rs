//! The approved versions that a ledger holds, for what no signed document pins.
//!
//! A record stands for one tool; a mark stands for a surface of which everything was approved at
//! once, so that what is not among it is new. They tighten: what a signed contract does not allow,
//! no baseline allows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use weaver_types::canonical::CanonicalError;
use weaver_types::ledger::{
    Batch, Durability, Expect, LedgerError, Namespace, Put, Record, RecordKey,
};
use weaver_types::{Capability, CapabilityId, Digest, Effects, EventKind, Tenant, Timestamp};

use super::contract_record;
use crate::record::Payload;

/// The surface that is everything a kernel holds.
pub const KERNEL_SURFACE: &str = "kernel";
/// The most approved versions that a ledger holds.
pub const MAX_BASELINES: usize = 100_000;
/// How many approved tools one event names.
const MAX_NAMED: usize = 500;
/// How many records one batch writes.
const MAX_BATCH: usize = 200;
/// The longest name of who approved, in characters.
const MAX_NAME: usize = 128;

/// An approved version of one capability.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Its fingerprint.
    pub fingerprint: Digest,
    /// The digest of what its server said of it, where it has a server.
    pub upstream_digest: Option<Digest>,
    /// Its effects.
    pub effects: Effects,
    /// Who approved it.
    pub approved_by: String,
    /// When.
    pub at: Timestamp,
    /// The version itself; `None` for one that is too large to be kept.
    pub contract: Option<Box<Capability>>,
}

impl Baseline {
    /// What it is compared by.
    pub(super) fn identity(&self) -> Digest {
        self.upstream_digest.unwrap_or(self.fingerprint)
    }

    fn is(&self, live: &Capability) -> bool {
        match (self.upstream_digest, live.spec().upstream_digest) {
            (None, None) => self.fingerprint == live.fingerprint(),
            (approved, found) => approved == found,
        }
    }
}

/// How a capability stands against the baselines.
#[derive(Debug, Clone, PartialEq)]
pub enum BaselineState<'b> {
    /// Nothing was approved that it belongs to.
    None,
    /// It is the approved one.
    Match(&'b Baseline),
    /// It is not the approved one.
    Changed(&'b Baseline),
    /// Its surface was approved, and it was not there.
    New,
    /// The record cannot be read: why.
    Unreadable(&'b BaselineReadError),
}

/// Why what was approved cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineReadError {
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// There are more than a ledger holds.
    #[error("there are more than {MAX_BASELINES}")]
    TooMany,
    /// A record among them is none of these.
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
    /// A record has fields that are not known, or lacks some.
    #[error("its form is not known")]
    Form,
    /// A record stands under the id of another capability.
    #[error("it speaks of another capability")]
    OtherCapability,
    /// The contract in a record is not valid.
    #[error("its contract cannot be read")]
    Contract,
    /// The contract in a record has another fingerprint.
    #[error("its contract is not the one of its fingerprint")]
    Fingerprint,
}

/// Who approves, of what, and when.
#[derive(Debug, Clone, Copy)]
pub struct BaselineApproval<'a> {
    /// Whose ledger.
    pub tenant: &'a Tenant,
    /// The surface of which everything is approved at once, in place of what was approved of it
    /// before; `None` for the named tools alone.
    pub surface: Option<&'a str>,
    /// Who approves.
    pub by: &'a str,
    /// When.
    pub at: Timestamp,
}

/// Why nothing was approved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The name of who approves is empty, too long, or not plain text.
    #[error("who approves must be 1 to 128 characters of plain text")]
    Name,
    /// There would be too many.
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
    surfaces: BTreeMap<String, u64>,
    /// Why they cannot be read at all.
    problem: Option<BaselineReadError>,
}

impl Baselines {
    /// Reads them page by page: `page` gives what comes after an id. What cannot be read is noted;
    /// whatever it may be about is then not what was approved.
    pub fn read(
        mut page: impl FnMut(Option<&str>) -> Result<Vec<(String, Record)>, LedgerError>,
    ) -> Self {
        let mut out = Self::default();
        let mut after: Option<String> = None;
        loop {
            match page(after.as_deref()) {
                Ok(records) if records.is_empty() => return out,
                Ok(records) => {
                    after = records.last().map(|(id, _)| id.clone());
                    records.into_iter().for_each(|(id, record)| out.take_in(&id, &record));
                }
                Err(error) => {
                    out.problem = Some(error.into());
                    return out;
                }
            }
            if out.tools.len() > MAX_BASELINES {
                out.problem = Some(BaselineReadError::TooMany);
                return out;
            }
        }
    }

    fn take_in(&mut self, id: &str, record: &Record) {
        match id.split_once(':') {
            Some(("tool", id)) => {
                let baseline = contract_record::read(id, &record.value);
                self.tools.insert(id.to_owned(), (record.version, baseline));
            }
            Some(("surface", surface)) => {
                self.surfaces.insert(surface.to_owned(), record.version);
            }
            _ => self.problem = Some(BaselineReadError::ForeignRecord),
        }
    }

    /// The same without the versions themselves, which stay in the ledger.
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
        self.tools.is_empty() && self.surfaces.is_empty() && self.problem.is_none()
    }

    /// How a capability stands against them.
    #[must_use]
    pub fn state(&self, live: &Capability) -> BaselineState<'_> {
        if let Some(problem) = &self.problem {
            return BaselineState::Unreadable(problem);
        }
        match self.tools.get(live.id().as_str()) {
            Some((_, Err(problem))) => BaselineState::Unreadable(problem),
            Some((_, Ok(baseline))) if baseline.is(live) => BaselineState::Match(baseline),
            Some((_, Ok(baseline))) => BaselineState::Changed(baseline),
            None if self.covers(live) => BaselineState::New,
            None => BaselineState::None,
        }
    }

    fn covers(&self, live: &Capability) -> bool {
        let namespace = || live.id().as_str().split_once('.').map(|(namespace, _)| namespace);
        let upstream = live.spec().upstream_digest.and_then(|_| namespace());
        self.surfaces.contains_key(KERNEL_SURFACE)
            || upstream.is_some_and(|name| self.surfaces.contains_key(name))
    }

    /// The approved version of a capability, where there is one that can be read.
    #[must_use]
    pub fn of(&self, id: &CapabilityId) -> Option<&Baseline> {
        self.tools.get(id.as_str())?.1.as_ref().ok()
    }

    /// The ids of a surface of which a version was approved.
    #[must_use]
    pub fn approved(&self, surface: &str) -> BTreeSet<&str> {
        self.tools.keys().map(String::as_str).filter(|id| lies_in(id, surface)).collect()
    }

    /// The batches that approve these versions, with an event that says by whom. The last one marks
    /// the surface.
    ///
    /// # Errors
    /// [`BaselineError`]; nothing is approved then.
    pub fn approve(
        &self,
        tools: &[&Capability],
        approval: BaselineApproval<'_>,
    ) -> Result<Vec<Batch>, BaselineError> {
        let name = approval.by.trim();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control)
        {
            return Err(BaselineError::Name);
        }
        let is_new = |live: &&&Capability| !self.tools.contains_key(live.id().as_str());
        if self.tools.len() + tools.iter().filter(is_new).count() > MAX_BASELINES {
            return Err(BaselineError::Full { limit: MAX_BASELINES });
        }
        let mut batches = Vec::new();
        for some in tools.chunks(MAX_BATCH) {
            let mut batch = Batch::new(Durability::Disk);
            for live in some {
                self.put(live, approval, &mut batch)?;
            }
            batches.push(batch);
        }
        if let Some(surface) = approval.surface {
            batches.splice(0..0, self.removals(surface, tools, approval));
        }
        let mut last = batches.pop().unwrap_or_else(|| Batch::new(Durability::Disk));
        if let Some(surface) = approval.surface {
            self.mark(surface, approval, &mut last);
        }
        last.events.extend(event(tools, approval));
        batches.push(last);
        Ok(batches)
    }

    fn put(
        &self,
        live: &Capability,
        approval: BaselineApproval<'_>,
        batch: &mut Batch,
    ) -> Result<(), BaselineError> {
        let id = live.id();
        let form = || BaselineError::Form { id: id.clone() };
        let value =
            contract_record::write(live, approval.by.trim(), approval.at).ok_or_else(form)?;
        let key = key(approval.tenant, "tool", id.as_str());
        let version = self.tools.get(id.as_str()).map(|(version, _)| *version);
        batch.expect.push(Expect { key: key.clone(), version });
        batch.put.push(Put { key, value, expires_at: None });
        Ok(())
    }

    /// The batches that forget what of the surface is not among `tools`.
    fn removals(
        &self,
        surface: &str,
        tools: &[&Capability],
        approval: BaselineApproval<'_>,
    ) -> Vec<Batch> {
        let live: BTreeSet<&str> = tools.iter().map(|live| live.id().as_str()).collect();
        let approved = self.approved(surface);
        let gone: Vec<&&str> = approved.difference(&live).collect();
        let batch = |some: &[&&str]| {
            let delete = some.iter().map(|id| key(approval.tenant, "tool", id)).collect();
            Batch { delete, ..Batch::new(Durability::Disk) }
        };
        gone.chunks(MAX_BATCH).map(batch).collect()
    }

    /// Marks the surface as approved whole.
    fn mark(&self, surface: &str, approval: BaselineApproval<'_>, batch: &mut Batch) {
        let key = key(approval.tenant, "surface", surface);
        let version = self.surfaces.get(surface).copied();
        batch.expect.push(Expect { key: key.clone(), version });
        batch.put.push(Put { key, value: b"{\"v\":1}".to_vec(), expires_at: None });
    }
}

/// Whether the id belongs to a surface.
fn lies_in(id: &str, surface: &str) -> bool {
    surface == KERNEL_SURFACE || id.split_once('.').is_some_and(|(first, _)| first == surface)
}

/// The key of what was approved of one tool.
pub(crate) fn tool_key(tenant: &Tenant, id: &CapabilityId) -> RecordKey {
    key(tenant, "tool", id.as_str())
}

fn key(tenant: &Tenant, kind: &str, id: &str) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Baseline, format!("{kind}:{id}"))
}

/// What the log says of an approval.
fn event(
    tools: &[&Capability],
    approval: BaselineApproval<'_>,
) -> Option<weaver_types::ledger::NewEvent> {
    let named = tools.iter().take(MAX_NAMED).map(|live| {
        json!({
            "capability": live.id(),
            "fingerprint": live.fingerprint(),
            "upstream_digest": live.spec().upstream_digest,
        })
    });
    Payload::new()
        .with("approved_by", json!(approval.by.trim()))
        .maybe("surface", approval.surface.map(|surface| json!(surface)))
        .with("tools", Value::Array(named.collect()))
        .with("tools_total", json!(tools.len()))
        .loose_event(EventKind::ContractApproved, approval.at)
}

#[cfg(test)]
mod tests;
