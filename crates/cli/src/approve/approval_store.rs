//! Opens what `weaver approve` reads and writes: the ledger, the inbox, and the documents about
//! people.

use std::path::{Path, PathBuf};

use serde_json::Value;
use weaver_gateway::config::{self, Config};
use weaver_gateway::setup::owner_key_file;
use weaver_policy::approval::ReceiptTime;
use weaver_policy::{Keys, PolicySet};
use weaver_trace_store::Reader;
use weaver_trace_store::entry::EventHeader;
use weaver_types::ledger::{MAX_PAGE, Namespace, Record, RecordKey, all_records};
use weaver_types::{Clock as _, LogId, PrincipalId, SystemClock, Tenant, Timestamp};

use super::args::ApprovalSource;
use crate::{Exit, Failure, config_path};

/// The ledger of a gateway, its inbox, and the documents in force if they can be read.
pub(super) struct ApprovalStore {
    path: PathBuf,
    inbox: Option<PathBuf>,
    /// The key that `weaver init` made for the approver, if it is there.
    owner_key: Option<PathBuf>,
    reader: Reader,
    documents: Option<PolicySet>,
    pub(super) principal: Option<PrincipalId>,
    pub(super) tenant: Tenant,
    /// What the user must know about how this was opened.
    pub(super) notes: Vec<String>,
}

impl ApprovalStore {
    pub(super) fn open(from: &ApprovalSource) -> Result<Self, Failure> {
        let Some(store) = &from.store else { return Self::from_config(&from.config.path()) };
        let notes = vec![
            "without the configuration nobody's authority can be looked up; the gateway will"
                .to_owned(),
        ];
        Ok(Self {
            reader: open(store)?,
            path: store.clone(),
            inbox: from.inbox.clone(),
            owner_key: None,
            documents: None,
            principal: None,
            tenant: Tenant::default(),
            notes,
        })
    }

    fn from_config(file: &Path) -> Result<Self, Failure> {
        let config = config_path::load_ignoring_unset_variables(file)?;
        let mut notes = Vec::new();
        Ok(Self {
            reader: open(&config.store_path)?,
            path: config.store_path.clone(),
            inbox: Some(config.inbox.clone()),
            owner_key: Some(owner_key_file(&config.base())).filter(|path| path.is_file()),
            documents: load_documents(&config, &mut notes),
            principal: Some(config.principal),
            tenant: Tenant::default(),
            notes,
        })
    }

    /// The key file of the approver that `weaver init` made.
    pub(super) fn owner_key(&self) -> Option<&Path> {
        self.owner_key.as_deref()
    }

    /// The keys document in force, if it can be read.
    pub(super) fn keys(&self) -> Option<&Keys> {
        self.documents.as_ref().and_then(PolicySet::keys)
    }

    /// The documents in force, if they can be read.
    pub(super) fn documents(&self) -> Option<&PolicySet> {
        self.documents.as_ref()
    }

    /// The inbox to write to.
    pub(super) fn inbox(&self) -> Result<&Path, Failure> {
        self.inbox.as_deref().ok_or_else(|| {
            let message = "no inbox folder is configured";
            Failure::new(Exit::Usage, "approve.no_inbox", message).with_next_step(
                "name it with `--inbox DIR`, or the configuration with `--config FILE`",
            )
        })
    }

    /// The time now, with the clock skew that the policy tolerates.
    pub(super) fn receipt_time(&self, now: Timestamp) -> ReceiptTime {
        match &self.documents {
            None => ReceiptTime::at(now),
            Some(set) => {
                let skew = u64::from(set.approvals().clock_skew_s);
                ReceiptTime { now, skew: std::time::Duration::from_secs(skew) }
            }
        }
    }

    /// Whether a gateway runs that takes in what is submitted.
    pub(super) fn has_running_gateway(&self) -> bool {
        weaver_gateway::daemon::status(&self.path).is_ok()
    }

    /// The ledger, to ask the log.
    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    pub(super) fn log_id(&self) -> Result<LogId, Failure> {
        Ok(self.log_head()?.log)
    }

    /// The number of events in the log, which grows with every change to a request.
    pub(super) fn log_size(&self) -> Result<u64, Failure> {
        Ok(self.log_head()?.size)
    }

    fn log_head(&self) -> Result<weaver_types::ledger::TreeHead, Failure> {
        self.reader.head().map_err(|error| Failure::store(&self.path, &error))
    }

    /// The time of the last event in the log.
    pub(super) fn last_event_time(&self) -> Result<Option<Timestamp>, Failure> {
        let Some(last) = self.log_size()?.checked_sub(1) else { return Ok(None) };
        let events = self.reader.events(last, 1);
        let events = events.map_err(|error| Failure::store(&self.path, &error))?;
        let header = events.first().and_then(|event| EventHeader::parse(&event.header).ok());
        Ok(header.map(|header| header.at))
    }

    /// A record of the ledger.
    pub(super) fn record(&self, key: &RecordKey) -> Result<Option<Record>, Failure> {
        self.reader.record(key).map_err(|error| Failure::store(&self.path, &error))
    }

    /// Passes every event from `from` on and its payload to `each`, except those with a pruned
    /// payload.
    pub(super) fn for_each_event(
        &self,
        from: u64,
        mut each: impl FnMut(&EventHeader, &Value),
    ) -> Result<(), Failure> {
        let mut next = from;
        loop {
            let page = self.reader.events(next, MAX_PAGE);
            let page = page.map_err(|error| Failure::store(&self.path, &error))?;
            let Some(last) = page.last() else { return Ok(()) };
            next = last.seq + 1;
            for event in &page {
                let payload = event.payload.as_deref().and_then(|b| serde_json::from_slice(b).ok());
                if let (Ok(header), Some(payload)) = (EventHeader::parse(&event.header), payload) {
                    each(&header, &payload);
                }
            }
        }
    }

    /// Passes every record of a namespace to `each`, in the order of their ids.
    pub(super) fn for_each_record(
        &self,
        namespace: Namespace,
        mut each: impl FnMut(&str, &Record),
    ) -> Result<(), Failure> {
        all_records(|after| self.reader.records(&self.tenant, namespace, after, MAX_PAGE))
            .try_for_each(|found| found.map(|(id, record)| each(&id, &record)))
            .map_err(|error| Failure::store(&self.path, &error))
    }
}

/// The time of this machine.
pub(super) fn now() -> Timestamp {
    SystemClock::default().now()
}

fn open(store: &Path) -> Result<Reader, Failure> {
    if !store.is_file() {
        let message = format!("{}: there is no such file", store.display());
        return Err(Failure::new(Exit::Store, "approve.no_store", message)
            .with_next_step("name the ledger with `--store`; a gateway that never ran has none"));
    }
    Reader::open(store).map_err(|error| Failure::store(store, &error))
}

/// The documents, if need be with their signatures unchecked: they only help here, and the gateway
/// decides.
fn load_documents(config: &Config, notes: &mut Vec<String>) -> Option<PolicySet> {
    let now = now();
    let error = match config::load_policy(config, config::SignatureChecks::Required, now) {
        Ok(set) => return Some(set),
        Err(error) => error,
    };
    match config::load_policy(config, config::SignatureChecks::Skipped, now) {
        Ok(set) => {
            let code = error.code();
            notes.push(format!(
                "the documents are not signed as they should be ({code}); authority is read from \
                 them all the same, and the gateway decides"
            ));
            Some(set)
        }
        Err(error) => {
            let code = error.code();
            notes.push(format!(
                "the documents cannot be read ({code}; `weaver check` says more): nobody's \
                 authority can be looked up here; the gateway decides"
            ));
            None
        }
    }
}
