//! Finds texts that a program would read as an option, or as every file ("option injection").

use serde_json::Value;

/// Whether a value holds such a text: one that begins with `-`, at whatever depth. Where the value is one
/// text, also `:`, `.` and `+` lead to other places, and servers split it at white space.
pub(super) fn holds_options(value: &Value) -> bool {
    if let Value::String(text) = value {
        let text = text.trim();
        return text.starts_with(['-', ':', '.', '+']) || text.contains(char::is_whitespace);
    }
    let mut open = vec![value];
    while let Some(next) = open.pop() {
        match next {
            Value::String(text) if is_option(text) => return true,
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                if members.keys().any(|name| is_option(name)) {
                    return true;
                }
                open.extend(members.values());
            }
            _ => {}
        }
    }
    false
}

fn is_option(text: &str) -> bool {
    text.trim_start().starts_with('-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_found_in_texts_and_lists() {
        for value in [
            json!("--output=x"),
            json!(" -x"),
            json!(":/"),
            json!("main\t--output=x"),
            json!("main\n-x"),
            json!(["main", "--output=x"]),
            json!([["\u{b}-x"]]),
            json!({ "--output": "x" }),
        ] {
            assert!(holds_options(&value), "{value}");
        }
        for value in
            [json!("main"), json!("main~2 "), json!(["fix bug", "./a"]), json!(5), json!([])]
        {
            assert!(!holds_options(&value), "{value}");
        }
    }
}
