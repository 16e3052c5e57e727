//! The stored record of a current run: the run in which a client of a principal works, and when it
//! was last used.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_agent_kernel::{Kernel, KernelError};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{LedgerError, Namespace, RecordKey};
use weaver_types::{PrincipalId, RunContext, RunId, Tenant, Timestamp};

use super::client_process::ClientKey;

/// The format version for clients that version 2 can express.
const VERSION_2: u64 = 2;
/// The format version for clients with a token, which version 2 cannot express.
const VERSION_3: u64 = 3;

/// The current run of one client.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentRun {
    /// The principal that owns the run.
    pub principal: PrincipalId,
    /// The client that owns the run; `None` in a record of version 1, which stored the principal
    /// alone.
    pub client: Option<ClientKey>,
    /// The run.
    pub run: RunId,
    /// The trace id of the run.
    pub trace_id: String,
    /// The time of the last call.
    pub last_used: Timestamp,
}

/// Version 1, whose record id was the principal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Version1 {
    #[serde(rename = "v")]
    _v: u64,
    run: RunId,
    trace_id: String,
    last_used: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Version2 {
    v: u64,
    principal: PrincipalId,
    client: ClientKey,
    run: RunId,
    trace_id: String,
    last_used: Timestamp,
}

impl CurrentRun {
    /// The record key of a client's run.
    pub(crate) fn key(tenant: &Tenant, principal: &PrincipalId, client: &ClientKey) -> RecordKey {
        // The id contains a blank, so it cannot be an id of version 1.
        RecordKey::new(tenant.clone(), Namespace::CurrentRun, Self::record_id(principal, client))
    }

    /// The record key of version 1, for the one run of a principal.
    pub(crate) fn key_v1(tenant: &Tenant, principal: &PrincipalId) -> RecordKey {
        RecordKey::new(tenant.clone(), Namespace::CurrentRun, principal.as_str())
    }

    /// Parses the record with this id.
    ///
    /// # Errors
    /// [`LedgerError::Newer`], when a later version wrote it, and [`LedgerError::Damaged`].
    pub fn from_bytes(id: &str, bytes: &[u8]) -> Result<Self, LedgerError> {
        let damaged = |problem: String| {
            LedgerError::Damaged(format!("the record of the current run: {problem}"))
        };
        let value = canonical::parse(bytes, Profile::Record).map_err(|e| damaged(e.to_string()))?;
        match value.get("v").and_then(Value::as_u64) {
            Some(1) => {
                let read: Version1 =
                    serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
                let principal = PrincipalId::parse(id).map_err(|e| damaged(e.to_string()))?;
                let Version1 { run, trace_id, last_used, .. } = read;
                Ok(Self { principal, client: None, run, trace_id, last_used })
            }
            Some(VERSION_2 | VERSION_3) => {
                let read: Version2 =
                    serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
                let Version2 { principal, client, run, trace_id, last_used, .. } = read;
                Ok(Self { principal, client: Some(client), run, trace_id, last_used })
            }
            // A new run would start with a clean label: refuse rather than forget the taint.
            Some(version) if version > VERSION_3 => Err(LedgerError::Newer {
                what: "the current run".to_owned(),
                found: version,
                known: VERSION_3,
            }),
            _ => Err(damaged("it has no known version".to_owned())),
        }
    }

    /// The id of a client in its records and in the log. No principal's name contains a blank.
    pub(crate) fn record_id(principal: &PrincipalId, client: &ClientKey) -> String {
        format!("{} {principal}", client.id())
    }

    /// Raises the record's time to that of the run's last event in the log: whoever can write the
    /// record file could otherwise date the record back.
    ///
    /// # Errors
    /// [`KernelError`], when the log cannot be read.
    pub(crate) fn with_last_use_from_log(self, kernel: &Kernel) -> Result<Self, KernelError> {
        let Some(client) = &self.client else { return Ok(self) };
        let entered = kernel.entered_run(&Self::record_id(&self.principal, client))?;
        Ok(match entered.filter(|entered| entered.run == self.run) {
            Some(entered) => self.with_last_use_at_least(entered.last_event),
            None => self,
        })
    }

    /// Raises the record's time to `at`, if that is later.
    pub(crate) fn with_last_use_at_least(self, at: Timestamp) -> Self {
        Self { last_used: self.last_used.max(at), ..self }
    }

    /// The run of this record, with the settings of another run.
    pub(crate) fn to_context(&self, template: &RunContext) -> RunContext {
        let mut run = template.clone().with_run_id(self.run.clone());
        run.trace_id.clone_from(&self.trace_id);
        run
    }

    /// The canonical bytes of the record, in the current version; `client` becomes its owner.
    ///
    /// # Errors
    /// [`LedgerError::Malformed`], when it has no canonical form.
    pub(crate) fn into_bytes(self, client: &ClientKey) -> Result<Vec<u8>, LedgerError> {
        let Self { principal, run, trace_id, last_used, .. } = self;
        let client = client.clone();
        let v = if matches!(client, ClientKey::Token(_)) { VERSION_3 } else { VERSION_2 };
        let record = Version2 { v, principal, client, run, trace_id, last_used };
        canonical::serialize(&record, Profile::Record)
            .map_err(|error| LedgerError::Malformed(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written once, by the build that introduced the form.
    const GOLDEN: &[u8] = include_bytes!("../../tests/data/current_run_v2.json");
    const GOLDEN_V1: &[u8] = include_bytes!("../../tests/data/current_run_v1.json");

    #[test]
    fn every_version_is_read_and_the_last_one_written() {
        let read = CurrentRun::from_bytes("process/x owner", GOLDEN).unwrap();
        let client = read.client.clone().unwrap();
        assert_eq!(
            client.id(),
            "process/0b8f3c1e-5a5d-4c8f-9a3e-2f6d1c7b9e01/4026531836/4711/915022"
        );
        let tenant = Tenant::default();
        assert_eq!(&*CurrentRun::key_v1(&tenant, &read.principal).id, "owner");
        assert!(CurrentRun::key(&tenant, &read.principal, &client).id.ends_with(" owner"));
        assert_eq!(read.clone().into_bytes(&client).unwrap(), GOLDEN);
        let old = CurrentRun::from_bytes("owner", GOLDEN_V1).unwrap();
        assert_eq!(old, CurrentRun { client: None, ..read });
        assert_eq!(old.into_bytes(&client).unwrap(), GOLDEN);
    }

    #[test]
    fn what_is_newer_or_damaged_is_refused() {
        let newer = String::from_utf8_lossy(GOLDEN).replace("\"v\":2", "\"v\":4");
        let error = CurrentRun::from_bytes("x", newer.as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the current run has version 4, this build knows up to 3; use a newer build"
        );
        for bytes in [&b"{}"[..], b"no json", b"{\"v\":0}", b"{\"v\":2}", b"{\"v\":1,\"x\":1}"] {
            let error = CurrentRun::from_bytes("owner", bytes).unwrap_err();
            assert_eq!(error.code(), "ledger.damaged", "{error}");
        }
    }

    #[test]
    fn a_client_with_a_token_is_kept_in_a_version_of_its_own() {
        let client = ClientKey::Token("tok_1".to_owned());
        let read = CurrentRun::from_bytes("owner", GOLDEN_V1).unwrap();
        let bytes = read.into_bytes(&client).unwrap();
        let golden = include_bytes!("../../tests/data/current_run_v3.json");
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(golden));
        assert_eq!(CurrentRun::from_bytes("x", &bytes).unwrap().client, Some(client));
    }

    #[test]
    fn the_client_of_a_gateway_alone_is_kept_too() {
        let client = ClientKey::Gateway("gw_00".to_owned());
        let read = CurrentRun::from_bytes("owner", GOLDEN_V1).unwrap();
        let bytes = read.into_bytes(&client).unwrap();
        assert_eq!(CurrentRun::from_bytes("x", &bytes).unwrap().client, Some(client));
    }
}
