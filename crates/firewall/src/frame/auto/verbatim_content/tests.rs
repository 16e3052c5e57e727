use super::*;

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
