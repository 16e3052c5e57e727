//! The results as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::corpus::Suite;
use super::interval::Share;
use super::published::{CLAIMS, REFERENCE};
use super::score::Score;

/// The conditions of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variant {
    /// With the proposed contracts instead of the reviewed ones.
    pub proposal: bool,
    /// With a host that reports the user's words.
    pub words: bool,
    /// With the shipped standing approvals.
    pub approvals: bool,
}

impl Variant {
    /// The variant at the top of the report: a host, the shipped approvals, the reviewed contracts.
    const TOP: Self = Self { proposal: false, words: true, approvals: true };

    fn name(self) -> String {
        let mut out = if self.words { "host" } else { "gateway" }.to_owned();
        if !self.approvals {
            out.push_str("_without_standing");
        }
        if self.proposal {
            out.push_str("_proposal");
        }
        out
    }

    fn title(self) -> String {
        let contracts = if self.proposal { "proposed" } else { "reviewed" };
        let approvals = if self.approvals { "standing approvals" } else { "none" };
        let column = if self.words { "host" } else { "gateway alone" };
        format!("{column:<14}{contracts:<10}{approvals}")
    }
}

/// The scores of every variant and suite.
#[derive(Default)]
pub struct Results(BTreeMap<Variant, BTreeMap<String, Score>>);

impl Results {
    /// Adds the score of a suite.
    pub fn add(&mut self, variant: Variant, suite: &Suite, score: Score) {
        self.0.entry(variant).or_default().insert(suite.name.clone(), score);
    }

    fn total(&self, variant: Variant) -> Score {
        let mut out = Score::default();
        for score in self.0.get(&variant).into_iter().flat_map(BTreeMap::values) {
            out.join(score);
        }
        out
    }

    /// The results as JSON.
    pub fn to_json(&self) -> Value {
        let mut out = figures_json(&self.total(Variant::TOP));
        out.insert("suites".to_owned(), self.suites(Variant::TOP));
        let mut variants = Map::new();
        for variant in self.0.keys().filter(|variant| **variant != Variant::TOP) {
            let mut one = figures_json(&self.total(*variant));
            one.insert("suites".to_owned(), self.suites(*variant));
            variants.insert(variant.name(), Value::Object(one));
        }
        out.insert("variants".to_owned(), Value::Object(variants));
        let rows = REFERENCE.iter().map(|(name, all, recorded, autonomy, held)| {
            json!({ "name": name, "security": all, "security_recorded": recorded,
                "autonomy": autonomy, "holds": held })
        });
        out.insert("reference".to_owned(), rows.collect());
        Value::Object(out)
    }

    fn suites(&self, variant: Variant) -> Value {
        let suites = self.0.get(&variant).into_iter().flatten();
        suites.map(|(name, score)| (name.clone(), Value::Object(figures_json(score)))).collect()
    }

    /// The results as a table.
    pub fn table(&self) -> String {
        let top = self.total(Variant::TOP);
        let mut out = format!(
            "{} tasks, {} pairs to replay ({} more have no calls)\n\n{:<42}{:>22}{:>9}{:>8}{:>22}{:>7}{:>8}{:>6}\n",
            top.alone.all,
            top.safe.all,
            top.without_calls,
            "",
            "security",
            "recorded",
            "strict",
            "autonomy",
            "holds",
            "denials",
            "µs"
        );
        for (variant, suites) in self.0.iter().rev() {
            let _ = writeln!(out, "{}", table_row(&variant.title(), &self.total(*variant)));
            for (name, score) in suites.iter().filter(|_| suites.len() > 1) {
                let _ = writeln!(out, "{}", table_row(&format!("  {name}"), score));
            }
        }
        let _ = writeln!(out, "\nfour suites, 97 tasks, by the same protocol:");
        for (name, all, recorded, autonomy, held) in REFERENCE {
            let holds = f64::from(held) / 97.0;
            let _ = writeln!(
                out,
                "{name:<42}{all:>22.3}{recorded:>9.3}{:>8}{autonomy:>22.3}{holds:>7.2}",
                ""
            );
        }
        let _ = writeln!(out, "\nas published, with other means:");
        for claim in CLAIMS {
            let _ = writeln!(out, "  {claim}");
        }
        out
    }

    /// The attacks that went through and the calls that were held, under the first variant.
    pub fn notes_text(&self) -> String {
        let mut out = String::new();
        for variant in [Variant::TOP, Variant { proposal: true, ..Variant::TOP }] {
            let _ = writeln!(out, "\n{}", variant.title());
            for note in self.total(variant).notes {
                let _ = writeln!(out, "  {note}");
            }
        }
        out
    }
}

fn table_row(name: &str, score: &Score) -> String {
    format!(
        "{name:<42}{:>22}{:>9.3}{:>8}{:>22}{:>7.2}{:>8}{:>6}",
        share_text(score.safe),
        score.recorded.value(),
        score.strict,
        share_text(score.alone),
        score.holds_per_task(),
        score.denials,
        score.median(),
    )
}

fn share_text(share: Share) -> String {
    let (low, high) = share.interval();
    format!("{:.3} [{low:.3}, {high:.3}]", share.value())
}

fn figures_json(score: &Score) -> Map<String, Value> {
    let interval = |share: Share| {
        let (low, high) = share.interval();
        json!([low, high])
    };
    let pairs = [
        ("security", json!(score.safe.value())),
        ("security_interval", interval(score.safe)),
        ("security_recorded", json!(score.recorded.value())),
        ("strict_leaks", json!(score.strict)),
        ("autonomy", json!(score.alone.value())),
        ("autonomy_interval", interval(score.alone)),
        ("holds_per_task", json!(score.holds_per_task())),
        ("holds", json!(score.holds)),
        ("denials", json!(score.denials)),
        ("pairs", json!(score.safe.all)),
        ("pairs_recorded", json!(score.recorded.all)),
        ("pairs_without_calls", json!(score.without_calls)),
        ("tasks", json!(score.alone.all)),
        ("calls", json!(score.calls)),
        ("median_decision_micros", json!(score.median())),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
