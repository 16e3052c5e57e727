//! Memory: remembering, looking up, and recalling what bears on a query, in the process and over a
//! file. A put into the file is synced to disk before it returns.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use contextweaver::memory::{
    BundleParts, EpisodicStore, FactStore, Limits, Memory, MemoryBundle, PutOptions, RecallRequest,
    recall,
};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use weaver_text::token::CharsPerFour;
use weaver_trace_store::{RecordsOptions, SqliteRecords};
use weaver_types::SystemClock;
use weaver_types::ledger::RecordStore;

const WORDS: [&str; 12] = [
    "invoice", "region", "latency", "owner", "rollback", "ticket", "customer", "quota", "backup",
    "release", "discount", "dashboard",
];
const QUERY: &str = "who owns the rollback of the release in this region?";

fn memory(store: Option<Arc<dyn RecordStore>>) -> Memory {
    let parts = BundleParts::new(Arc::new(SystemClock::default()));
    MemoryBundle::create(BundleParts { memory_store: store, ..parts }).durable
}

fn file(folder: &tempfile::TempDir) -> Memory {
    let path = folder.path().join("memory.db");
    let store = SqliteRecords::open(path, RecordsOptions::default()).expect("a file of records");
    memory(Some(Arc::new(store)))
}

/// Some facts, and a tenth of that in episodes.
fn fill(memory: &Memory, facts: usize) {
    let word = |n: usize| WORDS[n % WORDS.len()];
    let store = FactStore::new(memory);
    for n in 0..facts {
        let says = format!("the {} of {} {n} is {}", word(n), word(n / 12), word(n / 144 + 5));
        store
            .add_claim(&format!("fact_{n:05}"), json!(says), &PutOptions::new("bench"))
            .expect("a fact");
    }
    let episodes = EpisodicStore::new(memory);
    for n in 0..facts / 10 {
        let says = format!("Spoke about the {} and the {} {n}", word(n), word(n / 12 + 3));
        episodes.add(&says, &PutOptions::new("bench")).expect("an episode");
    }
}

fn entries(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, memory) in [("process", memory(None)), ("file", file(&folder))] {
        let mut group = criterion.benchmark_group(format!("memory/{name}"));
        let value = json!({ "view": "compact", "columns": ["name", "owner", "due"], "zoom": 2 });
        let put = PutOptions::new("tool.vault_read");
        let mut n = 0u32;
        group.bench_function("put", |bencher| {
            bencher.iter(|| {
                n = n.wrapping_add(1);
                memory.put(&format!("key_{}", n % 1_000), value.clone(), &put).expect("a put");
            });
        });
        group.bench_function("get", |bencher| {
            bencher.iter(|| black_box(memory.entry("key_7")).expect("a get"));
        });
        group.finish();
    }
}

/// At most 10,000 facts and 1,000 episodes stand in a tier.
fn recalls(criterion: &mut Criterion) {
    let most = usize::try_from(Limits::default().facts).expect("a small number");
    // Filling a file costs a sync for each entry, so a trial run is small.
    let is_trial = std::env::args().any(|argument| argument == "--test");
    let sizes: &[usize] = if is_trial { &[100] } else { &[100, 1_000, most] };
    let mut group = criterion.benchmark_group("memory/recall");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    for size in sizes {
        let memory = memory(None);
        fill(&memory, *size);
        let request = RecallRequest::new(QUERY, &CharsPerFour);
        group.bench_function(BenchmarkId::new("again", size), |bencher| {
            bencher.iter(|| black_box(recall(&memory, &request)).expect("a recall"));
        });
        let facts = FactStore::new(&memory);
        let mut n = 0u32;
        group.bench_function(BenchmarkId::new("after a change", size), |bencher| {
            bencher.iter(|| {
                n = n.wrapping_add(1);
                facts
                    .add_claim("fact_00007", json!(n % 9), &PutOptions::new("bench"))
                    .expect("a fact");
                black_box(recall(&memory, &request)).expect("a recall")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, entries, recalls);
criterion_main!(benches);
