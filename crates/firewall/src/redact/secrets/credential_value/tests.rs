use super::*;

#[test]
fn base64_that_ends_in_a_sign_has_groups_of_four() {
    let padded = |length: usize| is_padded(format!("{}=", "a".repeat(length - 1)).as_bytes());
    assert!(padded(24) && padded(28));
    assert!(!padded(20) && !padded(25) && !padded(26) && !padded(27));
    assert!(is_padded(b"base64:abcdefgh+/-_012345678==="));
    assert!(is_padded(b"abcdefgh+/-_012345678===") && !is_padded(b"abcdefgh+/-_0123456.8==="));
}

/// A value after `=`, with nothing between.
fn bare(text: &str) -> AssignedValue {
    AssignedValue {
        range: 0..text.len(),
        quoted: false,
        separator: b'=',
        is_adjacent: true,
        requires_token: false,
        fills_line: false,
    }
}

#[test]
fn a_password_is_no_word_where_words_may_stand() {
    let bare_is_one = |text: &str| is_password(text, &TokenStats::of(text.as_bytes()), &bare(text));
    for (text, is_one) in [
        ("ab", false),
        ("abc", true),
        ("123", false),
        ("1234", true),
        ("a_b", false),
        ("a.b", false),
        ("a-b", true),
        ("x$y", true),
        ("$abc1", false),
        ("$abc12", true),
        ("$abcdef", false),
        ("%abc12", true),
        ("|abc12", false),
        ("|abcdef12", false),
        ("!vault", false),
        ("!vault1", true),
        ("пароль", false),
        ("пароль1", true),
    ] {
        assert_eq!(bare_is_one(text), is_one, "{text}");
    }
    for (text, is_one) in
        [("abcdef", false), ("xQZaBC", true), ("xQZabc", false), ("xQZaB.C", false), ("a-b9", true)]
    {
        let shape = TokenStats::of(text.as_bytes());
        let colon = AssignedValue { separator: b':', ..bare(text) };
        let apart = AssignedValue { is_adjacent: false, ..bare(text) };
        assert_eq!(is_password(text, &shape, &colon), is_one, "{text}");
        assert_eq!(is_password(text, &shape, &apart), is_one, "{text}");
    }
    for (text, is_one) in [("abc-def", false), ("a_b.c", false), ("12345", false), ("abc1", true)] {
        let below = AssignedValue { requires_token: true, ..bare(text) };
        assert_eq!(is_password(text, &TokenStats::of(text.as_bytes()), &below), is_one, "{text}");
    }
    for (text, is_one) in [("x", false), ("xy", true), ("a b", true), ("enter a b", false)] {
        let quoted = AssignedValue { quoted: true, ..bare(text) };
        assert_eq!(is_password(text, &TokenStats::of(text.as_bytes()), &quoted), is_one, "{text}");
    }
}

#[test]
fn a_sentence_about_a_password_is_no_password() {
    for (text, is_one) in [
        ("Passwort setzen", true),
        ("Passwort 12", false),
        ("Passwort", false),
        ("password 12", true),
        ("Please, sign in", true),
        ("please", false),
        ("correct horse", false),
        ("correct-horse,the battery", true),
        ("theatre horse", false),
    ] {
        assert_eq!(is_sentence(text), is_one, "{text}");
    }
}

#[test]
fn a_token_is_long_mixed_and_varied() {
    let with =
        |text: &str, value: &AssignedValue| is_token(text, &TokenStats::of(text.as_bytes()), value);
    for (text, is_one) in [
        ("a1b2c3d4e", false),
        ("a1b2c3d4e5", true),
        ("a1b2c 3d4e5", false),
        ("1234567890123456789", false),
        ("12345678901234567890", true),
        // 2.8 bits of each character are enough for 19 of them, and 3 bits for any number.
        ("a1b2c3da1b2c3da1b2c", true),
        ("a1b2c3da1b2c3da1b2c3", false),
        ("a1b2c3d4a1b2c3d4a1b2c3d4", true),
        ("a1a1a1a1a1a1", false),
        ("xqzbtrwqlmnpvcxkjhgf", true),
        ("qwertyuiopas", false),
        ("a1b2c3::d4e5", false),
        ("a1b2c3//d4e5", false),
    ] {
        assert_eq!(with(text, &bare(text)), is_one, "{text}");
    }
    for (text, is_one) in [("a1bcdefghij", false), ("a1b2cdefghij", true)] {
        let below = AssignedValue { requires_token: true, ..bare(text) };
        assert_eq!(with(text, &below), is_one, "{text}");
        assert!(with(text, &bare(text)), "{text}");
    }
}

#[test]
fn a_secret_is_not_a_reference_a_name_or_program_text() {
    let in_text = |text: &str, value: &str| {
        let value = AssignedValue { range: 0..value.len(), ..bare(value) };
        is_secret(text.as_bytes(), &value, SecretKind::Password)
    };
    for (text, value, is_one) in [
        ("q8Vn2Lm", "q8Vn2Lm", true),
        ("", "", false),
        ("[q8Vn2Lm", "[q8Vn2Lm", false),
        ("(q8Vn2Lm", "(q8Vn2Lm", false),
        ("ENC[q8Vn2Lm", "ENC[q8Vn2Lm", false),
        ("ENCq8Vn2Lm", "ENCq8Vn2Lm", true),
        ("password", "password", false),
        ("contraseña", "contraseña", false),
        ("./q8Vn2Lm", "./q8Vn2Lm", false),
        ("vault:q8Vn2Lm", "vault:q8Vn2Lm", false),
        // A variable, a call, an index, an open end.
        ("passphrase1)", "passphrase1", false),
        ("passphrase1,", "passphrase1", false),
        ("passphrase1;", "passphrase1", true),
        ("q8Vn2Lm)", "q8Vn2Lm", true),
        ("q8Vn(2Lm", "q8Vn(2Lm", false),
        ("q8Vn{2Lm", "q8Vn{2Lm", false),
        ("q8Vn2Lm(x", "q8Vn2Lm", false),
        ("q8Vn2Lm[x", "q8Vn2Lm", false),
        ("q8Vn2Lm:", "q8Vn2Lm:", false),
        ("q8Vn2Lm=", "q8Vn2Lm=", false),
        ("q8Vn2LmZ7rKd0XbL5vW3zQ9=", "q8Vn2LmZ7rKd0XbL5vW3zQ9=", true),
    ] {
        assert_eq!(in_text(text, value), is_one, "{text}");
    }
    let quoted = |text: &str| {
        let value = AssignedValue { quoted: true, ..bare(text) };
        is_secret(text.as_bytes(), &value, SecretKind::Password)
    };
    assert!(quoted("q8Vn(2Lm") && quoted("q8Vn2Lm:"));
    assert!(quoted("(q8Vn2Lm)") && quoted("[q8Vn2Lm"));
    for text in
        ["(optional)", "[x1]", "[PASSWORD_1]", "[a1b-z]+", "(?i)a1b", "[a1b,c2d]", "(a1b c)"]
    {
        assert!(!quoted(text), "{text}");
    }
    let in_line = |text: &str| {
        let value = AssignedValue { fills_line: true, ..bare(text) };
        is_secret(text.as_bytes(), &value, SecretKind::Password)
    };
    for text in ["Tr0ub4dor(3xK9", "Kd83{jQ2pLw", "[Kd83jQ2pLw", "Kd83jQ2pL="] {
        assert!(in_line(text), "{text}");
    }
    for text in ["hash(u2f_key)", "[abc, d1e2]", "data[0]", "sha256(x1", "abcdef=", "[PASSWORD_1]"]
    {
        assert!(!in_line(text), "{text}");
    }
    let bare_is_one = |text: &str, after: &str| {
        let value = bare(text);
        is_secret(format!("{text}{after}").as_bytes(), &value, SecretKind::Password)
    };
    assert!(bare_is_one("aHVudGVyMg==", "") && bare_is_one("aHVudGVyMg==", "\n"));
    assert!(!bare_is_one("aHVudGVyMg==", " x") && !bare_is_one("hunter2n1==", ""));
    let of_kind = |text: &str, kind: SecretKind| is_secret(text.as_bytes(), &bare(text), kind);
    assert!(!of_kind("q8Vn2", SecretKind::Pass) && of_kind("q8Vn2L", SecretKind::Pass));
    assert!(!of_kind("123456", SecretKind::Pass) && of_kind("123456", SecretKind::Password));
    assert!(of_kind("q8Vn2LmZ7r", SecretKind::Secret) && !of_kind("q8Vn2LmZ7", SecretKind::Secret));
    assert!(of_kind("q8Vn2LmZ7rKd0XbL", SecretKind::Weak));
    assert!(!of_kind("q8Vn2LmZ7rKd0Xb", SecretKind::Weak));
    assert!(!of_kind("3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a", SecretKind::Weak));
}
