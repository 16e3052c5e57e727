//! One transaction: the batches of a group, each decided on the state after the previous one.

use std::sync::atomic::Ordering;

use weaver_types::Timestamp;
use weaver_types::ledger::{Durability, LedgerError};

use super::{AppliedBatch, Writer};
use crate::limits::SWEEP_PER_COMMIT;
use crate::plan::plan;
use crate::prepare::PreparedBatch;
use crate::prune;
use crate::sqlite::error_mapping::{as_fatal, is_transient};
use crate::sqlite::pruning::TransactionView;
use crate::sqlite::queue::{BlobChange, WriteRequest};
use crate::sqlite::rows::RecordCache;
use crate::sqlite::{events, rows, schema, tiles};

/// Bytes that a commit writes besides its content: the pages of the head and of partial tiles.
const COMMIT_OVERHEAD: usize = 4 * 4096;

impl Writer {
    /// Applies a group in one transaction. Each batch is decided before any of it is written, so a
    /// refused one leaves nothing behind and needs no savepoint. False when all were refused.
    pub(super) fn apply_group(
        &mut self,
        group: Vec<WriteRequest>,
        level: Durability,
        applied: &mut Vec<AppliedBatch>,
    ) -> Result<bool, LedgerError> {
        let (mut written, before) = (0, self.tip.frontier.size());
        let mut failed = self.begin(level).err();
        for work in group {
            let WriteRequest { mut prepared, blob, completer } = work;
            let result = match &failed {
                Some(error) => Err(error.clone()),
                None => self.apply(&mut prepared, blob, level),
            };
            match &result {
                Ok(_) => {
                    self.bytes_since_checkpoint =
                        self.bytes_since_checkpoint.saturating_add(prepared.bytes)
                }
                Err(error) if error.is_refusal() && !is_transient(error) => {}
                Err(error) => failed = Some(as_fatal(error)),
            }
            written += usize::from(result.is_ok()) * (1 + prepared.batch.puts().count());
            applied.push(AppliedBatch { completer, result });
        }
        match failed {
            Some(error) => Err(error),
            None if written == 0 => self.sql("ROLLBACK").map(|()| false),
            None => self.finish_transaction(written, before, level).map(|()| true),
        }
        .map_err(|error| as_fatal(&error))
    }

    /// Begins a transaction, and checks that no other program has written since the last one.
    pub(super) fn begin(&mut self, level: Durability) -> Result<(), LedgerError> {
        if std::mem::take(&mut self.has_open_transaction) {
            return Ok(());
        }
        self.set_level(level)?;
        self.sql("BEGIN IMMEDIATE")?;
        self.foreign_writes.check(&self.db, &self.tip, &self.sums)
    }

    /// Deletes expired records, writes the head, and commits. SQLite syncs nothing when a
    /// transaction changes no page, so a barrier dirties one; its sync covers everything before it.
    fn finish_transaction(
        &mut self,
        written: usize,
        before: u64,
        level: Durability,
    ) -> Result<(), LedgerError> {
        let is_empty = self.tip.frontier.size() == before;
        let barrier = level == Durability::Disk && self.unsynced && is_empty;
        let limit = SWEEP_PER_COMMIT + written * 2;
        rows::sweep(&self.db, self.tip.latest_time, limit, &mut self.sums)?;
        tiles::save(&self.db, &self.tiles.take_changed())?;
        schema::save_head(&self.db, &self.tip, before, &self.sums)?;
        if barrier {
            schema::dirty_a_page(&self.db)?;
        }
        self.bytes_since_checkpoint = self.bytes_since_checkpoint.saturating_add(COMMIT_OVERHEAD);
        self.sql("COMMIT")
    }

    fn apply(
        &mut self,
        prepared: &mut PreparedBatch,
        blob: Option<BlobChange>,
        level: Durability,
    ) -> Result<(Option<u64>, Timestamp), LedgerError> {
        let db = &self.db;
        let first = self.tip.frontier.size();
        let now = prune::time_after(self.tip.latest_time, &prepared.batch);
        let mut seen = RecordCache::new(db);
        let writes = plan(&prepared.batch, &mut seen)?;
        prune::check(prepared, first, now, &mut TransactionView::new(db))?;
        let (tip, tiles, sums) = (&mut self.tip, &mut self.tiles, &mut self.sums);
        events::append(db, tip, tiles, sums, prepared.events(), level)?;
        rows::write(db, &writes, &seen, &mut self.sums)?;
        self.orphans.note_references(db, &prepared.batch)?;
        if !prepared.prune.is_empty() {
            prepared.bytes = prepared.bytes.saturating_add(events::prune(db, &prepared.prune)?);
            self.erasing.store(true, Ordering::Release);
        }
        if let Some(change) = blob {
            self.orphans.change(db, change, &mut self.sums)?;
        }
        Ok(((self.tip.frontier.size() > first).then_some(first), self.tip.latest_time))
    }
}
