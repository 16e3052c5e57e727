//! The table, and the same as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::evasion::{Evasions, WANTED};
use super::peers::{Figures, Peers};
use super::score::{Class, Part, Score};
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

const CLASSES: [(Class, &str); 2] = [(Class::Personal, "PII"), (Class::Secret, "secrets")];

impl Results {
    /// For people.
    pub fn table(&self, peers: &Peers) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{} texts\n", self.cases);
        self.head(&mut out, peers);
        self.recall(&mut out);
        let _ = writeln!(out, "\nhard negatives masked, by class");
        for (rule, part) in &self.score.hard {
            if part.hits > 0 {
                let _ = writeln!(out, "  {rule:<36}{}", counted(*part));
            }
        }
        self.hidden(&mut out);
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

    /// Ours beside the peers.
    fn head(&self, out: &mut String, peers: &Peers) {
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
            self.figures(Class::Personal),
            self.figures(Class::Secret),
            hard,
            rule,
        );
        for peer in &peers.peers {
            line(&peer.name, peer.pii, peer.secrets, peer.hard_negatives, peer.rule_negatives);
        }
        let _ = writeln!(out, "figures of the others: {}", peers.source);
    }

    fn figures(&self, class: Class) -> Figures {
        let share = |part: Option<&Part>| part.and_then(|p| p.share()).unwrap_or_default();
        let precision = share(self.score.precision.get(&class));
        let recall = share(self.score.recall.get(&class));
        let sum = precision + recall;
        [precision, recall, if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 }]
    }

    fn recall(&self, out: &mut String) {
        for (class, name) in CLASSES {
            let _ = writeln!(out, "\n{name}: masked whole");
            for (title, counts) in
                [("type", &self.score.by_type), ("source", &self.score.by_source)]
            {
                for ((_, key), part) in counts.iter().filter(|((of, _), _)| *of == class) {
                    let _ = writeln!(out, "  {title:<8}{key:<28}{}", counted(*part));
                }
            }
            if let Some(part) = self.score.precision.get(&class) {
                let _ = writeln!(out, "  regions that touch a label          {}", counted(*part));
            }
        }
        let _ = writeln!(out, "\nshown apart: masked whole");
        for (kind, part) in &self.score.apart {
            let _ = writeln!(out, "  {kind:<44}{}", counted(*part));
        }
    }

    fn hidden(&self, out: &mut String) {
        if self.evasions.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "\nhidden values caught whole: {} of the {} kinds that are wanted (*)",
            self.wanted(),
            WANTED.len()
        );
        for (kind, part) in &self.evasions {
            let star = if WANTED.contains(&kind.as_str()) { "*" } else { " " };
            let _ = writeln!(out, "  {star} {kind:<34}{}", counted(*part));
        }
    }

    /// Wanted kinds that were caught every time.
    fn wanted(&self) -> usize {
        let whole = |kind: &&&str| self.evasions.get(**kind).is_some_and(|p| p.hits == p.all);
        WANTED.iter().filter(whole).count()
    }

    /// For scripts.
    pub fn to_json(&self) -> Value {
        let class = |class: Class| {
            let [precision, recall, f1] = self.figures(class);
            let of = |counts: &std::collections::BTreeMap<(Class, String), Part>| -> Value {
                let own = counts.iter().filter(|((of, _), _)| *of == class);
                own.map(|((_, key), part)| (key.clone(), of_part(*part))).collect()
            };
            json!({
                "precision": precision, "recall": recall, "f1": f1,
                "by_type": of(&self.score.by_type), "by_source": of(&self.score.by_source),
            })
        };
        let named = |counts: &std::collections::BTreeMap<String, Part>| -> Value {
            counts.iter().map(|(key, part)| (key.clone(), of_part(*part))).collect()
        };
        json!({
            "texts": self.cases,
            "sets": self.sets.to_json(),
            "pii": class(Class::Personal),
            "secrets": class(Class::Secret),
            "apart": named(&self.score.apart),
            "hard_negatives": of_part(self.score.hard_negatives()),
            "hard_negatives_by_class": named(&self.score.hard),
            "gitleaks_false_positives": of_part(self.score.rule_negatives),
            "evasions": named(&self.evasions),
            "evasions_wanted": { "caught": self.wanted(), "of": WANTED.len() },
            "streams": self.streams.as_ref().map(|s| json!({
                "cuts": s.cuts, "texts": s.texts, "differ": s.differ, "released": s.released,
                "first": s.first,
            })),
        })
    }
}

fn of_part(part: Part) -> Value {
    json!({ "hits": part.hits, "of": part.all, "share": part.share() })
}

fn counted(part: Part) -> String {
    let share = part.share().unwrap_or_default();
    format!("{share:>6.3}  {} of {}", part.hits, part.all)
}
