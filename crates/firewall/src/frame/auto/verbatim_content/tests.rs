use super::*;

/// Characters with digits and both cases, like encoded data.
fn encoded(length: usize) -> String {
    "aB3dE5gH7".chars().cycle().take(length).collect()
}

#[test]
fn long_runs_of_base64_are_counted_and_not_shown() {
    let shown = |text: &str| {
        let mut omitted = OmissionCounts::default();
        let out = without_base64(text, &mut omitted).into_owned();
        (out, omitted.get("base64_omitted").copied().unwrap_or_default())
    };
    let (short, long) = (encoded(MIN_BASE64_RUN - 1), encoded(MIN_BASE64_RUN));
    assert_eq!(shown(&short), (short.clone(), 0));
    assert_eq!(
        shown(&format!("a {long} b {long}= c")),
        (
            "a (base64, 1024 characters, not shown) b (base64, 1025 characters, not shown) c"
                .to_owned(),
            2
        )
    );
    // A run without digits, or in one case, is no data.
    for run in [
        "a".repeat(2_000),
        "aB".repeat(1_000),
        "a1".repeat(1_000),
        "A1".repeat(1_000),
        format!("{}9", "aB".repeat(512)),
    ] {
        let text = format!("see {run} end");
        assert_eq!(shown(&text), (text.clone(), 0));
    }
}

#[test]
fn base64_is_decoded_if_its_lines_are_full() {
    let line = |length: usize| "QUJD".repeat(length / 4);
    let bytes = |text: &str| decode_base64(text).map(|bytes| bytes.len());
    assert_eq!(bytes("QUJD"), Some(3));
    assert_eq!(bytes(&format!("{}\n{}\nQUI=\n", line(60), line(76))), Some(45 + 57 + 2));
    assert_eq!(bytes(&format!("{}\r\nQUJD\r\n", line(60))), Some(48));
    assert_eq!(bytes(&format!("{}\nQUJD", line(56))), None);
    assert_eq!((bytes("QUJ"), bytes("QU D"), bytes("")), (None, None, Some(0)));
}

#[test]
fn pictures_and_sounds_are_displayed() {
    for (declared, is_one) in [
        ("image/png", true),
        ("audio/wav", true),
        ("application/pdf", false),
        ("text/html", false),
        ("x/image/png", false),
        ("", false),
    ] {
        assert_eq!(is_media(declared), is_one, "{declared}");
    }
}
