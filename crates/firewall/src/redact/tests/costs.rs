//! How much work a text costs.

use super::*;

/// The heading of a column is kept as the lines are read: no number looks for it anew.
#[test]
fn a_table_of_numbers_costs_what_one_line_of_them_does() {
    let numbers = |per_line: usize| -> String {
        let number = |n: usize| 1_000_000 + n * 7_919 % 9_000_000;
        let end = |n: usize| if n % per_line == per_line - 1 { '\n' } else { ',' };
        (0..5_000).map(|n| format!("{}{}", number(n), end(n))).collect()
    };
    let cost = |text: String| work_meter::measure(|| drop(masked(&text)));
    let (line, lines) = (cost(numbers(5_000)), cost(numbers(10)));
    assert!(lines <= line + line / 2, "{line} bytes of work in one line, {lines} in many");
}

#[test]
fn hostile_text_costs_linear_work() {
    for unit in [
        "a",
        "@",
        "eyJ",
        "1",
        "1 ",
        "eyJa.",
        "-----BEGIN PRIVATE KEY-----!",
        "://a:",
        "postgres://a:",
        ",password\n",
        "name\tpassword\tcity\n",
        "{\"f\":\"hp\",\"e\":1000018},",
        "1234567,",
        "1234567,7654321,1726354\n",
        "insert into a (a, a, ",
        "password of a ",
        "password=",
        "sk-",
        "key=",
        "+1 ",
        "a@b.",
        "GB82",
        "\u{200b}a",
        "bearer ",
        "[REDACTED]",
        "x@y.zz ",
        "AKIA",
        "ghp_",
        "%41",
        "&#49;",
        "\\u0041",
        "{\"password\":\"",
        "1.1.",
        "127.0.0.1.",
        "4242 ",
        "://u:p@h.io ",
        "://u.",
        "git@h.io:/a/",
        "x@1.2.",
        "-",
        ":",
    ] {
        let cost = |bytes: usize| {
            let text = unit.repeat(bytes / unit.len());
            work_meter::measure(|| drop(masked(&text)))
        };
        let (small, large) = (cost(20_000), cost(60_000));
        assert!(large <= small * 4 + 100_000, "{unit:?}: {small} bytes, then {large}");
        assert!(large <= 60_000 * 400, "{unit:?}: {large} bytes of work");
    }
}

#[test]
fn a_url_without_a_password_is_not_searched_for_one() {
    let work = |unit: &str| {
        let text = unit.repeat(60_000 / unit.len());
        work_meter::measure(|| drop(masked(&text)))
    };
    let (plain, users) = (work("postgres//a: "), work("postgres://a:"));
    assert!(users <= plain + 60_000 * 8, "{plain} bytes, then {users}");
}

/// Line ends and letters of other languages are escapes in JSON. They are decoded, but the text is
/// not read again for each of them.
#[test]
fn a_text_in_json_costs_little_more_than_the_text() {
    for line in [
        "Line %d abc def\n",
        "Zeile 1 \u{e4}\u{f6}\u{fc}\n",
        "    let x = foo(bar, 1);\n",
        "word and ",
    ] {
        let text = line.repeat(80_000 / line.len());
        let ascii: String = text
            .chars()
            .flat_map(|c| {
                let code = format!("\\u{:04x}", u32::from(c));
                if c.is_ascii() { c.to_string() } else { code }.chars().collect::<Vec<_>>()
            })
            .collect();
        let work = |text: &str| work_meter::measure(|| drop(masked(text))) / text.len();
        let plain = work(&text);
        for json in
            [json!({ "content": text }).to_string(), json!({ "content": ascii }).to_string()]
        {
            let wrapped = work(&json);
            assert!(wrapped <= 2 * plain + 2, "{line:?}: {plain} a byte, in JSON {wrapped}");
        }
    }
}

#[cfg(feature = "work-meter")]
#[test]
fn the_work_of_a_text_is_counted() {
    let work = |text: &str| scanned_bytes(|| drop(masked(text)));
    assert_eq!(scanned_bytes(|| ()), 0);
    let (one, two) = (work("token=q8Vn2LmZ7rKd"), work("token=q8Vn2LmZ7rKd token=Lm7rKdq8Vn2Z"));
    assert!(one > 0 && two > one, "{one} {two}");
}
