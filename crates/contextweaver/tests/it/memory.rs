//! The three tiers: what is remembered, for how long, and how much of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contextweaver::memory::{
    Access, BundleParts, Confidence, EntryKind, FactStore, Limits, MAX_KEY_BYTES, Memory,
    MemoryBundle, MemoryError, MemoryLogError, PutOptions, Tier,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_types::{Confidentiality, Integrity, Label, ManualClock, Timestamp};

pub(crate) const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(START))
}

pub(crate) fn bundle(clock: &Arc<ManualClock>) -> MemoryBundle {
    let parts = BundleParts::new(Arc::clone(clock) as Arc<_>);
    let (trace_id, session_id) = ("trace_1".to_owned(), "sess_1".to_owned());
    MemoryBundle::create(BundleParts { trace_id, session_id, ..parts })
}

fn tiers(memory: &MemoryBundle) -> [&Memory; 3] {
    [&memory.working, &memory.episodic, &memory.durable]
}

fn keys(memory: &Memory) -> Vec<String> {
    memory.list_keys(None, 1_000).unwrap().items
}

/// Cases: SBK-13.
#[test]
fn a_preference_expires_and_is_deleted_once() {
    let all: Value = serde_json::from_str(include_str!("../data/secondbrain.json")).unwrap();
    let case = &all["cases"]["SBK-13"];
    assert_eq!(case["given"], "durable.put('user_preference','compact',ttl_s=1.0)");
    assert!(case["then"].as_str().unwrap().ends_with("entry_id 'mem_dur_user_preference'"));
    let clock = clock();
    let durable = bundle(&clock).durable;
    let second = PutOptions::default().with_ttl(Duration::from_secs_f64(1.0));
    let put = || durable.put("user_preference", json!("compact"), &second).unwrap();
    put();
    clock.advance(Duration::from_millis(500));
    assert_eq!(durable.get("user_preference", json!("default")).unwrap(), "compact");
    let id = durable.entry("user_preference").unwrap().unwrap().entry_id();
    assert_eq!(id, "mem_dur_user_preference");
    clock.advance(Duration::from_secs(1));
    assert_eq!(durable.get("user_preference", json!("default")).unwrap(), "default");
    put();
    assert!(durable.delete("user_preference").unwrap());
    assert!(!durable.delete("user_preference").unwrap());
}

#[test]
fn every_tier_has_the_same_calls_and_ids_of_its_own() {
    let memory = bundle(&clock());
    for (tier, short) in tiers(&memory).into_iter().zip(["wor", "epi", "dur"]) {
        assert_eq!(tier.get("k", json!(7)).unwrap(), 7, "the default");
        tier.put("k", json!({ "ok": true }), &PutOptions::new("tool.vault_read")).unwrap();
        tier.put("a", json!(null), &PutOptions::default()).unwrap();
        assert_eq!(tier.get("k", json!(7)).unwrap(), json!({ "ok": true }));
        let entry = tier.entry("k").unwrap().unwrap();
        assert_eq!((entry.key.as_str(), entry.source.as_str()), ("k", "tool.vault_read"));
        assert_eq!(
            (entry.entry_id(), entry.confidence),
            (format!("mem_{short}_k"), Confidence::CERTAIN)
        );
        assert_eq!((entry.created_at, entry.ttl, entry.tier), (START, None, tier.tier()));
        assert_eq!(
            (entry.origin.session.as_str(), entry.origin.trace.as_str()),
            ("sess_1", "trace_1")
        );
        assert_eq!(keys(tier), ["a", "k"]);
        tier.put("k", json!("other"), &PutOptions::default()).unwrap();
        assert_eq!(tier.get("k", json!(7)).unwrap(), "other", "the last one counts");
        assert!(tier.delete("k").unwrap() && !tier.delete("k").unwrap());
        assert_eq!(keys(tier), ["a"]);
    }
    assert_eq!(tiers(&memory).map(|tier| tier.tier().as_str()), ["working", "episodic", "durable"]);
    memory.working.put("b", json!(2), &PutOptions::default()).unwrap();
    let all = memory.working.snapshot().unwrap();
    assert_eq!(
        all.into_iter().collect::<Vec<_>>(),
        [("a".into(), json!(null)), ("b".into(), json!(2))]
    );
    assert_eq!(memory.episodic.snapshot().unwrap().len(), 1);
}

#[test]
fn what_has_expired_is_gone_from_reads_lists_snapshots_and_sweeps() {
    let clock = clock();
    let memory = bundle(&clock);
    let put = PutOptions::default().with_ttl(HOUR);
    for tier in tiers(&memory) {
        for key in ["read", "deleted", "swept", "swept too"] {
            tier.put(key, json!(1), &put).unwrap();
        }
        tier.put("stays", json!(1), &PutOptions::default()).unwrap();
        assert_eq!((tier.sweep().unwrap(), keys(tier).len()), (0, 5));
    }
    clock.advance(HOUR);
    for tier in tiers(&memory) {
        assert!(tier.entry("read").unwrap().is_none(), "at the end it is over");
        assert_eq!(tier.sweep().unwrap(), 3);
        assert!(!tier.delete("deleted").unwrap(), "what has expired is not there");
        assert_eq!(keys(tier), ["stays"]);
    }
    let again = bundle(&clock);
    for tier in tiers(&again) {
        tier.put("listed", json!(1), &put).unwrap();
        tier.put("stays", json!(1), &PutOptions::default()).unwrap();
    }
    clock.advance(HOUR);
    assert!(tiers(&again).iter().all(|tier| keys(tier) == ["stays"]));
    assert_eq!(again.working.snapshot().unwrap().len(), 1);
    assert!(tiers(&again).iter().all(|tier| tier.sweep().unwrap() == 0), "listing forgot it");
}

#[test]
fn what_has_expired_is_not_there_for_those_that_write() {
    let clock = clock();
    let memory = bundle(&clock);
    let put = PutOptions::new("a").with_ttl(HOUR);
    for tier in tiers(&memory) {
        tier.put("deleted", json!(1), &put).unwrap();
        FactStore::new(tier).add_claim("stated", json!(1), &put).unwrap();
    }
    clock.advance(HOUR);
    for tier in tiers(&memory) {
        assert!(!tier.delete("deleted").unwrap());
        let facts = FactStore::new(tier);
        facts.add_claim("stated", json!(2), &PutOptions::new("b")).unwrap();
        assert_eq!(facts.get("stated").unwrap().unwrap().value(), Some(&json!(2)));
    }
}

#[test]
fn a_leap_of_the_clock_sweeps_nothing_away() {
    let clock = clock();
    let memory = bundle(&clock);
    for tier in tiers(&memory) {
        tier.put("a", json!(1), &PutOptions::default().with_ttl(HOUR)).unwrap();
    }
    clock.set(START.after(HOUR * 72));
    assert!(tiers(&memory).iter().all(|tier| tier.sweep().unwrap() == 0));
    clock.set(START);
    assert!(tiers(&memory).iter().all(|tier| tier.entry("a").unwrap().is_some()));
}

#[test]
fn writing_forgets_what_has_expired() {
    let clock = clock();
    let memory = bundle(&clock);
    for tier in tiers(&memory) {
        (0..4).for_each(|n| {
            tier.put(&format!("a{n}"), json!(1), &PutOptions::default().with_ttl(HOUR)).unwrap();
        });
    }
    clock.advance(HOUR);
    for tier in tiers(&memory) {
        (0..4).for_each(|n| tier.put(&format!("b{n}"), json!(1), &PutOptions::default()).unwrap());
        assert_eq!(tier.sweep().unwrap(), 0, "nothing is left to sweep");
    }
}

#[test]
fn a_clock_that_is_moved_brings_nothing_back() {
    let clock = clock();
    let memory = bundle(&clock);
    let put = PutOptions::default().with_ttl(HOUR);
    for tier in tiers(&memory) {
        tier.put("a", json!(1), &put).unwrap();
        tier.put("b", json!(1), &put).unwrap();
    }
    // Set back, the time stands, and then goes on with the monotonic clock.
    clock.set(Timestamp::from_micros(0));
    assert!(tiers(&memory).iter().all(|tier| tier.entry("a").unwrap().is_some()));
    clock.advance(HOUR);
    assert!(tiers(&memory).iter().all(|tier| tier.entry("a").unwrap().is_none()));
    clock.set(START);
    assert!(tiers(&memory).iter().all(|tier| tier.entry("b").unwrap().is_none()));
    // A leap forward counts at once; what was told to have expired stays so.
    for tier in tiers(&memory) {
        tier.put("c", json!(1), &put).unwrap();
        tier.put("d", json!(1), &put).unwrap();
    }
    clock.set(START.after(HOUR * 240));
    assert!(tiers(&memory).iter().all(|tier| tier.entry("c").unwrap().is_none()));
    // What is written meanwhile has no age once the clock is set right.
    for tier in tiers(&memory) {
        tier.put("e", json!(1), &put).unwrap();
        assert!(tier.entry("e").unwrap().is_some());
    }
    clock.set(START.after(HOUR));
    for tier in tiers(&memory) {
        assert_eq!(
            ["c", "d", "e"].map(|key| tier.entry(key).unwrap().is_some()),
            [false, true, false]
        );
    }
}

#[test]
fn bounds_are_errors_that_name_the_bound() {
    let parts = BundleParts::new(clock() as Arc<_>);
    let limits = Limits { values: 3, value_bytes: 16, ..Limits::default() };
    let memory = MemoryBundle::create(BundleParts { limits, ..parts });
    let durable = &memory.durable;
    let put = |key: &str, value: Value| durable.put(key, value, &PutOptions::default());
    let long = "x".repeat(MAX_KEY_BYTES + 1);
    for key in ["", " a", "a\n", "a\u{1f}b", long.as_str()] {
        assert_eq!(put(key, json!(1)).unwrap_err().code(), "memory.key", "{key:?}");
        assert_eq!(durable.entry(key).unwrap_err().code(), "memory.key");
    }
    put(&"x".repeat(MAX_KEY_BYTES), json!(1)).unwrap();
    let error = put("k", json!("seventeen bytes")).unwrap_err();
    assert_eq!(error, MemoryError::TooLarge { what: "value", key: "k".into(), size: 17, max: 16 });
    assert!(
        put("k", json!("sixteen, quoted")).is_err() && put("k", json!("sixteen quoted")).is_ok()
    );
    let source = PutOptions::new("s".repeat(2_000));
    assert_eq!(durable.put("k", json!(1), &source).unwrap_err().code(), "memory.too_large");
    put("last", json!(1)).unwrap();
    let full = put("one more", json!(1)).unwrap_err();
    assert_eq!(full, MemoryError::Full { max: 3, what: "values" });
    put("last", json!(2)).unwrap();
    assert!(durable.delete("last").unwrap());
    put("one more", json!(1)).unwrap();
}

#[test]
fn what_has_expired_makes_room() {
    let clock = clock();
    let parts = BundleParts::new(Arc::clone(&clock) as Arc<_>);
    let limits = Limits { values: 300, ..Limits::default() };
    let memory = MemoryBundle::create(BundleParts { limits, ..parts });
    let short = PutOptions::default().with_ttl(HOUR);
    for n in 0..300 {
        memory.durable.put(&format!("k{n}"), json!(n), &short).unwrap();
    }
    assert_eq!(memory.durable.put("more", json!(1), &short).unwrap_err().code(), "memory.full");
    clock.advance(HOUR);
    memory.durable.put("more", json!(1), &short).unwrap();
    assert_eq!(keys(&memory.durable), ["more"]);
}

#[test]
fn lists_come_in_pages_in_the_order_of_the_keys() {
    let memory = bundle(&clock());
    for n in (0..1_234).rev() {
        memory.durable.put(&format!("k{n:04}"), json!(n), &PutOptions::default()).unwrap();
    }
    let (mut seen, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = memory.durable.list_keys(after.as_deref(), 100).unwrap();
        assert!(page.items.len() <= 100);
        seen.extend(page.items);
        pages += 1;
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!((seen.len(), pages), (1_234, 13));
    assert!(seen.is_sorted());
    assert_eq!(memory.durable.list_keys(None, usize::MAX).unwrap().items.len(), 1_000);
    assert_eq!(memory.durable.list(EntryKind::Fact, None, 10).unwrap().items.len(), 0);
}

#[test]
fn nothing_is_public_and_what_says_nothing_is_untrusted() {
    let memory = bundle(&clock());
    let label = |put: &PutOptions| {
        memory.working.put("k", json!(1), put).unwrap();
        let label = memory.working.entry("k").unwrap().unwrap().label;
        (label.confidentiality, label.integrity)
    };
    assert_eq!(label(&PutOptions::default()), (Confidentiality::Internal, Integrity::Untrusted));
    let clean = PutOptions::default().with_label(Label::clean());
    assert_eq!(label(&clean), (Confidentiality::Internal, Integrity::Trusted));
    let secret = Label::new(Confidentiality::Restricted, Integrity::Trusted);
    let secret = PutOptions::default().with_label(secret);
    assert_eq!(label(&secret), (Confidentiality::Restricted, Integrity::Trusted));
}

#[test]
fn the_log_hears_first_and_what_it_refuses_does_not_happen() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let parts = BundleParts::new(clock() as Arc<_>);
    let event_log: Option<contextweaver::memory::MemoryAuditHook> =
        Some(Arc::new(move |access, entry| {
            log.lock().unwrap().push((access, entry.entry_id()));
            if entry.key == "refused" {
                Err(MemoryLogError::new("the log is full"))
            } else {
                Ok(())
            }
        }));
    let memory = MemoryBundle::create(BundleParts { event_log, ..parts });
    for tier in tiers(&memory) {
        tier.put("k", json!(1), &PutOptions::default()).unwrap();
        tier.entry("k").unwrap();
        tier.entry("none").unwrap();
    }
    let (put, get) = (Access::Put, Access::Get);
    let told = ["mem_epi_k", "mem_dur_k"].map(str::to_owned);
    let [epi, dur] = told;
    let wanted = [(put, epi.clone()), (get, epi), (put, dur.clone()), (get, dur)];
    assert_eq!(*heard.lock().unwrap(), wanted);
    let refused = memory.durable.put("refused", json!(1), &PutOptions::default()).unwrap_err();
    assert_eq!(refused, MemoryError::Log(MemoryLogError::new("the log is full")));
    assert!(memory.durable.list_keys(None, 10).unwrap().items.iter().all(|key| key != "refused"));
}

#[test]
fn threads_lose_nothing() {
    let memory = bundle(&clock());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let durable = memory.durable.clone();
            scope.spawn(move || {
                for n in 0..50 {
                    let put = PutOptions::default();
                    durable.put(&format!("own-{thread}-{n}"), json!(n), &put).unwrap();
                    durable.put("shared", json!([thread, n]), &put).unwrap();
                }
            });
        }
    });
    assert_eq!(keys(&memory.durable).len(), 201);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against a plain map with ends.
    #[test]
    fn a_tier_is_a_map_whose_entries_end(
        steps in proptest::collection::vec((0..4_u8, 0..5_u8, 0..4_u64, any::<i64>()), 1..60)
    ) {
        let clock = clock();
        let memory = bundle(&clock).durable;
        let mut model = std::collections::BTreeMap::new();
        let mut now = 0_u64;
        for (what, key, secs, value) in steps {
            let key = format!("k{key}");
            model.retain(|_, (_, end)| *end > now);
            match what {
                0 => {
                    memory.put(&key, json!(value), &PutOptions::default().with_ttl(Duration::from_secs(secs))).unwrap();
                    model.insert(key, (value, now + secs));
                }
                1 => {
                    let had = model.remove(&key).is_some();
                    prop_assert_eq!(memory.delete(&key).unwrap(), had);
                }
                2 => {
                    clock.advance(Duration::from_secs(secs));
                    now += secs;
                }
                _ => {
                    let found = memory.entry(&key).unwrap().map(|entry| entry.value);
                    prop_assert_eq!(found, model.get(&key).map(|(value, _)| json!(value)));
                }
            }
            model.retain(|_, (_, end)| *end > now);
            prop_assert_eq!(keys(&memory), model.keys().cloned().collect::<Vec<_>>());
        }
    }
}

#[test]
fn tiers_are_told_apart() {
    assert_eq!(Tier::Durable.abbreviation(), "dur");
    assert_eq!(Tier::Episodic.entry_id("k"), "mem_epi_k");
    let memory = bundle(&clock());
    memory.working.put("k", json!(1), &PutOptions::default()).unwrap();
    assert!(memory.episodic.entry("k").unwrap().is_none());
    assert!(memory.durable.entry("k").unwrap().is_none());
}
