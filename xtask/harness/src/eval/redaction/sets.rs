//! Scores of the project's own texts, by set, with the part that is held back apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::marked_texts::Text;
use super::score::{Class, Part, Score};
use super::weaver::Weaver;

/// The set of all texts together.
const ALL: &str = "all";

/// The scores of each set: of the texts that rules are tuned to, and of those held back.
#[derive(Debug, Default)]
pub struct Sets(BTreeMap<String, [Score; 2]>);

const PARTS: [&str; 2] = ["tuned to", "held back"];

/// Asks the command.
pub fn score(weaver: &Weaver, texts: &[Text]) -> Result<Sets> {
    let answers = weaver.redact(texts.iter().map(|text| text.case.text.as_str()), &[])?;
    let mut sets = Sets::default();
    for (text, answer) in texts.iter().zip(&answers) {
        for name in [text.set.as_str(), ALL] {
            let [tuned, held] = sets.0.entry(name.to_owned()).or_default();
            if text.is_held_back { held } else { tuned }.add(&text.case, answer);
        }
    }
    Ok(sets)
}

/// Precision and recall of personal data and of secrets, and how many negatives are masked.
fn parts(score: &Score) -> [(&'static str, Part); 5] {
    let of =
        |counts: &BTreeMap<Class, Part>, class| counts.get(&class).copied().unwrap_or_default();
    [
        ("pii_precision", of(&score.precision, Class::Personal)),
        ("pii_recall", of(&score.recall, Class::Personal)),
        ("secrets_precision", of(&score.precision, Class::Secret)),
        ("secrets_recall", of(&score.recall, Class::Secret)),
        ("negatives_masked", score.hard_negatives()),
    ]
}

impl Sets {
    /// For people; with `show`, what was wrong in the texts that rules are tuned to.
    pub fn table(&self, show: bool) -> String {
        let mut out = format!("\n{:<22}", "own texts");
        for head in ["PII P", "R", "secrets P", "R", "negatives masked"] {
            let _ = write!(out, "{head:>20}");
        }
        for (name, scores) in &self.0 {
            for (part, score) in PARTS.iter().zip(scores) {
                let _ = write!(out, "\n{:<22}", format!("{name}, {part}"));
                for (_, part) in parts(score) {
                    let shown = part.share().map(|s| format!("{s:.3} {}/{}", part.hits, part.all));
                    let _ = write!(out, "{:>20}", shown.unwrap_or_else(|| "-".to_owned()));
                }
            }
        }
        out.push('\n');
        if let Some([tuned, _]) = self.0.get(ALL).filter(|_| show) {
            out.push_str(&tuned.shown());
        }
        out
    }

    /// For scripts.
    pub fn to_json(&self) -> Value {
        let of_part =
            |part: Part| json!({ "hits": part.hits, "of": part.all, "share": part.share() });
        let of_score = |score: &Score| -> Value {
            parts(score).iter().map(|(key, part)| ((*key).to_owned(), of_part(*part))).collect()
        };
        let sets = self.0.iter().map(|(name, [tuned, held])| {
            (name.clone(), json!({ "tuned_to": of_score(tuned), "held_back": of_score(held) }))
        });
        sets.collect()
    }
}
