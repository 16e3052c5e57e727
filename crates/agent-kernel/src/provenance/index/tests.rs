use super::*;
use weaver_text::values::ValueClass;
use weaver_types::SeededRandom;

fn token(n: usize) -> ValueToken {
    ValueToken::new(ValueClass::Identifier, format!("id-{n}"))
}

fn index() -> ProvenanceIndex {
    let mut index = ProvenanceIndex::default();
    index.ensure_key(&SeededRandom::new(1)).unwrap();
    index
}

fn add(index: &mut ProvenanceIndex, kind: Voucher, tokens: &[ValueToken]) {
    let part = index.new_entries(kind, tokens).unwrap();
    index.add(&part);
}

#[test]
fn what_was_written_is_vouched_for_by_the_user_alone() {
    let mut index = index();
    add(&mut index, Voucher::Untrusted, &[token(1)]);
    add(&mut index, Voucher::Trusted, &[token(1), token(2)]);
    add(&mut index, Voucher::Untrusted, &[token(2)]);
    assert_eq!(index.origin_of(&token(2)), Some(ValueOrigin::Trusted), "known before");
    assert_eq!(index.origin_of(&token(1)), None);
    add(&mut index, Voucher::User, &[token(1)]);
    assert_eq!(index.origin_of(&token(1)), Some(ValueOrigin::User));
    assert_eq!(
        index.origin_of(&ValueToken::new(ValueClass::Name, "id-1")),
        None,
        "of another class"
    );
}

#[test]
fn a_full_index_knows_nothing_more_and_trusts_nobody() {
    let mut index = index();
    for n in 0..MAX_OTHER_ENTRIES / MAX_ADDED_ENTRIES {
        let tokens: Vec<_> =
            (n * MAX_ADDED_ENTRIES..(n + 1) * MAX_ADDED_ENTRIES).map(token).collect();
        add(&mut index, Voucher::Trusted, &tokens);
    }
    assert_eq!(index.len(), MAX_OTHER_ENTRIES);
    add(&mut index, Voucher::Trusted, &[token(MAX_OTHER_ENTRIES + 1)]);
    assert_eq!(index.origin_of(&token(MAX_OTHER_ENTRIES + 1)), None);
    assert_eq!(index.origin_of(&token(1)), Some(ValueOrigin::Trusted));
    add(&mut index, Voucher::Untrusted, &[token(MAX_OTHER_ENTRIES + 2)]);
    assert_eq!(index.origin_of(&token(1)), None, "what was written is not known any more");
    assert_eq!(index.len(), MAX_OTHER_ENTRIES);
    add(&mut index, Voucher::User, &[token(1)]);
    assert_eq!(index.origin_of(&token(1)), Some(ValueOrigin::User), "the user has room");
}

#[test]
fn without_a_key_nothing_is_known() {
    let index = ProvenanceIndex::default();
    assert_eq!(
        (index.origin_of(&token(1)), index.new_entries(Voucher::User, &[token(1)])),
        (None, None)
    );
}

fn asked(numbers: &[usize]) -> RequestTokens {
    let asked = numbers.iter().map(|number| token(*number)).collect();
    RequestTokens { asked, mentioned: Vec::new() }
}

#[test]
fn what_the_user_only_mentions_vouches_like_a_trusted_result() {
    let mut index = ProvenanceIndex::default();
    let tokens = RequestTokens { mentioned: vec![token(2)], ..asked(&[1]) };
    let added = index.user_text_entries("not 2", &tokens, &SeededRandom::new(1)).unwrap();
    index.add(&added);
    assert_eq!(index.origin_of(&token(1)), Some(ValueOrigin::User));
    assert_eq!(index.origin_of(&token(2)), Some(ValueOrigin::Trusted));
    let added = index.user_text_entries("2", &asked(&[2]), &SeededRandom::new(1)).unwrap();
    index.add(&added);
    assert_eq!(index.origin_of(&token(2)), Some(ValueOrigin::User), "asked for later");
}

fn payment(values: &[&str]) -> Payment {
    Payment {
        capability: "bank.pay".to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    }
}

fn note(index: &mut ProvenanceIndex, values: &[&str]) {
    let (number, sources) = index.reserve_payment(payment(values)).unwrap();
    let added = index.untrusted_entries(&[], &[]).unwrap();
    let added = index.with_payment(added, &sources).unwrap();
    index.add(&added);
    index.release_payment(number);
}

#[test]
fn a_payment_is_known_by_its_values_until_the_user_says_more() {
    let mut index = index();
    note(&mut index, &["bob", "20"]);
    note(&mut index, &["eve", "30", "r1"]);
    for same in [&["bob", "20"][..], &["bob"], &["bob", "20", "r2"], &["eve", "30"]] {
        assert!(index.has_payment(&payment(same)), "{same:?}");
    }
    for other in [&["bob", "21"][..], &["eve", "20"], &["eve", "30", "r2"]] {
        assert!(!index.has_payment(&payment(other)), "{other:?}");
    }
    add(&mut index, Voucher::User, &[token(1)]);
    assert!(!index.has_payment(&payment(&["bob", "20"])));
}

#[test]
fn a_payment_that_is_being_made_is_known_until_it_is_given_up() {
    let mut index = index();
    let (first, sources) = index.reserve_payment(payment(&["bob", "20"])).unwrap();
    assert!(index.has_payment(&payment(&["bob", "20"])) && index.len() == 0);
    let (second, others) = index.reserve_payment(payment(&["eve", "30"])).unwrap();
    assert!(first != second && sources != others);
    index.release_payment(first);
    assert!(!index.has_payment(&payment(&["bob", "20"])));
    assert!(index.has_payment(&payment(&["eve", "30"])));
}

#[test]
fn no_payment_is_made_that_cannot_be_noted() {
    let mut index = index();
    for n in 0..MAX_PAYMENTS {
        let name = format!("p{n}");
        assert!(!index.has_payment(&payment(&[&name])));
        note(&mut index, &[&name]);
    }
    assert!(index.has_payment(&payment(&["one more"])));
    assert!(index.reserve_payment(payment(&["one more"])).is_none());
    let mut full = self::index();
    for n in 0..2 {
        let from = n * MAX_ADDED_ENTRIES;
        let tokens: Vec<_> = (from..from + MAX_ADDED_ENTRIES - 1).map(token).collect();
        add(&mut full, Voucher::Untrusted, &tokens);
    }
    assert!(full.has_payment(&payment(&["bob"])), "three entries, and room for two");
}

#[test]
fn a_text_of_the_user_is_named_by_its_whole_first_and_known_from_then_on() {
    let mut index = ProvenanceIndex::default();
    let random = SeededRandom::new(1);
    let part = index.user_text_entries("pay Bob", &asked(&[1, 2]), &random).unwrap();
    assert_eq!((part.voucher, part.entries.len(), part.overflowed), (Voucher::User, 3, false));
    assert!(!index.has_user_text("pay Bob"), "not before it is taken in");
    index.add(&part);
    assert!(index.has_user_text("pay Bob") && !index.has_user_text("pay Eve"));
    assert_eq!(index.hash(WHOLE_TEXT_CLASS, "pay Bob"), Some(part.entries[0]));
    assert_eq!(index.origin_of(&token(2)), Some(ValueOrigin::User));
    let again = index.user_text_entries("call Eve", &asked(&[3]), &random).unwrap().without_text();
    index.add(&again);
    assert!(!index.has_user_text("call Eve"));
    assert_eq!(index.origin_of(&token(3)), Some(ValueOrigin::User));
}

#[test]
fn the_key_is_made_once_and_handed_out_until_it_is_stored() {
    let (mut index, random) = (ProvenanceIndex::default(), SeededRandom::new(1));
    assert_eq!(index.unstored_key(), None);
    index.ensure_key(&random).unwrap();
    let key = *index.unstored_key().unwrap();
    assert_ne!(key, [0; KEY_BYTES]);
    index.ensure_key(&random).unwrap();
    assert_eq!(index.unstored_key(), Some(&key), "the same one");
    index.mark_key_stored();
    assert_eq!(index.unstored_key(), None);
}

#[test]
fn another_key_makes_other_entries() {
    let entry = |seed| {
        let mut index = ProvenanceIndex::default();
        index.ensure_key(&SeededRandom::new(seed)).unwrap();
        index.new_entries(Voucher::User, &[token(1)]).unwrap().entries
    };
    assert_eq!(entry(1), entry(1));
    assert_ne!(entry(1), entry(2));
}

#[test]
fn only_what_adds_nothing_and_had_room_is_empty() {
    for (entries, full, empty) in [
        (vec![], false, true),
        (vec![], true, false),
        (vec![1], false, false),
        (vec![1], true, false),
    ] {
        let part = IndexEntries { voucher: Voucher::Untrusted, entries, overflowed: full };
        assert_eq!(part.is_empty(), empty, "{part:?}");
    }
}

#[test]
fn a_value_is_added_once_and_the_words_of_the_user_each_time() {
    let mut index = index();
    for kind in [Voucher::Trusted, Voucher::Untrusted, Voucher::User] {
        let (known, more) = (token(1), token(2));
        let twice = index.new_entries(kind, &[known.clone(), known.clone()]).unwrap();
        assert_eq!(twice.entries.len(), 1, "{kind:?}: once in a part");
        index.add(&twice);
        let again = index.new_entries(kind, &[known, more]).unwrap();
        let expected = if kind == Voucher::User { 2 } else { 1 };
        assert_eq!(again.entries.len(), expected, "{kind:?}");
        index = self::index();
    }
}

#[test]
fn what_somebody_vouches_for_already_is_not_written_down_again() {
    let mut index = index();
    add(&mut index, Voucher::Trusted, &[token(1)]);
    add(&mut index, Voucher::User, &[token(2)]);
    let part = index.new_entries(Voucher::Untrusted, &[token(1), token(2), token(3)]).unwrap();
    assert_eq!(part.entries, [index.class_independent_entry(&token(3)).unwrap()]);
}

#[test]
fn a_value_that_was_written_is_written_in_every_class_and_in_any_case() {
    let mut index = index();
    add(&mut index, Voucher::Untrusted, &[ValueToken::new(ValueClass::Name, "Eve")]);
    let tokens = [
        ValueToken::new(ValueClass::Phrase, "eve"),
        ValueToken::new(ValueClass::Cued, "channel|eve"),
        ValueToken::new(ValueClass::Name, "bob"),
    ];
    add(&mut index, Voucher::Trusted, &tokens);
    let vouched = tokens.each_ref().map(|token| index.origin_of(token).is_some());
    assert_eq!(vouched, [false, false, true]);
}

#[test]
fn one_part_adds_at_most_8_192_entries_and_says_whose_rest_is_missing() {
    for (kind, count, full) in [
        (Voucher::User, MAX_ADDED_ENTRIES, false),
        (Voucher::User, MAX_ADDED_ENTRIES + 1, true),
        (Voucher::Trusted, MAX_ADDED_ENTRIES + 1, false),
        (Voucher::Untrusted, MAX_ADDED_ENTRIES, false),
        (Voucher::Untrusted, MAX_ADDED_ENTRIES + 1, true),
    ] {
        let tokens: Vec<_> = (0..count).map(token).collect();
        let part = index().new_entries(kind, &tokens).unwrap();
        assert_eq!(
            (part.entries.len(), part.overflowed),
            (MAX_ADDED_ENTRIES, full),
            "{kind:?} {count}"
        );
    }
    let mut closed = index();
    closed.add(&IndexEntries { voucher: Voucher::Untrusted, entries: vec![1], overflowed: true });
    let tokens: Vec<_> = (0..=MAX_ADDED_ENTRIES).map(token).collect();
    assert!(
        !closed.new_entries(Voucher::Untrusted, &tokens).unwrap().overflowed,
        "it was said before"
    );
}

#[test]
fn where_not_all_that_was_written_is_known_no_source_counts() {
    for (kind, full, closed) in [
        (Voucher::Untrusted, true, true),
        (Voucher::Untrusted, false, false),
        (Voucher::Trusted, true, false),
        (Voucher::User, true, false),
    ] {
        let mut index = index();
        add(&mut index, Voucher::Trusted, &[token(1)]);
        index.add(&IndexEntries { voucher: kind, entries: Vec::new(), overflowed: full });
        assert_eq!(index.is_void("mcp:mail"), closed, "{kind:?} {full}");
        assert_eq!(index.origin_of(&token(1)).is_none(), closed, "{kind:?} {full}");
        // Whatever comes later, it stays so.
        index.add(&IndexEntries { voucher: Voucher::Trusted, entries: vec![7], overflowed: false });
        index.add(&IndexEntries {
            voucher: Voucher::Untrusted,
            entries: vec![8],
            overflowed: false,
        });
        assert_eq!(index.is_void("mcp:mail"), closed, "{kind:?} {full}");
    }
}

#[test]
fn a_source_that_vouches_for_nothing_is_noted_once() {
    let mut index = index();
    let part = index.untrusted_entries(&[token(1)], &["mcp:mail", "call_1"]).unwrap();
    assert_eq!((part.entries.len(), part.overflowed), (3, false));
    assert!(!index.is_void("mcp:mail"));
    index.add(&part);
    assert!(index.is_void("mcp:mail") && index.is_void("call_1") && !index.is_void("mcp:other"));
    let again = index.untrusted_entries(&[], &["mcp:mail", "mcp:other"]).unwrap();
    assert_eq!(again.entries.len(), 1);
    assert_eq!(again.voucher, Voucher::Untrusted);
}

#[test]
fn sources_take_room_as_values_do() {
    let mut index = index();
    let filled = (0..MAX_OTHER_ENTRIES - 2).map(|n| n.try_into().unwrap()).collect();
    index.add(&IndexEntries { voucher: Voucher::Trusted, entries: filled, overflowed: false });
    assert!(!index.untrusted_entries(&[token(1)], &["a"]).unwrap().overflowed, "room for two");
    let more = index.untrusted_entries(&[token(1)], &["a", "b"]).unwrap();
    assert!(more.overflowed);
    index.add(&more);
    assert!(index.is_void("anything") && index.len() == MAX_OTHER_ENTRIES);
    assert!(
        !index.untrusted_entries(&[token(2)], &["c", "d"]).unwrap().overflowed,
        "it was said before"
    );
}

#[test]
fn what_was_written_and_finds_no_room_closes_the_index_for_good() {
    let full = || {
        let mut index = index();
        let filled = (0..MAX_OTHER_ENTRIES).map(|n| n.try_into().unwrap()).collect();
        index.add(&IndexEntries { voucher: Voucher::Trusted, entries: filled, overflowed: false });
        index
    };
    for (kind, closed) in
        [(Voucher::Untrusted, true), (Voucher::Trusted, false), (Voucher::User, false)]
    {
        let mut index = full();
        let entries = vec![u64::MAX];
        index.add(&IndexEntries { voucher: kind, entries: entries.clone(), overflowed: false });
        assert_eq!(index.is_void("a"), closed, "{kind:?}");
        index.add(&IndexEntries { voucher: Voucher::Trusted, entries, overflowed: false });
        assert_eq!(index.is_void("a"), closed, "{kind:?}, and stays so");
    }
}

#[test]
fn the_user_has_room_for_16_384_entries_and_all_others_for_as_many() {
    let mut index = index();
    let entries: Vec<u64> = (0..=MAX_USER_ENTRIES).map(|n| n.try_into().unwrap()).collect();
    index.add(&IndexEntries { voucher: Voucher::User, entries, overflowed: false });
    assert_eq!((index.user.len(), index.remaining_capacity(Voucher::User)), (MAX_USER_ENTRIES, 0));
    assert_eq!(
        (index.remaining_capacity(Voucher::Trusted), index.remaining_capacity(Voucher::Untrusted)),
        (16_384, 16_384)
    );
    assert!(index.new_entries(Voucher::User, &[token(1)]).unwrap().overflowed);
    index.add(&IndexEntries {
        voucher: Voucher::Trusted,
        entries: vec![1, 2, 3],
        overflowed: false,
    });
    index.add(&IndexEntries {
        voucher: Voucher::Untrusted,
        entries: vec![1, 9],
        overflowed: false,
    });
    assert_eq!(index.remaining_capacity(Voucher::Untrusted), 16_384 - 5);
    assert_eq!(index.len(), MAX_USER_ENTRIES + 5);
    assert!(!index.is_void("a"));
}

#[test]
fn texts_that_were_heard_are_known_by_themselves() {
    let mut index = index();
    let said = std::sync::Arc::new(vec!["hello".to_owned()]);
    assert!(!index.has_indexed_texts(&said));
    index.note_user_texts(&said);
    assert!(index.has_indexed_texts(&said));
    assert!(!index.has_indexed_texts(&std::sync::Arc::new(vec!["hello".to_owned()])));
}

#[test]
fn the_index_shows_how_much_it_holds_and_nothing_of_it() {
    let mut index = index();
    add(&mut index, Voucher::User, &[token(1), token(2)]);
    assert_eq!(format!("{index:?}"), "Index { entries: 2, .. }");
}
