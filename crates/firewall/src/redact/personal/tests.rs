use proptest::prelude::*;

use super::*;

/// The text with everything found replaced by `#`.
fn shown(text: &str) -> Vec<(usize, &str)> {
    let mut hits = Vec::new();
    scan(text, &mut hits);
    hits.into_iter().map(|hit| (hit.rule, &text[hit.range])).collect()
}

#[test]
fn every_rule_masks_and_keeps_its_examples() {
    let mut wrong = Vec::new();
    for (index, rule) in RULES.iter().enumerate() {
        assert!(!rule.masks.is_empty() && !rule.keeps.is_empty(), "{}", rule.id);
        for (text, value) in rule.masks {
            let found = shown(text);
            if !found.contains(&(index, value)) {
                wrong.push(format!("{}: {text:?} gave {found:?}", rule.id));
            }
        }
        for text in rule.keeps {
            let found: Vec<_> =
                shown(text).into_iter().filter(|(rule, _)| *rule == index).collect();
            if !found.is_empty() {
                wrong.push(format!("{}: {text:?} gave {found:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_are_unique() {
    let mut names = std::collections::BTreeSet::new();
    assert!(RULES.iter().all(|rule| names.insert(rule.id)));
}

proptest! {
    #[test]
    fn any_text_is_scanned(text in "[0-9a-fxA-F@:.+() /_#é-]{0,80}") {
        let mut hits = Vec::new();
        scan(&text, &mut hits);
        for hit in hits {
            prop_assert!(text.get(hit.range.clone()).is_some_and(|value| !value.is_empty()));
            prop_assert!(hit.rule < RULES.len());
        }
    }
}

/// Prints recall and precision of the scan alone over a file of labelled texts, one JSON object a
/// line, that `LABELLED_TEXTS` names; `MISSES` prints what went wrong.
#[test]
#[ignore = "needs labelled texts"]
fn figures() {
    let path = std::env::var("LABELLED_TEXTS").unwrap();
    let misses = std::env::var("MISSES").is_ok();
    let mut tallies = std::collections::BTreeMap::<String, [usize; 2]>::new();
    let mut add = |name: String, good: bool| {
        let tally = tallies.entry(name).or_default();
        tally[0] += usize::from(good);
        tally[1] += 1;
    };
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        let (source, rule) = (case["source"].as_str().unwrap(), case["rule"].as_str().unwrap());
        let places: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let ranges = |key: &str| -> Vec<(usize, usize, String)> {
            let spans = case[key].as_array().into_iter().flatten();
            let at =
                |span: &serde_json::Value, key: &str| places[span[key].as_u64().unwrap() as usize];
            spans
                .map(|s| {
                    (at(s, "start"), at(s, "end"), s["type"].as_str().unwrap_or("?").to_owned())
                })
                .collect()
        };
        let (gold, ignore) = (ranges("spans"), ranges("ignore"));
        let mut hits = Vec::new();
        scan(text, &mut hits);
        hits.sort_by_key(|hit| hit.range.start);
        let mut masked: Vec<(usize, usize, usize)> = Vec::new();
        for hit in &hits {
            match masked.last_mut() {
                Some(last) if hit.range.start <= last.1 => last.1 = last.1.max(hit.range.end),
                _ => masked.push((hit.range.start, hit.range.end, hit.rule)),
            }
        }
        for (start, end, kind) in &gold {
            let end = start + text[*start..*end].trim_end().len();
            let start = end - text[*start..end].trim_start().len();
            let found = masked.iter().any(|(a, b, _)| *a <= start && end <= *b);
            add(format!("recall {source} {kind}"), found);
            if misses && !found {
                println!("MISS {source} {rule} {kind} {:?} in {text:?}", &text[start..end]);
            }
        }
        for (a, b, index) in &masked {
            let touches =
                |list: &[(usize, usize, String)]| list.iter().any(|(s, e, _)| a < e && s < b);
            let right = touches(&gold) || touches(&ignore);
            add(format!("precision {source}"), right);
            if misses && !right {
                println!(
                    "WRONG {source} {rule} {} {:?} in {text:?}",
                    RULES[*index].id,
                    &text[*a..*b]
                );
            }
        }
        if gold.is_empty() {
            add(format!("clean kept {source}"), masked.is_empty());
        }
    }
    for (name, [good, all]) in tallies {
        println!("{name:60} {good:5}/{all:5} {:.3}", good as f64 / all as f64);
    }
}

/// Prints a made-up value for each row of the tables.
#[test]
#[ignore = "writes examples"]
fn examples() {
    let mut state = 88172645463325252_u64;
    let mut roll = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for row in national::TABLES.into_iter().flatten() {
        let mut value = None;
        for _ in 0..3_000_000 {
            let mut compact = Vec::new();
            let mut text = String::new();
            for sign in row.shapes[0].bytes() {
                let c = match sign {
                    b'~' => {
                        text.push('-');
                        continue;
                    }
                    b'A' => b'A' + roll(26) as u8,
                    b'X' if roll(2) == 0 => b'A' + roll(26) as u8,
                    _ => b'0' + roll(10) as u8,
                };
                compact.push(c);
                text.push(char::from(c));
            }
            if (row.check)(&compact) {
                value = Some(text);
                break;
            }
        }
        println!("EXAMPLE {} {}", row.rule.id, value.unwrap_or_default());
    }
}
