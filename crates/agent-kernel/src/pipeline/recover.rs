//! Recovery: calls that were begun before a crash, and whose end nobody saw.

use serde_json::json;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Durability, MAX_PAGE, Namespace, RecordKey};
use weaver_types::{CallId, EventKind, ReasonCode};

use super::intent::OpenCall;
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::record::Payload;
use crate::run_state::{RunDelta, lock, put};

impl Kernel {
    /// Closes every open call as "outcome unknown". Never as a success, and never by trying again.
    pub(crate) fn recover(&self) -> Result<(), KernelError> {
        let tenant = &self.settings.tenant;
        loop {
            let page = self.ledger.list(tenant, Namespace::OpenCall, None, MAX_PAGE)?;
            if page.is_empty() {
                return Ok(());
            }
            for (id, record) in page {
                let batch = self.unknown(&id, &record.value)?;
                self.ledger.commit(batch).wait()?;
            }
        }
    }

    fn unknown(&self, id: &str, value: &[u8]) -> Result<Batch, KernelError> {
        let stored = |problem: String| KernelError::Stored { what: "an open call", problem };
        let call = CallId::parse(id).map_err(|e| stored(e.to_string()))?;
        let value = canonical::parse(value, Profile::Record).map_err(|e| stored(e.to_string()))?;
        let open: OpenCall = serde_json::from_value(value).map_err(|e| stored(e.to_string()))?;
        if open.v != 1 {
            return Err(stored(format!("version {} is newer than 1; use a newer build", open.v)));
        }
        let delta = RunDelta { label: Some(open.worst.clone()), ..RunDelta::default() };
        let event = Payload::new()
            .with("principal", json!(open.principal))
            .with("capability", json!(open.capability))
            .with("success", json!(false))
            .with("reason", json!(ReasonCode::OutcomeUnknown))
            .run(&delta)
            .event(EventKind::OutcomeUnknown, self.clock.now(), &open.run, Some(&call))
            .ok_or_else(|| stored("it has no recordable form".to_owned()))?;
        let tenant = &self.settings.tenant;
        let slot = self.runs.slot(tenant, &open.run, self.ledger.as_ref())?;
        let mut hot = lock(&slot).ok_or_else(|| stored("its run is unusable".to_owned()))?;
        hot.state = hot.state.clone().after(&delta);
        let mut batch = Batch::new(Durability::Disk).with_event(event);
        batch.put.extend(put(tenant, &open.run, &hot.state));
        batch.delete.push(RecordKey::new(tenant.clone(), Namespace::OpenCall, id));
        Ok(batch)
    }
}
