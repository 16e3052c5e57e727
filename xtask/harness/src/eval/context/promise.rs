//! Checks the guarantees of a compiled context against the log.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::log::{Item, Log};

const NEGATIONS: [&str; 12] = [
    "not", "no", "never", "none", "nothing", "nobody", "without", "neither", "nor", "cannot",
    "except", "unless",
];
const HEAD: [&str; 3] = ["policy", "plan_state", "memory_fact"];

/// The figures of a compiled context, with the number of violations of each guarantee.
pub fn row(log: &Log, pack: &Value, tokens: usize) -> Value {
    let shown: Vec<&str> = text_list(&pack["item_ids"]);
    let stats = &pack["stats"];
    let number = |name: &str| stats[name].as_u64().unwrap_or(u64::MAX);
    let sum = number("included_count").wrapping_add(number("dropped_count"));
    json!({
        "log": log.name,
        "events": log.items.len(),
        "budget": stats["budget"],
        "candidates": stats["total_candidates"],
        "included": stats["included_count"],
        "dropped": stats["dropped_reasons"],
        "tokens": tokens,
        "over_budget": u64::from(tokens as u64 > number("budget")),
        "reported_otherwise": u64::from(tokens as u64 != number("prompt_tokens")),
        "unaccounted": u64::from(sum != number("total_candidates")),
        "orphans": count_orphans(log, &shown.iter().copied().collect()),
        "out_of_order": count_out_of_order(log, &shown),
        "statements_lost": count_lost_statements(log, stats),
    })
}

fn text_list(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Items that are shown without their parent, and calls that are shown without their result.
pub fn count_orphans(log: &Log, shown: &BTreeSet<&str>) -> usize {
    let is_shown = |id: &str| shown.contains(id);
    let orphan = |item: &&Item| match item.parent.as_deref().and_then(|p| log.index_of(p)) {
        Some(place) => {
            let parent = &log.items[place];
            let child = is_shown(&item.id) && !is_shown(&parent.id);
            let is_pair = item.kind == "tool_result" && parent.kind == "tool_call";
            child || is_pair && is_shown(&item.id) != is_shown(&parent.id)
        }
        None => is_shown(&item.id) && item.kind == "tool_result",
    };
    log.items.iter().filter(orphan).count()
}

/// Neighbours in the wrong order, within the head and within the conversation.
fn count_out_of_order(log: &Log, shown: &[&str]) -> usize {
    let place = |id: &str| {
        let place = log.index_of(id)?;
        Some((!HEAD.contains(&log.items[place].kind.as_str()), place))
    };
    shown.windows(2).filter(|pair| place(pair[0]) >= place(pair[1])).count()
}

/// Items dropped as duplicates although no later item of their kind has the same negations and the
/// same words with digits.
fn count_lost_statements(log: &Log, stats: &Value) -> usize {
    let dropped: BTreeMap<&str, &str> = stats["dropped_items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| Some((entry["item_id"].as_str()?, entry["reason"].as_str()?)))
        .collect();
    let is_duplicate = |id: &str| dropped.get(id) == Some(&"dedup");
    let mut kept: BTreeSet<(&str, Vec<String>)> = BTreeSet::new();
    let mut lost = 0;
    for item in log.items.iter().rev() {
        let point = (item.kind.as_str(), key_words(&item.text));
        if is_duplicate(&item.id) {
            lost += usize::from(item.kind == "user_turn" || !kept.contains(&point));
        } else {
            kept.insert(point);
        }
    }
    lost
}

/// The negations, words with digits and longest words of a text, in order.
fn key_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'').map(str::to_lowercase);
    let counts = |word: &String| {
        NEGATIONS.contains(&word.as_str())
            || word.ends_with("n't")
            || word.chars().any(char::is_numeric)
            || word.chars().count() > 6 && word != "please" && word != "kindly"
    };
    words.filter(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &str) -> Log {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.jsonl");
        std::fs::write(&file, lines).unwrap();
        Log::read(&file).unwrap()
    }

    const LINES: &str = concat!(
        "{\"id\":\"u\",\"kind\":\"user_turn\",\"text\":\"hi\"}\n",
        "{\"id\":\"c\",\"kind\":\"tool_call\",\"text\":\"f()\",\"parent_id\":\"u\"}\n",
        "{\"id\":\"r\",\"kind\":\"tool_result\",\"text\":\"ok\",\"parent_id\":\"c\"}\n",
        "{\"id\":\"a\",\"kind\":\"agent_msg\",\"text\":\"It is not done.\"}\n",
        "{\"id\":\"b\",\"kind\":\"agent_msg\",\"text\":\"It is done.\"}\n",
    );

    #[test]
    fn each_broken_promise_is_counted() {
        let log = log(LINES);
        let pack = |shown: &[&str], reason: &str| {
            json!({ "item_ids": shown, "stats": {
                "budget": 10, "prompt_tokens": 9, "total_candidates": 5,
                "included_count": shown.len(), "dropped_count": 5 - shown.len(),
                "dropped_reasons": {}, "dropped_items": [{ "item_id": "a", "reason": reason }],
            }})
        };
        let broken = |row: Value| {
            let keys =
                ["over_budget", "reported_otherwise", "orphans", "out_of_order", "statements_lost"];
            keys.map(|key| row[key].as_u64().unwrap())
        };
        assert_eq!(broken(row(&log, &pack(&["u", "c", "r", "b"], "budget"), 9)), [0; 5]);
        assert_eq!(broken(row(&log, &pack(&["u", "r", "b"], "budget"), 9)), [0, 0, 1, 0, 0]);
        assert_eq!(broken(row(&log, &pack(&["u", "c", "b"], "budget"), 9)), [0, 0, 1, 0, 0]);
        assert_eq!(broken(row(&log, &pack(&["b", "u"], "dedup"), 11)), [1, 1, 0, 1, 1]);
    }
}
