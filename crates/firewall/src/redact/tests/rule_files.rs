//! Rule files of operators.

use super::*;

#[test]
fn rule_files_are_refused_with_a_reason() {
    let rule = |more: &str| {
        format!(
            "[[rule]]\nid = \"r\"\ntype = \"t\"\nanchors = [\"abc\"]\npattern = 'abc[0-9]'\n\
             masks = [[\"abc1\", \"abc1\"]]\nkeeps = [\"abd\"]\n{more}"
        )
    };
    let why = |text: String| Redactor::new(&[text], &BTreeSet::new()).unwrap_err().to_string();
    assert!(Redactor::new(&[rule("")], &BTreeSet::new()).is_ok());
    assert!(why(rule("patern = 'x'")).contains("patern"));
    assert!(why(rule("validate = [\"lunh\"]")).contains("did you mean `luhn`"));
    assert!(why(rule("reach = 5000")).contains("1024"));
    assert!(why(rule("").replace("abc[0-9]", "abc[0-9")).contains("rule `r`"));
    assert!(why(rule("").replace("abc[0-9]", "abc[5-9]")).contains("masks"));
    assert!(why(rule("").replace("\"abc\"", "\"ab\"")).contains("3 bytes"));
    assert!(why(rule("").replace("abd", "abc1")).contains("not nothing"));
    for without in [
        rule("").replace("masks = [[\"abc1\", \"abc1\"]]", "masks = []"),
        rule("").replace("keeps = [\"abd\"]", "keeps = []"),
    ] {
        assert!(why(without).contains("it needs examples"));
    }
    assert!(why(rule("family = \"private\"")).contains("\"secret\" or \"personal\""));
    let email = rule("family = \"secret\"").replace("\"t\"", "\"email\"");
    assert!(why(email).contains("are personal"));
    let twice = format!("{}{}", rule(""), rule("family = \"personal\"").replace("\"r\"", "\"q\""));
    assert!(why(twice).contains("a type has one family"));
}

#[test]
fn a_rule_of_an_operator_finds_secrets_unless_it_says_otherwise() {
    let rule = |more: &str| {
        format!(
            "[[rule]]\nid = \"badge\"\ntype = \"badge\"\nanchors = [\"badge-\"]\n\
             pattern = 'badge-[0-9]+'\nmasks = [[\"badge-1\", \"badge-1\"]]\n\
             keeps = [\"badge\"]\n{more}"
        )
    };
    let shown = |file: String| {
        let redactor = Redactor::new(&[file], &BTreeSet::new()).unwrap();
        redactor
            .with_disclosure(Disclosure::Personal)
            .redact_text("my badge-77", &mut Counts::new())
            .into_owned()
    };
    assert_eq!(shown(rule("")), "my [REDACTED]");
    assert_eq!(shown(rule("family = \"personal\"")), "my badge-77");
    // What it covers and shows hides no secret.
    let wide = rule("family = \"personal\"").replace("[0-9]+'", "[0-9a-z=]+'");
    let redactor = Redactor::new(&[wide], &BTreeSet::new()).unwrap();
    let shown = redactor.with_disclosure(Disclosure::Personal);
    let shown = shown.redact_text("badge-1password=hunter2", &mut Counts::new()).into_owned();
    assert_eq!(shown, "badge-1password=[REDACTED]");
}
