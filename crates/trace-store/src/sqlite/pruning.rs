//! Reads what the pruning rules need, within the open transaction.

use rusqlite::Connection;
use weaver_types::ledger::{LedgerError, Namespace};

use super::{events, rows};
use crate::log::Row;
use crate::prune::PruneStore;

/// The open transaction, as the rules of pruning see it.
pub(super) struct Transaction<'c> {
    db: &'c Connection,
    tenants: Option<Vec<String>>,
}

impl<'c> Transaction<'c> {
    pub(super) fn new(db: &'c Connection) -> Self {
        Self { db, tenants: None }
    }
}

impl PruneStore for Transaction<'_> {
    fn event(&mut self, seq: u64) -> Result<Option<Row>, LedgerError> {
        let row = events::page(self.db, seq, 1)?.pop();
        Ok(row.filter(|row| row.event.seq == seq))
    }

    fn is_there(&mut self, namespace: Namespace, id: &str) -> Result<bool, LedgerError> {
        let tenants = match self.tenants.take() {
            Some(tenants) => tenants,
            None => rows::tenants(self.db)?,
        };
        for tenant in self.tenants.insert(tenants) {
            if rows::is_there(self.db, tenant, namespace, id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
