//! The results as a table and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::evasion::{Evasions, REQUIRED_KINDS};
use super::peers::{Figures, Peers};
use super::score::{HitCount, Score, ValueClass};
use super::sets::Sets;
use super::stream::Streams;

/// Everything that was measured.
pub struct Results {
    pub cases: usize,
    pub score: Score,
    pub evasions: Evasions,
    pub streams: Option<Streams>,
    pub sets: Sets,
}

const CLASSES: [(ValueClass, &str); 2] =
    [(ValueClass::Personal, "PII"), (ValueClass::Secret, "secrets")];

impl Results {
    /// The results as a table.
    pub fn table(&self, peers: &Peers) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{} texts\n", self.cases);
        self.write_comparison(&mut out, peers);
        self.write_recall(&mut out);
        let _ = writeln!(out, "\nhard negatives masked, by class");
        for (rule, part) in &self.score.hard {
            if part.hits > 0 {
                let _ = writeln!(out, "  {rule:<36}{}", part_text(*part));
            }
        }
        self.write_hidden_values(&mut out);
        if let Some(streams) = &self.streams {
            let _ = writeln!(
                out,
                "\nstreams, {} ways to cut: {} of {} answers differ, {} values released",
                streams.cuts, streams.differ, streams.texts, streams.released
            );
            if let Some(first) = &streams.first {
                let _ = writeln!(out, "  first at --stream {first}");
            }
        }
        out
    }

    /// Compares our figures with the peers'.
    fn write_comparison(&self, out: &mut String, peers: &Peers) {
        let _ = writeln!(
            out,
            "{:<30}{:>7}{:>7}{:>7}{:>11}{:>7}{:>7}{:>10}{:>13}",
            "", "PII P", "R", "F1", "secrets P", "R", "F1", "hard neg", "gitleaks FP"
        );
        let mut line = |name: &str, pii: Figures, secrets: Figures, hard: f64, rule: f64| {
            let [a, b, c] = pii;
            let [d, e, f] = secrets;
            let (hard, rule) = (hard * 100.0, rule * 100.0);
            let _ = writeln!(
                out,
                "{name:<30}{a:>7.3}{b:>7.3}{c:>7.3}{d:>11.3}{e:>7.3}{f:>7.3}{hard:>9.1}%{rule:>12.1}%"
            );
        };
        let hard = self.score.hard_negatives().share().unwrap_or_default();
        let rule = self.score.rule_negatives.share().unwrap_or_default();
        line(
            "weaver redact",
            self.figures(ValueClass::Personal),
            self.figures(ValueClass::Secret),
            hard,
            rule,
        );
        for peer in &peers.peers {
            line(&peer.name, peer.pii, peer.secrets, peer.hard_negatives, peer.rule_negatives);
        }
        let _ = writeln!(out, "figures of the others: {}", peers.source);
    }

    fn figures(&self, class: ValueClass) -> Figures {
        let share = |part: Option<&HitCount>| part.and_then(|p| p.share()).unwrap_or_default();
        let precision = share(self.score.precision.get(&class));
        let recall = share(self.score.recall.get(&class));
        let sum = precision + recall;
        [precision, recall, if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 }]
    }

    fn write_recall(&self, out: &mut String) {
        for (class, name) in CLASSES {
            let _ = writeln!(out, "\n{name}: masked whole");
            for (title, counts) in
                [("type", &self.score.by_type), ("source", &self.score.by_source)]
            {
                for ((_, key), part) in counts.iter().filter(|((of, _), _)| *of == class) {
                    let _ = writeln!(out, "  {title:<8}{key:<28}{}", part_text(*part));
                }
            }
            if let Some(part) = self.score.precision.get(&class) {
                let _ = writeln!(out, "  regions that touch a label          {}", part_text(*part));
            }
        }
        let _ = writeln!(out, "\nshown apart: masked whole");
        for (kind, part) in &self.score.apart {
            let _ = writeln!(out, "  {kind:<44}{}", part_text(*part));
        }
    }

    fn write_hidden_values(&self, out: &mut String) {
        if self.evasions.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "\nhidden values caught whole: {} of the {} kinds that are wanted (*)",
            self.required_kinds_caught(),
            REQUIRED_KINDS.len()
        );
        for (kind, part) in &self.evasions {
            let star = if REQUIRED_KINDS.contains(&kind.as_str()) { "*" } else { " " };
            let _ = writeln!(out, "  {star} {kind:<34}{}", part_text(*part));
        }
    }

    /// How many of the required kinds were caught every time.
    fn required_kinds_caught(&self) -> usize {
        let whole = |kind: &&&str| self.evasions.get(**kind).is_some_and(|p| p.hits == p.all);
        REQUIRED_KINDS.iter().filter(whole).count()
    }

    /// The results as JSON.
    pub fn to_json(&self) -> Value {
        let class = |class: ValueClass| {
            let [precision, recall, f1] = self.figures(class);
            let of =
                |counts: &std::collections::BTreeMap<(ValueClass, String), HitCount>| -> Value {
                    let own = counts.iter().filter(|((of, _), _)| *of == class);
                    own.map(|((_, key), part)| (key.clone(), part_json(*part))).collect()
                };
            json!({
                "precision": precision, "recall": recall, "f1": f1,
                "by_type": of(&self.score.by_type), "by_source": of(&self.score.by_source),
            })
        };
        let named = |counts: &std::collections::BTreeMap<String, HitCount>| -> Value {
            counts.iter().map(|(key, part)| (key.clone(), part_json(*part))).collect()
        };
        json!({
            "texts": self.cases,
            "sets": self.sets.to_json(),
            "pii": class(ValueClass::Personal),
            "secrets": class(ValueClass::Secret),
            "apart": named(&self.score.apart),
            "hard_negatives": part_json(self.score.hard_negatives()),
            "hard_negatives_by_class": named(&self.score.hard),
            "gitleaks_false_positives": part_json(self.score.rule_negatives),
            "evasions": named(&self.evasions),
            "evasions_wanted": { "caught": self.required_kinds_caught(), "of": REQUIRED_KINDS.len() },
            "streams": self.streams.as_ref().map(|s| json!({
                "cuts": s.cuts, "texts": s.texts, "differ": s.differ, "released": s.released,
                "first": s.first,
            })),
        })
    }
}

fn part_json(part: HitCount) -> Value {
    json!({ "hits": part.hits, "of": part.all, "share": part.share() })
}

fn part_text(part: HitCount) -> String {
    let share = part.share().unwrap_or_default();
    format!("{share:>6.3}  {} of {}", part.hits, part.all)
}
