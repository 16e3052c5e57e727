//! Runs of a set that its files do not hold as they are: with typing errors, with lessons, and
//! with what a tool needs.

use std::collections::{BTreeMap, BTreeSet};

use contextweaver::catalog::Catalog;
use contextweaver::filter::Filter;
use contextweaver::route::{Lessons, RouteRequest, Router};
use serde_json::{Map, Value, json};
use weaver_benches::{Failure, Numbers};
use weaver_types::{CapabilityId, Label, Timestamp};

use crate::corpus::{Query, Set};
use crate::evaluate::{names, shown};
use crate::score::{DEPTH, Score};

/// How many accepted requests a tool learns from.
const LESSONS: usize = 5;
/// Shortest word that gets a typing error, in letters.
const MIN_LETTERS: usize = 5;

/// The figures of each run that the set allows.
pub(crate) fn runs(set: &Set, router: &Router, table: bool) -> Result<Value, Failure> {
    let mut out = Map::new();
    out.insert("table".to_owned(), Value::from(table));
    out.insert("typing_errors".to_owned(), typing_errors(set, router));
    if !set.examples.is_empty() {
        out.insert("lessons".to_owned(), lessons(set, router)?);
    }
    if set.queries.iter().any(|query| query.gold_all.len() > query.gold.len()) {
        out.insert("chained".to_owned(), chained(set, table)?);
    }
    Ok(Value::Object(out))
}

/// Every request with one typing error.
fn typing_errors(set: &Set, router: &Router) -> Value {
    let mut score = Score::default();
    for query in &set.queries {
        let hits = router.route(&misspelt(&query.text), DEPTH);
        score.add(&names(router, &hits), &query.gold, &query.gold_all);
    }
    json!(quality(score))
}

/// A text with an error in one of its words: a letter lost, doubled, swapped or replaced, behind
/// the first. The same text gets the same error.
fn misspelt(text: &str) -> String {
    let seed = text.bytes().fold(0_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
    let mut numbers = Numbers::new(seed);
    let words: Vec<&str> = text.split(' ').collect();
    let plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let says = |word: &&str| !weaver_text::stop::is_stop_word(word);
    let long = |word: &&str| word.len() >= MIN_LETTERS && plain(word) && says(word);
    let places: Vec<usize> = (0..words.len()).filter(|at| long(&words[*at])).collect();
    if places.is_empty() {
        return text.to_owned();
    }
    let place = *numbers.pick(&places);
    let mut letters: Vec<u8> = words[place].bytes().collect();
    let at = 1 + numbers.below(letters.len() - 2);
    match numbers.below(4) {
        0 => drop(letters.remove(at)),
        1 => letters.insert(at, letters[at]),
        2 => letters.swap(at, at + 1),
        _ => letters[at] = b'a' + (letters[at] - b'a' + 7) % 26,
    }
    let wrong = String::from_utf8_lossy(&letters).into_owned();
    let word =
        |(at, word): (usize, &&str)| if at == place { wrong.clone() } else { (*word).to_owned() };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// After this number of accepted requests for each tool.
fn lessons(set: &Set, router: &Router) -> Result<Value, Failure> {
    let (mut lessons, now) = (Lessons::default(), Timestamp::from_micros(0));
    for item in &set.items {
        for text in set.examples.get(item.source_id()).into_iter().flatten().take(LESSONS) {
            // A text without words teaches nothing.
            let _ = lessons.accept(text, &item.id, &Label::clean(), now);
        }
    }
    let mut score = Score::default();
    for query in &set.queries {
        let request = RouteRequest::new(&query.text, DEPTH).with_lessons(&lessons, now);
        let hits = router.answer(&request).hits;
        score.add(&names(router, &hits), &query.gold, &query.gold_all);
    }
    Ok(json!(quality(score)))
}

/// With what each tool is said to need, and without: the requests name the tool alone.
fn chained(set: &Set, table: bool) -> Result<Value, Failure> {
    let needs = needs(set);
    let mut catalog = Catalog::new();
    for item in &set.items {
        let mut item = item.clone();
        item.depends_on.extend(needs.get(&item.id).into_iter().flatten().cloned());
        catalog.insert(item)?;
    }
    let mut router = Router::new(catalog)?;
    if table {
        router = router.with_table(contextweaver::route::TokenTable::built_in()?);
    }
    let run = |chained: bool| {
        let filter = Filter { chained, ..Filter::default() };
        let mut score = Score::default();
        for query in &set.queries {
            let request = RouteRequest::new(&query.text, DEPTH).with_filter(&filter);
            let hits = router.answer(&request).hits;
            score.add(&names(&router, &hits), &query.gold, &query.gold_all);
        }
        quality(score)
    };
    Ok(json!({ "without": run(false), "with": run(true) }))
}

/// What every request for a tool alone needs before it.
fn needs(set: &Set) -> BTreeMap<CapabilityId, BTreeSet<CapabilityId>> {
    let ids: BTreeMap<&str, &CapabilityId> =
        set.items.iter().map(|item| (item.source_id(), &item.id)).collect();
    let mut needs: BTreeMap<CapabilityId, BTreeSet<CapabilityId>> = BTreeMap::new();
    for Query { gold, gold_all, .. } in &set.queries {
        let [tool] = gold.as_slice() else { continue };
        let Some(tool) = ids.get(tool.as_str()) else { continue };
        let before = gold_all.iter().filter(|id| !gold.contains(id));
        let before = before.filter_map(|id| ids.get(id.as_str()).map(|id| (*id).clone()));
        needs.entry((*tool).clone()).or_default().extend(before);
    }
    needs
}

/// The figures without times.
fn quality(score: Score) -> BTreeMap<&'static str, f64> {
    let mut figures = shown(&score.figures());
    figures.retain(|name, _| !name.ends_with("_us"));
    figures
}
