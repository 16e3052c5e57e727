//! Checks the index against one rebuilt from the log.

use rusqlite::Connection;

use super::error::IndexError;
use super::file::{Index, IndexStatus};
use crate::verify::LogSource;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexCheck {
    /// How many events were compared.
    pub events: u64,
    /// How many entries (a term of an event, or the sums of a block) exist in only one of the two.
    pub wrong: u64,
}

const TERMS: &str =
    "CREATE VIRTUAL TABLE temp.entries USING fts5vocab('main', 'facts', 'instance')";
const ENTRIES: &str = "SELECT term, doc FROM temp.entries";
const BLOCKS: &str = "SELECT sums, first FROM blocks ORDER BY first";

impl Index {
    /// Rebuilds the index from the log in a temporary file, compares the two, and removes that
    /// file. It compares the range that both cover: the index as it stood when the check began.
    ///
    /// # Errors
    /// [`IndexError`], when either cannot be read or built.
    pub fn check(
        &self,
        source: &dyn LogSource,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<IndexCheck, IndexError> {
        self.catch_up(source, progress)?;
        let mut temporary = self.path().as_os_str().to_owned();
        temporary.push(format!(".check-{}", super::file::unique_suffix()));
        let temporary = std::path::PathBuf::from(temporary);
        let outcome = self.compare(source, &temporary, progress);
        let _ = std::fs::remove_file(&temporary);
        outcome
    }

    fn compare(
        &self,
        source: &dyn LogSource,
        temporary: &std::path::Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<IndexCheck, IndexError> {
        let rebuilt = Self::create_file(temporary, source)?;
        let IndexStatus { position, .. } = self.status(source)?;
        loop {
            let status = rebuilt.step(source)?;
            progress(status.position.min(position), position);
            if status.position >= position {
                break;
            }
        }
        // Bring both to the same position: the log may have grown meanwhile.
        while self.status(source)?.position < rebuilt.status(source)?.position {
            self.step(source)?;
        }
        let status = rebuilt.status(source)?;
        let (ours, theirs) = (self.db(), rebuilt.db());
        let wrong = (|| {
            ours.execute_batch(&format!("DROP TABLE IF EXISTS temp.entries; {TERMS}"))?;
            theirs.execute_batch(TERMS)?;
            let terms = differences(&ours, &theirs, ENTRIES)?;
            Ok::<_, rusqlite::Error>(terms + differences(&ours, &theirs, BLOCKS)?)
        })();
        let wrong = wrong.map_err(|error| self.failed(&error))?;
        Ok(IndexCheck { events: status.position, wrong })
    }
}

/// How many rows exist in only one of two sorted lists.
fn differences(ours: &Connection, theirs: &Connection, sql: &str) -> rusqlite::Result<u64> {
    let (mut left, mut right) = (ours.prepare(sql)?, theirs.prepare(sql)?);
    let (mut left, mut right) = (left.query([])?, right.query([])?);
    let mut wrong = 0;
    let (mut a, mut b) = (next(&mut left)?, next(&mut right)?);
    loop {
        match (&a, &b) {
            (None, None) => return Ok(wrong),
            (Some(x), Some(y)) if x == y => {
                a = next(&mut left)?;
                b = next(&mut right)?;
            }
            (Some(x), y) if y.as_ref().is_none_or(|y| x < y) => {
                wrong += 1;
                a = next(&mut left)?;
            }
            _ => {
                wrong += 1;
                b = next(&mut right)?;
            }
        }
    }
}

fn next(rows: &mut rusqlite::Rows<'_>) -> rusqlite::Result<Option<(Vec<u8>, i64)>> {
    let Some(row) = rows.next()? else { return Ok(None) };
    let text: String = row.get(0)?;
    Ok(Some((text.into_bytes(), row.get(1)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_that_only_one_list_has_counts_once() {
        let list = |terms: &[&str]| {
            let db = Connection::open_in_memory().unwrap();
            db.execute_batch("CREATE TABLE list (term TEXT, doc INTEGER)").unwrap();
            for term in terms {
                db.execute("INSERT INTO list VALUES (?1, 1)", [term]).unwrap();
            }
            db
        };
        let count = |ours: &[&str], theirs: &[&str]| {
            let sql = "SELECT term, doc FROM list ORDER BY term";
            differences(&list(ours), &list(theirs), sql).unwrap()
        };
        assert_eq!(count(&["a", "b"], &["a", "b"]), 0);
        assert_eq!(count(&["a", "b", "d"], &["a", "c", "d"]), 2);
        assert_eq!(count(&["a"], &["a", "b", "c"]), 2);
        assert_eq!(count(&["a", "b", "c"], &["c"]), 2);
    }
}
