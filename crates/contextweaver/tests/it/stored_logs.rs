//! Logs that outlive the process, over records in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use contextweaver::compile::{
    CompileRequest, ContextItem, ContextLog, DurableLog, Phase, StructuredCall, build,
};
use contextweaver::error::{DurableLogError, LogError};
use proptest::prelude::*;
use serde_json::json;
use weaver_text::token::CharsPerFour;
use weaver_types::ledger::{
    Batch, Durability, LedgerError, MAX_PAGE, Namespace, Record, RecordKey, RecordStore,
};
use weaver_types::{CallId, CapabilityId, Tenant};

use crate::frames::{frame, push, some_items, tool_call};

/// Records as a map.
#[derive(Default)]
struct Records(Mutex<BTreeMap<RecordKey, Record>>);

impl RecordStore for Records {
    fn apply(&self, batch: Batch) -> Result<(), LedgerError> {
        assert_eq!(batch.durability, Durability::Disk);
        assert!(batch.replace.is_empty());
        let mut records = self.0.lock().unwrap();
        for guard in batch.expect {
            if records.get(&guard.key).map(|record| record.version) != guard.version {
                return Err(LedgerError::Conflict { key: guard.key });
            }
        }
        for put in batch.put {
            records.insert(put.key, Record { version: 1, value: put.value });
        }
        Ok(())
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        let records = self.0.lock().unwrap();
        let ours = |key: &RecordKey| key.tenant == *tenant && key.namespace == namespace;
        let after = |key: &RecordKey| after.is_none_or(|after| *key.id > *after);
        let found = records.iter().filter(|(key, _)| ours(key) && after(key));
        let found = found.map(|(key, record)| (key.id.as_ref().to_owned(), record.clone()));
        Ok(found.take(limit.min(MAX_PAGE)).collect())
    }
}

fn open(records: &Arc<Records>, name: &str) -> Result<DurableLog, DurableLogError> {
    let store = Arc::clone(records) as Arc<dyn RecordStore>;
    DurableLog::open(store, Tenant::default(), name, Arc::new(CharsPerFour))
}

fn items(log: &ContextLog) -> Vec<ContextItem> {
    log.iter().cloned().collect()
}

proptest! {
    /// Whatever is added, what is read is the same, and compiles to the same.
    #[test]
    fn what_is_read_is_what_was_added(given in some_items()) {
        let records = Arc::new(Records::default());
        let mut durable = open(&records, "chat").unwrap();
        let mut plain = ContextLog::new(Arc::new(CharsPerFour));
        for item in given {
            push(&mut plain, item.clone());
            match durable.push(item) {
                Ok(()) | Err(DurableLogError::Log(LogError::Cycle { .. })) => {}
                Err(error) => panic!("{error}"),
            }
        }
        let read = open(&records, "chat").unwrap();
        prop_assert_eq!(items(read.log()), items(&plain));
        let request = CompileRequest::new(Phase::Answer).with_budget(300);
        prop_assert_eq!(build(read.log(), &request).unwrap(), build(&plain, &request).unwrap());
    }
}

#[test]
fn two_that_add_see_each_other() {
    let records = Arc::new(Records::default());
    let (mut one, mut two) = (open(&records, "chat").unwrap(), open(&records, "chat").unwrap());
    for n in 0..5 {
        one.push(ContextItem::user_turn(format!("one{n}"), "x")).unwrap();
        two.push(ContextItem::user_turn(format!("two{n}"), "y")).unwrap();
    }
    let same = two.push(ContextItem::user_turn("one3", "z")).unwrap_err();
    assert_eq!(same.code(), "context.duplicate");
    assert_eq!((one.log().len(), one.refresh().unwrap(), one.refresh().unwrap()), (9, 1, 0));
    assert_eq!(items(one.log()), items(two.log()));
    assert_eq!(open(&records, "other").unwrap().log().len(), 0);
    // What lies behind it in the store is another log's.
    open(&records, "other").unwrap().push(ContextItem::user_turn("o", "x")).unwrap();
    assert_eq!(open(&records, "chat").unwrap().log().len(), 10);
    assert_eq!(open(&records, "Chat/").unwrap_err().code(), "context.name");
}

#[test]
fn everything_of_an_item_is_kept() {
    let records = Arc::new(Records::default());
    let mut log = open(&records, "chat").unwrap();
    let made = StructuredCall {
        id: CallId::parse("c9").unwrap(),
        capability: CapabilityId::parse("a.b").unwrap(),
        arguments: json!({ "n": 1.5, "big": 9_007_199_254_740_993_u64 }),
    };
    let rich = ContextItem::call_text("rich", "f()")
        .with_call(made)
        .with_tags(["t".to_owned()])
        .with_metadata("k", "v")
        .with_metadata("n", json!({ "list": [1, null, "a"] }))
        .with_parent("call:c1")
        .pin();
    for item in [tool_call(1, "q"), ContextItem::tool_result(&frame(1, "table", &["f"])), rich] {
        log.push(item).unwrap();
    }
    assert_eq!(items(open(&records, "chat").unwrap().log()), items(log.log()));
}

#[test]
fn what_is_newer_or_damaged_is_refused() {
    for (text, code) in [
        (r#"{"v":2}"#, "context.newer"),
        (r#"{"v":1}"#, "context.damaged"),
        ("x", "context.damaged"),
    ] {
        let records = Arc::new(Records::default());
        let key = RecordKey::new(Tenant::default(), Namespace::Memory, "context/chat/0000000000");
        let record = Record { version: 1, value: text.as_bytes().to_vec() };
        records.0.lock().unwrap().insert(key, record);
        assert_eq!(open(&records, "chat").unwrap_err().code(), code, "{text}");
    }
    let records = Arc::new(Records::default());
    let mut log = open(&records, "chat").unwrap();
    log.push(ContextItem::user_turn("a", "x")).unwrap();
    log.push(ContextItem::user_turn("b", "x")).unwrap();
    records.0.lock().unwrap().retain(|key, _| !key.id.ends_with("0000"));
    assert_eq!(open(&records, "chat").unwrap_err().code(), "context.damaged");
}
