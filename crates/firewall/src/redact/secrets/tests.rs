use super::*;

fn masked(text: &str) -> Vec<(&'static str, String)> {
    let mut hits = Vec::new();
    scan(text, &mut hits);
    hits.sort_by_key(|hit| (hit.range.start, hit.range.end));
    hits.dedup_by(|a, b| a.range.start < b.range.end);
    hits.into_iter()
        .map(|hit| (RULES[hit.rule].id, text.get(hit.range).unwrap_or_default().to_owned()))
        .collect()
}

#[test]
fn every_rule_masks_and_keeps_its_examples() {
    let mut wrong = Vec::new();
    for rule in RULES {
        for (text, secret) in rule.masks {
            let found = masked(text);
            if found.iter().all(|(_, value)| value != secret) || found.len() != 1 {
                wrong.push(format!("{}: {text:?} gives {found:?}", rule.id));
            }
        }
        for text in rule.keeps {
            let found = masked(text);
            if !found.is_empty() {
                wrong.push(format!("{}: {text:?} gives {found:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
