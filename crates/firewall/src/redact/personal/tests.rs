mod clusters;
mod documents;
mod hosts;
mod mail;
mod numbers;
mod phones;
mod sums;
mod words;

use proptest::prelude::*;

use super::*;

/// The text with everything found replaced by `#`.
fn shown(text: &str) -> Vec<(usize, &str)> {
    let mut hits = Vec::new();
    scan(&ScanWindow::new(text), &mut hits);
    hits.into_iter().map(|hit| (hit.rule, text.get(hit.range).unwrap())).collect()
}

/// What is found, `rule=value` by `rule=value`, in the order of the text.
fn found(text: &str) -> String {
    let mut hits = Vec::new();
    scan(&ScanWindow::new(text), &mut hits);
    let mut hits: Vec<_> = hits
        .into_iter()
        .map(|hit| (hit.range.start, hit.range.end, RULES.get(hit.rule).unwrap().id))
        .collect();
    hits.sort_unstable();
    hits.dedup();
    let shown =
        hits.into_iter().map(|(start, end, id)| format!("{id}={}", text.get(start..end).unwrap()));
    shown.collect::<Vec<_>>().join(" | ")
}

/// Texts and what is found in them.
#[track_caller]
fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(text, wanted)| (text, wanted, found(text)))
        .filter(|(_, wanted, found)| found != *wanted)
        .map(|(text, wanted, found)| format!("{text:?}\n  gives {found:?}\n  not   {wanted:?}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
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

#[test]
fn cards_have_a_brand_a_length_and_a_sum() {
    for good in [
        "4111111111111111", "378282246310005", "5555555555554444", "6011111111111117",
        "30569309025904", "3530111333300000", "2223003122003222", "2200000000000053",
    ] {
        assert!(card::is_valid_card(good.as_bytes()), "{good}");
    }
    for bad in ["4111111111111112", "411111111111111", "9111111111111111", "", "0000000000000000"] {
        assert!(!card::is_valid_card(bad.as_bytes()), "{bad}");
    }
}

#[test]
fn each_of_many_cards_in_a_line_is_found_and_five_groups_are_none() {
    let one = "4539 1488 0343 6467";
    for many in [1, 2, 9] {
        let text = format!("paid with {} today", [one].repeat(many).join(" "));
        let found: Vec<&str> = shown(&text).into_iter().map(|(_, value)| value).collect();
        assert_eq!(found, [one].repeat(many), "{text}");
    }
    for none in [format!("{one} 1234"), format!("{one} 1234 5678 9012 3456")] {
        assert!(!shown(&none).contains(&(CARD, one)), "{none}");
    }
}

#[test]
fn a_short_address_with_two_colons_counts_where_the_words_say_so() {
    assert_eq!(shown("src=a1:: dst=b2::1"), [(IPV6, "a1::"), (IPV6, "b2::1")]);
    assert_eq!(shown("a1::/16"), [(IPV6, "a1::/16")]);
    assert_eq!(shown("a1::b or a :: b"), []);
}

/// Numbers of machines stand alone in structured data.
#[test]
fn a_number_alone_is_seldom_taken_for_a_document() {
    let masked = |first: u64, step: u64| {
        (0..2_000).filter(|n| !shown(&(first + n * step).to_string()).is_empty()).count()
    };
    for (first, step) in [
        (1_700_000_000, 7_919),
        (1_700_000_000_000, 7_919_113),
        (1_700_000_000_000_000, 7_919_113_007),
        (100_000_007, 433_261),
        (20_000_000_011, 39_916_801),
    ] {
        let count = masked(first, step);
        assert!(count <= 40, "{first}: {count}");
    }
}

#[test]
fn numbers_that_nobody_has_are_no_ssn() {
    for bad in ["000-12-3456", "666-12-3456", "900-12-3456", "536-00-1234", "536-22-0000"] {
        assert!(shown(bad).is_empty(), "{bad}");
    }
}

#[test]
fn a_card_is_whole_also_where_it_looks_like_a_phone() {
    for (text, card) in [
        ("4539 1488 0343 6467", "4539 1488 0343 6467"),
        ("call 3472 481902 55718", "3472 481902 55718"),
        ("phone: 4539148803436467", "4539148803436467"),
        ("ref 1234 4539 1488 0343 6467 12 and 4539-1488-0343-6467.", "4539-1488-0343-6467"),
    ] {
        assert!(shown(text).contains(&(CARD, card)), "{text}: {:?}", shown(text));
    }
}

#[test]
fn a_date_below_a_heading_of_births_is_one() {
    for (text, dates) in [
        ("Name;Geburtsdatum;Ort\nAnn;14.03.1971;Kiel\n", &["14.03.1971"][..]),
        ("name | birth date\nann | 1971-03-14\nbob | 1980-12-03\n", &["1971-03-14", "1980-12-03"]),
        ("Name;Eintritt;Ort\nAnn;14.03.1971;Kiel\n", &[]),
    ] {
        let found: Vec<_> = shown(text).into_iter().map(|(_, value)| value).collect();
        assert_eq!(found, dates, "{text}");
    }
}

/// Pieces of texts, with values and without. What a heading far above decides is not among them.
fn pieces() -> impl Strategy<Value = String> {
    let examples = RULES.iter().flat_map(|rule| rule.masks.iter().map(|(text, _)| *text));
    let piece = prop_oneof![
        prop::sample::select(examples.collect::<Vec<_>>()).prop_map(str::to_owned),
        "[a-z ]{0,20}",
        "[0-9 .:()/-]{0,30}",
        "[0-9a-fA-F@:.+() /_#é-]{0,40}",
        ("[0-9a-z @:.-]{1,3}", 1_usize..200).prop_map(|(unit, times)| unit.repeat(times)),
    ];
    prop::collection::vec((piece, "[ \n,]{0,2}"), 0..60)
        .prop_map(|parts| parts.into_iter().flat_map(|(piece, gap)| [piece, gap]).collect())
}

/// How far from a value the text may matter, in bytes.
const REACH: usize = 512;

proptest! {
    #[test]
    fn a_value_depends_on_what_is_near(
        text in pieces().prop_filter("long", |text| text.len() > 2 * REACH + 100),
        cut in 0_usize..400,
    ) {
        let cut = text.ceil_char_boundary(cut);
        let rest = text.get(cut..).unwrap();
        let inner = cut + REACH..text.len();
        let all = |text: &str, offset: usize| {
            let mut hits = Vec::new();
            scan(&ScanWindow::new(text), &mut hits);
            let places = hits.into_iter().map(|hit| (hit.range.start + offset, hit.range.end + offset, hit.rule));
            places.filter(|(start, ..)| inner.contains(start)).collect::<Vec<_>>()
        };
        prop_assert_eq!(all(&text, 0), all(rest, cut));
    }

    #[test]
    fn any_text_is_scanned(text in "[0-9a-fxA-F@:.+() /_#é-]{0,80}") {
        let mut hits = Vec::new();
        scan(&ScanWindow::new(&text), &mut hits);
        for hit in hits {
            prop_assert!(text.get(hit.range.clone()).is_some_and(|value| !value.is_empty()));
            prop_assert!(hit.rule < RULES.len());
        }
    }
}
