//! Predicates on arguments.

use std::cmp::Ordering;

use serde_json::Value as Json;
use toml::{Table, Value};
use weaver_policy::ValueOrigin;

use super::reading::{Truth, all, entries, fits_one, whole, words_in};
use super::request::{Asked, Origins};
use super::{host, path, value};

/// The value at a JSON pointer.
fn find<'v>(arguments: &'v Json, at: &str) -> Option<&'v Json> {
    let mut here = arguments;
    for step in at.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        here = match here {
            Json::Object(map) => map.get(&step)?,
            Json::Array(list) => {
                let plain = step == "0" || !step.starts_with('0');
                let digits = !step.is_empty() && step.bytes().all(|b| b.is_ascii_digit());
                if !plain || !digits {
                    return None;
                }
                list.get(step.parse::<usize>().ok()?)?
            }
            _ => return None,
        };
    }
    Some(here)
}

fn came_from(named: &Value, at: &str, origins: Option<&Origins>) -> Truth {
    let origins = origins?;
    let word = match origins.0.get(at) {
        Some(ValueOrigin::User) => "user",
        Some(ValueOrigin::Trusted) => "trusted",
        None => return Some(false),
    };
    Some(words_in(named).contains(&word))
}

fn bound(v: &Json, named: &Value, wrong: Ordering) -> bool {
    let numbers = value::of_json(v).zip(value::of_toml(named));
    numbers.is_some_and(|(v, bound)| value::compare(v, bound) != wrong)
}

fn length(v: &Json) -> Option<usize> {
    match v {
        Json::String(text) => Some(text.chars().count()),
        Json::Array(list) => Some(list.len()),
        _ => None,
    }
}

fn one(test: &str, predicate: &Table, v: Option<&Json>, asked: &Asked) -> Truth {
    let named = &predicate[test];
    let Some(v) = v else {
        return Some(test == "present" && named.as_bool() == Some(false));
    };
    let text = v.as_str();
    Some(match test {
        "present" => named.as_bool() == Some(true),
        "equals" => value::same(v, named),
        "in" => entries(named).iter().any(|named| value::same(v, named)),
        "min" => bound(v, named, Ordering::Less),
        "max" => bound(v, named, Ordering::Greater),
        "prefix" => text.is_some_and(|t| words_in(named).iter().any(|part| t.starts_with(part))),
        "suffix" => text.is_some_and(|t| words_in(named).iter().any(|part| t.ends_with(part))),
        "glob" => text.is_some_and(|t| fits_one(&words_in(named), t)),
        "inside" => text.is_some_and(|t| words_in(named).iter().any(|f| path::is_inside(t, f))),
        "holds_paths" => {
            let at = predicate["at"].as_str().unwrap();
            named.as_bool() == Some(path::holds_paths(at, v))
        }
        "paths_inside" => {
            let at = predicate["at"].as_str().unwrap();
            path::all_inside(at, v, &words_in(named))
        }
        "domains" => text.is_some_and(|t| host::is_in(t, &words_in(named))),
        "min_length" => length(v).is_some_and(|n| n >= whole(predicate, test).unwrap()),
        "max_length" => length(v).is_some_and(|n| n <= whole(predicate, test).unwrap()),
        "provenance" => {
            let at = predicate["at"].as_str().unwrap();
            return came_from(named, at, asked.origins.as_ref());
        }
        other => panic!("no such test: {other}"),
    })
}

/// Whether a predicate holds.
pub(crate) fn holds(predicate: &Table, asked: &Asked) -> Truth {
    let arguments = asked.arguments.as_ref()?;
    let v = find(arguments, predicate["at"].as_str().unwrap());
    let tests = predicate.keys().filter(|key| *key != "at");
    all(&tests.map(|test| one(test, predicate, v, asked)).collect::<Vec<_>>())
}
