//! The records of the ledger in the form in which the kernel writes them.

use serde::Deserialize;
use weaver_policy::approval::{ApprovalRequest, ApprovalState, Phase, StandingUse};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::Record;
use weaver_types::{CapabilityId, Digest, PrincipalId, RequestId, RunId, Timestamp};

/// The record of a held call.
pub(super) enum HoldRecord {
    Open(Box<OpenRequest>),
    Ended(Box<EndedRequest>),
}

/// A request with everything in it.
#[derive(Deserialize)]
pub(super) struct OpenRequest {
    pub(super) request: ApprovalRequest,
    pub(super) state: ApprovalState,
}

/// What is left of a request that ended.
pub(super) struct EndedRequest {
    pub(super) id: RequestId,
    pub(super) digest: Digest,
    pub(super) capability: CapabilityId,
    pub(super) principal: PrincipalId,
    pub(super) run: RunId,
    pub(super) phase: Phase,
    pub(super) deadline: Timestamp,
    pub(super) ended_at: Timestamp,
}

/// The record of a standing approval.
pub(super) struct StandingRecord;

#[derive(Deserialize)]
struct Stored {
    hold: Form,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    Open(Box<OpenRequest>),
    Ended(Box<EndedForm>),
}

#[derive(Deserialize)]
struct EndedForm {
    id: RequestId,
    digest: Digest,
    place: Place,
    phase: Phase,
    deadline: Timestamp,
    ended_at: Timestamp,
}

#[derive(Deserialize)]
struct Place {
    run: RunId,
    principal: PrincipalId,
    capability: CapabilityId,
}

impl HoldRecord {
    pub(super) fn read(id: &str, record: &Record) -> Result<Self, String> {
        let stored: Stored = read(record)?;
        let (named, out) = match stored.hold {
            Form::Open(open) => (open.request.id.clone(), Self::Open(open)),
            Form::Ended(ended) => {
                let EndedForm { id, digest, place, phase, deadline, ended_at } = *ended;
                let Place { run, principal, capability } = place;
                let ended = Box::new(EndedRequest {
                    id: id.clone(),
                    digest,
                    capability,
                    principal,
                    run,
                    phase,
                    deadline,
                    ended_at,
                });
                (id, Self::Ended(ended))
            }
        };
        if named.as_str() == id { Ok(out) } else { Err("it names another request".to_owned()) }
    }
}

impl StandingRecord {
    pub(super) fn read(id: &str, record: &Record) -> Result<StandingUse, String> {
        let used: StandingUse = read(record)?;
        if used.standing().id.as_str() == id {
            Ok(used)
        } else {
            Err("it names another standing approval".to_owned())
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(record: &Record) -> Result<T, String> {
    let value = canonical::parse(&record.value, Profile::Foreign).map_err(|e| e.to_string())?;
    match value.get("v").and_then(serde_json::Value::as_u64) {
        Some(1) => serde_json::from_value(value).map_err(|error| error.to_string()),
        version => {
            Err(format!("its version is {version:?}, this build knows 1; use a newer build"))
        }
    }
}
