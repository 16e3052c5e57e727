//! Scores the project's own texts by set, with the held-back texts separate.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::marked_texts::MarkedText;
use super::score::{HitCount, Score, ValueClass};
use super::weaver::Weaver;

/// The name of the set of all texts.
const ALL_SETS: &str = "all";

/// The scores of each set: of the texts that rules are tuned to, and of those held back.
#[derive(Debug, Default)]
pub struct Sets(BTreeMap<String, [Score; 2]>);

const PARTS: [&str; 2] = ["tuned to", "held back"];

/// Runs the command and scores its answers.
pub fn score(weaver: &Weaver, texts: &[MarkedText]) -> Result<Sets> {
    let answers = weaver.redact(texts.iter().map(|text| text.case.text.as_str()), &[])?;
    let mut sets = Sets::default();
    for (text, answer) in texts.iter().zip(&answers) {
        for name in [text.set.as_str(), ALL_SETS] {
            let [tuned, held] = sets.0.entry(name.to_owned()).or_default();
            if text.is_held_back { held } else { tuned }.add(&text.case, answer);
        }
    }
    Ok(sets)
}

/// Precision and recall of personal data and of secrets, and how many negatives are masked.
fn score_parts(score: &Score) -> [(&'static str, HitCount); 5] {
    let of = |counts: &BTreeMap<ValueClass, HitCount>, class| {
        counts.get(&class).copied().unwrap_or_default()
    };
    [
        ("pii_precision", of(&score.precision, ValueClass::Personal)),
        ("pii_recall", of(&score.recall, ValueClass::Personal)),
        ("secrets_precision", of(&score.precision, ValueClass::Secret)),
        ("secrets_recall", of(&score.recall, ValueClass::Secret)),
        ("negatives_masked", score.hard_negatives()),
    ]
}

impl Sets {
    /// The scores as a table; with `show`, also the errors in texts that rules are tuned to.
    pub fn table(&self, show: bool) -> String {
        let mut out = format!("\n{:<22}", "own texts");
        for head in ["PII P", "R", "secrets P", "R", "negatives masked"] {
            let _ = write!(out, "{head:>20}");
        }
        for (name, scores) in &self.0 {
            for (part, score) in PARTS.iter().zip(scores) {
                let _ = write!(out, "\n{:<22}", format!("{name}, {part}"));
                for (_, part) in score_parts(score) {
                    let shown = part.share().map(|s| format!("{s:.3} {}/{}", part.hits, part.all));
                    let _ = write!(out, "{:>20}", shown.unwrap_or_else(|| "-".to_owned()));
                }
            }
        }
        out.push('\n');
        if let Some([tuned, _]) = self.0.get(ALL_SETS).filter(|_| show) {
            out.push_str(&tuned.errors_text());
        }
        out
    }

    /// The scores as JSON.
    pub fn to_json(&self) -> Value {
        let of_part =
            |part: HitCount| json!({ "hits": part.hits, "of": part.all, "share": part.share() });
        let of_score = |score: &Score| -> Value {
            score_parts(score)
                .iter()
                .map(|(key, part)| ((*key).to_owned(), of_part(*part)))
                .collect()
        };
        let sets = self.0.iter().map(|(name, [tuned, held])| {
            (name.clone(), json!({ "tuned_to": of_score(tuned), "held_back": of_score(held) }))
        });
        sets.collect()
    }
}
