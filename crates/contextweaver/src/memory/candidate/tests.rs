use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use weaver_text::token::CharsPerFour;
use weaver_types::{ManualClock, Timestamp};

use super::super::candidate_cache::MAX_CACHED_BYTES;
use super::super::process_records::ProcessRecords;
use super::super::{
    BundleParts, EpisodicStore, FactStore, Memory, MemoryBundle, PutOptions, RecallRequest, recall,
};
use super::*;

/// What happens to a store that two use, by number: who, what, with which key; and whether somebody
/// recalls afterwards. Where nobody does, an entry may go and another of its name and length come.
type Step = (bool, u8, u8, bool);

fn tier(store: &Arc<ProcessRecords>, clock: &Arc<ManualClock>) -> Memory {
    let memory_store = Some(Arc::clone(store) as Arc<_>);
    let parts = BundleParts::new(Arc::clone(clock) as Arc<_>);
    MemoryBundle::create(BundleParts { memory_store, ..parts }).durable
}

fn step(memory: &Memory, clock: &ManualClock, (what, with): (u8, u8)) {
    let key = format!("k{}", with % 3);
    let (facts, episodes) = (FactStore::new(memory), EpisodicStore::new(memory));
    let put = PutOptions::new(format!("s{}", with % 2));
    let brief = put.clone().with_ttl(Duration::from_secs(u64::from(with)));
    // What cannot be done, such as one claim too many, changes nothing.
    match what % 8 {
        0 => drop(facts.add_claim(&key, json!(format!("colour {with}")), &put)),
        1 => drop(facts.add_claim(&key, json!(format!("number {with}")), &brief)),
        2 => drop(facts.forget(&key)),
        3 => drop(facts.resolve(&key, u32::from(with % 4), "why")),
        4 => drop(episodes.add(&format!("spoke of colour {with}"), &put)),
        5 => drop(episodes.add(&format!("spoke of number {with}"), &brief)),
        6 => {
            let latest = episodes.latest(1).unwrap();
            latest.iter().for_each(|entry| drop(episodes.forget(&entry.key)));
        }
        _ => clock.advance(Duration::from_secs(u64::from(with))),
    }
}

proptest! {
    /// Whoever changes what, what is kept beside a tier shows in no answer.
    #[test]
    fn what_is_kept_never_shows(
        steps in prop::collection::vec((any::<bool>(), any::<u8>(), 10u8..40, any::<bool>()), 1..60),
    ) {
        let steps: Vec<Step> = steps;
        let start = Timestamp::from_micros(1_800_000_000_000_000);
        let (store, clock) = (Arc::<ProcessRecords>::default(), Arc::new(ManualClock::new(start)));
        let (one, other) = (tier(&store, &clock), tier(&store, &clock));
        for (is_first, what, with, looks) in steps {
            step(if is_first { &one } else { &other }, &clock, (what, with));
            if !looks {
                continue;
            }
            for query in ["colour 7", ""] {
                let request = RecallRequest::new(query, &CharsPerFour);
                let fresh = recall(&tier(&store, &clock), &request).unwrap();
                prop_assert_eq!(recall(&one, &request).unwrap(), fresh);
            }
        }
    }
}

#[test]
fn what_is_kept_is_bounded_and_used() {
    let start = Timestamp::from_micros(1_800_000_000_000_000);
    let (store, clock) = (Arc::<ProcessRecords>::default(), Arc::new(ManualClock::new(start)));
    let memory = tier(&store, &clock);
    let facts = FactStore::new(&memory);
    for n in 0..600 {
        facts
            .add_claim(&format!("k{n}"), json!("x".repeat(30_000)), &PutOptions::default())
            .unwrap();
    }
    facts
        .add_claim("brief", json!(1), &PutOptions::default().with_ttl(Duration::from_secs(9)))
        .unwrap();
    let first = memory.store.candidates(EntryKind::Fact).unwrap();
    let second = memory.store.candidates(EntryKind::Fact).unwrap();
    let same = first.iter().zip(&second).filter(|(a, b)| Arc::ptr_eq(a, b)).count();
    let known = memory.store.candidate_caches.lock().unwrap();
    let kept = &known[&EntryKind::Fact];
    assert!(kept.bytes <= MAX_CACHED_BYTES && !kept.by_id.contains_key("fact/brief"));
    assert!((500..600).contains(&same) && kept.by_id.len() == same, "{same}");
    assert_eq!(first, second);
}
