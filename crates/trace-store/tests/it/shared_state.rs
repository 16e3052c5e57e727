//! Shared state under contention: reservations, single uses and holds are linearisable.
//!
//! In small: every interleaving of a few clients' steps, with deaths in between, against the real
//! ledger. In large: 64 threads, and processes that are killed, against one file; every call and
//! answer is noted, and the history is compared with a plain sequential model. Each batch that was
//! taken stands in the log, so the log gives the one order in which the history must make sense:
//! what was answered before another call began must stand before it, each batch must have been
//! possible in its place, and each refusal and reading must be right at some moment between its
//! call and its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use weaver_types::ledger::{
    Batch, CounterChange, Durability, Ledger, LedgerError, RecordWrite, VersionGuard,
};

use crate::support::{event, key, memory, open};

const PLACE: &str = "WEAVER_TEST_SHARED_LEDGER";
const NOTES: &str = "WEAVER_TEST_SHARED_NOTES";
/// Of a budget, this much is there.
const BUDGET: i64 = 40;

// ---- The sequential model: what an operation does, said once more and plainly.

type Store = BTreeMap<String, (u64, String)>;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq)]
enum Op {
    /// Uses a token, reserves of the budget, and moves a hold from the version it was read at.
    Take { token: Option<String>, reserve: i64, hold: Option<(String, Option<u64>)> },
    /// Reads a record.
    Read(String),
}

/// What it is told.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    Taken,
    Refused,
    Read(Option<(u64, String)>),
}

/// What the model says of an operation in a state, and the state after it.
fn model(store: &Store, op: &Op) -> (Answer, Option<Store>) {
    let (token, reserve, hold) = match op {
        Op::Take { token, reserve, hold } => (token, reserve, hold),
        Op::Read(id) => return (Answer::Read(store.get(id).cloned()), None),
    };
    let version = |id: &String| store.get(id).map(|(version, _)| *version);
    let used = token.as_ref().is_some_and(|token| store.contains_key(token));
    let moved = hold.as_ref().is_some_and(|(id, seen)| version(id) != *seen);
    let held: i64 = store.get("budget").map_or(0, |(_, value)| value.parse().unwrap());
    if used || moved || !(0..=BUDGET).contains(&(held + reserve)) {
        return (Answer::Refused, None);
    }
    let mut next = store.clone();
    let mut set = |id: &String, value: String| {
        let version = store.get(id).map_or(0, |(version, _)| *version);
        next.insert(id.clone(), (version + 1, value));
    };
    if let Some(token) = token {
        set(token, "{}".to_owned());
    }
    if *reserve != 0 {
        set(&"budget".to_owned(), (held + reserve).to_string());
    }
    if let Some((id, _)) = hold {
        set(id, "held".to_owned());
    }
    (Answer::Taken, Some(next))
}

// ---- The same against a ledger.

fn batch(name: &str, op: &Op) -> Batch {
    let Op::Take { token, reserve, hold } = op else { panic!("a reading is no batch") };
    let told = event(1_000, json!({ "op": name }).to_string());
    let mut batch = Batch::new(Durability::Os).with_event(told);
    if let Some(token) = token {
        batch = batch.create(key(token), b"{}".to_vec(), None);
    }
    if *reserve != 0 {
        batch.add.push(CounterChange { key: key("budget"), delta: *reserve, min: 0, max: BUDGET });
    }
    if let Some((id, version)) = hold {
        batch.expect.push(VersionGuard { key: key(id), version: *version });
        batch.put.push(RecordWrite { key: key(id), value: b"held".to_vec(), expires_at: None });
    }
    batch
}

fn ask(ledger: &dyn Ledger, name: &str, op: &Op) -> Answer {
    if let Op::Read(id) = op {
        let record = ledger.read(&key(id)).unwrap();
        return Answer::Read(record.map(|r| (r.version, String::from_utf8(r.value).unwrap())));
    }
    match ledger.commit(batch(name, op)).wait() {
        Ok(_) => Answer::Taken,
        Err(LedgerError::Conflict { .. } | LedgerError::OutOfBounds { .. }) => Answer::Refused,
        Err(other) => panic!("{other}"),
    }
}

// ---- The history and its check.

/// An operation with the moments of its call and its answer; without one it may have happened or
/// not, when its process died.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    op: Op,
    called: u64,
    answered: Option<(u64, Answer)>,
}

/// Checks a history against the order of the log. `deaths` are the moments after which nothing
/// that was called before can still happen.
fn check(history: &[Entry], log: &[String], deaths: &[u64]) -> Result<(), String> {
    let places: BTreeMap<&str, usize> =
        log.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    if places.len() != log.len() {
        return Err("an operation stands in the log twice".to_owned());
    }
    let entries: BTreeMap<&str, &Entry> = history.iter().map(|e| (e.name.as_str(), e)).collect();
    // The states between the operations of the log, each possible in its place.
    let mut states = vec![Store::new()];
    for name in log {
        let entry = entries.get(name.as_str()).ok_or_else(|| format!("{name}: nobody asked"))?;
        let (answer, next) = model(states.last().unwrap(), &entry.op);
        match (answer, next) {
            (Answer::Taken, Some(next)) => states.push(next),
            (other, _) => return Err(format!("{name} was taken, the model says {other:?}")),
        }
    }
    // How far the log was at each moment, at least and at most.
    let last_moment = |entry: &Entry| {
        let death = deaths.iter().copied().find(|death| *death >= entry.called);
        entry.answered.as_ref().map(|(at, _)| *at).or(death).unwrap_or(u64::MAX)
    };
    let mut ended: Vec<(u64, usize)> = Vec::new();
    let mut begun: Vec<(u64, usize)> = Vec::new();
    for entry in history {
        if let Some(place) = places.get(entry.name.as_str()) {
            ended.push((last_moment(entry), *place));
            begun.push((entry.called, *place));
        }
    }
    ended.sort_unstable();
    begun.sort_unstable();
    // The last place that was surely reached by a moment, and the first that surely was not.
    let mut reached = Vec::new();
    for (moment, place) in &ended {
        let before = reached.last().map_or(0, |(_, most): &(u64, usize)| *most);
        reached.push((*moment, before.max(place + 1)));
    }
    let mut ahead: Vec<(u64, usize)> = Vec::new();
    for (moment, place) in begun.iter().rev() {
        let after = ahead.last().map_or(log.len(), |(_, least)| *least);
        ahead.push((*moment, after.min(*place)));
    }
    ahead.reverse();
    let least = |called: u64| match reached.partition_point(|(moment, _)| *moment < called) {
        0 => 0,
        index => reached[index - 1].1,
    };
    let most = |answered: u64| {
        let index = ahead.partition_point(|(moment, _)| *moment <= answered);
        ahead.get(index).map_or(log.len(), |(_, place)| *place)
    };
    for entry in history {
        let window = least(entry.called)..=most(last_moment(entry));
        let place = places.get(entry.name.as_str());
        let fits = match (&entry.answered, place) {
            (Some((_, Answer::Taken)) | None, Some(place)) => {
                window.contains(place) && window.contains(&(place + 1))
            }
            (Some((_, Answer::Taken)), None) => return Err(format!("{} is lost", entry.name)),
            (Some(_), Some(_)) => return Err(format!("{} was refused and applied", entry.name)),
            (None, None) => true,
            (Some((_, answer)), None) => window
                .clone()
                .any(|at| states.get(at).is_some_and(|s| model(s, &entry.op).0 == *answer)),
        };
        if !fits {
            return Err(format!("{entry:?} fits nowhere in {window:?}"));
        }
    }
    Ok(())
}

fn log_of(ledger: &dyn Ledger) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let page = ledger.events(names.len() as u64, 1_000).unwrap();
        if page.is_empty() {
            return names;
        }
        for event in page {
            let said: Value = serde_json::from_slice(&event.payload.unwrap()).unwrap();
            names.push(said["op"].as_str().unwrap().to_owned());
        }
    }
}

#[test]
fn the_check_finds_histories_that_no_order_explains() {
    let take = |token: &str| Op::Take { token: Some(token.to_owned()), reserve: 1, hold: None };
    let entry = |name: &str, op: Op, called, answered, answer| Entry {
        name: name.to_owned(),
        op,
        called,
        answered: Some((answered, answer)),
    };
    let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    let one = |value: &str| Answer::Read(Some((1, value.to_owned())));
    let read = || Op::Read("budget".to_owned());
    let a = entry("a", take("t"), 1, 4, Answer::Taken);
    let b = entry("b", take("u"), 2, 6, Answer::Taken);
    let good = [a.clone(), b.clone(), entry("c", take("t"), 3, 7, Answer::Refused)];
    assert_eq!(check(&good, &names(&["a", "b"]), &[]), Ok(()));
    assert_eq!(check(&good, &names(&["b", "a"]), &[]), Ok(()));
    for (history, log) in [
        // Lost, made up, twice, refused and applied.
        (vec![a.clone()], vec![]),
        (vec![], vec!["a"]),
        (vec![a.clone()], vec!["a", "a"]),
        (vec![entry("a", take("t"), 1, 2, Answer::Refused)], vec!["a"]),
        // A token used twice.
        (vec![a.clone(), entry("b", take("t"), 5, 6, Answer::Taken)], vec!["a", "b"]),
        // Against time.
        (vec![a.clone(), entry("b", take("u"), 5, 6, Answer::Taken)], vec!["b", "a"]),
        // Refused for no reason, or too early.
        (vec![entry("a", take("t"), 1, 2, Answer::Refused)], vec![]),
        (
            vec![
                entry("c", take("t"), 1, 2, Answer::Refused),
                entry("a", take("t"), 3, 4, Answer::Taken),
            ],
            vec!["a"],
        ),
        // Reading the past, and the future.
        (vec![a.clone(), entry("r", read(), 5, 6, Answer::Read(None))], vec!["a"]),
        (
            vec![entry("r", read(), 1, 2, one("1")), entry("a", take("t"), 3, 4, Answer::Taken)],
            vec!["a"],
        ),
    ] {
        assert!(check(&history, &names(&log), &[]).is_err(), "{history:?} {log:?}");
    }
}

// ---- In small: every interleaving.

/// A client: its steps, one atomic step of the ledger each.
#[derive(Clone)]
struct Client {
    name: usize,
    step: usize,
    seen: Option<u64>,
    reserved: bool,
}

impl Client {
    /// Uses the one token and reserves 25 of 40; reads the hold; moves it; gives the 25 back.
    /// False when that was its last step.
    fn advance(&mut self, ledger: &dyn Ledger, taken: &mut Vec<(usize, usize)>) -> bool {
        let name = format!("{}-{}", self.name, self.step);
        let op = match self.step {
            0 => Op::Take { token: Some(format!("t{}", self.name / 2)), reserve: 25, hold: None },
            1 => Op::Read("hold".to_owned()),
            2 => {
                let hold = Some(("hold".to_owned(), self.seen));
                Op::Take { token: None, reserve: 0, hold }
            }
            _ => Op::Take { token: None, reserve: -25, hold: None },
        };
        match ask(ledger, &name, &op) {
            Answer::Read(found) => self.seen = found.map(|(version, _)| version),
            Answer::Taken => {
                taken.push((self.name, self.step));
                self.reserved |= self.step == 0;
            }
            Answer::Refused => {}
        }
        self.step += 1;
        self.step < if self.reserved { 4 } else { 3 }
    }
}

/// Runs one schedule; gives how many clients could take each next step, for the next schedule.
fn run(schedule: &[usize]) -> Vec<usize> {
    let ledger = memory();
    let mut clients: Vec<Client> =
        (0..3).map(|name| Client { name, step: 0, seen: None, reserved: false }).collect();
    let (mut taken, mut choices, mut at) = (Vec::new(), Vec::new(), 0);
    let mut alive: Vec<usize> = vec![0, 1, 2];
    while !alive.is_empty() {
        // Each living client may take its next step; the first may die instead.
        let mortal = alive.first() == Some(&0);
        let choice = schedule.get(at).copied().unwrap_or(0);
        choices.push(alive.len() + usize::from(mortal));
        at += 1;
        if choice >= alive.len() {
            alive.remove(0);
            continue;
        }
        let client = alive[choice];
        if !clients[client].advance(&ledger, &mut taken) {
            alive.retain(|other| *other != client);
        }
        sound(&ledger, &taken);
    }
    choices
}

/// What must hold after every step of every schedule.
fn sound(ledger: &dyn Ledger, taken: &[(usize, usize)]) {
    let firsts: Vec<usize> = taken.iter().filter(|(_, step)| *step == 0).map(|(n, _)| *n).collect();
    let held: i64 = taken
        .iter()
        .map(|(_, step)| match step {
            0 => 25,
            3 => -25,
            _ => 0,
        })
        .sum();
    let stored = ledger.read(&key("budget")).unwrap();
    let stored: i64 = stored.map_or(0, |r| String::from_utf8(r.value).unwrap().parse().unwrap());
    assert_eq!(stored, held, "a reservation was lost or made up");
    assert!((0..=BUDGET).contains(&held), "the budget is overspent: {taken:?}");
    let tokens: BTreeSet<usize> = firsts.iter().map(|name| name / 2).collect();
    assert_eq!(tokens.len(), firsts.len(), "a token was used twice: {taken:?}");
    let moves = taken.iter().filter(|(_, step)| *step == 2).count() as u64;
    let hold = ledger.read(&key("hold")).unwrap().map_or(0, |record| record.version);
    assert_eq!(hold, moves, "two clients moved a hold from the same version: {taken:?}");
    assert_eq!(ledger.head().unwrap().size, taken.len() as u64, "the log and the state differ");
}

#[test]
fn in_every_interleaving_of_three_clients_and_a_death_the_state_is_sound() {
    let mut schedule: Vec<usize> = Vec::new();
    let mut runs = 0_u64;
    loop {
        let choices = run(&schedule);
        runs += 1;
        // The next schedule in order: the last choice that can grow, grows.
        schedule.resize(choices.len(), 0);
        while let Some(last) = schedule.pop() {
            if last + 1 < choices[schedule.len()] {
                schedule.push(last + 1);
                break;
            }
        }
        if schedule.is_empty() {
            break;
        }
    }
    assert!(runs > 10_000, "{runs} schedules");
}

// ---- In large: 64 threads, restarts and kills.

/// A source of choices that needs no crate.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Notes a call, or an answer.
type Note<'n> = &'n dyn Fn(&str, Option<&Op>, Option<&Answer>);

/// One thread: asks until it is told to stop, and notes calls and answers through `note`.
fn client(ledger: &dyn Ledger, (round, thread): (u64, u64), count: u64, note: Note<'_>) {
    let mut dice = Dice(round * 1_000 + thread + 1);
    let (mut mine, mut seen) = (0, BTreeMap::new());
    for n in 0..count {
        let name = format!("{round}-{thread}-{n}");
        let hold = format!("hold-{}", dice.roll(3));
        let op = match dice.roll(5) {
            0 => Op::Read("budget".to_owned()),
            1 => Op::Read(hold.clone()),
            2 if mine > 0 => Op::Take { token: None, reserve: -mine, hold: None },
            3 => {
                let known = seen.get(&hold).copied().flatten();
                Op::Take { token: None, reserve: 0, hold: Some((hold.clone(), known)) }
            }
            _ => {
                let token = format!("token-{}", dice.roll(400));
                let reserve = i64::try_from(dice.roll(4)).unwrap();
                Op::Take { token: Some(token), reserve, hold: None }
            }
        };
        note(&name, Some(&op), None);
        let answer = ask(ledger, &name, &op);
        note(&name, None, Some(&answer));
        match (&op, &answer) {
            (Op::Take { reserve, .. }, Answer::Taken) => mine += reserve,
            (Op::Read(id), Answer::Read(found)) if id.starts_with("hold") => {
                seen.insert(id.clone(), found.as_ref().map(|(version, _)| *version));
            }
            _ => {}
        }
    }
}

#[test]
fn what_64_threads_do_to_one_ledger_is_linearisable_and_across_reopenings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let moment = AtomicU64::new(1);
    let history: Mutex<BTreeMap<String, Entry>> = Mutex::new(BTreeMap::new());
    let note = |name: &str, op: Option<&Op>, answer: Option<&Answer>| {
        let mut history = history.lock().unwrap();
        let now = moment.fetch_add(1, Ordering::SeqCst);
        if let Some(op) = op {
            let (name, op) = (name.to_owned(), op.clone());
            history.insert(name.clone(), Entry { name, op, called: now, answered: None });
        }
        if let Some(answer) = answer {
            history.get_mut(name).unwrap().answered = Some((now, answer.clone()));
        }
    };
    for round in 0..3 {
        let ledger = open(&path);
        std::thread::scope(|scope| {
            for thread in 0..64 {
                let (ledger, note) = (&ledger, &note);
                scope.spawn(move || client(ledger, (round, thread), 60, note));
            }
        });
    }
    let log = log_of(&open(&path));
    let history: Vec<Entry> = history.into_inner().unwrap().into_values().collect();
    assert_eq!(history.len(), 3 * 64 * 60);
    let taken =
        |answer| history.iter().filter(|e| e.answered.as_ref().unwrap().1 == answer).count();
    assert!(taken(Answer::Taken) > 500 && taken(Answer::Refused) > 500, "too little contention");
    check(&history, &log, &[]).unwrap();
}

/// What the child does: 16 threads ask for ever. Calls and answers are noted in a file, each in
/// one write, so that what was noted survives the kill.
#[test]
fn child() {
    let (Ok(path), Ok(notes)) = (std::env::var(PLACE), std::env::var(NOTES)) else { return };
    let ledger = open(Path::new(&path));
    let round = ledger.head().unwrap().size;
    let notes = std::fs::File::options().append(true).create(true).open(notes).unwrap();
    let notes = Mutex::new(notes);
    let note = |name: &str, op: Option<&Op>, answer: Option<&Answer>| {
        let op = op.map(|op| match op {
            Op::Take { token, reserve, hold } => json!({"t": token, "r": reserve, "h": hold}),
            Op::Read(id) => json!(id),
        });
        let answer = answer.map(|answer| match answer {
            Answer::Taken => json!(true),
            Answer::Refused => json!(false),
            Answer::Read(found) => json!([found]),
        });
        let line = format!("{}\n", json!([name, op, answer]));
        notes.lock().unwrap().write_all(line.as_bytes()).unwrap();
    };
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (ledger, note) = (&ledger, &note);
            scope.spawn(move || client(ledger, (round, thread), u64::MAX, note));
        }
    });
}

/// Takes the notes of one process into the history.
fn take_in(text: &str, moment: &mut u64, history: &mut BTreeMap<String, Entry>) {
    for line in text.lines() {
        *moment += 1;
        let Ok(said) = serde_json::from_str::<(String, Value, Value)>(line) else { continue };
        let (name, op, answer) = said;
        if !op.is_null() {
            let op = match op.as_str() {
                Some(id) => Op::Read(id.to_owned()),
                None => Op::Take {
                    token: serde_json::from_value(op["t"].clone()).unwrap(),
                    reserve: op["r"].as_i64().unwrap(),
                    hold: serde_json::from_value(op["h"].clone()).unwrap(),
                },
            };
            let entry = Entry { name: name.clone(), op, called: *moment, answered: None };
            history.insert(name, entry);
        } else {
            let answer = match answer {
                Value::Bool(true) => Answer::Taken,
                Value::Bool(false) => Answer::Refused,
                found => Answer::Read(serde_json::from_value(found[0].clone()).unwrap()),
            };
            history.get_mut(&name).unwrap().answered = Some((*moment, answer));
        }
    }
}

#[test]
fn what_killed_processes_did_is_linearisable_with_those_after_them() {
    let folder = tempfile::tempdir().unwrap();
    let (path, notes) = (folder.path().join("ledger.db"), folder.path().join("notes"));
    let (mut history, mut moment, mut deaths) = (BTreeMap::new(), 0, Vec::new());
    let mut seen = 0;
    for round in 1..=5_usize {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["shared_state::child", "--exact", "--nocapture"])
            .env(PLACE, &path)
            .env(NOTES, &notes)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let enough = AtomicBool::new(false);
        while !enough.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
            let text = std::fs::read_to_string(&notes).unwrap_or_default();
            enough.store(text.len() > seen + round * 20_000, Ordering::Relaxed);
            assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let text = std::fs::read_to_string(&notes).unwrap();
        take_in(text.get(seen..).unwrap(), &mut moment, &mut history);
        // A torn last line is of a process that is dead: the next one begins on its own line.
        std::fs::File::options().append(true).open(&notes).unwrap().write_all(b"\n").unwrap();
        seen = text.len() + 1;
        moment += 1;
        deaths.push(moment);
    }
    let log = log_of(&open(&path));
    let history: Vec<Entry> = history.into_values().collect();
    assert!(history.iter().any(|entry| entry.answered.is_none()), "nobody was interrupted");
    check(&history, &log, &deaths).unwrap();
}
