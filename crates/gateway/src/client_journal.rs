//! Records in the log which tokens of clients were made, replaced and taken back.
//!
//! The commands change the file of clients and never open the ledger: the daemon holds it, and
//! lending it would end every session. So the gateway compares the file with a record of what the
//! log tells already, when it starts and whenever the file has changed, and commits the difference
//! with the events. Nothing is lost while no gateway runs, because the file keeps what was removed.
//!
//! The same comparison detects an older copy of the file: a token whose removal is in the log is
//! removed again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use weaver_agent_kernel::{Kernel, KernelError};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{
    Batch, Durability, LedgerError, Namespace, NewEvent, Record, RecordKey, RecordWrite,
};
use weaver_types::{EventKind, Tenant, Timestamp};

use crate::client_registry::{ClientAccess, ClientList, ClientRegistry, ClientsError, HttpClient};
use crate::file_stamp::FileStamp;

const VERSION: u8 = 1;
const ID: &str = "tokens";
/// How many tokens that were taken back are remembered; the log names them all.
const MAX_ENDED: usize = 4_000;
/// Who removes a client whose removal is in the log.
const GATEWAY: &str = "the gateway";
const RESTORED: &str = "the log has its removal; the file of clients was an older copy";
const VANISHED: &str = "the file of clients does not name it any more";

/// Why the log was not brought up to date.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error(transparent)]
    Clients(#[from] ClientsError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// The tokens that the log tells of, by their short ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JournalRecord {
    v: u8,
    /// The names of the clients whose current tokens they are.
    live: BTreeMap<String, String>,
    /// When tokens were taken back or replaced.
    ended: BTreeMap<String, Timestamp>,
}

impl Default for JournalRecord {
    fn default() -> Self {
        Self { v: VERSION, live: BTreeMap::new(), ended: BTreeMap::new() }
    }
}

/// What the log does not tell yet.
#[derive(Debug, Default)]
struct JournalChanges {
    events: Vec<(EventKind, Map<String, Value>)>,
    /// The names of clients whose removal the log has.
    restored: BTreeSet<String>,
}

/// Brings the log up to date with the file of clients.
pub(crate) struct ClientJournal {
    key: RecordKey,
    clients: ClientRegistry,
    /// The file that the log is up to date with; `None` before the first comparison.
    recorded: Option<Option<FileStamp>>,
}

impl ClientJournal {
    pub(crate) fn new(clients: ClientRegistry, tenant: Tenant) -> Self {
        let key = RecordKey::new(tenant, Namespace::Clients, ID);
        Self { key, clients, recorded: None }
    }

    /// Records what has changed in the file of clients, and removes clients again whose removal is
    /// in the log. What fails is done the next time.
    ///
    /// # Errors
    /// [`JournalError`], when the file cannot be read or changed, or the ledger refuses the commit.
    pub(crate) async fn record_changes(&mut self, kernel: &Kernel) -> Result<(), JournalError> {
        let stamp = self.clients.stamp()?;
        if self.recorded == Some(stamp) {
            return Ok(());
        }
        let list = self.clients.list()?;
        let stored = kernel.ledger().read(&self.key)?;
        let stored = stored.as_ref().map(JournalRecord::parse).transpose()?.unwrap_or_default();
        let now = kernel.expiry_time();
        let mut record = stored.clone();
        let changes = record.update(&list, now);
        // The token is removed before the log says so: an event that came first would stand even if
        // the file could not be written.
        for name in &changes.restored {
            tracing::warn!(client = name, "the token of a client is refused: {RESTORED}");
            self.clients.remove(name, Some(GATEWAY.to_owned()), now)?;
        }
        if record != stored || !changes.events.is_empty() {
            let events: Result<Vec<NewEvent>, KernelError> = changes
                .events
                .into_iter()
                .map(|(kind, fields)| kernel.host_event(kind, fields))
                .collect();
            let mut batch = Batch::new(Durability::Disk);
            batch.events.extend(events?);
            batch.put.push(record.to_put(&self.key)?);
            kernel.ledger().commit(batch).await?;
        }
        // A change that was made meanwhile is recorded the next time.
        self.recorded = changes.restored.is_empty().then_some(stamp);
        Ok(())
    }
}

impl JournalRecord {
    fn parse(record: &Record) -> Result<Self, LedgerError> {
        let what = "the record of clients' tokens";
        let bad = |problem: String| LedgerError::Damaged(format!("{what}: {problem}"));
        let value =
            canonical::parse(&record.value, Profile::Record).map_err(|e| bad(e.to_string()))?;
        let found = value.get("v").and_then(Value::as_u64).unwrap_or(0);
        if found > u64::from(VERSION) {
            return Err(LedgerError::Newer {
                what: what.to_owned(),
                found,
                known: u64::from(VERSION),
            });
        }
        serde_json::from_value(value).map_err(|e| bad(e.to_string()))
    }

    fn to_put(&self, key: &RecordKey) -> Result<RecordWrite, LedgerError> {
        let value = canonical::serialize(self, Profile::Record)
            .map_err(|error| LedgerError::Malformed(error.to_string()))?;
        Ok(RecordWrite { key: key.clone(), value, expires_at: None })
    }

    /// Brings the record up to date with the file, and returns what the log does not tell yet.
    fn update(&mut self, list: &ClientList, now: Timestamp) -> JournalChanges {
        let mut changes = JournalChanges::default();
        for removed in &list.removed {
            let (client, at) = (&removed.client, removed.at);
            if client.token_ids().last().is_some_and(|id| !self.ended.contains_key(id)) {
                self.add_tokens(client, &mut changes);
                let mut fields = client_fields(client);
                insert_text(&mut fields, "by", removed.by.as_deref());
                fields.insert("removed".to_owned(), json!(at.rfc3339()));
                changes.events.push((EventKind::ClientRemoved, fields));
            }
            for id in client.token_ids() {
                self.live.remove(id);
                self.ended.entry(id.to_owned()).or_insert(at);
            }
        }
        for client in &list.clients {
            if client.token_ids().last().is_some_and(|id| self.ended.contains_key(id)) {
                let mut fields = client_fields(client);
                insert_text(&mut fields, "by", Some(GATEWAY));
                insert_text(&mut fields, "reason", Some(RESTORED));
                changes.events.push((EventKind::ClientRemoved, fields));
                changes.restored.insert(client.name.clone());
            } else {
                self.add_tokens(client, &mut changes);
            }
        }
        let current: BTreeSet<&str> =
            list.clients.iter().filter_map(|client| client.token_ids().last()).collect();
        for (id, name) in self.live.extract_if(.., |id, _| !current.contains(id.as_str())) {
            let mut fields = Map::new();
            fields.insert("name".to_owned(), json!(name));
            fields.insert("id".to_owned(), json!(id));
            insert_text(&mut fields, "reason", Some(VANISHED));
            changes.events.push((EventKind::ClientRemoved, fields));
        }
        while self.ended.len() > MAX_ENDED {
            let oldest = self.ended.iter().min_by_key(|(_, at)| **at).map(|(id, _)| id.clone());
            oldest.and_then(|id| self.ended.remove(&id));
        }
        for (_, fields) in &mut changes.events {
            fields.entry("noticed".to_owned()).or_insert(json!(now.rfc3339()));
        }
        changes
    }

    /// Notes the tokens of a client, the oldest first, with an event for each new one.
    fn add_tokens(&mut self, client: &HttpClient, changes: &mut JournalChanges) {
        let mut former: Option<&str> = None;
        let ends = client.former.iter().map(|token| Some((token.created, token.expires)));
        for (id, former_end) in client.token_ids().zip(ends.chain([None])) {
            if !self.live.contains_key(id) && !self.ended.contains_key(id) {
                let mut fields = client_fields(client);
                fields.insert("id".to_owned(), json!(id));
                if let Some((created, expires)) = former_end {
                    fields.insert("created".to_owned(), json!(created.rfc3339()));
                    fields.insert("expires".to_owned(), json!(expires.rfc3339()));
                } else {
                    insert_text(&mut fields, "by", client.added_by.as_deref());
                }
                insert_text(&mut fields, "former", former);
                let kind = match former {
                    Some(_) => EventKind::ClientRotated,
                    None => EventKind::ClientAdded,
                };
                if let Some(end) = former.and_then(|id| self.ended.get(id)) {
                    fields.insert("former_expires".to_owned(), json!(end.rfc3339()));
                }
                changes.events.push((kind, fields));
            }
            match former_end {
                Some((_, expires)) => {
                    self.live.remove(id);
                    self.ended.insert(id.to_owned(), expires);
                }
                None => {
                    self.live.insert(id.to_owned(), client.name.clone());
                }
            }
            former = Some(id);
        }
    }
}

/// What an event says of a client.
fn client_fields(client: &HttpClient) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(client.name));
    fields.insert("principal".to_owned(), json!(client.principal));
    fields.insert("id".to_owned(), json!(client.token_ids().last()));
    insert_text(&mut fields, "profile", client.profile.as_deref());
    let access = (client.access == ClientAccess::Metrics).then_some("metrics");
    insert_text(&mut fields, "access", access);
    fields.insert("created".to_owned(), json!(client.created.rfc3339()));
    let expires = client.expires.map(Timestamp::rfc3339);
    insert_text(&mut fields, "expires", expires.as_deref());
    fields
}

fn insert_text(fields: &mut Map<String, Value>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        fields.insert(name.to_owned(), json!(text));
    }
}

#[cfg(test)]
mod tests;
