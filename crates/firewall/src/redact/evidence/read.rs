//! Reads the evidence for one candidate.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::super::spoken::lexicon;
use super::candidate::{Candidate, is_unspaced};
use super::feature::{Feature, Features};
use super::labels;
use crate::redact::validators::words;

/// How far before a label its line is read, in bytes.
const BYTES_BEFORE: usize = 60;
/// How far around a label and its value the line is looked at, in bytes.
const BYTES_OF_LINE: usize = 100;

/// Units of numbers, and what is counted.
const UNITS: &[&str] = words![
    "ms" "s" "sec" "seconds" "min" "minutes" "minuten" "h" "hours" "stunden" "days" "day" "tage" "tagen" "bytes" "byte"
    "bits" "bit" "mb" "kb" "gb" "chars" "characters" "zeichen" "rooms" "zimmer" "eur" "euro" "euros" "€" "kr" "usd" "%"
    "km" "kg" "kwh" "m" "uhr" "dní" "dni" "päivää" "dias" "días" "jours" "giorni" "stuks" "stück" "st" "pcs" "people"
    "users" "times" "mal" "x" "digits" "stellen"
    "mhz" "ghz" "mv" "v" "w"
];

/// The last part of a name whose value is no secret.
const ID_WORDS: &[&str] = words![
    "id" "ids" "uuid" "guid" "name" "user" "username" "login" "host" "hostname" "server" "url" "uri" "endpoint" "path"
    "file" "port" "email" "mail" "region" "type" "version" "model" "status" "date" "time" "size" "count" "length" "label"
    "title" "algorithm" "accessor" "hash" "sha256" "digest" "fingerprint" "serial" "sn" "kid" "alg" "nr" "no" "s/n"
    "identifiant" "utente" "usuario" "benutzer" "utilisateur" "gebruiker" "eintrag" "ticket"
];

/// Names that say nothing about their value.
const NEUTRAL: &[&str] = words![
    "value" "val" "text" "plain_text" "content" "body" "default" "data" "string" "s" "code" "raw" "p" "literal"
];

/// Words before the name of a network or of something else.
const NETWORK_NAMES: &[&str] = words![
    "red" "ssid" "netz" "netzwerk" "network" "réseau" "rete" "netwerk" "mạng" "nätverk" "netværk" "nettverk" "сеть"
    "name" "nombre" "nom" "nome"
];

/// Prepositions and verbs that lead to what is typed.
const PREPOSITIONS: &[&str] = words![
    "to" "auf" "zu" "în" "en" "à" "por" "para" "naar" "op" "na" "till" "til" "with" "mit" "avec" "con" "com" "met" "med"
    "plus" "over" "through" "über" "wants" "per" "enter" "tap" "type" "press" "star"
];

/// The evidence around a label, which all candidates behind it have.
pub(super) fn about_label(text: &str, label: &Range<usize>) -> Features {
    let mut features = Features::default();
    let lead = text.get(..label.start).and_then(|text| text.chars().next_back()).unwrap_or(' ');
    features.add_if("_$./\\@-".contains(lead), Feature::InName);
    features.add_if(lead.is_alphabetic() && !is_unspaced(lead), Feature::Compound);
    let from = line_start(text, label.start, BYTES_BEFORE);
    labels::add_near(text, from..label.start, &mut features);
    let from = line_start(text, label.start, BYTES_OF_LINE);
    let end = text.floor_char_boundary((label.end + BYTES_OF_LINE).min(text.len()));
    let behind = text.get(label.end..end).and_then(|rest| rest.split('\n').next());
    let end = label.end + behind.map_or(0, str::len);
    let line = text.get(from..end).unwrap_or_default();
    features.add_if(is_code(line), Feature::CodeLine);
    features.add_if(has_mail(line), Feature::Mail);
    features
}

/// The evidence for a candidate behind a label; `about` is that of the label.
pub(super) fn features(
    text: &str,
    label: &Range<usize>,
    candidate: &Candidate<'_>,
    form: Feature,
    about: Features,
) -> Features {
    let mut features = about;
    let range = &candidate.range;
    let word = text.get(range.clone()).unwrap_or_default();
    features.add(form);
    add_form(word, form, &mut features);
    let previous = candidate.previous.to_lowercase();
    let between = text.get(label.end..range.start).unwrap_or_default();
    let is_changed =
        between.split_whitespace().any(|word| lexicon::is_change(&word.to_lowercase()));
    let link = link(text, label, candidate, &previous, is_changed);
    features.add(link);
    features.add(match candidate.words {
        0 => Feature::NoWord,
        1 | 2 => Feature::FewWords,
        3 | 4 => Feature::SomeWords,
        _ => Feature::ManyWords,
    });
    features.add_if(candidate.is_below, Feature::Below);
    features.add_if(candidate.is_quoted, Feature::Quoted);
    features.add_if(candidate.is_behind_stop, Feature::Stop);
    features.add_if(is_changed, Feature::Changed);
    features.add(what_follows(text, range.end, form));
    let name = match candidate.words {
        0 => text.get(label.clone()).unwrap_or_default().to_lowercase(),
        _ => previous,
    };
    add_names(candidate, &name, link, &mut features);

    let before = text.get(..range.start).and_then(|text| text.chars().next_back()).unwrap_or(' ');
    features.add_if(before.is_alphanumeric() && !is_unspaced(before), Feature::BehindLetter);
    labels::add_near(text, label.end..range.start, &mut features);
    features
}

/// True for the name of a network: `red Finca_2G`.
pub(super) fn is_name_of_network(candidate: &Candidate<'_>) -> bool {
    let name = candidate.previous.to_lowercase();
    candidate.words > 0
        && NETWORK_NAMES.contains(&name.trim_matches(['"', '\'', ':', '=', '`', '(']))
}

/// At most so many bytes before a position, but not beyond the start of its line.
fn line_start(text: &str, at: usize, most: usize) -> usize {
    let from = text.floor_char_boundary(at.saturating_sub(most));
    let run = text.get(from..at).unwrap_or_default();
    from + run.rfind('\n').map_or(0, |at| at + 1)
}

fn add_form(word: &str, form: Feature, features: &mut Features) {
    let is_of_digits =
        matches!(form, Feature::Digits3 | Feature::Digits4 | Feature::Digits6 | Feature::Digits8);
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    features.add_if(is_of_digits && is_year, Feature::Year);
    if is_of_digits
        || matches!(form, Feature::Groups | Feature::JoinedDigits | Feature::DigitsWithSign)
    {
        return;
    }
    features.add(match word.chars().count() {
        0..=5 => Feature::Shorter6,
        6 | 7 => Feature::Shorter8,
        8..=11 => Feature::Shorter12,
        12..=19 => Feature::Shorter20,
        _ => Feature::Longer,
    });
    let has_sign = word.contains(['!', '#', '%', '&', '*', '+', '@', '^', '~', '?']);
    features.add_if(!has_sign && labels::has_label(word), Feature::OwnName);
}

/// What links a candidate with its label.
fn link(
    text: &str,
    label: &Range<usize>,
    candidate: &Candidate<'_>,
    previous: &str,
    is_changed: bool,
) -> Feature {
    let start = candidate.range.start;
    let between = text.get(label.end..start).unwrap_or_default();
    let lead = between
        .trim_end_matches([' ', '"', '\'', '`', '«', '„', '“', '‘', '*', '(', '[', '\u{a0}']);
    // Signs before the last word are not those of the value.
    let bare = match candidate.words {
        0 => lead,
        _ => lead.rsplit(|c: char| c.is_alphanumeric()).next().unwrap_or_default(),
    };
    let sign = bare.chars().next_back().unwrap_or(' ');
    if matches!(previous, "->" | "=>" | "→" | "-" | "—" | "–" | "/" | "plus") {
        return Feature::Arrow;
    }
    let name = text.get(label.clone()).unwrap_or_default().to_ascii_lowercase();
    // `to` is a verb in Polish.
    let has_verb_to = name.starts_with("has") || name.starts_with("kod");
    let is_verb = candidate.is_behind_particle
        || lexicon::VERBS.contains(&previous) && (previous != "to" || has_verb_to);
    let is_preposition = PREPOSITIONS.contains(&previous);
    match sign {
        _ if candidate.is_answer => Feature::Answer,
        ':' | '=' | '：' | '|' => Feature::Sign,
        '>' if bare.ends_with("->") || bare.ends_with("=>") => Feature::Arrow,
        '→' | '—' | '–' => Feature::Arrow,
        '>' => Feature::Markup,
        '/' => Feature::Slash,
        ',' | ';' => Feature::Comma,
        _ if is_verb => Feature::Verb,
        _ if is_changed && (is_preposition || lexicon::PREPOSITIONS.contains(&previous)) => {
            Feature::ChangedTo
        }
        _ if is_preposition => Feature::Preposition,
        _ if candidate.words == 0 => Feature::Next,
        _ => Feature::Words,
    }
}

fn what_follows(text: &str, end: usize, form: Feature) -> Feature {
    let rest = text.get(end..).unwrap_or_default();
    let first = rest.chars().next().unwrap_or('\n');
    let bare = rest.trim_start_matches(['"', '\'', '`', '»', '“', '”', ')', '*']);
    let mut signs = bare.chars();
    let sign = signs.next().unwrap_or('\n');
    let next = signs.next().unwrap_or('\n');
    let ends = next.is_whitespace() || next == '\\' || next > '\u{2e80}';
    match sign {
        '\n' | '\r' => Feature::EndsLine,
        ',' | '.' | ';' | ')' | '!' | '?' if ends => Feature::EndsClause,
        '，' | '。' | '、' | '；' => Feature::EndsClause,
        _ if first == '(' || first == '[' => Feature::Call,
        _ if first == ':' || first == '=' => Feature::Named,
        ' ' => {
            let word = bare.trim_start().split(char::is_whitespace).next().unwrap_or_default();
            let unit = word.trim_matches(['.', ',', ';', ':', ')']).to_lowercase();
            let is_number = matches!(
                form,
                Feature::Digits3 | Feature::Digits4 | Feature::Digits6 | Feature::Digits8
            );
            match next {
                _ if is_number && UNITS.contains(&unit.as_str()) => Feature::Unit,
                c if c.is_lowercase() => Feature::Lower,
                '(' | '-' | '–' | '—' | '/' | '|' | '+' => Feature::Aside,
                _ => Feature::OtherWord,
            }
        }
        _ => Feature::OtherSign,
    }
}

/// What the word before says, which may be another name.
fn add_names(candidate: &Candidate<'_>, previous: &str, link: Feature, features: &mut Features) {
    let name = previous
        .trim_matches(['"', '\'', '`', '*', ':', '=', '-', '(', ')', '[', ']', '{', '}', ',']);
    let last = name.rsplit(['_', '.', '-', ' ']).next().unwrap_or_default();
    let is_id = ID_WORDS.contains(&last) || last.len() > 3 && last.ends_with("id");
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.-".contains(c));
    if candidate.words > 0 && matches!(link, Feature::Sign | Feature::Markup) && is_name {
        features.add(match () {
            () if labels::has_label(name) => Feature::LabelName,
            () if NEUTRAL.contains(&last) => Feature::NeutralName,
            () if is_id => Feature::IdName,
            () => Feature::OtherName,
        });
    } else {
        features.add_if(is_id, Feature::IdWord);
    }
}

static CODE: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::new(["==", "&&", "||", "self.", "this.", "();", " => ", ");", "{\"", "$("]).ok()
});

/// True for a line of program text.
fn is_code(line: &str) -> bool {
    let is_called = |at: usize| {
        let before = line.as_bytes().get(at.wrapping_sub(1)).copied().unwrap_or(b' ');
        before.is_ascii_alphanumeric() || before == b'_'
    };
    line.trim_end().ends_with(['{', '}', ';'])
        || line.trim_start().starts_with("//")
        || CODE.as_ref().is_some_and(|code| code.is_match(line))
        || memchr::memchr_iter(b'(', line.as_bytes()).any(is_called)
}

/// True for a line with an address of mail.
fn has_mail(line: &str) -> bool {
    memchr::memchr_iter(b'@', line.as_bytes()).any(|at| {
        let (before, after) = line.split_at_checked(at).unwrap_or_default();
        let host = after.get(1..).unwrap_or_default();
        let host = host.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.').next();
        before.ends_with(|c: char| c.is_ascii_alphanumeric())
            && host.is_some_and(|host| host.trim_end_matches('.').contains('.'))
    })
}
