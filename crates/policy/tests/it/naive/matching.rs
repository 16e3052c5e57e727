//! To what a rule, a limit and a window of time apply.

use toml::{Table, Value};
use weaver_types::Timestamp;

use super::capability::Effective;
use super::predicate;
use super::reading::{self, Truth, all, any, fits, fits_one, moment, tables, texts, words_in};
use super::request::Asked;
use super::words::DAYS;

const DAY: i64 = 86_400_000_000;
const MINUTE: i64 = 60_000_000;

fn time_of_day(text: &str) -> i64 {
    let (hours, minutes) = text.split_once(':').unwrap();
    (hours.parse::<i64>().unwrap() * 60 + minutes.parse::<i64>().unwrap()) * MINUTE
}

fn in_time(window: &Table, now: Timestamp) -> bool {
    if window.get("not_before").is_some_and(|from| now < moment(from))
        || window.get("not_after").is_some_and(|to| now >= moment(to))
    {
        return false;
    }
    let clock =
        |key, default| window.get(key).map_or(default, |text| time_of_day(text.as_str().unwrap()));
    let (from, to) = (clock("from", 0), clock("to", DAY));
    let (day, at) = (now.micros().div_euclid(DAY), now.micros().rem_euclid(DAY));
    let began = if from < to {
        if at < from || at >= to {
            return false;
        }
        day
    } else if at >= from {
        day
    } else if at < to {
        day - 1
    } else {
        return false;
    };
    // 1970-01-01 was a Thursday.
    let name = DAYS[usize::try_from((began + 3).rem_euclid(7)).unwrap()];
    window.get("days").is_none_or(|days| words_in(days).contains(&name))
}

/// `any` and `all` over what somebody or something has.
pub(crate) fn has(table: &Table, own: &std::collections::BTreeSet<String>) -> bool {
    let any = table.get("any").is_none_or(|list| words_in(list).iter().any(|w| own.contains(*w)));
    let all = table.get("all").is_none_or(|list| words_in(list).iter().all(|w| own.contains(*w)));
    any && all
}

/// For every name there is a value that fits the pattern.
pub(crate) fn has_named(table: &Table, own: &std::collections::BTreeMap<String, String>) -> bool {
    table.iter().all(|(name, pattern)| {
        own.get(name).is_some_and(|value| fits(pattern.as_str().unwrap(), value))
    })
}

fn lists(table: &Table, key: &str, word: &str) -> bool {
    table.get(key).is_none_or(|list| words_in(list).contains(&word))
}

fn field(name: &str, value: &Value, capability: &Effective, asked: &Asked) -> Truth {
    let table = || value.as_table().unwrap();
    let contains = |word: &str| words_in(value).contains(&word);
    let fit = |text: &str| fits_one(&words_in(value), text);
    Some(match name {
        "capability" => fit(&capability.id),
        "effects" => {
            lists(table(), "impact", reading::impact(capability.effects.impact))
                && lists(table(), "world", reading::world(capability.effects.world))
        }
        "class" => contains(reading::class(capability.effects.class())),
        "rung" => contains(reading::rung(capability.rung)),
        "sink" => contains(reading::sink(capability.sink)),
        "tags" => has(table(), &capability.tags),
        "sensitivity" => {
            let own = &capability.sensitivity;
            own.iter().any(|tag| contains(reading::sensitivity(*tag)))
                || own.is_empty() && contains("none")
        }
        "intent" => asked.request.intent.as_deref().is_some_and(fit),
        "scope" => has_named(table(), &asked.request.scope),
        "mode" => contains(reading::mode(asked.mode)),
        "label" => {
            let label = &asked.label;
            lists(table(), "confidentiality", reading::confidentiality(label.confidentiality))
                && lists(table(), "integrity", reading::integrity(label.integrity))
        }
        "principal" => fit(asked.principal.id.as_str()),
        "roles" => has(table(), &asked.principal.roles),
        "attributes" => has_named(table(), &asked.principal.attributes),
        "agent" => asked.principal.agent.as_ref().is_some_and(|agent| fit(agent.as_str())),
        "time" => in_time(table(), asked.now),
        "operation" => contains(reading::operation(asked.operation)),
        "arguments" => {
            let predicates = tables(Some(value));
            return all(&predicates.iter().map(|p| predicate::holds(p, asked)).collect::<Vec<_>>());
        }
        "any" => {
            let matches = tables(Some(value));
            let each = matches.iter().map(|one| applies(one, capability, asked));
            return any(&each.collect::<Vec<_>>());
        }
        "not" | "unless" => return applies(table(), capability, asked).map(|truth| !truth),
        other => panic!("no such field: {other}"),
    })
}

/// Whether a match holds.
pub(crate) fn applies(matches: &Table, capability: &Effective, asked: &Asked) -> Truth {
    let each = matches.iter().map(|(name, value)| field(name, value, capability, asked));
    all(&each.collect::<Vec<_>>())
}

/// Whether one of an entry's lists names the principal.
pub(crate) fn is_about(entry: &Table, asked: &Asked) -> bool {
    let principal = &asked.principal;
    let silent = !["principals", "roles", "agents"].iter().any(|key| entry.contains_key(*key));
    silent
        || fits_one(&texts(entry, "principals"), principal.id.as_str())
        || texts(entry, "roles").iter().any(|role| principal.roles.contains(*role))
        || principal
            .agent
            .as_ref()
            .is_some_and(|agent| fits_one(&texts(entry, "agents"), agent.as_str()))
}
