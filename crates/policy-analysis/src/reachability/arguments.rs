//! Synthesises arguments for which each condition has the truth value that an assignment requires.
//!
//! Generate and test: candidate values come from the conditions themselves (their literals, numbers
//! around their bounds, texts made of their prefixes and suffixes, lists of their lengths), and
//! each candidate is tested by evaluating the conditions. For a condition that only finitely many
//! values can meet, this is a decision procedure. For any other condition, finding nothing proves
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value};
use weaver_policy::{ArgumentPredicate, Truth};
use weaver_types::JsonPointer;

/// The maximum number of texts tried at one pointer.
const MAX_TEXTS: usize = 2_000;
/// The maximum length of a generated text or list.
const MAX_LENGTH: u32 = 10_000;

/// A condition on arguments with its required truth value.
#[derive(Debug, Clone, Copy)]
pub(super) struct PredicateOutcome<'p> {
    pub(super) predicate: &'p ArgumentPredicate,
    pub(super) truth: Truth,
}

impl PredicateOutcome<'_> {
    fn holds_for(&self, arguments: &Value) -> bool {
        self.predicate.evaluate(Some(arguments), None) == self.truth
    }

    /// Whether only values that the condition lists can meet it. All of them are tried.
    fn is_finite(&self) -> bool {
        let named = self.predicate.equals.is_some() || !self.predicate.one_of.is_empty();
        self.truth == Truth::Yes && (named || self.predicate.present == Some(false))
    }
}

/// The result of synthesising arguments.
pub(super) enum Synthesis {
    /// These arguments give every condition its truth value.
    Found(Value),
    /// No such arguments exist.
    Impossible,
    /// None were found, which is not a proof.
    NotFound,
}

/// Synthesises arguments for which each condition has its truth value.
pub(super) fn synthesize(outcomes: &[PredicateOutcome<'_>]) -> Synthesis {
    let mut places: BTreeMap<&str, Vec<PredicateOutcome<'_>>> = BTreeMap::new();
    for outcome in outcomes {
        places.entry(outcome.predicate.at.as_str()).or_default().push(*outcome);
    }
    let mut root = Value::Object(Map::new());
    for (place, outcomes) in &places {
        let found = candidate_values(outcomes).into_iter().find(|value| {
            let mut alone = Value::Object(Map::new());
            insert_at(&mut alone, place, value.clone());
            outcomes.iter().all(|outcome| outcome.holds_for(&alone))
        });
        match found {
            Some(value) => insert_at(&mut root, place, value),
            None if outcomes.iter().any(PredicateOutcome::is_finite) => {
                return Synthesis::Impossible;
            }
            None => return Synthesis::NotFound,
        }
    }
    // Values at different pointers can conflict, because one pointer may be below another.
    let together = outcomes.iter().all(|outcome| outcome.holds_for(&root));
    if together { Synthesis::Found(root) } else { Synthesis::NotFound }
}

/// Inserts a value at a pointer, creating objects on the way; `None` leaves it absent.
fn insert_at(root: &mut Value, place: &str, value: Option<Value>) {
    let Some(value) = value else { return };
    let mut at = root;
    for step in place.split('/').skip(1) {
        let name = JsonPointer::unescape_step(step);
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(members) = at else { return };
        at = members.entry(name).or_insert(Value::Null);
    }
    *at = value;
}

/// The candidate values, absence first.
fn candidate_values(outcomes: &[PredicateOutcome<'_>]) -> Vec<Option<Value>> {
    let mut out = vec![None];
    let all: Vec<_> = outcomes.iter().map(|outcome| outcome.predicate).collect();
    let literals = all.iter().flat_map(|one| one.equals.iter().chain(&one.one_of));
    out.extend(literals.cloned().map(Some));
    out.extend(numbers(&all).into_iter().map(|number| Some(Value::Number(number))));
    let lengths: BTreeSet<u32> = all
        .iter()
        .flat_map(|one| [one.min_length, one.max_length])
        .flatten()
        .flat_map(|length| [length.saturating_sub(1), length, length.saturating_add(1)])
        .filter(|length| *length <= MAX_LENGTH)
        .collect();
    out.extend(texts(&all, &lengths).into_iter().map(|text| Some(Value::String(text))));
    for length in lengths {
        let items = usize::try_from(length).unwrap_or(0);
        out.push(Some(Value::Array(vec![Value::Null; items])));
    }
    let patterns = all.iter().flat_map(|one| &one.any_path);
    let fitting = patterns.map(|pattern| pattern.as_str().replace('*', "x"));
    for path in all.iter().flat_map(|one| &one.paths_inside).cloned().chain(fitting) {
        out.push(Some(Value::String(path.clone())));
        out.push(Some(Value::from(Map::from_iter([("path".to_owned(), path.into())]))));
    }
    let plain = [Value::Null, true.into(), 0.into(), "x".into(), Value::Array(Vec::new())];
    out.extend(plain.into_iter().chain([Value::Object(Map::new())]).map(Some));
    out
}

fn numbers(all: &[&ArgumentPredicate]) -> Vec<Number> {
    let bounds: Vec<&Number> = all.iter().flat_map(|one| one.min.iter().chain(&one.max)).collect();
    let mut out: Vec<Number> = bounds.iter().copied().cloned().collect();
    for bound in &bounds {
        if let Some(whole) = bound.as_i64() {
            out.extend([whole.saturating_sub(1), whole.saturating_add(1)].map(Number::from));
        } else if let Some(decimal) = bound.as_f64() {
            out.extend([decimal - 1.0, decimal + 1.0].into_iter().filter_map(Number::from_f64));
        }
    }
    let decimals: Vec<f64> = bounds.iter().take(32).filter_map(|bound| bound.as_f64()).collect();
    for (n, a) in decimals.iter().enumerate() {
        let middles = decimals.iter().skip(n + 1).map(|b| a / 2.0 + b / 2.0);
        out.extend(middles.filter_map(Number::from_f64));
    }
    out
}

fn texts(all: &[&ArgumentPredicate], lengths: &BTreeSet<u32>) -> Vec<String> {
    let (mut heads, mut tails) = (BTreeSet::from([String::new()]), BTreeSet::from([String::new()]));
    let mut out = Vec::new();
    if all.iter().any(|one| one.harmless_sql.is_some() || one.reading_sql.is_some()) {
        out.extend(["select 1", "insert into t values (1)"].map(str::to_owned));
    }
    if all.iter().any(|one| one.reading_query.is_some()) {
        out.extend(["match (n) return n", "create (n)"].map(str::to_owned));
    }
    if all.iter().any(|one| one.plain_expression.is_some()) {
        out.extend(["1 + 1", "f('x')"].map(str::to_owned));
    }
    if all.iter().any(|one| one.reading_action.is_some() || one.holds_changes.is_some()) {
        out.extend(["list", "delete", "mutation { x }"].map(str::to_owned));
    }
    if all.iter().any(|one| one.holds_options.is_some()) {
        out.extend(["main", "--output"].map(str::to_owned));
    }
    for one in all {
        heads.extend(one.prefix.iter().cloned());
        tails.extend(one.suffix.iter().cloned());
        for pattern in one.glob.iter().chain(&one.glob_any_case) {
            let text = pattern.as_str();
            out.extend([text.replace('*', "x"), text.replace('*', "")]);
            if let (Some((head, _)), Some((_, tail))) =
                (text.split_once('*'), text.rsplit_once('*'))
            {
                heads.insert(head.to_owned());
                tails.insert(tail.to_owned());
            }
        }
        for root in &one.inside {
            out.push(root.clone());
            heads.insert(format!("{}/", root.trim_end_matches('/')));
        }
        for domain in &one.domains {
            let host = domain.strip_prefix("*.").map_or(domain.clone(), |rest| format!("x.{rest}"));
            heads.insert(format!("https://{host}/"));
            out.push(host);
        }
    }
    for head in &heads {
        for tail in &tails {
            if out.len() > MAX_TEXTS {
                return out;
            }
            out.extend([format!("{head}x{tail}"), format!("{head}{tail}")]);
            let fixed = head.chars().count() + tail.chars().count();
            for length in lengths.iter().filter_map(|length| usize::try_from(*length).ok()) {
                if let Some(missing) = length.checked_sub(fixed) {
                    out.push(format!("{head}{}{tail}", "x".repeat(missing)));
                }
            }
        }
    }
    out
}
