use super::*;
use weaver_text::values::Class;
use weaver_types::SeededRandom;

fn token(n: usize) -> Token {
    Token::new(Class::Identifier, format!("id-{n}"))
}

fn index() -> Index {
    let mut index = Index::default();
    index.ensure(&SeededRandom::new(1)).unwrap();
    index
}

fn add(index: &mut Index, kind: Voucher, tokens: &[Token]) {
    let part = index.part(kind, tokens).unwrap();
    index.add(&part);
}

#[test]
fn what_was_written_is_vouched_for_by_the_user_alone() {
    let mut index = index();
    add(&mut index, Voucher::Written, &[token(1)]);
    add(&mut index, Voucher::Trusted, &[token(1), token(2)]);
    add(&mut index, Voucher::Written, &[token(2)]);
    assert_eq!(index.vouched(&token(2)), Some(ValueOrigin::Trusted), "known before");
    assert_eq!(index.vouched(&token(1)), None);
    add(&mut index, Voucher::User, &[token(1)]);
    assert_eq!(index.vouched(&token(1)), Some(ValueOrigin::User));
    assert_eq!(index.vouched(&Token::new(Class::Name, "id-1")), None, "of another class");
}

#[test]
fn a_full_index_knows_nothing_more_and_trusts_nobody() {
    let mut index = index();
    for n in 0..MAX_OTHERS / MAX_PART {
        let tokens: Vec<_> = (n * MAX_PART..(n + 1) * MAX_PART).map(token).collect();
        add(&mut index, Voucher::Trusted, &tokens);
    }
    assert_eq!(index.len(), MAX_OTHERS);
    add(&mut index, Voucher::Trusted, &[token(MAX_OTHERS + 1)]);
    assert_eq!(index.vouched(&token(MAX_OTHERS + 1)), None);
    assert_eq!(index.vouched(&token(1)), Some(ValueOrigin::Trusted));
    add(&mut index, Voucher::Written, &[token(MAX_OTHERS + 2)]);
    assert_eq!(index.vouched(&token(1)), None, "what was written is not known any more");
    assert_eq!(index.len(), MAX_OTHERS);
    add(&mut index, Voucher::User, &[token(1)]);
    assert_eq!(index.vouched(&token(1)), Some(ValueOrigin::User), "the user has room");
}

#[test]
fn without_a_key_nothing_is_known() {
    let index = Index::default();
    assert_eq!((index.vouched(&token(1)), index.part(Voucher::User, &[token(1)])), (None, None));
}

#[test]
fn a_text_of_the_user_is_named_by_its_whole_first_and_known_from_then_on() {
    let mut index = Index::default();
    let random = SeededRandom::new(1);
    let part = index.text("pay Bob", &[token(1), token(2)], &random).unwrap();
    assert_eq!((part.kind, part.entries.len(), part.full), (Voucher::User, 3, false));
    assert!(!index.knows("pay Bob"), "not before it is taken in");
    index.add(&part);
    assert!(index.knows("pay Bob") && !index.knows("pay Eve"));
    assert_eq!(index.hash(WHOLE, "pay Bob"), Some(part.entries[0]));
    assert_eq!(index.vouched(&token(2)), Some(ValueOrigin::User));
    let again = index.text("call Eve", &[token(3)], &random).unwrap().without_text();
    index.add(&again);
    assert!(!index.knows("call Eve"));
    assert_eq!(index.vouched(&token(3)), Some(ValueOrigin::User));
}

#[test]
fn the_key_is_made_once_and_handed_out_until_it_is_stored() {
    let (mut index, random) = (Index::default(), SeededRandom::new(1));
    assert_eq!(index.unstored_key(), None);
    index.ensure(&random).unwrap();
    let key = *index.unstored_key().unwrap();
    assert_ne!(key, [0; KEY_BYTES]);
    index.ensure(&random).unwrap();
    assert_eq!(index.unstored_key(), Some(&key), "the same one");
    index.stored();
    assert_eq!(index.unstored_key(), None);
}

#[test]
fn another_key_makes_other_entries() {
    let entry = |seed| {
        let mut index = Index::default();
        index.ensure(&SeededRandom::new(seed)).unwrap();
        index.part(Voucher::User, &[token(1)]).unwrap().entries
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
        let part = IndexEntries { kind: Voucher::Written, entries, full };
        assert_eq!(part.is_empty(), empty, "{part:?}");
    }
}

#[test]
fn a_value_is_added_once_and_the_words_of_the_user_each_time() {
    let mut index = index();
    for kind in [Voucher::Trusted, Voucher::Written, Voucher::User] {
        let (known, more) = (token(1), token(2));
        let twice = index.part(kind, &[known.clone(), known.clone()]).unwrap();
        assert_eq!(twice.entries.len(), 1, "{kind:?}: once in a part");
        index.add(&twice);
        let again = index.part(kind, &[known, more]).unwrap();
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
    let part = index.part(Voucher::Written, &[token(1), token(2), token(3)]).unwrap();
    assert_eq!(part.entries, [index.any(&token(3)).unwrap()]);
}

#[test]
fn a_value_that_was_written_is_written_in_every_class_and_in_any_case() {
    let mut index = index();
    add(&mut index, Voucher::Written, &[Token::new(Class::Name, "Eve")]);
    let tokens = [
        Token::new(Class::Phrase, "eve"),
        Token::new(Class::Cued, "channel|eve"),
        Token::new(Class::Name, "bob"),
    ];
    add(&mut index, Voucher::Trusted, &tokens);
    let vouched = tokens.each_ref().map(|token| index.vouched(token).is_some());
    assert_eq!(vouched, [false, false, true]);
}

#[test]
fn one_part_adds_at_most_8_192_entries_and_says_whose_rest_is_missing() {
    for (kind, count, full) in [
        (Voucher::User, MAX_PART, false),
        (Voucher::User, MAX_PART + 1, true),
        (Voucher::Trusted, MAX_PART + 1, false),
        (Voucher::Written, MAX_PART, false),
        (Voucher::Written, MAX_PART + 1, true),
    ] {
        let tokens: Vec<_> = (0..count).map(token).collect();
        let part = index().part(kind, &tokens).unwrap();
        assert_eq!((part.entries.len(), part.full), (MAX_PART, full), "{kind:?} {count}");
    }
    let mut closed = index();
    closed.add(&IndexEntries { kind: Voucher::Written, entries: vec![1], full: true });
    let tokens: Vec<_> = (0..=MAX_PART).map(token).collect();
    assert!(!closed.part(Voucher::Written, &tokens).unwrap().full, "it was said before");
}

#[test]
fn where_not_all_that_was_written_is_known_no_source_counts() {
    for (kind, full, closed) in [
        (Voucher::Written, true, true),
        (Voucher::Written, false, false),
        (Voucher::Trusted, true, false),
        (Voucher::User, true, false),
    ] {
        let mut index = index();
        add(&mut index, Voucher::Trusted, &[token(1)]);
        index.add(&IndexEntries { kind, entries: Vec::new(), full });
        assert_eq!(index.is_void("mcp:mail"), closed, "{kind:?} {full}");
        assert_eq!(index.vouched(&token(1)).is_none(), closed, "{kind:?} {full}");
        // Whatever comes later, it stays so.
        index.add(&IndexEntries { kind: Voucher::Trusted, entries: vec![7], full: false });
        index.add(&IndexEntries { kind: Voucher::Written, entries: vec![8], full: false });
        assert_eq!(index.is_void("mcp:mail"), closed, "{kind:?} {full}");
    }
}

#[test]
fn a_source_that_vouches_for_nothing_is_noted_once() {
    let mut index = index();
    let part = index.written(&[token(1)], &["mcp:mail", "call_1"]).unwrap();
    assert_eq!((part.entries.len(), part.full), (3, false));
    assert!(!index.is_void("mcp:mail"));
    index.add(&part);
    assert!(index.is_void("mcp:mail") && index.is_void("call_1") && !index.is_void("mcp:other"));
    let again = index.written(&[], &["mcp:mail", "mcp:other"]).unwrap();
    assert_eq!(again.entries.len(), 1);
    assert_eq!(again.kind, Voucher::Written);
}

#[test]
fn sources_take_room_as_values_do() {
    let mut index = index();
    let filled = (0..MAX_OTHERS - 2).map(|n| n.try_into().unwrap()).collect();
    index.add(&IndexEntries { kind: Voucher::Trusted, entries: filled, full: false });
    assert!(!index.written(&[token(1)], &["a"]).unwrap().full, "room for two");
    let more = index.written(&[token(1)], &["a", "b"]).unwrap();
    assert!(more.full);
    index.add(&more);
    assert!(index.is_void("anything") && index.len() == MAX_OTHERS);
    assert!(!index.written(&[token(2)], &["c", "d"]).unwrap().full, "it was said before");
}

#[test]
fn what_was_written_and_finds_no_room_closes_the_index_for_good() {
    let full = || {
        let mut index = index();
        let filled = (0..MAX_OTHERS).map(|n| n.try_into().unwrap()).collect();
        index.add(&IndexEntries { kind: Voucher::Trusted, entries: filled, full: false });
        index
    };
    for (kind, closed) in
        [(Voucher::Written, true), (Voucher::Trusted, false), (Voucher::User, false)]
    {
        let mut index = full();
        let entries = vec![u64::MAX];
        index.add(&IndexEntries { kind, entries: entries.clone(), full: false });
        assert_eq!(index.is_void("a"), closed, "{kind:?}");
        index.add(&IndexEntries { kind: Voucher::Trusted, entries, full: false });
        assert_eq!(index.is_void("a"), closed, "{kind:?}, and stays so");
    }
}

#[test]
fn the_user_has_room_for_16_384_entries_and_all_others_for_as_many() {
    let mut index = index();
    let entries: Vec<u64> = (0..=MAX_USER).map(|n| n.try_into().unwrap()).collect();
    index.add(&IndexEntries { kind: Voucher::User, entries, full: false });
    assert_eq!((index.user.len(), index.room(Voucher::User)), (MAX_USER, 0));
    assert_eq!((index.room(Voucher::Trusted), index.room(Voucher::Written)), (16_384, 16_384));
    assert!(index.part(Voucher::User, &[token(1)]).unwrap().full);
    index.add(&IndexEntries { kind: Voucher::Trusted, entries: vec![1, 2, 3], full: false });
    index.add(&IndexEntries { kind: Voucher::Written, entries: vec![1, 9], full: false });
    assert_eq!(index.room(Voucher::Written), 16_384 - 5);
    assert_eq!(index.len(), MAX_USER + 5);
    assert!(!index.is_void("a"));
}

#[test]
fn texts_that_were_heard_are_known_by_themselves() {
    let mut index = index();
    let said = std::sync::Arc::new(vec!["hello".to_owned()]);
    assert!(!index.has_heard(&said));
    index.note_user_texts(&said);
    assert!(index.has_heard(&said));
    assert!(!index.has_heard(&std::sync::Arc::new(vec!["hello".to_owned()])));
}

#[test]
fn the_index_shows_how_much_it_holds_and_nothing_of_it() {
    let mut index = index();
    add(&mut index, Voucher::User, &[token(1), token(2)]);
    assert_eq!(format!("{index:?}"), "Index { entries: 2, .. }");
}
