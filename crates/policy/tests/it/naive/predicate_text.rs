//! Random predicates on arguments, as they stand in documents.

use toml::{Table, Value};

use super::dice::Dice;
use super::matcher::{list, text};
use super::words::*;

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

#[expect(clippy::cast_precision_loss, reason = "only to put two bounds in order")]
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

fn test(dice: &mut Dice, table: &mut Table, at: &str) {
    let sort = match at {
        "/path" if dice.chance(70) => 8,
        "/url" if dice.chance(70) => 9,
        "/n" if dice.chance(60) => 4,
        _ => dice.below(14),
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
        7 => ("glob", list(dice, TEXT_PATTERNS, 2)),
        8 => ("inside", list(dice, FOLDERS, 2)),
        9 => ("domains", list(dice, DOMAINS, 2)),
        10 => return lengths(dice, table),
        11 if table.get("holds_paths") != Some(&Value::Boolean(false)) => {
            ("paths_inside", list(dice, FOLDERS, 2))
        }
        11 | 12 => {
            ("holds_paths", Value::Boolean(table.contains_key("paths_inside") || dice.chance(50)))
        }
        _ => ("provenance", list(dice, &["user", "trusted"], 2)),
    };
    table.insert(name.to_owned(), value);
}

pub(crate) fn predicate(dice: &mut Dice) -> Value {
    let at = dice.pick(POINTERS);
    let mut table = Table::new();
    table.insert("at".to_owned(), text(at));
    if dice.chance(6) {
        table.insert("present".to_owned(), Value::Boolean(false));
    } else {
        for _ in 0..=usize::from(dice.chance(25)) {
            test(dice, &mut table, at);
        }
    }
    Value::Table(table)
}
