//! The record of a current run: which run a client process of a principal works in, and when it
//! was last used.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_agent_kernel::{Kernel, KernelError};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{LedgerError, Namespace, RecordKey};
use weaver_types::{PrincipalId, RunContext, RunId, Tenant, Timestamp};

use super::client_process::ClientKey;

/// The version that is written for the clients that version 2 knew.
const VERSION: u64 = 2;
/// The version that is written for clients with a token, which version 2 did not know.
const WITH_TOKEN: u64 = 3;

/// A current run.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentRun {
    /// Whose run it is.
    pub principal: PrincipalId,
    /// Whose it is; `None` in a record of version 1, which knew the principal alone.
    pub client: Option<ClientKey>,
    /// The run.
    pub run: RunId,
    /// The trace of the run.
    pub trace_id: String,
    /// When the last call came.
    pub last_used: Timestamp,
}

/// Version 1: its id was the principal.
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
    /// The key under which a client's run is kept.
    pub(crate) fn key(tenant: &Tenant, principal: &PrincipalId, client: &ClientKey) -> RecordKey {
        // With its blank it is no id of version 1.
        RecordKey::new(tenant.clone(), Namespace::CurrentRun, Self::id(principal, client))
    }

    /// The key that version 1 had for the one run of a principal.
    pub(crate) fn key_v1(tenant: &Tenant, principal: &PrincipalId) -> RecordKey {
        RecordKey::new(tenant.clone(), Namespace::CurrentRun, principal.as_str())
    }

    /// Reads the record of this id.
    ///
    /// # Errors
    /// [`LedgerError::Newer`], when a later version wrote it, and [`LedgerError::Damaged`].
    pub fn read(id: &str, bytes: &[u8]) -> Result<Self, LedgerError> {
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
            Some(VERSION | WITH_TOKEN) => {
                let read: Version2 =
                    serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
                let Version2 { principal, client, run, trace_id, last_used, .. } = read;
                Ok(Self { principal, client: Some(client), run, trace_id, last_used })
            }
            // A fresh run would start with a clean label: refuse rather than forget.
            Some(found) if found > WITH_TOKEN => Err(LedgerError::Newer {
                what: "the current run".to_owned(),
                found,
                known: WITH_TOKEN,
            }),
            _ => Err(damaged("it has no known version".to_owned())),
        }
    }

    /// The id that a client has in its records and in the log; no principal has a blank in its name.
    pub(crate) fn id(principal: &PrincipalId, client: &ClientKey) -> String {
        format!("{} {principal}", client.id())
    }

    /// The record with the time of the run's last event in the log, where that is later than its own:
    /// whoever writes the file can date a record back.
    ///
    /// # Errors
    /// [`KernelError`], when the log cannot be read.
    pub(crate) fn dated_by_log(self, kernel: &Kernel) -> Result<Self, KernelError> {
        let Some(client) = &self.client else { return Ok(self) };
        let entered = kernel.entered_run(&Self::id(&self.principal, client))?;
        Ok(match entered.filter(|entered| entered.run == self.run) {
            Some(entered) => self.used_until(entered.last_event),
            None => self,
        })
    }

    /// The record of a run that was used until then at least.
    pub(crate) fn used_until(self, at: Timestamp) -> Self {
        Self { last_used: self.last_used.max(at), ..self }
    }

    /// The run of this record, with the settings of another one.
    pub(crate) fn context(&self, any: &RunContext) -> RunContext {
        let mut run = any.clone().named(self.run.clone());
        run.trace_id.clone_from(&self.trace_id);
        run
    }

    /// The canonical bytes of the record, in the version that is written; `client` is whose it is
    /// from now on.
    ///
    /// # Errors
    /// [`LedgerError::Malformed`], when it has no canonical form.
    pub(crate) fn write(self, client: &ClientKey) -> Result<Vec<u8>, LedgerError> {
        let Self { principal, run, trace_id, last_used, .. } = self;
        let client = client.clone();
        let v = if matches!(client, ClientKey::Token(_)) { WITH_TOKEN } else { VERSION };
        let record = Version2 { v, principal, client, run, trace_id, last_used };
        canonical::of(&record, Profile::Record)
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
        let read = CurrentRun::read("process/x owner", GOLDEN).unwrap();
        let client = read.client.clone().unwrap();
        assert_eq!(
            client.id(),
            "process/0b8f3c1e-5a5d-4c8f-9a3e-2f6d1c7b9e01/4026531836/4711/915022"
        );
        let tenant = Tenant::default();
        assert_eq!(&*CurrentRun::key_v1(&tenant, &read.principal).id, "owner");
        assert!(CurrentRun::key(&tenant, &read.principal, &client).id.ends_with(" owner"));
        assert_eq!(read.clone().write(&client).unwrap(), GOLDEN);
        let old = CurrentRun::read("owner", GOLDEN_V1).unwrap();
        assert_eq!(old, CurrentRun { client: None, ..read });
        assert_eq!(old.write(&client).unwrap(), GOLDEN);
    }

    #[test]
    fn what_is_newer_or_damaged_is_refused() {
        let newer = String::from_utf8_lossy(GOLDEN).replace("\"v\":2", "\"v\":4");
        let error = CurrentRun::read("x", newer.as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the current run has version 4, this build knows up to 3; use a newer build"
        );
        for bytes in [&b"{}"[..], b"no json", b"{\"v\":0}", b"{\"v\":2}", b"{\"v\":1,\"x\":1}"] {
            let error = CurrentRun::read("owner", bytes).unwrap_err();
            assert_eq!(error.code(), "ledger.damaged", "{error}");
        }
    }

    #[test]
    fn a_client_with_a_token_is_kept_in_a_version_of_its_own() {
        let client = ClientKey::Token("tok_1".to_owned());
        let read = CurrentRun::read("owner", GOLDEN_V1).unwrap();
        let bytes = read.write(&client).unwrap();
        let golden = include_bytes!("../../tests/data/current_run_v3.json");
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(golden));
        assert_eq!(CurrentRun::read("x", &bytes).unwrap().client, Some(client));
    }

    #[test]
    fn the_client_of_a_gateway_alone_is_kept_too() {
        let client = ClientKey::Gateway("gw_00".to_owned());
        let read = CurrentRun::read("owner", GOLDEN_V1).unwrap();
        let bytes = read.write(&client).unwrap();
        assert_eq!(CurrentRun::read("x", &bytes).unwrap().client, Some(client));
    }
}
