//! Makes a failing case smaller: drops what does not matter while both still differ.

use toml::{Table, Value};
use weaver_types::{Constraints, SafetyMode};

use super::case::{Case, Difference};
use super::request::Asked;

/// A key or an index on the way to a value.
#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(usize),
}

fn paths(value: &Value, here: &[Step], out: &mut Vec<Vec<Step>>) {
    let mut below = |step: Step, child: &Value| {
        let mut path = here.to_vec();
        path.push(step);
        out.push(path.clone());
        paths(child, &path, out);
    };
    match value {
        Value::Table(table) => {
            for (key, child) in table {
                below(Step::Key(key.clone()), child);
            }
        }
        Value::Array(list) => {
            for (at, child) in list.iter().enumerate() {
                below(Step::Index(at), child);
            }
        }
        _ => {}
    }
}

/// The table without the value at this place.
fn without(table: &Table, path: &[Step]) -> Option<Table> {
    let (last, way) = path.split_last()?;
    let mut whole = Value::Table(table.clone());
    let mut here = &mut whole;
    for step in way {
        here = match step {
            Step::Key(key) => here.get_mut(key)?,
            Step::Index(at) => here.get_mut(*at)?,
        };
    }
    match (last, here) {
        (Step::Key(key), Value::Table(table)) => drop(table.remove(key)),
        (Step::Index(at), Value::Array(list)) if *at < list.len() => drop(list.remove(*at)),
        _ => return None,
    }
    match whole {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

fn simpler_documents(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    for of_policy in [true, false] {
        let table = if of_policy { &case.documents.policy } else { &case.documents.contracts };
        let mut all = Vec::new();
        paths(&Value::Table(table.clone()), &[], &mut all);
        for smaller in all.iter().filter_map(|path| without(table, path)) {
            let mut next = case.clone();
            *(if of_policy { &mut next.documents.policy } else { &mut next.documents.contracts }) =
                smaller;
            out.push(next);
        }
    }
    out
}

type Change = fn(&mut Asked);

const CHANGES: &[Change] = &[
    |asked| asked.arguments = None,
    |asked| asked.origins = None,
    |asked| asked.mode = SafetyMode::Normal,
    |asked| asked.label = weaver_types::Label::clean(),
    |asked| asked.human = true,
    |asked| asked.run = None,
    |asked| asked.signals.clear(),
    |asked| asked.signals.truncate(1),
    |asked| asked.a_source_failed = false,
    |asked| asked.released = false,
    |asked| asked.principal.roles.clear(),
    |asked| asked.principal.permissions.clear(),
    |asked| asked.principal.attributes.clear(),
    |asked| asked.principal.agent = None,
    |asked| asked.request.intent = None,
    |asked| asked.request.scope.clear(),
    |asked| asked.request.justification = None,
    |asked| asked.request.constraints = Constraints::default(),
    |asked| {
        asked.principal.roles.pop_first();
    },
    |asked| {
        if let Some(serde_json::Value::Object(map)) = &mut asked.arguments {
            let first = map.keys().next().cloned();
            first.and_then(|key| map.remove(&key));
        }
    },
    |asked| {
        if let Some(serde_json::Value::Object(map)) = &mut asked.arguments {
            let last = map.keys().next_back().cloned();
            last.and_then(|key| map.remove(&key));
        }
    },
];

fn simpler_requests(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    for at in 0..case.asked.len() {
        if case.asked.len() > 1 {
            let mut next = case.clone();
            next.asked.remove(at);
            out.push(next);
        }
        for change in CHANGES {
            let mut next = case.clone();
            change(&mut next.asked[at]);
            if format!("{:?}", next.asked[at]) != format!("{:?}", case.asked[at]) {
                out.push(next);
            }
        }
    }
    out
}

/// Whether a case still fails in the way in which the first one did.
fn same_sort(first: &Difference, case: &Case) -> bool {
    match (first, case.run(|_| {})) {
        (Difference::Answering { .. }, Some(Difference::Answering { .. })) => true,
        (Difference::Loading { got: a, .. }, Some(Difference::Loading { got: b, .. })) => {
            let code = |text: &str| text.rsplit('[').next().map(str::to_owned);
            code(a) == code(&b) && b.lines().count() <= a.lines().count()
        }
        _ => false,
    }
}

/// The case without what does not matter.
pub(crate) fn shrink(mut case: Case, first: &Difference) -> Case {
    if let Difference::Answering { at, .. } = first {
        case.asked.truncate(at + 1);
        let mut alone = case.clone();
        alone.asked = case.asked.split_off(*at);
        case.asked.extend(alone.asked.iter().cloned());
        if same_sort(first, &alone) {
            case = alone;
        }
    } else {
        case.asked.clear();
    }
    loop {
        let next = simpler_documents(&case)
            .into_iter()
            .chain(simpler_requests(&case))
            .find(|next| is_well_formed(next) && same_sort(first, next));
        match next {
            Some(next) => case = next,
            None => return case,
        }
    }
}

/// The interpreter reads only what may be loaded, so nothing that must be there may be dropped.
fn is_well_formed(case: &Case) -> bool {
    super::case::load(&case.documents).is_ok()
        || case.asked.is_empty()
        || super::capability::is_refused(&case.documents.contracts)
}
