use super::*;

#[track_caller]
fn check(name: &str, accepts: &[&str], refuses: &[&str]) {
    let validator = by_name(name).unwrap();
    for text in accepts {
        assert!(validator(text), "{name} refuses {text:?}");
    }
    for text in refuses {
        assert!(!validator(text), "{name} accepts {text:?}");
    }
}

#[test]
fn names_are_sorted_and_found() {
    assert!(VALIDATORS.is_sorted_by_key(|(name, _)| *name));
    assert!(by_name("luhn").is_some());
    assert!(by_name("nothing").is_none());
}

#[test]
fn placeholders_are_known() {
    check(
        "not_placeholder",
        &["hunter2", "q8Vn2LmZ7rKd0X", "12345678ABCDEFH1234567890", "$up3rS3cret"],
        &[
            "${DB_PASSWORD}",
            "<password>",
            "{{ secret }}",
            "xxxxxxxxxxxx",
            "changeme",
            "$TOKEN",
            "your-api-key",
            "AKIAIOSFODNN7EXAMPLE",
            "00000000000000000000",
            "********",
            "%s",
            "abcdefghijklmnopqrstuvwxyz012345",
            "required.",
            "#{token}",
            "{ApiKey}",
        ],
    );
}

#[test]
fn a_word_for_a_password_is_none() {
    check(
        "not_its_name",
        &["pw", "pass1", "secrets", "passes", "my-password", ""],
        &["password", "PASS", "Passwd", "senha", "secret"],
    );
}

#[test]
fn a_password_is_no_placeholder_because_a_phrase_is_within_a_word_of_it() {
    for text in [
        "Mastodon#4471x", "Protodoc#4471x", "Corp1234567890!", "dummyKd83jQ2", "q8Vn2Lm",
        "Kd83jQ2-example", "counterexamples9", "Password2026!", "password-Lake7",
    ] {
        assert!(not_placeholder_password(text), "{text}");
    }
    for text in [
        "example123", "password123", "authpassword", "your-password-123", "your_password1",
        "changeme!", "TODO-fill-in1", "dummyPassword1", "myExample1", "1234567890", "changeme",
        "${DB_PASSWORD}", "xxxxxxxx", "insert-here",
    ] {
        assert!(!not_placeholder_password(text), "{text}");
    }
}

#[test]
fn a_word_is_scrambled_by_letters_behind_its_digits() {
    assert!(
        has_scrambled_word("Kd83jQ2") && has_scrambled_word("a-b1c") && has_scrambled_word("u2f")
    );
    for text in ["", "abc", "abc12", "12abc", "md5(x1)", "a1 b2", "2024-01-02"] {
        assert!(!has_scrambled_word(text), "{text}");
    }
}

#[test]
fn encodings_are_read() {
    check("basic_pair", &["d2hpdG5leTpXazczOVk="], &["training12", "aGVsbG8="]);
    check("base64_json", &["eyJhbGciOiJkaXIifQ.a.b"], &["eyJhbGciO", "abcd.efgh"]);
    check("luhn", &["4012888888881881"], &["4012888888881882", ""]);
}

#[test]
fn words_paths_and_names_are_known() {
    check("not_a_path", &["q8Vn2L/m", "abc.def"], &["/etc/x", "a/b/c/d/e", "key.pem", "https://a"]);
    check(
        "not_an_identifier",
        &["q8Vn2Lm", "a1b2c3", "x0ken1234"],
        &["userPassword", "config.db.password", "DB_PASSWORD", "event-bus-v2", "X509_st"],
    );
    check("not_a_plain_word", &["hunter2", "corRect", "a_b"], &["field", "two words"]);
    check("token_like", &["abc1", "aBc"], &["Word", "word", "none"]);
    check("mixed", &["a1"], &["ab", "12"]);
    check("has_digit", &["1"], &["a"]);
    check("no_double_slash", &["a:b"], &["http://x"]);
    check("not_template", &["p4ss$word", "user:p4ss"], &["user:${PW}", "{}", "<x>", "***"]);
}

#[test]
fn a_password_is_more_than_a_word_and_nothing_else_with_digits() {
    check(
        "password_like",
        &["v.1beta2", "cfgs.Moor7", "1a=b123", "hunter@", "884-Kestrel"],
        &[
            "884-Kest", "cfg.Moor7", "hunt2", "base64", "a1=b123", "v2.1abc", "x::y2abc",
            "base64enc",
        ],
    );
}

#[test]
fn names_of_program_text_are_known() {
    check("not_a_name", &["tokenV", "authHeader123"], &["_v2)", "tokenV2"]);
}

#[test]
fn filling_is_known_by_its_rows() {
    check(
        "not_placeholder",
        &[
            "aaaa12",
            "qaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqaqazzzzzzzz",
        ],
        &[
            "aaaaa1",
            "xaaaaaaaabcdefghijklmnopqrstuvwxy0123456789BCDEFGHIJKLMNOPQRSTUVWZ@#%^&*()!~`",
        ],
    );
}

#[test]
fn templates_are_known_by_their_signs() {
    check("not_template", &["<x", "a}"], &["$(x", "%A_b1%", "$A_1", "a:<b"]);
}

#[test]
fn codes_are_drawn() {
    check(
        "one_time_code",
        &["482913", "G-482913", "482 913", "4471", "2112", "20261"],
        &["123456", "987654", "0000", "111 111", "1999", "2026", "1234"],
    );
    check(
        "not_a_scheme",
        &["abc.DEF", "YWJjZGVm", "user1=", "abc==", "AWS4"],
        &["username=", "api-key=", "AWS4-HMAC-SHA256"],
    );
}

#[test]
fn pairs_and_encodings_are_told_apart() {
    check("login_pair", &[":b"], &["1:2"]);
    check("base64_json", &["e30", "e2E-fQ", "e2E/fQ"], &[]);
    check("luhn", &["18"], &[]);
}
