//! The stored record of a current run: the run in which a client of a principal works, and when it
//! was last used.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_agent_kernel::{Kernel, KernelError};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{LedgerError, Namespace, RecordKey};
use weaver_types::{PrincipalId, RunContext, RunId, Tenant, Timestamp};

use super::client_process::ClientKey;

/// The format version.
const VERSION: u64 = 3;

/// The current run of one client.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentRun {
    /// The principal that owns the run.
    pub principal: PrincipalId,
    /// The client that owns the run.
    pub client: ClientKey,
    /// The run.
    pub run: RunId,
    /// The trace id of the run.
    pub trace_id: String,
    /// The time of the last call.
    pub last_used: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRun {
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
        RecordKey::new(tenant.clone(), Namespace::CurrentRun, Self::record_id(principal, client))
    }

    /// Parses a record.
    ///
    /// # Errors
    /// [`LedgerError::Newer`], when a later version wrote it, and [`LedgerError::Damaged`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LedgerError> {
        let damaged = |problem: String| {
            LedgerError::Damaged(format!("the record of the current run: {problem}"))
        };
        let value = canonical::parse(bytes, Profile::Record).map_err(|e| damaged(e.to_string()))?;
        match value.get("v").and_then(Value::as_u64) {
            Some(VERSION) => {
                let read = serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
                let StoredRun { principal, client, run, trace_id, last_used, .. } = read;
                Ok(Self { principal, client, run, trace_id, last_used })
            }
            // A new run would start with a clean label: refuse rather than forget the taint.
            Some(found) if found > VERSION => {
                let what = "the current run".to_owned();
                Err(LedgerError::Newer { what, found, known: VERSION })
            }
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
        let entered = kernel.entered_run(&Self::record_id(&self.principal, &self.client))?;
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

    /// The canonical bytes of the record.
    ///
    /// # Errors
    /// [`LedgerError::Malformed`], when it has no canonical form.
    pub(crate) fn into_bytes(self) -> Result<Vec<u8>, LedgerError> {
        let Self { principal, client, run, trace_id, last_used } = self;
        let record = StoredRun { v: VERSION, principal, client, run, trace_id, last_used };
        canonical::serialize(&record, Profile::Record)
            .map_err(|error| LedgerError::Malformed(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &[u8] = include_bytes!("../../tests/data/current_run_process.json");

    #[test]
    fn the_run_of_a_process_is_read_as_it_is_written() {
        let read = CurrentRun::from_bytes(GOLDEN).unwrap();
        assert_eq!(
            read.client.id(),
            "process/0b8f3c1e-5a5d-4c8f-9a3e-2f6d1c7b9e01/4026531836/4711/915022"
        );
        let key = CurrentRun::key(&Tenant::default(), &read.principal, &read.client);
        assert!(key.id.ends_with(" owner"));
        assert_eq!(read.into_bytes().unwrap(), GOLDEN);
    }

    #[test]
    fn what_is_newer_or_damaged_is_refused() {
        let newer = String::from_utf8_lossy(GOLDEN).replace("\"v\":3", "\"v\":4");
        let error = CurrentRun::from_bytes(newer.as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the current run has version 4, this build knows up to 3; use a newer build"
        );
        for bytes in [&b"{}"[..], b"no json", b"{\"v\":2}", b"{\"v\":3}", b"{\"v\":3,\"x\":1}"] {
            let error = CurrentRun::from_bytes(bytes).unwrap_err();
            assert_eq!(error.code(), "ledger.damaged", "{error}");
        }
    }

    #[test]
    fn a_client_with_a_token_or_of_a_gateway_alone_is_kept_too() {
        let process = CurrentRun::from_bytes(GOLDEN).unwrap();
        let with_token = CurrentRun { client: ClientKey::Token("tok_1".to_owned()), ..process };
        let bytes = with_token.clone().into_bytes().unwrap();
        let golden = include_bytes!("../../tests/data/current_run_token.json");
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(golden));
        let of_gateway =
            CurrentRun { client: ClientKey::Gateway("gw_00".to_owned()), ..with_token.clone() };
        for run in [with_token, of_gateway] {
            assert_eq!(CurrentRun::from_bytes(&run.clone().into_bytes().unwrap()).unwrap(), run);
        }
    }
}
