//! How far the confidence of a ranking can be believed, and what abstaining is worth.
//!
//! Every request is routed twice: as it is, and with its tools taken away, so that nothing can be
//! right. The confidence in use is judged, and beside it one that was fitted on the other sets
//! alone (of a single set, on its other half).

use std::collections::BTreeSet;

use contextweaver::route::{RouteRequest, Router};
use serde_json::{Value, json};

use crate::corpus::Set;
use crate::logistic::{self, Row};
use crate::score::{percent, rounded};

/// Most queries of one set.
const QUERIES: usize = 700;
/// Below which confidence, in thousandths, the router could abstain.
const THRESHOLDS: [u32; 7] = [0, 100, 150, 200, 300, 400, 500];
const BINS: u32 = 10;

/// One ranking.
#[derive(Clone, Copy)]
pub(crate) struct Ranking {
    row: Row,
    /// As the router says it, in thousandths.
    confidence: u32,
    /// Whether its first item is one that was asked for.
    right: bool,
    /// Whether the tools that were asked for had been taken away.
    gone: bool,
}

/// The rankings of a set, evenly chosen: each query with its tools, then without them.
pub(crate) fn rankings(set: &Set, router: &Router) -> Vec<Ranking> {
    let step = set.queries.len().div_ceil(QUERIES).max(1);
    let mut found = Vec::new();
    for query in set.queries.iter().step_by(step) {
        let gold: BTreeSet<&str> = query.gold.iter().map(String::as_str).collect();
        for gone in [false, true] {
            let left = router.select_items(|item| !gone || !gold.contains(item.source_id()));
            let request = RouteRequest::new(&query.text, 2).with_selection(&left).with_trace();
            let answer = router.answer(&request);
            let first = answer.hits.first().and_then(|hit| router.item(&hit.id));
            let right = first.is_some_and(|item| gold.contains(item.source_id()));
            let shown = answer.trace.map(|trace| trace.evidence).unwrap_or_default();
            let thousandths = |value: f64| value / 1000.0;
            let row = [
                1.0,
                thousandths(shown.coverage.into()),
                thousandths(shown.margin.into()),
                thousandths(shown.nearness.unwrap_or(0).into()),
            ];
            found.push(Ranking { row, confidence: answer.confidence, right, gone });
        }
    }
    found
}

/// A ranking with what is believed of it, in thousandths, and what it weighs: sets count alike.
type JudgedRanking = (Ranking, u32, f64);

/// What the rankings of all sets show.
pub(crate) fn report(table: bool, sets: &[(String, Vec<Ranking>)]) -> Value {
    let judge = |believed: &dyn Fn(usize, usize, &Ranking) -> u32| -> Vec<JudgedRanking> {
        let mut all = Vec::new();
        for (at, (_, set)) in sets.iter().enumerate() {
            let weight = weight(set.len());
            all.extend(set.iter().enumerate().map(|(n, r)| (*r, believed(at, n, r), weight)));
        }
        all
    };
    let fitted = folds(sets);
    let in_use = judge(&|_, _, ranking| ranking.confidence);
    let out_of_fold = judge(&|at, n, ranking| {
        let fold = if sets.len() > 1 { at } else { n / 2 % 2 };
        fitted
            .get(fold)
            .map_or(0, |weights| (logistic::probability(weights, &ranking.row) * 1000.0) as u32)
    });
    json!({
        "table": table,
        "rankings": in_use.len(),
        "folds": if sets.len() > 1 { "by set" } else { "halves" },
        "in_use": curve(&in_use),
        "out_of_fold": curve(&out_of_fold),
    })
}

/// For each fold the weights that were fitted on all others.
fn folds(sets: &[(String, Vec<Ranking>)]) -> Vec<Row> {
    let row = |ranking: &Ranking, weight: f64| (ranking.row, ranking.right, weight);
    let fit = |others: Vec<_>| logistic::fit(&others);
    if let [(_, set)] = sets {
        let other = |half| set.iter().enumerate().filter(move |(n, _)| n / 2 % 2 != half);
        return (0..2).map(|half| fit(other(half).map(|(_, r)| row(r, 1.0)).collect())).collect();
    }
    let others = |left: usize| {
        let others = sets.iter().enumerate().filter(move |(at, _)| *at != left);
        others.flat_map(|(_, (_, set))| set.iter().map(|r| row(r, weight(set.len()))))
    };
    (0..sets.len()).map(|left| fit(others(left).collect())).collect()
}

fn weight(rankings: usize) -> f64 {
    1000.0 / rankings.max(1) as f64
}

fn curve(all: &[JudgedRanking]) -> Value {
    let there = |judged: &&JudgedRanking| !judged.0.gone;
    let gone = |judged: &&JudgedRanking| judged.0.gone;
    let total =
        |of: &dyn Fn(&&JudgedRanking) -> bool| all.iter().filter(of).map(|j| j.2).sum::<f64>();
    let share = |part: f64, whole: f64| rounded(100.0 * part / whole.max(f64::MIN_POSITIVE));
    let rows = THRESHOLDS.iter().map(|below| {
        let abstains = |judged: &&JudgedRanking| judged.1 < *below;
        let answers = |judged: &&JudgedRanking| !abstains(judged);
        let answered = total(&answers);
        json!({
            "abstain_below": below,
            "answered": share(answered, total(&|_| true)),
            "abstains_gone": share(total(&|j| abstains(j) && gone(j)), total(&gone)),
            "abstains_there": share(total(&|j| abstains(j) && there(j)), total(&there)),
            "right_of_answered": share(total(&|j| answers(j) && j.0.right), answered),
        })
    });
    json!({
        "rows": rows.collect::<Vec<_>>(),
        "auc_right": rounded(percent_of(area(all, |ranking| ranking.right))),
        "auc_gone": rounded(percent_of(1.0 - area(all, |ranking| ranking.gone))),
        "calibration_error": rounded(percent_of(calibration(all))),
    })
}

fn percent_of(share: f64) -> f64 {
    share * percent(1, 1)
}

/// How often one that is so is believed more than one that is not; ties count half.
fn area(all: &[JudgedRanking], is_so: impl Fn(&Ranking) -> bool) -> f64 {
    let mut sorted: Vec<&JudgedRanking> = all.iter().collect();
    sorted.sort_by_key(|judged| judged.1);
    let (mut below, mut won, mut yes) = (0.0, 0.0, 0.0);
    for ties in sorted.chunk_by(|a, b| a.1 == b.1) {
        let weight = |so: bool| {
            let of = ties.iter().filter(|judged| is_so(&judged.0) == so);
            of.map(|judged| judged.2).sum::<f64>()
        };
        let (so, not) = (weight(true), weight(false));
        won += so * (below + not / 2.0);
        below += not;
        yes += so;
    }
    if yes * below > 0.0 { won / (yes * below) } else { 0.5 }
}

/// How far belief and truth are apart, over ten bins of belief.
fn calibration(all: &[JudgedRanking]) -> f64 {
    let (mut apart, mut whole) = (0.0, 0.0);
    for bin in 0..BINS {
        let here = || all.iter().filter(|j| (j.1 * BINS / 1000).min(BINS - 1) == bin);
        let believed: f64 = here().map(|j| j.2 * f64::from(j.1) / 1000.0).sum();
        let right: f64 = here().filter(|j| j.0.right).map(|j| j.2).sum();
        apart += (believed - right).abs();
        whole += here().map(|j| j.2).sum::<f64>();
    }
    if whole > 0.0 { apart / whole } else { 0.0 }
}
