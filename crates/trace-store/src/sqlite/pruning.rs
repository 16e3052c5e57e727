//! Gives the pruning rules access to the open transaction.

use rusqlite::Connection;
use weaver_types::ledger::{LedgerError, Namespace};

use super::{events, rows};
use crate::log::EventRow;
use crate::prune::PruningView;

/// The open transaction, as the pruning rules see it.
pub(super) struct TransactionView<'c> {
    db: &'c Connection,
    tenants: Option<Vec<String>>,
}

impl<'c> TransactionView<'c> {
    pub(super) fn new(db: &'c Connection) -> Self {
        Self { db, tenants: None }
    }
}

impl PruningView for TransactionView<'_> {
    fn event(&mut self, seq: u64) -> Result<Option<EventRow>, LedgerError> {
        let row = events::page(self.db, seq, 1)?.pop();
        Ok(row.filter(|row| row.event.seq == seq))
    }

    fn has_record(&mut self, namespace: Namespace, id: &str) -> Result<bool, LedgerError> {
        let tenants = match self.tenants.take() {
            Some(tenants) => tenants,
            None => rows::tenants(self.db)?,
        };
        for tenant in self.tenants.insert(tenants) {
            if rows::record_exists(self.db, tenant, namespace, id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
