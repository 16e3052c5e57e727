//! Predicates on arguments: what they mean, and random ones as they stand in documents.

use std::cmp::Ordering;

use serde_json::Value as Json;
use toml::{Table, Value};
use weaver_policy::ValueOrigin;

use super::dice::Dice;
use super::matching::{list, text};
use super::reading::{Truth, all, entries, fits_one, fits_one_any_case, whole, words_in};
use super::request::{Asked, Origins};
use super::words::*;
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
        "glob_any_case" => text.is_some_and(|t| fits_one_any_case(&words_in(named), t)),
        "inside" => text.is_some_and(|t| words_in(named).iter().any(|f| path::is_inside(t, f))),
        "holds_paths" => {
            let at = predicate["at"].as_str().unwrap();
            named.as_bool() == Some(path::holds_paths(at, v))
        }
        "paths_inside" => {
            let at = predicate["at"].as_str().unwrap();
            path::all_inside(at, v, &words_in(named))
        }
        "any_path" => {
            let at = predicate["at"].as_str().unwrap();
            path::any_fits(at, v, &words_in(named))
        }
        "only_members" => {
            let known = words_in(named);
            v.as_object()
                .is_some_and(|members| members.keys().all(|key| known.contains(&key.as_str())))
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

/// A value that `equals` and `in` may name.
pub(crate) fn constant(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth == 0 { 6 } else { 8 }) {
        0 | 1 => text(dice.pick(TEXTS)),
        2 => number(dice),
        3 => Value::Boolean(dice.chance(50)),
        4 => number(dice),
        5 => Value::Datetime("2026-01-02".parse().unwrap()),
        6 => Value::Array((0..dice.below(3)).map(|_| constant(dice, depth - 1)).collect()),
        _ => {
            let mut table = Table::new();
            for key in ["x", "y"] {
                if dice.chance(50) {
                    table.insert(key.to_owned(), constant(dice, depth - 1));
                }
            }
            Value::Table(table)
        }
    }
}

const INTEGERS: &[i64] = &[0, 1, 5, -1, 2, 9_007_199_254_740_991, -9_007_199_254_740_991];
const DECIMALS: &[f64] = &[
    0.0, -0.0, 1.0, 5.0, 0.1, 5.5, -1.0, 9_007_199_254_740_991.0, 1e-300, 0.300_000_000_000_000_04,
];

fn number(dice: &mut Dice) -> Value {
    if dice.chance(60) {
        Value::Integer(dice.pick(INTEGERS))
    } else {
        Value::Float(dice.pick(DECIMALS))
    }
}

fn about(number: &Value) -> f64 {
    number.as_float().unwrap_or_else(|| number.as_integer().unwrap() as f64)
}

fn bounds(dice: &mut Dice, table: &mut Table) {
    table.remove("min");
    table.remove("max");
    let (a, b) = (number(dice), number(dice));
    let (low, high) = if about(&a) < about(&b) { (a, b) } else { (b.clone(), b) };
    let which = dice.below(3);
    if which != 0 {
        table.insert("min".to_owned(), low);
    }
    if which != 1 {
        table.insert("max".to_owned(), high);
    }
}

fn lengths(dice: &mut Dice, table: &mut Table) {
    table.remove("min_length");
    table.remove("max_length");
    let (low, more) = (dice.below(4), dice.below(3));
    let which = dice.below(3);
    if which != 0 {
        table.insert("min_length".to_owned(), Value::Integer(i64::try_from(low).unwrap()));
    }
    if which != 1 {
        table.insert("max_length".to_owned(), Value::Integer(i64::try_from(low + more).unwrap()));
    }
}

fn random_test(dice: &mut Dice, table: &mut Table, at: &str) {
    let sort = match at {
        "/path" if dice.chance(70) => 8,
        "/url" if dice.chance(70) => 9,
        "/n" if dice.chance(60) => 4,
        _ => dice.below(15),
    };
    let (name, value) = match sort {
        0 => ("present", Value::Boolean(true)),
        1 | 2 => ("equals", constant(dice, 2)),
        3 => {
            let some = (0..=dice.below(3)).map(|_| constant(dice, 1)).collect::<Vec<_>>();
            let bare = some.len() == 1 && !some[0].is_array() && dice.chance(40);
            ("in", if bare { some[0].clone() } else { Value::Array(some) })
        }
        4 => return bounds(dice, table),
        5 => ("prefix", list(dice, TEXT_PARTS, 2)),
        6 => ("suffix", list(dice, TEXT_PARTS, 2)),
        7 if dice.chance(50) => ("glob_any_case", list(dice, TEXT_PATTERNS, 2)),
        7 => ("glob", list(dice, TEXT_PATTERNS, 2)),
        8 => ("inside", list(dice, FOLDERS, 2)),
        9 => ("domains", list(dice, DOMAINS, 2)),
        10 => return lengths(dice, table),
        11 if table.get("holds_paths") != Some(&Value::Boolean(false)) => {
            ("paths_inside", list(dice, FOLDERS, 2))
        }
        12 if table.get("holds_paths") != Some(&Value::Boolean(false)) => {
            ("any_path", list(dice, TEXT_PATTERNS, 2))
        }
        11..=13 => {
            let needed = ["paths_inside", "any_path"].iter().any(|test| table.contains_key(*test));
            ("holds_paths", Value::Boolean(needed || dice.chance(50)))
        }
        _ => ("provenance", list(dice, &["user", "trusted"], 2)),
    };
    table.insert(name.to_owned(), value);
}

/// A random predicate.
pub(crate) fn predicate(dice: &mut Dice) -> Value {
    let at = dice.pick(POINTERS);
    let mut table = Table::new();
    table.insert("at".to_owned(), text(at));
    if dice.chance(6) {
        table.insert("present".to_owned(), Value::Boolean(false));
    } else {
        for _ in 0..=usize::from(dice.chance(25)) {
            random_test(dice, &mut table, at);
        }
    }
    Value::Table(table)
}
