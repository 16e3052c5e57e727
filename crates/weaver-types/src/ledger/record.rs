//! A stored record, and how all records of a namespace are read, a page at a time.

use super::LedgerError;

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Incremented by each write.
    pub version: u64,
    /// Its value.
    pub value: Vec<u8>,
}

/// Records with their ids, in the order of the ids.
pub type RecordIter<'a> = Box<dyn Iterator<Item = Result<(String, Record), LedgerError>> + 'a>;

/// All records that `page` returns: it is called with the id of the last record until there are no
/// more. After an error there are none either.
pub fn all_records<E>(
    mut page: impl FnMut(Option<&str>) -> Result<Vec<(String, Record)>, E>,
) -> impl Iterator<Item = Result<(String, Record), E>> {
    let mut records = Vec::new().into_iter();
    let (mut last, mut has_ended) = (None, false);
    std::iter::from_fn(move || {
        if records.len() == 0 && !has_ended {
            match page(last.as_deref()) {
                Ok(found) => records = found.into_iter(),
                Err(error) => {
                    has_ended = true;
                    return Some(Err(error));
                }
            }
            has_ended = records.len() == 0;
            last = records.as_slice().last().map(|(id, _): &(String, Record)| id.clone());
        }
        records.next().map(Ok)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str) -> (String, Record) {
        (id.to_owned(), Record { version: 1, value: Vec::new() })
    }

    #[test]
    fn every_page_is_read_once_and_none_after_the_end() {
        let mut asked = Vec::new();
        let mut pages = vec![Ok(vec![]), Ok(vec![record("c")]), Ok(vec![record("a"), record("b")])];
        let ids: Result<Vec<String>, ()> = all_records(|after| {
            asked.push(after.map(str::to_owned));
            pages.pop().unwrap()
        })
        .map(|found| found.map(|(id, _)| id))
        .collect();
        assert_eq!(ids.unwrap(), ["a", "b", "c"]);
        assert_eq!(asked, [None, Some("b".to_owned()), Some("c".to_owned())]);
    }

    #[test]
    fn an_error_is_the_last() {
        let mut pages = vec![Err("broken"), Ok(vec![record("a")])];
        let mut found = all_records(|_| pages.pop().unwrap());
        assert!(found.next().unwrap().is_ok());
        assert!(found.next().unwrap().is_err());
        assert!(found.next().is_none());
    }
}
