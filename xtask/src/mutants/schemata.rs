//! Writes a file with all of its mutants, each behind its switch.
//!
//! The branch of a mutant repeats the original operands, without switches. That is enough because
//! only one mutant is on at a time, and it keeps the file linear in the number of mutants, however
//! deep they nest.

use std::collections::BTreeSet;
use std::ops::Range;

use super::listing::Mutant;
use super::places::{self, Choice, Kind, Place};

/// The module that reads the switch. Usually one id is on; to measure the reach of a test none is
/// on, and each id that is read is recorded once.
pub const SWITCH_MODULE: &str = r#"
#[doc(hidden)]
pub mod mutant_switch {
    use std::io::Write as _;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static ON: OnceLock<u32> = OnceLock::new();
    static REACHED: [AtomicBool; 65_536] = [const { AtomicBool::new(false) }; 65_536];

    #[inline]
    pub fn on(id: u32) -> bool {
        let on = *ON.get_or_init(|| match std::env::var_os("MUTANTS_REACHED") {
            Some(_) => u32::MAX,
            None => std::env::var("MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(0),
        });
        if on == u32::MAX {
            note(id);
        }
        on == id
    }

    fn note(id: u32) {
        if REACHED.get(id as usize).is_none_or(|seen| seen.swap(true, Ordering::Relaxed)) {
            return;
        }
        let Some(path) = std::env::var_os("MUTANTS_REACHED") else { return };
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(format!("{id}\n").as_bytes()));
    }
}
"#;

/// The name of that module.
pub const SWITCH_MODULE_NAME: &str = "mutant_switch";

/// A source file with switches.
pub struct SwitchedFile {
    pub text: String,
    /// Ranges of the text, and the mutants that may have caused a compiler error there.
    regions: Vec<(Range<usize>, Vec<usize>)>,
    /// The mutants that were inserted.
    pub placed: BTreeSet<usize>,
}

impl SwitchedFile {
    /// The mutants whose removal may fix an error at this range.
    pub fn blamed_mutants(&self, error: &Range<usize>) -> &[usize] {
        let around = |(range, _): &&(Range<usize>, Vec<usize>)| {
            range.start <= error.start && error.end <= range.end
        };
        let inner = self.regions.iter().filter(around).min_by_key(|(range, _)| range.len());
        inner.map_or(&[], |(_, mutants)| mutants)
    }
}

/// Inserts the mutants of a file, except those that do not compile.
pub fn with_switches(
    source: &str,
    mutants: &[&Mutant],
    without: &BTreeSet<usize>,
) -> syn::Result<SwitchedFile> {
    let places = places::places_in(source, mutants)?;
    let mut inner = vec![Vec::new(); places.len()];
    let (mut outermost, mut around) = (Vec::new(), Vec::<usize>::new());
    for (at, place) in places.iter().enumerate() {
        let holds = |outer: &Place| {
            outer.range.end >= place.range.end && place.range.start < outer.range.end
        };
        while around.last().is_some_and(|outer| !holds(&places[*outer])) {
            around.pop();
        }
        around.last().map_or(&mut outermost, |outer| &mut inner[*outer]).push(at);
        around.push(at);
    }
    let mut writer = Writer {
        source,
        places: &places,
        inner: &inner,
        without,
        text: String::new(),
        regions: Vec::new(),
        placed: BTreeSet::new(),
    };
    writer.write_range(0..source.len(), &outermost);
    Ok(SwitchedFile { text: writer.text, regions: writer.regions, placed: writer.placed })
}

struct Writer<'s> {
    source: &'s str,
    places: &'s [Place],
    /// For each place, the places directly inside it.
    inner: &'s [Vec<usize>],
    without: &'s BTreeSet<usize>,
    text: String,
    regions: Vec<(Range<usize>, Vec<usize>)>,
    placed: BTreeSet<usize>,
}

impl<'s> Writer<'s> {
    /// Writes a range of the source with the places in it.
    fn write_range(&mut self, range: Range<usize>, inside: &[usize]) {
        let mut at = range.start;
        for place in inside {
            let own = self.places[*place].range.clone();
            if own.start < range.start || own.end > range.end {
                continue;
            }
            self.text.push_str(&self.source[at..own.start]);
            self.place(*place);
            at = own.end;
        }
        self.text.push_str(&self.source[at..range.end]);
    }

    fn compiles(&self, mutant: usize) -> bool {
        !self.without.contains(&mutant)
    }

    fn compilable(&self, choices: &'s [Choice]) -> Vec<&'s Choice> {
        choices.iter().filter(|(mutant, _)| self.compiles(*mutant)).collect()
    }

    /// Writes code that exists only for these mutants.
    fn region(&mut self, mutants: Vec<usize>, write: impl FnOnce(&mut Self)) {
        let start = self.text.len();
        write(self);
        self.placed.extend(&mutants);
        self.regions.push((start..self.text.len(), mutants));
    }

    /// Writes `if on { instead } `.
    fn branch(&mut self, mutant: usize, instead: &str) {
        self.text.push_str(&format!("if crate::mutant_switch::on({mutant}) {{ "));
        self.region(vec![mutant], |writer| writer.text.push_str(instead));
        self.text.push_str(" } ");
    }

    /// Writes `(if on { instead } else { … })` around the original code.
    fn either(&mut self, choices: Vec<(usize, String)>, own: impl FnOnce(&mut Self)) {
        if choices.is_empty() {
            return own(self);
        }
        let mutants = choices.iter().map(|(mutant, _)| *mutant).collect();
        self.region(mutants, |writer| {
            writer.text.push('(');
            for (mutant, instead) in choices {
                writer.branch(mutant, &instead);
                writer.text.push_str("else ");
            }
            writer.text.push_str("{ ");
            own(writer);
            writer.text.push_str(" })");
        });
    }

    fn write_switched_off(&mut self, mutant: usize) {
        let off = format!("!crate::mutant_switch::on({mutant})");
        self.region(vec![mutant], |writer| writer.text.push_str(&off));
    }

    fn place(&mut self, at: usize) {
        let (source, inner) = (self.source, &self.inner[at]);
        let Place { range, kind } = &self.places[at];
        let own = |writer: &mut Self| writer.write_range(range.clone(), inner);
        let one = |writer: &Self, mutant: usize, instead: &str| match writer.compiles(mutant) {
            true => vec![(mutant, instead.to_owned())],
            false => Vec::new(),
        };
        match kind {
            Kind::Body(choices) => {
                for (mutant, value) in self.compilable(choices) {
                    self.branch(*mutant, &format!("return {value};"));
                }
            }
            Kind::Arm(mutant) if self.compiles(*mutant) => {
                self.text.push_str("if ");
                self.write_switched_off(*mutant);
                self.text.push(' ');
            }
            Kind::Arm(_) => {}
            Kind::Guard { without_arm, choices } => {
                let choices = self.compilable(choices).into_iter().cloned().collect();
                match without_arm.filter(|mutant| self.compiles(*mutant)) {
                    None => self.either(choices, own),
                    Some(mutant) => {
                        self.write_switched_off(mutant);
                        self.text.push_str(" && (");
                        self.either(choices, own);
                        self.text.push(')');
                    }
                }
            }
            Kind::Match(arms) => {
                let left: Vec<usize> =
                    arms.iter().copied().filter(|mutant| self.compiles(*mutant)).collect();
                match left.is_empty() {
                    true => own(self),
                    false => self.region(left, own),
                }
            }
            Kind::Binary { left, right, choices } => {
                let (a, b) = (&source[left.clone()], &source[right.clone()]);
                let instead = |(mutant, sign): &Choice| (*mutant, format!("{a} {sign} {b}"));
                let choices = self.compilable(choices).into_iter().map(instead).collect();
                self.either(choices, own);
            }
            Kind::Unary { operand, mutant } => {
                let choices = one(self, *mutant, &source[operand.clone()]);
                self.either(choices, own);
            }
            Kind::Field { shorthand, other, mutant } => {
                if let (Some(name), true) = (shorthand, self.compiles(*mutant)) {
                    self.text.push_str(&format!("{name}: "));
                }
                let choices = one(self, *mutant, other);
                self.either(choices, own);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn f(a: u8, b: u8) -> bool {\n    a < b && !g(a + 1)\n}\n";

    fn mutant(id: usize, at: (usize, usize), genre: &str, replacement: &str) -> Mutant {
        Mutant {
            id,
            file: "f.rs".to_owned(),
            name: String::new(),
            at,
            genre: genre.to_owned(),
            replacement: replacement.to_owned(),
            returns_hidden_type: false,
        }
    }

    #[test]
    fn every_mutant_has_its_switch_and_its_blame() {
        let mutants = [
            mutant(1, (2, 5), "FnValue", "true"),
            mutant(2, (2, 7), "BinaryOperator", "<="),
            mutant(3, (2, 11), "BinaryOperator", "||"),
            mutant(4, (2, 14), "UnaryOperator", ""),
            mutant(5, (2, 19), "BinaryOperator", "-"),
        ];
        let mutants: Vec<&Mutant> = mutants.iter().collect();
        let whole = with_switches(SOURCE, &mutants, &BTreeSet::new()).unwrap();
        assert_eq!(whole.placed.len(), 5);
        syn::parse_file(&whole.text).unwrap();
        for (instead, id) in
            [("return true;", 1), ("a <= b", 2), ("a < b || !g(a + 1)", 3), ("a - 1", 5)]
        {
            let at = whole.text.find(instead).unwrap();
            assert_eq!(whole.blamed_mutants(&(at..at + 1)), [id], "{}", whole.text);
        }
        let none = (1..=5).collect();
        assert_eq!(with_switches(SOURCE, &mutants, &none).unwrap().text, SOURCE);
    }

    #[test]
    fn arms_are_taken_away_by_their_guards() {
        let source = "fn f(a: u8) -> u8 {\n    match a {\n        1 => 2,\n        n if n > 3 => n,\n        _ => 0,\n    }\n}\n";
        let mutants = [
            mutant(1, (3, 9), "MatchArm", ""),
            mutant(2, (4, 9), "MatchArm", ""),
            mutant(3, (4, 14), "MatchArmGuard", "true"),
        ];
        let mutants: Vec<&Mutant> = mutants.iter().collect();
        let whole = with_switches(source, &mutants, &BTreeSet::new()).unwrap();
        syn::parse_file(&whole.text).unwrap();
        assert!(whole.text.contains("1 if !crate::mutant_switch::on(1) => 2"), "{}", whole.text);
        let scrutinee = whole.text.find("a {\n").unwrap();
        assert_eq!(whole.blamed_mutants(&(scrutinee..scrutinee + 1)), [1, 2]);
    }
}
