//! What a ranking is worth, against the tools that answer the request.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::evaluate::Figures;

/// How many places are looked at.
pub(crate) const DEPTH: usize = 20;
const DEPTHS: [usize; 4] = [1, 3, 5, 10];

/// The sums over the queries of one set.
#[derive(Debug, Default)]
pub(crate) struct Score {
    queries: usize,
    recall: [f64; 4],
    ndcg: f64,
    mrr: f64,
    all: f64,
    /// Queries with any of their tools among the first five.
    any: f64,
    /// Recall at 5 of all that is needed, and over how many queries.
    needed: (f64, usize),
    times: Vec<Duration>,
}

/// A part of a whole in percent.
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    100.0 * share(part, whole)
}

/// A share of what there is.
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn recall(ranked: &[String], gold: &[String], depth: usize) -> f64 {
    let first = ranked.get(..depth.min(ranked.len())).unwrap_or_default();
    share(gold.iter().filter(|id| first.contains(id)).count(), gold.len())
}

fn gain(place: usize) -> f64 {
    1.0 / (place as f64 + 2.0).log2()
}

fn ndcg(ranked: &[String], gold: &[String]) -> f64 {
    let first = ranked.iter().take(10).enumerate();
    let got: f64 = first.filter(|(_, id)| gold.contains(id)).map(|(place, _)| gain(place)).sum();
    let best: f64 = (0..gold.len().min(10)).map(gain).sum();
    got / best.max(f64::MIN_POSITIVE)
}

impl Score {
    pub(crate) fn add(&mut self, ranked: &[String], gold: &[String], needed: &[String]) {
        self.queries += 1;
        for (sum, depth) in self.recall.iter_mut().zip(DEPTHS) {
            *sum += recall(ranked, gold, depth);
        }
        self.ndcg += ndcg(ranked, gold);
        let first = ranked.iter().position(|id| gold.contains(id));
        self.mrr += first.map_or(0.0, |place| share(1, place + 1));
        self.all += if recall(ranked, gold, 5) >= 1.0 { 1.0 } else { 0.0 };
        self.any += if recall(ranked, gold, 5) > 0.0 { 1.0 } else { 0.0 };
        if !needed.is_empty() {
            self.needed.0 += recall(ranked, needed, 5);
            self.needed.1 += 1;
        }
    }

    pub(crate) fn took(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// Percents, and microseconds of processor time.
    pub(crate) fn figures(mut self) -> Figures {
        let percent = |sum: f64| 100.0 * sum / share(self.queries, 1).max(1.0);
        let mut figures = BTreeMap::new();
        for (name, sum) in ["recall@1", "recall@3", "recall@5", "recall@10"].iter().zip(self.recall)
        {
            figures.insert(*name, percent(sum));
        }
        figures.insert("ndcg@10", percent(self.ndcg));
        figures.insert("mrr", percent(self.mrr));
        figures.insert("all_gold@5", percent(self.all));
        figures.insert("any_gold@5", percent(self.any));
        if self.needed.1 > 0 {
            figures.insert("gold_all_recall@5", 100.0 * self.needed.0 / share(self.needed.1, 1));
        }
        self.times.sort_unstable();
        for (name, at) in [("p50_us", 50), ("p99_us", 99)] {
            let time = self.times.get(self.times.len() * at / 100).copied().unwrap_or_default();
            figures.insert(name, time.as_secs_f64() * 1e6);
        }
        figures
    }
}

/// The mean of each figure that all have.
pub(crate) fn mean(all: &[Figures]) -> Value {
    let Some(first) = all.first() else { return json!({}) };
    let names = first.keys().filter(|name| all.iter().all(|one| one.contains_key(*name)));
    let mean =
        |name: &str| all.iter().filter_map(|one| one.get(name)).sum::<f64>() / share(all.len(), 1);
    names.map(|name| ((*name).to_owned(), Value::from(rounded(mean(name))))).collect()
}

/// Two digits behind the point are enough for a percent.
pub(crate) fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}
