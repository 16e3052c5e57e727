use super::*;
use crate::redact::rule_file;

#[test]
fn a_url_begins_with_its_scheme_or_its_host() {
    for (text, at, start) in [
        ("see https://a.corp.net/x", 14, 4),
        ("see http://a-b.net", 13, 4),
        ("see ftp://a.net", 12, 10),
        ("see a.net", 6, 4),
        ("https://", 8, 0),
        ("", 0, 0),
    ] {
        assert_eq!(url_start(text.as_bytes(), at), start, "{text}");
    }
    let far = |letters: usize| format!("https://{}", "a".repeat(letters));
    assert_eq!(url_start(far(64).as_bytes(), 72), 0);
    assert_eq!(url_start(far(65).as_bytes(), 73), 9);
}

#[test]
fn a_range_grows_to_the_borders_of_characters() {
    let text = "a\u{e9}b";
    assert_eq!(to_char_boundaries(text, 1..3), 1..3);
    assert_eq!(to_char_boundaries(text, 2..2), 1..3);
    assert_eq!(to_char_boundaries(text, 0..2), 0..3);
    assert_eq!(to_char_boundaries(text, 2..4), 1..4);
}

#[test]
fn a_rule_reads_on_to_its_reach_and_as_far_behind_as_it_looks_for_words() {
    let rule = |more: &str| {
        let file = format!(
            "[[rule]]\nid = \"r\"\ntype = \"t\"\nanchors = [\"kvx\"]\npattern = 'kvx[0-9]'\n\
             reach = 10\nmasks = []\nkeeps = []\n{more}"
        );
        rule_file::parse_rules(&file).unwrap().remove(0)
    };
    let (alone, inside) = (rule(""), rule("boundary = false"));
    let named = rule("context = [\"word\"]\nwithin = 5");
    let reads_on = |rule: &Rule, text: &str| rule.may_read_beyond(text.as_bytes(), 2, text.len());
    assert!(reads_on(&alone, "- kvx345678") && !reads_on(&alone, "- kvx3456789"));
    assert!(!reads_on(&alone, "-akvx3") && reads_on(&inside, "-akvx3"));
    assert!(reads_on(&named, "- kvx3456789abcd") && !reads_on(&named, "- kvx3456789abcde"));
}

#[test]
fn a_pattern_with_lookbehind_reads_what_precedes_its_anchor() {
    let file = "[[rule]]\nid = \"r\"\ntype = \"t\"\nanchors = [\" is it\"]\n\
                pattern = '([0-9]+) is it'\nboundary = false\nlookbehind = 6\nreach = 6\n\
                masks = []\nkeeps = []\n";
    let rule = rule_file::parse_rules(file).unwrap().remove(0);
    let found = |text: &str| {
        let at = text.find(" is it").unwrap();
        rule.verify(text, at, &mut TextCache::default())
    };
    assert_eq!(found("a 123 is it"), Some(2..5));
    assert_eq!(found("123 is it"), Some(0..3));
    assert_eq!(found("12345678 is it"), Some(2..8));
    assert_eq!(found("\u{e9}12345 is it"), Some(2..7));
    assert_eq!(found("a is it"), None);
    let wide = file.replace("lookbehind = 6", "lookbehind = 65");
    assert!(rule_file::parse_rules(&wide).is_err());
}

#[test]
fn a_pattern_compiles_and_matches_something() {
    let check = |source: &str| Pattern::new(source.to_owned()).check();
    assert_eq!(check("a[0-9]+"), Ok(()));
    assert_eq!(check("a*"), Err(PatternError::MatchesEmpty));
    assert!(matches!(check("a("), Err(PatternError::Syntax(line)) if !line.is_empty()));
}

#[test]
fn of_a_match_the_first_group_is_the_value() {
    for (source, value) in [
        ("k=[a-z]+", Some(0..4)),
        ("k=([a-z]+)", Some(2..4)),
        ("k=(?:([0-9]+)|([a-z]+))", Some(2..4)),
        ("k=([0-9]+)?[a-z]+", Some(0..4)),
        ("x", None),
        ("(x)", None),
    ] {
        assert_eq!(value_range(&compile(source).unwrap(), b"k=ab"), value, "{source}");
    }
}

#[test]
fn words_that_are_looked_for_first_change_no_answer() {
    let rule = |more: &str| {
        let file = format!(
            "[[rule]]\nid = \"r\"\ntype = \"t\"\nanchors = [\"kvx\"]\npattern = 'kvx ?([0-9]+)'\n\
             reach = 8\ncontext = [\"word\"]\nwithin = 6\nmasks = []\nkeeps = []\n{more}"
        );
        rule_file::parse_rules(&file).unwrap().remove(0)
    };
    let (late, first) = (rule(""), rule("context_first = true"));
    for text in [
        "kvx 12 word", "word kvx 12", "kvx 12 x", "kvx word", "kvx 12   word", "kvx 12     word",
        "kvx",
    ] {
        let at = text.find("kvx").unwrap();
        let found = |rule: &Rule| rule.verify(text, at, &mut TextCache::default());
        assert_eq!(found(&late), found(&first), "{text}");
    }
}
