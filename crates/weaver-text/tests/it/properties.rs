use proptest::prelude::*;
use weaver_text::glob::Glob;
use weaver_text::token::{self, Count};
use weaver_text::{escape, invisible, normalise, split, stem, suggest};

/// Text rich in the characters that make trouble.
fn hostile() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        '\u{200b}', '\u{202e}', '\u{ad}', 'Ａ', '１', 'ﬁ', '日', 'é', '\u{301}', '\u{1b}', ' ',
        'a', 'B', '7', '_', '.', '\u{e0041}', '\u{fdfa}', 'İ', 'ß',
    ]);
    prop_oneof![
        any::<String>(),
        prop::collection::vec(odd, 0..60).prop_map(|chars| chars.into_iter().collect())
    ]
}

/// Glob matching as the definition says it, by trying every length for a star.
fn matches_slowly(pattern: &[char], name: &[char]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some(('*', rest)) => (0..=name.len()).any(|n| matches_slowly(rest, &name[n..])),
        Some((c, rest)) => name.first() == Some(c) && matches_slowly(rest, &name[1..]),
    }
}

proptest! {
    #[test]
    fn every_normalised_character_leads_back_to_its_source(text in hostile()) {
        let n = normalise::normalise(&text);
        prop_assert_eq!(invisible::locate(n.text()).count(), 0);
        for (at, c) in n.text().char_indices() {
            let source = text.get(n.original(at..at + c.len_utf8()));
            let source = source.and_then(|s| s.chars().next()).unwrap();
            let again = normalise::normalise(&source.to_string());
            prop_assert_eq!(again.text(), c.to_string());
        }
        prop_assert_eq!(n.is_changed(), n.text() != text);
    }

    #[test]
    fn an_escaped_line_hides_nothing(text in hostile()) {
        let line = escape::line(&text);
        prop_assert!(!line.chars().any(escape::needs_escape));
        prop_assert_eq!(escape::line(&line), line.clone());
        let block = escape::block(&text);
        prop_assert!(!block.chars().any(|c| escape::needs_escape(c) && c != '\n' && c != '\t'));
    }

    #[test]
    fn cutting_bounds_the_length(text in hostile(), max in 0usize..40) {
        prop_assert!(escape::truncate(&text, max).chars().count() <= max);
        prop_assert!(text.starts_with(escape::truncate(&text, max)));
        prop_assert!(escape::shorten(&text, max).chars().count() <= max);
    }

    #[test]
    fn words_are_clean_and_stems_do_not_panic(text in hostile()) {
        for word in split::words(&text).iter().chain(&split::identifier(&text)) {
            prop_assert!(!word.is_empty());
            prop_assert!(!word.chars().any(|c| c.is_whitespace() || c.is_ascii_uppercase()));
            let _ = stem::stem(word);
        }
        let _ = stem::stem(&text);
        let _ = normalise::fold(&text);
    }

    #[test]
    fn lower_case_words_never_break_the_stemmer(word in "[a-z]{0,70}") {
        prop_assert!(stem::stem(&word).is_ascii());
    }

    #[test]
    fn globs_do_what_the_definition_says(pattern in "[ab*ö]{1,8}", name in "[abö]{0,10}") {
        let p: Vec<char> = pattern.chars().collect();
        let n: Vec<char> = name.chars().collect();
        let glob = Glob::parse(&pattern).unwrap();
        prop_assert_eq!(glob.matches(&name), matches_slowly(&p, &n));
    }

    #[test]
    fn a_slip_of_one_key_is_found(word in "[a-z]{4,12}", at in 0usize..4) {
        let mut slip: Vec<char> = word.chars().collect();
        slip.remove(at);
        let slip: String = slip.into_iter().collect();
        prop_assert_eq!(suggest::nearest(&slip, [word.as_str()]), Some(word.as_str()));
    }

    #[test]
    fn within_agrees_with_count(text in hostile(), limit in 0usize..80) {
        for name in token::NAMES {
            let counter = token::counter(name).unwrap();
            let all = counter.count(&text);
            prop_assert_eq!(counter.within(&text, limit), all.within(limit));
            let some = counter.count_up_to(&text, limit);
            prop_assert_eq!(some.within(limit), all.within(limit));
            if some.within(limit) {
                prop_assert_eq!(some, all);
            }
            prop_assert!(matches!(some, Count::Tokens(_)));
        }
    }
}
