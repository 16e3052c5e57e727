use super::*;

const DAY: i64 = 24 * 3600 * 1_000_000;

fn id(n: usize) -> CapabilityId {
    CapabilityId::parse(format!("t{n:05}")).unwrap()
}

fn day(n: i64) -> Timestamp {
    Timestamp::from_micros(n * DAY)
}

fn strengths(lessons: &Lessons, now: Timestamp) -> Vec<(String, u64)> {
    lessons.list(now).into_iter().map(|lesson| (lesson.word, lesson.strength)).collect()
}

#[test]
fn each_acceptance_takes_half_of_what_is_left_and_time_halves_it() {
    let mut lessons = Lessons::default();
    for expected in [500, 750, 875] {
        lessons.accept("weekly report", &id(0), &Label::clean(), day(0)).unwrap();
        let both = ["report", "week"].map(|word| (word.to_owned(), expected));
        assert_eq!(strengths(&lessons, day(0)), both);
    }
    for (at, expected) in [(15, 656), (30, 437), (60, 218), (9_999_999, 0)] {
        assert_eq!(strengths(&lessons, day(at))[0].1, expected, "day {at}");
    }
    // The clock may go back.
    assert_eq!(strengths(&lessons, day(-5))[0].1, 875);
}

#[test]
fn untrusted_and_confidential_requests_teach_nothing() {
    let mut lessons = Lessons::default();
    let refused = [
        (Confidentiality::Public, Integrity::Untrusted, "lessons.untrusted"),
        (Confidentiality::Restricted, Integrity::Untrusted, "lessons.untrusted"),
        (Confidentiality::Confidential, Integrity::Trusted, "lessons.too_confidential"),
        (Confidentiality::Restricted, Integrity::Trusted, "lessons.too_confidential"),
    ];
    for (confidentiality, integrity, code) in refused {
        let label = Label::new(confidentiality, integrity);
        let error = lessons.accept("weekly report", &id(0), &label, day(0)).unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.to_string().contains("`t00000`"), "{error}");
    }
    let error = lessons.accept("the 4711 a-1", &id(0), &Label::clean(), day(0)).unwrap_err();
    assert_eq!(error.code(), "lessons.no_words");
    assert!(lessons.is_empty() && lessons.list(day(0)).is_empty());
}

#[test]
fn what_is_learned_is_bounded_and_the_weakest_goes() {
    let bounds = LessonBounds { items: 10, words: 5, ..LessonBounds::default() };
    let mut lessons = Lessons::new(bounds);
    let label = Label::clean();
    lessons.accept("precious words", &id(0), &label, day(0)).unwrap();
    for n in 0..3 {
        lessons.accept("precious words", &id(0), &label, day(n)).unwrap();
    }
    let alphabet = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap());
    for n in 1..60 {
        let word = |m: usize| format!("{0}{1}{0}{1}x", alphabet(n), alphabet(m));
        let text = (0..40).map(|m| word(m) + " ").collect::<String>();
        lessons.accept(&text, &id(n), &label, day(3)).unwrap();
        assert!(lessons.len() <= 10);
    }
    let list = lessons.list(day(3));
    assert_eq!((lessons.len(), list.len()), (10, 9 * 5 + 2));
    // Of equals the lower id goes; what was accepted most often stays.
    assert!(lessons.forget(&id(0)) && !lessons.forget(&id(0)) && !lessons.forget(&id(1)));
    assert_eq!(lessons.len(), 9);
}

#[test]
fn only_words_are_kept() {
    let mut lessons = Lessons::default();
    let text = format!("pay 4111111111111111 to bob@example.org with hunter2 {}", "x".repeat(99));
    lessons.accept(&text, &id(0), &Label::clean(), day(0)).unwrap();
    let words: Vec<_> = lessons.list(day(0)).into_iter().map(|lesson| lesson.word).collect();
    assert_eq!(words, ["bob", "exampl", "org", "pay"]);
    // A long text is read to its bound.
    let long = "a word here and ".repeat(1_000_000);
    lessons.accept(&long, &id(1), &Label::clean(), day(0)).unwrap();
}

#[test]
fn what_is_forgotten_leaves_nothing_behind() {
    let mut lessons = Lessons::default();
    for n in 0..20 {
        lessons.accept("weekly report", &id(n), &Label::clean(), day(0)).unwrap();
    }
    (0..20).for_each(|n| assert!(lessons.forget(&id(n))));
    assert_eq!(lessons, Lessons::default());
}
