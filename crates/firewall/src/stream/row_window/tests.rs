use serde_json::json;

use super::*;

fn window() -> RowWindow {
    RowWindow::new(Arc::new(Redactor::builtin()), FieldNameClassifier::default())
}

fn strings(value: &Value) -> Vec<(String, String)> {
    let mut names = FieldNameClassifier::default();
    let mut found = Vec::new();
    StringCollector { names: &mut names, path: String::new() }.collect(value, None, 0, &mut found);
    found.into_iter().map(|(path, text)| (path, text.to_owned())).collect()
}

#[test]
fn the_strings_of_a_row_are_found_by_their_paths() {
    let row = json!({
        "a": "x", "b": ["y", { "c": "z" }, 1], "e": "", "n": 1, "p/q~r": "w",
        "password": "plover", "token": { "a": "heron" },
    });
    let expected = [("/a", "x"), ("/b/0", "y"), ("/b/1/c", "z"), ("/p~1q~0r", "w")];
    assert_eq!(strings(&row), expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
}

#[test]
fn strings_are_read_on_to_eight_levels() {
    let lists = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
    assert_eq!((strings(&lists(8)).len(), strings(&lists(9)).len()), (1, 0));
    let maps = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!({ "a": inner }));
    assert_eq!((strings(&maps(8)).len(), strings(&maps(9)).len()), (1, 0));
}

#[test]
fn of_64_fields_the_texts_are_read_on_and_of_more_the_rest_is_counted() {
    let row = |from: usize, to: usize| -> Value {
        (from..to).map(|n| (format!("f{n:03}"), json!("word"))).collect()
    };
    for (rows, unjoined) in [
        (vec![row(0, 64)], 0),
        (vec![row(0, 65)], 1),
        (vec![row(0, 70), row(0, 64)], 6),
        (vec![row(0, 64), row(0, 64)], 0),
        (vec![row(0, 64), row(64, 66)], 2),
    ] {
        let mut window = window();
        rows.into_iter().for_each(|row| drop(window.push(row)));
        assert_eq!(window.unjoined_strings(), unjoined);
    }
}

#[test]
fn a_value_in_two_rows_is_masked_in_both() {
    let mut window = window();
    let mut rows = window.push(json!({ "t": "mail jane.roe@co" }));
    assert!(rows.is_empty() && window.visible_waiting() == 1);
    rows.extend(window.push_unseen(&json!({ "t": "rp.net now" })));
    rows.extend(window.push(json!({ "t": "and more" })));
    rows.extend(window.finish());
    assert_eq!(window.visible_waiting(), 0);
    let shown: Vec<Value> = rows
        .into_iter()
        .map(|row| match row {
            SettledRow::Raw(row) => json!({ "raw": row }),
            SettledRow::Masked(row) => row,
        })
        .collect();
    let expected = [json!({ "t": "mail [REDACTED]" }), json!({ "raw": { "t": "and more" } })];
    assert_eq!(shown, expected);
    assert_eq!(window.counts().get("email"), Some(&1));
}

#[test]
fn a_row_that_nobody_waits_for_is_not_read() {
    let mut window = window();
    assert!(window.push_unseen(&json!({ "t": "word" })).is_empty());
    assert!(window.fields.is_empty() && window.waiting.is_empty());
}

#[test]
fn a_field_that_rows_leave_out_for_a_while_ends() {
    // One more row if the last word of the field may go on.
    for (text, rows) in [("a line\n", 7), ("a word", 8)] {
        let mut window = window();
        window.push(json!({ "a": text }));
        let fields = (0..12).map(|_| {
            window.push(json!({ "b": text }));
            window.fields.len()
        });
        let fields: Vec<usize> = fields.collect();
        assert_eq!(fields.iter().filter(|count| **count == 2).count(), rows, "{fields:?}");
    }
}

#[test]
fn fields_whose_names_get_the_same_mask_stay_apart() {
    let mut window = window();
    let names = ["ann@corp.com", "bob@corp.com", "eve@corp.com"];
    let mut row = json!({ "t": "mail joe@" });
    names.iter().for_each(|name| row[*name] = json!(1));
    let mut rows = window.push(row);
    rows.extend(window.push(json!({ "t": "corp.com" })));
    rows.extend(window.finish());
    let [SettledRow::Masked(first), ..] = rows.as_slice() else { panic!("not masked") };
    let wanted = json!({
        "[REDACTED]": 1, "[REDACTED] (2)": 1, "[REDACTED] (3)": 1, "t": "mail [REDACTED]",
    });
    assert_eq!(*first, wanted);
}
