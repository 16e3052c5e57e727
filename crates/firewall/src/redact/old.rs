//! The first rules, written as code, until each has become data or a scanner.

mod builtin;
mod engine;
mod rule;

use std::sync::LazyLock;

use super::scanner::{Hit, ScanRule, Scanner};

static ENGINE: LazyLock<Option<engine::Engine>> =
    LazyLock::new(|| engine::Engine::new(builtin::rules()).ok());

static RULES: LazyLock<Vec<ScanRule>> = LazyLock::new(|| {
    let rules = builtin::rules();
    rules
        .iter()
        .map(|r| ScanRule { id: r.id, kind: r.kind, masks: r.masks, keeps: r.keeps })
        .collect()
});

pub(crate) fn scanner() -> Scanner {
    Scanner { rules: &RULES, scan }
}

fn scan(text: &str, hits: &mut Vec<Hit>) {
    match ENGINE.as_ref() {
        Some(engine) => {
            let found = engine.find(text, &mut engine::Work::default());
            hits.extend(found.into_iter().map(|s| Hit { range: s.range, rule: s.rule }));
        }
        None => hits.push(Hit { range: 0..text.len(), rule: 0 }),
    }
}
