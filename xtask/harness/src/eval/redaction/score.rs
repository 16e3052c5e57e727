//! Scores redaction: a value is caught if every character of it is masked; a masked region is right
//! if it touches a labelled span.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::corpus::{Case, LabelledSpan};
use super::unowned_values::is_unowned;
use super::weaver::{Answer, MaskedSpan};

/// The source of texts without values that look as if they had some.
pub const HARD_NEGATIVE: &str = "hard-negative";
/// The source of texts in which a rule of another tool had a false positive.
const RULE_NEGATIVE: &str = "gitleaks-fp";

/// The class of a value. The two are scored separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueClass {
    Personal,
    Secret,
}

impl ValueClass {
    /// The class of a label; `None` for labels that are reported separately.
    fn of_label(kind: &str) -> Option<Self> {
        match kind {
            "EMAIL" | "PHONE" | "CREDIT_CARD" | "US_SSN" | "IBAN" | "IP" => Some(Self::Personal),
            "SECRET" | "JWT" | "PRIVATE_KEY" | "CONN_STRING" | "PASSWORD" => Some(Self::Secret),
            _ => None,
        }
    }

    /// The class of a type that the command reports: personal data by its words, otherwise a
    /// secret.
    fn of_type(kind: &str) -> Self {
        const PERSONAL: [&str; 18] = [
            "email", "phone", "card", "ssn", "iban", "ip", "birth", "passport", "national", "id",
            "licence", "license", "mac", "health", "tax", "bank", "person", "postcode",
        ];
        match kind.split('_').any(|word| PERSONAL.contains(&word)) {
            true => Self::Personal,
            false => Self::Secret,
        }
    }
}

/// A number of hits out of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HitCount {
    pub hits: usize,
    pub all: usize,
}

impl HitCount {
    fn add(&mut self, hit: bool) {
        self.all += 1;
        self.hits += usize::from(hit);
    }

    /// The share from 0 to 1; `None` if there is nothing.
    pub fn share(self) -> Option<f64> {
        (self.all > 0).then(|| self.hits as f64 / self.all as f64)
    }
}

/// All counts.
#[derive(Debug, Default)]
pub struct Score {
    pub precision: BTreeMap<ValueClass, HitCount>,
    pub recall: BTreeMap<ValueClass, HitCount>,
    pub by_type: BTreeMap<(ValueClass, String), HitCount>,
    pub by_source: BTreeMap<(ValueClass, String), HitCount>,
    /// Values beyond what is scored, by type.
    pub apart: BTreeMap<String, HitCount>,
    /// Negatives that were masked, by rule.
    pub hard: BTreeMap<String, HitCount>,
    pub rule_negatives: HitCount,
    missed: Vec<String>,
    wrong: Vec<String>,
}

impl Score {
    /// Adds one text and the answer to it.
    pub fn add(&mut self, case: &Case, answer: &Answer) {
        let regions = merge_spans(&answer.spans);
        match case.source.as_str() {
            HARD_NEGATIVE => {
                self.hard.entry(case.rule.clone()).or_default().add(!regions.is_empty());
                self.note_wrong(case, &regions);
            }
            RULE_NEGATIVE => {
                self.rule_negatives.add(!regions.is_empty());
                self.note_wrong(case, &regions);
            }
            _ => self.add_labelled(case, &regions),
        }
    }

    /// All hard negatives together.
    pub fn hard_negatives(&self) -> HitCount {
        self.hard.values().fold(HitCount::default(), |sum, part| HitCount {
            hits: sum.hits + part.hits,
            all: sum.all + part.all,
        })
    }

    fn add_labelled(&mut self, case: &Case, regions: &[MaskedSpan]) {
        for gold in &case.spans {
            let caught = regions.iter().any(|r| r.start <= gold.start && gold.end <= r.end);
            let value = excerpt(&case.text, gold.start, gold.end);
            if is_unowned(&gold.kind, &value) {
                self.apart.entry(format!("nobody's {}", gold.kind)).or_default().add(caught);
                continue;
            }
            let class = ValueClass::of_label(&gold.kind).filter(|_| !case.optional);
            match class {
                Some(class) => {
                    self.recall.entry(class).or_default().add(caught);
                    self.by_type.entry((class, gold.kind.clone())).or_default().add(caught);
                    self.by_source.entry((class, case.source.clone())).or_default().add(caught);
                }
                None => self.apart.entry(gold.kind.clone()).or_default().add(caught),
            }
            if !caught {
                self.missed.push(format!("{} {} {}: {value:?}", case.source, case.rule, gold.kind));
            }
        }
        if case.optional {
            return;
        }
        for region in regions {
            let touches = |gold: &LabelledSpan| gold.start < region.end && region.start < gold.end;
            let right = case.spans.iter().chain(&case.ignore).any(touches);
            self.precision.entry(ValueClass::of_type(&region.kind)).or_default().add(right);
            if !right {
                self.note_wrong(case, std::slice::from_ref(region));
            }
        }
    }

    fn note_wrong(&mut self, case: &Case, regions: &[MaskedSpan]) {
        for region in regions {
            let value = excerpt(&case.text, region.start, region.end);
            let (source, rule, by) = (&case.source, &case.rule, &region.rule);
            self.wrong.push(format!("{source} {rule}: {} by {by}: {value:?}", region.kind));
        }
    }

    /// The missed values and the unnecessary masks, one a line.
    pub fn errors_text(&self) -> String {
        let mut out = String::new();
        for (title, lines) in [("missed", &self.missed), ("masked without need", &self.wrong)] {
            let _ = writeln!(out, "\n{title}: {}", lines.len());
            for line in lines {
                let _ = writeln!(out, "  {line}");
            }
        }
        out
    }
}

/// The masked spans, merged where they touch; the first gives type and rule.
fn merge_spans(spans: &[MaskedSpan]) -> Vec<MaskedSpan> {
    let mut spans = spans.to_vec();
    spans.sort_by_key(|span| (span.start, span.end));
    let mut out: Vec<MaskedSpan> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => out.push(span),
        }
    }
    out
}

fn excerpt(text: &str, start: usize, end: usize) -> String {
    text.chars().skip(start).take(end.saturating_sub(start)).take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(start: usize, end: usize, kind: &str) -> MaskedSpan {
        MaskedSpan { start, end, kind: kind.to_owned(), rule: "r".to_owned() }
    }

    fn gold(start: usize, end: usize, kind: &str) -> LabelledSpan {
        LabelledSpan { start, end, kind: kind.to_owned() }
    }

    fn case(source: &str, spans: Vec<LabelledSpan>, ignore: Vec<LabelledSpan>) -> Case {
        let text = "abcdefghijklmnopqrstuvwxyz".to_owned();
        Case { text, spans, ignore, source: source.to_owned(), ..Case::default() }
    }

    fn score(case: &Case, spans: Vec<MaskedSpan>) -> Score {
        let mut score = Score::default();
        score.add(case, &Answer { text: String::new(), spans });
        score
    }

    #[test]
    fn a_value_is_caught_only_whole() {
        let case = case("s", vec![gold(2, 6, "EMAIL")], Vec::new());
        for (spans, hits) in [
            (vec![found(2, 6, "email")], 1),
            (vec![found(0, 9, "email")], 1),
            (vec![found(2, 4, "email"), found(4, 6, "phone")], 1),
            (vec![found(2, 5, "email")], 0),
            (vec![found(2, 4, "email"), found(5, 6, "email")], 0),
            (vec![], 0),
        ] {
            let score = score(&case, spans.clone());
            assert_eq!(score.recall[&ValueClass::Personal], HitCount { hits, all: 1 }, "{spans:?}");
        }
    }

    #[test]
    fn a_region_is_right_where_it_touches_a_label() {
        let case = case("s", vec![gold(2, 6, "SECRET")], vec![gold(10, 12, "PERSON")]);
        let spans = vec![
            found(5, 7, "api_key"),
            found(11, 14, "email"),
            found(20, 22, "phone"),
            found(24, 25, "password"),
        ];
        let score = score(&case, spans);
        assert_eq!(score.precision[&ValueClass::Secret], HitCount { hits: 1, all: 2 });
        assert_eq!(score.precision[&ValueClass::Personal], HitCount { hits: 1, all: 2 });
        assert_eq!(score.recall[&ValueClass::Secret], HitCount { hits: 0, all: 1 });
    }

    #[test]
    fn negatives_count_by_text_and_not_in_the_precision() {
        let two = vec![found(0, 2, "card"), found(4, 6, "card")];
        let score = score(&case(HARD_NEGATIVE, Vec::new(), Vec::new()), two.clone());
        assert!(score.precision.is_empty());
        assert_eq!(score.hard_negatives(), HitCount { hits: 1, all: 1 });
        let score = super::tests::score(&case(RULE_NEGATIVE, Vec::new(), Vec::new()), two);
        assert_eq!(score.rule_negatives, HitCount { hits: 1, all: 1 });
    }

    #[test]
    fn what_is_optional_is_shown_apart() {
        let mut case = case("s", vec![gold(2, 6, "US_DL")], Vec::new());
        case.optional = true;
        let score = score(&case, vec![found(2, 6, "national_id"), found(9, 12, "phone")]);
        assert!(score.precision.is_empty() && score.recall.is_empty());
        assert_eq!(score.apart["US_DL"], HitCount { hits: 1, all: 1 });
    }
}
