//! Candidate lookup by full-text search.

use std::ops::Range;

use rusqlite::params;

use super::build::{BLOCK, sql, sums};
use super::file::{Index, meta};
use crate::project::LogStats;
use crate::query::{CandidateLookup, EventFilter, EventOrder, fts_expression};

const NEWEST: &str = "SELECT rowid FROM facts
    WHERE facts MATCH ?1 AND rowid >= ?2 AND rowid < ?3 ORDER BY rowid DESC LIMIT ?4";
const OLDEST: &str = "SELECT rowid FROM facts
    WHERE facts MATCH ?1 AND rowid >= ?2 AND rowid < ?3 ORDER BY rowid LIMIT ?4";

impl CandidateLookup for Index {
    fn position(&self) -> u64 {
        meta(&self.db()).map_or(0, |meta| meta.position)
    }

    fn candidates(
        &self,
        filter: &EventFilter,
        range: Range<u64>,
        order: EventOrder,
        limit: usize,
    ) -> Option<Vec<u64>> {
        let expression = fts_expression(filter)?;
        let limit = i64::try_from(limit).ok()?;
        let db = self.db();
        let statement = match order {
            EventOrder::Newest => NEWEST,
            EventOrder::Oldest => OLDEST,
        };
        let found: rusqlite::Result<Vec<i64>> = (|| {
            db.prepare_cached(statement)?
                .query_map(params![expression, sql(range.start), sql(range.end), limit], |row| {
                    row.get(0)
                })?
                .collect()
        })();
        found.ok()?.into_iter().map(|seq| u64::try_from(seq).ok()).collect()
    }

    fn sums(&self, first: u64) -> Option<(LogStats, u64)> {
        let db = self.db();
        let position = meta(&db).ok()?.position;
        let end = first.checked_add(BLOCK)?;
        if !first.is_multiple_of(BLOCK) || end > position {
            return None;
        }
        sums(&db, first).ok()?.map(|sums| (sums, end))
    }
}
