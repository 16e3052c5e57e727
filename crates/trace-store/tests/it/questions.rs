//! Questions to the log, with an index and without.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use weaver_trace_store::index::{Index, IndexUpdater};
use weaver_trace_store::project::LogStats;
use weaver_trace_store::prune::{PruneReason, PruningNote};
use weaver_trace_store::query::{
    CandidateLookup, EventFacts, EventFilter, EventOrder, LogQuery, QueryPage, run_query,
};
use weaver_trace_store::verify::LogSource;
use weaver_trace_store::{Reader, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::{EventKind, Timestamp};

use crate::made_up::{self, AT, EVERY, Store};
use crate::support::open;

fn filter(terms: &str) -> EventFilter {
    EventFilter::parse([terms], Timestamp::from_micros(AT)).unwrap()
}

/// Every event of the log.
fn all(source: &dyn LogSource) -> Vec<EventFacts> {
    let size = source.extent().unwrap().head.size;
    let mut found: Vec<EventFacts> = Vec::new();
    while (found.len() as u64) < size {
        let rows = source.rows(found.len() as u64, 1_000).unwrap();
        found.extend(rows.iter().map(|row| EventFacts::from_event(&row.event)));
    }
    found
}

/// What a question must be answered with: every event, tested.
fn naive(events: &[EventFacts], filter: &EventFilter, order: EventOrder) -> Vec<u64> {
    let fits = events.iter().filter(|facts| filter.matches(facts));
    let mut found: Vec<u64> = fits.map(|facts| facts.seq).collect();
    if order == EventOrder::Newest {
        found.reverse();
    }
    found
}

/// All pages of an answer.
fn paged(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    mut question: LogQuery,
    mut between: impl FnMut(&QueryPage),
) -> Vec<u64> {
    let mut found = Vec::new();
    loop {
        let page = run_query(source, lookup, &question).unwrap();
        found.extend(page.events.iter().map(|facts| facts.seq));
        between(&page);
        match page.next {
            Some(cursor) => question.after = Some(cursor.to_string().parse().unwrap()),
            None => return found,
        }
    }
}

fn question(terms: &str, order: EventOrder, limit: usize) -> LogQuery {
    LogQuery { filter: filter(terms), order, after: None, limit }
}

/// Questions of every field, some of which find nothing.
const ASKED: &[&str] = &[
    "",
    "principal:ann",
    "principal:ann,bob verdict:deny",
    "capability:files.*",
    "capability:files.delete event:call.*",
    "event:call.refused reason:untrusted_influence",
    "reason:floor_hold verdict:hold",
    "outcome:failure",
    "outcome:unknown,partial",
    "label:confidential label:untrusted",
    "run:run_1 outcome:success",
    "request:apr_3",
    "handle:hdl_*",
    "token:tok_8",
    "weekly report",
    "\"weekly report\" principal:bob",
    "quart*",
    "ärger",
    "nowhere",
    "session:sess_4",
    "session:sess_*",
    "user_sid:weekly agent:planner",
    "agent:planner,writer",
    "since:2h",
    "since:2h until:1h verdict:deny",
    "principal:cleo since:90m weekly",
];

impl Store {
    fn index(&self) -> Index {
        Index::open(self.path(), &self.ledger).unwrap()
    }

    /// Every question gives what a scan of every event gives.
    fn agrees(&self, lookup: Option<&dyn CandidateLookup>, state: &str) {
        let events = all(&self.ledger);
        for terms in ASKED {
            for order in [EventOrder::Newest, EventOrder::Oldest] {
                let wanted = naive(&events, &filter(terms), order);
                let found = paged(&self.ledger, lookup, question(terms, order, 97), |_| {});
                assert_eq!(found, wanted, "{state}: {terms} {order:?}");
            }
        }
        if state == "not noticed yet" {
            return;
        }
        let all = LogStats::from_log(&self.ledger, None, &filter(""), &mut |_, _| {}).unwrap();
        let kept = LogStats::from_log(&self.ledger, lookup, &filter(""), &mut |_, _| {}).unwrap();
        assert_eq!(all, kept, "{state}");
    }
}

#[test]
fn an_index_answers_as_a_scan_does_in_every_state_of_it() {
    let store = Store::of(1_600);
    store.agrees(None, "no index");
    let index = store.index();
    store.agrees(Some(&index), "an empty index");
    assert_eq!(index.step(&store.ledger).unwrap().position, 1_000);
    store.agrees(Some(&index), "an index that is behind");
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    store.agrees(Some(&index), "a whole index");
    made_up::fill(&store.ledger, 1_600..1_650);
    store.agrees(Some(&index), "an index with a tail");
    assert_eq!(index.catch_up(&store.ledger, &mut |_, _| {}).unwrap().position, 1_650);
    store.agrees(Some(&index), "an index that has caught up");

    // Removed while it is open, by hand.
    fs::remove_file(Index::path_of(store.path())).unwrap();
    store.agrees(Some(&index), "a removed index, still open");
    made_up::fill(&store.ledger, 1_650..1_660);
    assert_eq!(index.step(&store.ledger).unwrap_err().code(), "index.torn");
    let index = store.index();
    assert_eq!(index.status(&store.ledger).unwrap().position, 0, "made anew");
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    store.agrees(Some(&index), "an index made anew");
    let checked = index.check(&store.ledger, &mut |_, _| {}).unwrap();
    assert_eq!((checked.events, checked.wrong), (1_660, 0));
}

#[test]
fn a_torn_index_is_made_anew() {
    let store = Store::of(1_050);
    let path = Index::path_of(store.path());
    let whole = {
        let index = store.index();
        index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
        drop(index);
        fs::read(&path).unwrap()
    };
    let torn: &[(&str, Vec<u8>)] = &[
        ("empty", Vec::new()),
        ("no database", b"no database, but long enough to be looked at twice".to_vec()),
        ("half", whole[..whole.len() / 2].to_vec()),
        ("without its first page", [vec![0; 4096], whole[4096..].to_vec()].concat()),
    ];
    for (state, bytes) in torn {
        fs::write(&path, bytes).unwrap();
        let index = store.index();
        // What looks whole from outside is found out when it is used; nobody is given a wrong answer.
        store.agrees(Some(&index), state);
        let built = index.catch_up(&store.ledger, &mut |_, _| {});
        let index = if built.is_ok() { index } else { store.index() };
        index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
        store.agrees(Some(&index), state);
    }
}

/// Pages of the index overwritten with noise: an answer may be found by scanning, and is right or,
/// where entries are lost without a trace, lacks events; it never has one too many.
#[test]
fn noise_in_an_index_makes_no_event_up() {
    let store = Store::of(1_100);
    let path = Index::path_of(store.path());
    store.index().catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    let whole = fs::read(&path).unwrap();
    let events = all(&store.ledger);
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        for (at, byte) in bytes[page * 4096..(page + 1) * 4096].iter_mut().enumerate() {
            *byte ^= u8::try_from((at * 31 + page) % 251).unwrap();
        }
        fs::write(&path, &bytes).unwrap();
        let Some(index) = Index::find(store.path(), &store.ledger) else { continue };
        for terms in ["principal:ann verdict:deny", "weekly report", "capability:files.*"] {
            let wanted: BTreeSet<u64> =
                naive(&events, &filter(terms), EventOrder::Oldest).into_iter().collect();
            let found = paged(
                &store.ledger,
                Some(&index),
                question(terms, EventOrder::Oldest, 100),
                |_| {},
            );
            assert!(found.iter().all(|seq| wanted.contains(seq)), "page {page}: {terms}");
        }
    }
}

#[test]
fn an_index_of_another_log_or_version_is_not_used() {
    let (one, other) = (Store::of(300), Store::of(300));
    one.index().catch_up(&one.ledger, &mut |_, _| {}).unwrap();
    fs::copy(Index::path_of(one.path()), Index::path_of(other.path())).unwrap();
    assert!(Index::find(other.path(), &other.ledger).is_none());
    assert_eq!(other.index().status(&other.ledger).unwrap().position, 0);

    let path = Index::path_of(one.path());
    let set = |version: i64| {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.pragma_update(None, "user_version", version).unwrap();
    };
    set(weaver_trace_store::index::INDEX_VERSION + 1);
    assert_eq!(Index::open(one.path(), &one.ledger).unwrap_err().code(), "index.newer");
    assert!(path.exists(), "what a later build made is left alone");
    set(weaver_trace_store::index::INDEX_VERSION - 1);
    assert_eq!(one.index().status(&one.ledger).unwrap().position, 0);
}

#[test]
fn a_check_finds_what_is_wrong() {
    let store = Store::of(1_500);
    let index = store.index();
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    let db = rusqlite::Connection::open(Index::path_of(store.path())).unwrap();
    db.execute("DELETE FROM facts WHERE rowid = 700", []).unwrap();
    let checked = index.check(&store.ledger, &mut |_, _| {}).unwrap();
    assert!(checked.wrong > 0, "{checked:?}");
    drop(db);
    drop(index);
    Index::remove(store.path()).unwrap();
    let index = store.index();
    assert_eq!(index.check(&store.ledger, &mut |_, _| {}).unwrap().wrong, 0);
    let kept = fs::read_dir(store.folder.path()).unwrap().count();
    assert!(kept <= 5, "a check leaves nothing behind");
}

#[test]
fn a_question_with_an_index_reads_only_its_answer() {
    let store = Store::of(5_000);
    let index = store.index();
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    for (terms, most) in [("handle:hdl_9", 1), ("principal:bob verdict:deny", 52), ("nowhere", 0)] {
        for order in [EventOrder::Newest, EventOrder::Oldest] {
            let page = run_query(&store.ledger, Some(&index), &question(terms, order, 50)).unwrap();
            assert!(page.read <= most, "{terms}: {} read", page.read);
            assert_eq!((page.known, page.size), (5_000, 5_000));
        }
    }
}

#[test]
fn pages_of_a_long_log_do_not_shift_while_it_grows() {
    let store = Store::of(100_000);
    let index = store.index();
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    for (terms, order) in [
        ("principal:ann verdict:deny", EventOrder::Newest),
        ("weekly report", EventOrder::Newest),
        ("since:5d", EventOrder::Newest),
    ] {
        let wanted = naive(&all(&store.ledger), &filter(terms), order);
        assert!(wanted.len() > 100, "{terms}: {}", wanted.len());
        let mut grown = store.ledger.extent().unwrap().head.size;
        let mut pages = 0;
        let asked = question(terms, order, wanted.len() / 9 + 1);
        let found = paged(&store.ledger, Some(&index), asked, |_| {
            made_up::fill(&store.ledger, grown..grown + 40);
            grown += 40;
            pages += 1;
            if pages % 2 == 0 {
                index.step(&store.ledger).unwrap();
            }
        });
        assert_eq!(found, wanted, "{terms}");
        assert!(pages >= 9, "{pages}");
    }
    // In the order of the log, what came in the meantime follows at the end, once.
    let terms = "principal:ann verdict:deny";
    let found =
        paged(&store.ledger, Some(&index), question(terms, EventOrder::Oldest, 900), |_| {});
    assert_eq!(found, naive(&all(&store.ledger), &filter(terms), EventOrder::Oldest));
}

#[test]
fn two_processes_worth_of_builders_and_readers_agree() {
    let store = Store::of(3_000);
    let path = store.path();
    let keeper = IndexUpdater::start(&path).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let reader = Reader::open(&path).unwrap();
                let index = Index::open(&path, &reader).unwrap();
                let wanted = naive(&all(&reader), &filter("verdict:deny"), EventOrder::Oldest);
                for _ in 0..20 {
                    let page = run_query(
                        &reader,
                        Some(&index),
                        &question("verdict:deny", EventOrder::Oldest, 30),
                    );
                    let first: Vec<u64> = page.unwrap().events.iter().map(|f| f.seq).collect();
                    assert_eq!(first, wanted[..30]);
                    match index.step(&reader) {
                        Ok(_) => {}
                        Err(error) => assert_eq!(error.code(), "index.busy", "{error}"),
                    }
                }
            });
        }
    });
    drop(keeper);
    let index = store.index();
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    assert_eq!(index.check(&store.ledger, &mut |_, _| {}).unwrap().wrong, 0);
}

#[test]
fn a_keeper_takes_in_what_is_appended() {
    let store = Store::of(10);
    let _keeper = IndexUpdater::start(store.path()).unwrap();
    made_up::fill(&store.ledger, 10..20);
    until(|| {
        let index = Index::find(store.path(), &store.ledger)?;
        (index.status(&store.ledger).ok()?.position == 20).then_some(())
    });
    // It is made anew when somebody removes it.
    fs::remove_file(Index::path_of(store.path())).unwrap();
    until(|| {
        let index = Index::find(store.path(), &store.ledger)?;
        (index.status(&store.ledger).ok()?.position == 20).then_some(())
    });
}

/// Waits for another thread.
fn until(mut done: impl FnMut() -> Option<()>) {
    for _ in 0..600 {
        if done().is_some() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("it never came");
}

fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o077 == 0
}

#[test]
fn the_file_is_for_its_owner_alone() {
    let store = Store::of(3);
    let index = store.index();
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    assert!(is_private(&Index::path_of(store.path())));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any log, any index that stands anywhere in it, any questions joined.
    #[test]
    fn any_question_is_answered_alike(
        events in proptest::collection::vec(made_up::any(), 1..160),
        taken in 0usize..200,
        left in proptest::sample::select(ASKED),
        // Few terms, so that most answers have several pages.
        right in proptest::option::weighted(0.3, proptest::sample::select(ASKED)),
        limit in 1usize..6,
        newest in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let ledger = open(&path);
        let taken = taken.min(events.len());
        made_up::append(&ledger, &events[..taken]);
        let index = Index::open(&path, &ledger).unwrap();
        index.catch_up(&ledger, &mut |_, _| {}).unwrap();
        made_up::append(&ledger, &events[taken..]);
        let terms = format!("{left} {}", right.unwrap_or_default());
        let order = if newest { EventOrder::Newest } else { EventOrder::Oldest };
        let wanted = naive(&all(&ledger), &filter(&terms), order);
        let asked = question(&terms, order, limit);
        prop_assert_eq!(&paged(&ledger, Some(&index), asked.clone(), |_| {}), &wanted);
        prop_assert_eq!(&paged(&ledger, None, asked, |_| {}), &wanted);
    }
}

#[test]
fn each_field_finds_something_in_the_made_up_log() {
    let store = Store::of(EVERY * 4);
    let events = all(&store.ledger);
    for terms in ASKED.iter().filter(|terms| **terms != "nowhere") {
        assert!(!naive(&events, &filter(terms), EventOrder::Oldest).is_empty(), "{terms}");
    }
}

fn prune(ledger: &SqliteLedger, gone: std::ops::Range<u64>) {
    let gone: Vec<u64> = gone.collect();
    let note = PruningNote::new(gone.clone(), PruneReason::Age, "operator").unwrap();
    let event = NewEvent {
        kind: EventKind::Pruned,
        at: Timestamp::from_micros(AT),
        run: None,
        call: None,
        payload: note.to_bytes().unwrap().into(),
    };
    let batch = Batch { prune: gone, ..Batch::new(Durability::Disk).with_event(event) };
    ledger.commit(batch).wait().unwrap();
}

#[test]
fn what_is_pruned_leaves_the_index_and_its_free_pages() {
    let store = Store::of(40);
    let secret = |n: u64| NewEvent {
        kind: EventKind::HandleResolved,
        at: Timestamp::from_micros(AT),
        run: None,
        call: None,
        payload: format!("{{\"handle\":\"hdl_zqx{n}zqx\",\"note\":\"qwzk{n:05}vyjx\"}}")
            .into_bytes()
            .into(),
    };
    let secrets: Vec<NewEvent> = (0..1_500).map(secret).collect();
    made_up::append(&store.ledger, &secrets);
    let index = store.index();
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    let held = |word: &str| {
        let bytes = fs::read(Index::path_of(store.path())).unwrap();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    };
    assert!(held("qwzk"), "the index holds words as they are");

    // A few among many: what is removed must not wait until more is. Words share their beginnings in
    // the file, so the rest of each is looked for.
    let rest = |word: &'static str| word.split_at(2).1;
    let few = ["jabberwock", "mimsyborogove", "vorpalsnicker"];
    let named = few.map(|word| NewEvent {
        payload: format!("{{\"note\":\"{word}\"}}").into_bytes().into(),
        ..secret(0)
    });
    made_up::append(&store.ledger, &named);
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    assert!(few.iter().all(|word| held(rest(word))));
    prune(&store.ledger, 1_540..1_543);
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    assert!(!few.iter().any(|word| held(rest(word))), "a few are gone too");
    assert!(held("qwzk"), "the others are not");

    prune(&store.ledger, 40..800);
    prune(&store.ledger, 800..1_540);
    store.agrees(Some(&index), "not noticed yet");
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    assert!(!held("qwzk") && !held("zqx"), "nothing is left of it");
    store.agrees(Some(&index), "pruned");
    let page = run_query(
        &store.ledger,
        Some(&index),
        &question("event:handle.resolved", EventOrder::Newest, 9),
    );
    assert_eq!(page.unwrap().events[0].seq, 1_542, "its header stays");
    assert_eq!(index.check(&store.ledger, &mut |_, _| {}).unwrap().wrong, 0);
}
