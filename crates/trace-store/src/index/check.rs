//! Checking: the index made anew from the log, and compared.

use rusqlite::Connection;

use super::error::IndexError;
use super::file::{Index, Status};
use crate::verify::Source;

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexCheck {
    /// How many events were compared.
    pub events: u64,
    /// How many entries (a term of an event, or the sums of a block) stand in one of the two alone.
    pub wrong: u64,
}

const TERMS: &str =
    "CREATE VIRTUAL TABLE temp.entries USING fts5vocab('main', 'facts', 'instance')";
const ENTRIES: &str = "SELECT term, doc FROM temp.entries";
const BLOCKS: &str = "SELECT sums, first FROM blocks ORDER BY first";

impl Index {
    /// Makes the index anew from the log in a file beside it, compares, and removes that file. It
    /// compares what both have: the index as it stood when the check began.
    ///
    /// # Errors
    /// [`IndexError`], when either cannot be read or made.
    pub fn check(
        &self,
        source: &dyn Source,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<IndexCheck, IndexError> {
        self.catch_up(source, progress)?;
        let mut place = self.path().as_os_str().to_owned();
        place.push(format!(".check-{}", super::file::unique()));
        let place = std::path::PathBuf::from(place);
        let outcome = self.compare(source, &place, progress);
        let _ = std::fs::remove_file(&place);
        outcome
    }

    fn compare(
        &self,
        source: &dyn Source,
        place: &std::path::Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<IndexCheck, IndexError> {
        let anew = Self::make(place, source)?;
        let Status { position, .. } = self.status(source)?;
        loop {
            let status = anew.step(source)?;
            progress(status.position.min(position), position);
            if status.position >= position {
                break;
            }
        }
        // Both to the same place: the log may have grown meanwhile.
        while self.status(source)?.position < anew.status(source)?.position {
            self.step(source)?;
        }
        let status = anew.status(source)?;
        let (ours, theirs) = (self.db(), anew.db());
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

/// How many rows stand in one of two ordered lists alone.
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
