use proptest::prelude::*;
use serde_json::json;

use super::*;

fn filled(template: &str, arguments: Value) -> Result<String, String> {
    let Value::Object(arguments) = arguments else { panic!("an object") };
    let template = UrlTemplate::parse(template).unwrap();
    let url = template.fill(&arguments, &mut BTreeSet::new());
    url.map(String::from).map_err(|error| error.to_string())
}

#[test]
fn values_stay_in_their_places() {
    for (template, arguments, wanted) in [
        ("https://a.example/v1/{id}", json!({"id": 7}), "https://a.example/v1/7"),
        ("https://a.example/{a}.json", json!({"a": "x y"}), "https://a.example/x%20y.json"),
        ("https://a.example/{a}", json!({"a": "?x=1#y"}), "https://a.example/%3Fx%3D1%23y"),
        ("https://a.example/{a}", json!({"a": "%2e%2e"}), "https://a.example/%252e%252e"),
        ("https://a.example/{a}", json!({"a": "a%2Fb"}), "https://a.example/a%252Fb"),
        ("https://a.example/{a}/b", json!({"a": "..x"}), "https://a.example/..x/b"),
        ("https://a.example/f/{p...}", json!({"p": "a/b c"}), "https://a.example/f/a/b%20c"),
        ("https://a.example/f/{p...}", json!({"p": ["a", "b"]}), "https://a.example/f/a/b"),
        ("https://a.example/?q={q}", json!({"q": "a&b=c+d"}), "https://a.example/?q=a%26b%3Dc%2Bd"),
        ("https://a.example/s?f=json&q={q?}", json!({}), "https://a.example/s?f=json"),
        ("https://a.example?t={t...}", json!({"t": ["a", "b"]}), "https://a.example/?t=a&t=b"),
        (
            "https://a.example/{a}",
            json!({"a": "@evil.example"}),
            "https://a.example/%40evil.example",
        ),
        ("{url}", json!({"url": "https://B.example/x#y"}), "https://b.example/x"),
    ] {
        assert_eq!(filled(template, arguments).as_deref(), Ok(wanted), "{template}");
    }
}

#[test]
fn a_value_that_would_move_the_path_is_refused() {
    for value in ["..", ".", "", "a/b", "/", "//evil.example", "..\\..", "a\r\nb", "\0", "../x"] {
        let error = filled("https://a.example/v1/{id}/x", json!({ "id": value })).unwrap_err();
        assert!(error.contains("`id`"), "{value}: {error}");
    }
    for value in ["", "/", "a//b", "../b", "a/..", "a/./b", "/a", "a/", "a\\b"] {
        assert!(filled("https://a.example/{p...}", json!({ "p": value })).is_err(), "{value}");
    }
    for value in [json!(["a/b"]), json!([".."]), json!([]), json!([[]]), json!({}), json!(null)] {
        assert!(filled("https://a.example/{p...}", json!({ "p": value })).is_err());
    }
    assert!(filled("https://a.example/.{x}", json!({"x": "."})).is_err());
    assert!(filled("https://a.example/{x}", json!({"x": "a".repeat(20_000)})).is_err());
}

#[test]
fn templates_that_mean_something_else_are_refused() {
    for bad in [
        "https://{host}/x",
        "https://a.{tenant}.example/x",
        "https://a.example:{port}/",
        "https://user:pass@a.example/",
        "https://a.example/{id?}",
        "https://a.example/{p...}.json",
        "https://a.example/{a}{b}",
        "https://a.example/../x",
        "https://a.example/%2e%2e/x",
        "https://a.example/a b",
        "https://a.example/x#{y}",
        "https://a.example/?{k}=v",
        "https://a.example/?k=a{v}",
        "https://a.example/}",
        "ftp://a.example/",
        "//a.example/",
        "{url?}",
        "",
    ] {
        assert!(UrlTemplate::parse(bad).is_err(), "{bad}");
    }
}

proptest! {
    /// Whatever a text is, it is refused or becomes one segment and one value, and nothing else
    /// of the address is another.
    #[test]
    fn no_text_moves_an_address(text in any::<String>()) {
        let template = UrlTemplate::parse("https://a.example:8443/v1/{a}/end?x=1&b={a2}&y=2").unwrap();
        let given = json!({"a": text.clone(), "a2": text.clone()});
        let Value::Object(arguments) = given else { panic!("an object") };
        if let Ok(url) = template.fill(&arguments, &mut BTreeSet::new()) {
            prop_assert_eq!(url.origin().ascii_serialization(), "https://a.example:8443");
            let path: Vec<&str> = url.path_segments().unwrap().collect();
            prop_assert_eq!(path.len(), 3);
            prop_assert_eq!((path[0], path[2]), ("v1", "end"));
            let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            let wanted = [("x", "1"), ("b", text.as_str()), ("y", "2")];
            prop_assert_eq!(pairs, wanted.map(|(k, v)| (k.to_owned(), v.to_owned())));
        } else {
            let odd = text.is_empty() || text == "." || text == ".."
                || text.chars().any(|c| c.is_control() || c == '/' || c == '\\');
            prop_assert!(odd || text.len() > 1_000);
        }
    }
}
