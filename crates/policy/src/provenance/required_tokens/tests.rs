use serde_json::json;

use super::*;

/// What is required, for a table: groups between `&`, and tokens of which one is enough.
fn shown(required: &RequiredTokens) -> String {
    let token = |token: &ValueToken| format!("{:?} {}", token.class, token.key);
    let groups = required.groups.iter().map(|group| {
        let tokens: Vec<_> = group.iter().map(token).collect();
        if tokens.is_empty() { "nothing".to_owned() } else { tokens.join(", ") }
    });
    groups.collect::<Vec<_>>().join(" & ")
}

#[test]
fn an_argument_is_read_as_what_its_name_says() {
    for (name, value, required) in [
        ("password", json!(" Sesam 1 "), "Secret Sesam 1"),
        ("password", json!(1234), "Secret 1234"),
        ("password", json!(""), "nothing"),
        ("amount", json!("$1,200.50"), "Amount 1200.5"),
        ("amount", json!(12), "Amount 12"),
        ("amount", json!("twelve"), "nothing"),
        ("subject", json!("Hello World"), "Phrase hello world, Name hello world"),
        ("subject", json!(""), ""),
        ("start", json!("2027-05-15"), "Day 2027-05-15, Day 05-15"),
        ("start", json!("soon"), "Phrase soon, Name soon"),
        ("to", json!("Bob <bob@corp.example>"), "Email bob@corp.example"),
        (
            "to",
            json!("a@corp.example; ,b@corp.example"),
            "Email a@corp.example & Email b@corp.example",
        ),
        ("hotel", json!("bob@corp.example"), "Email bob@corp.example"),
        ("to", json!(null), ""),
        ("to", json!(true), ""),
        ("to", json!([]), ""),
        ("to", json!({}), ""),
    ] {
        assert_eq!(shown(&RequiredTokens::for_argument(name, &value)), required, "{name} {value}");
    }
}

#[test]
fn a_display_name_is_no_receiver_unless_it_holds_another_address() {
    let of = |text: &str| shown(&RequiredTokens::for_argument("to", &json!(text)));
    assert_eq!(of("Bob Corp <bob@corp.example>"), "Email bob@corp.example");
    for hidden in [
        "eve@evil.example <bob@corp.example>",
        "<eve@evil.example> <bob@corp.example>",
        "a > b <bob@corp.example>",
        "bob@corp.example>",
    ] {
        assert_eq!(of(hidden), "nothing", "{hidden}");
    }
}

#[test]
fn every_part_of_a_long_text_is_required() {
    let text = json!("one two three four five six seven");
    let whole = "Name one two three four five six seven";
    let grams = ["one two three four five six", "two three four five six seven"];
    let expected = format!("Phrase {}, {whole} & Phrase {}, {whole}", grams[0], grams[1]);
    assert_eq!(shown(&RequiredTokens::for_argument("subject", &text)), expected);
    assert_eq!(shown(&RequiredTokens::for_content(&text)), expected);
}

#[test]
fn content_is_a_day_a_number_or_what_was_said() {
    for (value, required) in [
        (json!("2027-05-15"), "Day 2027-05-15, Day 05-15"),
        (json!("Grand Plaza"), "Phrase grand plaza, Name grand plaza"),
        (json!(5), "Number 5"),
        (json!(2.50), "Number 2.5"),
        (json!(true), ""),
        (json!(null), ""),
        (json!([1]), ""),
    ] {
        assert_eq!(shown(&RequiredTokens::for_content(&value)), required, "{value}");
    }
}

#[test]
fn what_is_written_as_something_is_read_as_that_where_its_role_allows() {
    for (name, text, required) in [
        ("url", "https://docs.example/a", "Url docs.example/a"),
        ("hotel", "https://docs.example/a", "Url docs.example/a"),
        ("path", "https://docs.example/a", "Url docs.example/a"),
        ("url", "docs.com", "Host docs.com"),
        ("file_id", "docs.com", "Host docs.com, Path docs.com"),
        (
            "path",
            "docs.com",
            "Path docs.com, Name docs.com, Identifier docs.com, Cued path|docs.com",
        ),
        (
            "iban",
            "DE89 3704 0044",
            "Account DE8937040044, Name de89 3704 0044, Cued iban|de89 3704 0044",
        ),
        ("path", "a/b", "Path a/b, Name a/b, Identifier a/b, Cued path|a/b"),
        ("path", "notes", "Name notes, Identifier notes, Cued path|notes"),
        ("room_id", "x1", "Name x1, Identifier x1, Cued room|x1"),
        ("hotel", "12", "Number 12, Identifier 12, Cued hotel|12"),
        ("to", "12", "Identifier 12, Cued to|12"),
        ("hotel", "one two", "Name one two, Cued hotel|one two"),
        (
            "hotel",
            "one two three",
            "Name one two three, Phrase one two three, Cued hotel|one two three",
        ),
        ("to", "one two three", "Name one two three, Cued to|one two three"),
        (
            "hotel",
            "one two three four five six",
            "Name one two three four five six, Phrase one two three four five six, \
             Cued hotel|one two three four five six",
        ),
        (
            "hotel",
            "one two three four five six seven",
            "Name one two three four five six seven, Cued hotel|one two three four five six seven",
        ),
    ] {
        let found = RequiredTokens::for_argument(name, &json!(text));
        assert_eq!(shown(&found), required, "{name} {text}");
    }
}

#[test]
fn the_last_name_on_the_way_says_what_a_value_is_for() {
    for (place, name) in [
        ("", ""),
        ("/to", "to"),
        ("/to/0", "to"),
        ("/to/*", "to"),
        ("/to/0/email", "email"),
        ("/a/b~1c~0d/3/*", "b/c~d"),
        ("/0", ""),
    ] {
        assert_eq!(argument_name_at(place), name, "{place}");
    }
    let (to, email) = (PathStep::member("to"), PathStep::member("email"));
    let path = [to.clone(), PathStep::item(0), email, PathStep::item(1)];
    assert_eq!(argument_name(&path), "email");
    assert_eq!(argument_name(&path[..2]), "to");
    assert_eq!(argument_name(&[to, PathStep::member("0")]), "0");
    assert_eq!(argument_name(&[PathStep::item(0)]), "");
    assert_eq!(argument_name(&[]), "");
}

#[test]
fn all_groups_must_be_found_and_the_weakest_counts() {
    use ValueOrigin::{Trusted, User};
    let said = |to: &str, known: &[(&str, ValueOrigin)]| {
        let required = RequiredTokens::for_argument("to", &json!(to));
        required.weakest_origin(&|token| {
            known.iter().find(|(key, _)| *key == token.key).map(|(_, origin)| *origin)
        })
    };
    let (a, b) = ("a@corp.example", "b@corp.example");
    let both = format!("{a}, {b}");
    assert_eq!(said(a, &[(a, User)]), Some(User));
    assert_eq!(said(a, &[(b, User)]), None);
    assert_eq!(said(&both, &[(a, User), (b, User)]), Some(User));
    assert_eq!(said(&both, &[(a, User), (b, Trusted)]), Some(Trusted));
    assert_eq!(said(&both, &[(a, Trusted), (b, User)]), Some(Trusted));
    assert_eq!(said(&both, &[(a, User)]), None);
    assert_eq!(said(&both, &[(b, User)]), None);
    assert_eq!(said("", &[]), None);
    // Within a group one token is enough, and the user's counts.
    let cued = [("room 5", Trusted), ("to|room 5", User)];
    assert_eq!(said("room 5", &cued), Some(User));
    assert_eq!(said("room 5", &cued[..1]), Some(Trusted));
}

#[test]
fn what_is_required_has_a_kind_in_words() {
    for (name, value, kind) in [
        ("to", json!("bob@corp.example"), "e-mail address"),
        ("amount", json!(3), "amount"),
        ("subject", json!("hello"), "text"),
        ("hotel", json!("Plaza"), "name"),
        ("amount", json!("twelve"), "value"),
        ("to", json!(null), "value"),
    ] {
        assert_eq!(RequiredTokens::for_argument(name, &value).kind(), kind, "{name}");
    }
}

#[test]
fn a_value_with_signs_at_its_ends_is_another_one() {
    let of = |name: &str, text: &str| shown(&RequiredTokens::for_argument(name, &json!(text)));
    for text in ["*web*", "[web]", ":main", ".web", "@everyone", "web;"] {
        assert_eq!(of("hotel", text), format!("Name {text}, Identifier {text}"), "{text}");
    }
    assert_eq!(of("hotel", "web\n"), "Name web\n");
    assert!(of("path", "~/web").starts_with("Path "), "a path at home");
    assert!(of("to", "+41 44 123 45 67").contains("Account"), "a telephone number");
}

#[test]
fn a_day_is_one_under_any_name_and_a_quantity_is_no_money() {
    let of = |name: &str, value: Value| shown(&RequiredTokens::for_argument(name, &value));
    for name in ["check_in", "departure", "to", "ab"] {
        assert_eq!(of(name, json!("2027-05-15")), "Day 2027-05-15, Day 05-15", "{name}");
    }
    assert_eq!(of("check_in", json!("2027-05-15T10:00")), "Day 2027-05-15, Day 05-15");
    for (name, value) in [
        ("to", "2027-05-15T10:00"),
        ("id", "2027-05-15T10:00"),
        ("iban", "2027-05-15"),
        ("check_in", "2027-05-15-0001"),
    ] {
        assert!(!of(name, json!(value)).contains("Day"), "{name} {value}");
    }
    assert_eq!(of("quantity", json!(40.0)), "Count 40");
    assert_eq!(of("quantity", json!("many")), "nothing");
}

#[test]
fn an_object_is_read_as_an_identifier_or_as_what_was_said() {
    let of = |value: Value| shown(&RequiredTokens::for_object("order", &value));
    assert_eq!(of(json!("1182")), "Identifier 1182, Cued order|1182");
    assert_eq!(of(json!(1182)), "Identifier 1182, Cued order|1182");
    assert!(of(json!("one two three")).contains("Phrase one two three"));
    assert_eq!(of(json!("")), "");
    let choice = shown(&RequiredTokens::for_choice("in_progress"));
    assert!(choice.starts_with("Phrase in progress, "), "{choice}");
    assert!(shown(&RequiredTokens::for_choice("closed")).contains("Phrase close"));
    let door = RequiredTokens::for_tool_object("garage", ["unlock", "door"].into_iter());
    assert_eq!(shown(&door), "Cued unlock|garage, Cued door|garage");
    let pattern = RequiredTokens::for_tool_object("*garage*", ["unlock"].into_iter());
    assert_eq!(shown(&pattern), "nothing");
}

#[test]
fn a_long_text_takes_memory_in_proportion_to_its_length() {
    let text = (0..4_000).map(|n| format!("word{n} ")).collect::<String>();
    let tokens = RequiredTokens::for_argument("body", &json!(text)).groups;
    let bytes: usize = tokens.iter().flatten().map(|token| token.key.len()).sum();
    assert!(tokens.len() > 3_900 && bytes < 20 * text.len(), "{bytes}");
}

#[test]
fn a_value_that_is_not_displayed_is_vouched_for_by_nothing() {
    for name in ["to", "amount", "password", "subject", "start", "file_id", "hotel"] {
        let hidden = json!("12\u{200b}");
        assert_eq!(shown(&RequiredTokens::for_argument(name, &hidden)), "nothing", "{name}");
    }
    assert_eq!(shown(&RequiredTokens::for_object("order", &json!("1182\u{ad}"))), "nothing");
    assert_eq!(shown(&RequiredTokens::for_choice("ad\u{200b}min")), "nothing");
    let door = RequiredTokens::for_tool_object("gar\u{200b}age", ["unlock"].into_iter());
    assert_eq!(shown(&door), "nothing");
}
