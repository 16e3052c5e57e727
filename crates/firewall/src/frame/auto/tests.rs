use serde_json::json;
use weaver_types::{
    AllowedAgents, CallId, CapabilityDraft, CapabilityId, Constraints, Effects, JsonRows, Label,
    ResponseMode, StructuredContent, Timestamp,
};

use super::*;
use crate::content::Rows;
use crate::redact::work_meter;
use crate::spec::FrameBudget;

/// What `look` makes of limits with this number of tokens and rows.
pub(super) fn with_limits<T>(
    tokens: u32,
    rows: Option<u32>,
    look: impl FnOnce(&EffectiveLimits) -> T,
) -> T {
    with_spec(tokens, rows, |spec| look(&EffectiveLimits::from_spec(spec)))
}

/// What `look` makes of the spec of such limits.
fn with_spec<T>(tokens: u32, rows: Option<u32>, look: impl FnOnce(&FrameSpec<'_>) -> T) -> T {
    let call = CallId::parse("call_1").unwrap();
    let id = CapabilityId::parse("crm.list").unwrap();
    let draft = CapabilityDraft {
        description: "Lists people.".to_owned(),
        idempotent: true,
        timeout_ms: 1_000,
        ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, AllowedAgents::Any)
    };
    let spec = FrameSpec {
        call: &call,
        capability: &draft.build().unwrap(),
        mode: ResponseMode::Auto,
        budget: FrameBudget { max_tokens: tokens, ..FrameBudget::default() },
        constraints: &Constraints { max_rows: rows, ..Constraints::default() },
        pii_reader: false,
        handle: None,
        label: Label::undeclared_output(),
        now: Timestamp::from_micros(0),
        strict: false,
        goal: None,
    };
    look(&spec)
}

/// How many bytes are scanned for the first frame of a result.
fn scanned(raw: &RawResult) -> usize {
    let firewall = crate::Firewall::new();
    with_spec(8_000, None, |spec| work_meter::measure(|| drop(firewall.frame(raw, spec))))
}

/// An overview is tried in several sizes, and JSON may be in the text and beside it: each text is
/// scanned once all the same.
#[test]
fn a_text_in_json_is_scanned_as_often_as_the_text_alone() {
    for line in [
        "Line 1 abc def\n",
        "Zeile 1 \u{e4}\u{f6}\u{fc}\n",
        "    let x = foo(bar, 1);\n",
        "word and ",
    ] {
        let text = line.repeat(80_000 / line.len());
        let value = json!({ "content": text });
        let block = json!({ "type": "text", "text": value.to_string() });
        let wrapped = RawResult::json(value.clone());
        let with_structured = RawResult {
            blocks: Some(ContentBlocks { blocks: vec![block], structured: Some(value.clone()) }),
            structured: StructuredContent::Content,
            ..wrapped.clone()
        };
        let plain = scanned(&RawResult::text(text));
        for raw in [wrapped, with_structured] {
            let work = scanned(&raw);
            assert!(work <= 2 * plain, "{line:?}: {plain}, in JSON {work}");
        }
    }
}

fn space(tokens: usize, chars: usize) -> RenderBudget {
    RenderBudget { tokens, chars }
}

fn part<'a>(
    content: &'a Content<'a>,
    space: RenderBudget,
    offset: usize,
) -> excerpt_request::ExcerptRequest<'a> {
    excerpt_request::ExcerptRequest {
        content,
        offset,
        char_offset: 0,
        limit: Some(50),
        budget: space,
        columns: &[],
        column_order: &[],
        separator: ',',
        is_first_page: false,
        has_json_views: true,
    }
}

fn of_text(text: &str, space: RenderBudget) -> excerpt_request::Excerpt {
    let content = Content::Text(text);
    with_limits(8_000, None, |limits| {
        text::excerpt(text, || None, &part(&content, space, 0), limits)
    })
}

#[test]
fn a_text_fits_by_its_characters_and_its_tokens() {
    with_limits(8_000, None, |limits| {
        for (text, tokens, chars, fits) in [
            ("abcde", 1_000, 5, true),
            ("abcdef", 1_000, 5, false),
            ("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", 1_000, 5, true),
            ("abcdef", 1_000, usize::MAX, true),
            ("a b c d e f g h i j", 2, usize::MAX, false),
            ("", 0, 0, true),
        ] {
            assert_eq!(
                space(tokens, chars).fits_text(text, limits),
                fits,
                "{text} {tokens} {chars}"
            );
        }
    });
}

#[test]
fn a_page_shows_whole_lines_or_the_beginning_of_the_first() {
    with_limits(8_000, None, |limits| {
        let page = |chars: usize, from: usize| {
            let lines = ["aaa", "", "ccc"].map(str::to_owned).into_iter();
            text::page_of_lines(lines, from, space(1_000, chars), limits)
                .map(|page| (page.text, page.end))
        };
        for (chars, from, shown, end) in [
            (8, 0, "aaa\n\nccc", PageEnd::Complete),
            (usize::MAX, 0, "aaa\n\nccc", PageEnd::Complete),
            (7, 0, "aaa\n", PageEnd::AfterLines(2)),
            (5, 0, "aaa\n", PageEnd::AfterLines(2)),
            (4, 0, "aaa", PageEnd::AfterLines(1)),
            (3, 0, "aaa", PageEnd::AfterLines(1)),
            (2, 0, "aa", PageEnd::WithinLine(2)),
            (0, 0, "a", PageEnd::WithinLine(1)),
            (7, 1, "aa\n\nccc", PageEnd::Complete),
            (1, 1, "a", PageEnd::WithinLine(2)),
            (1, 2, "a", PageEnd::AfterLines(1)),
        ] {
            assert_eq!(page(chars, from), Some((shown.to_owned(), end)), "{chars} {from}");
        }
        assert_eq!(page(100, 3), None);
        let one = |text: &str, chars: usize| {
            let page =
                text::page_of_lines([text.to_owned()].into_iter(), 0, space(1, chars), limits);
            page.map(|page| page.end)
        };
        assert_eq!(one("", 0), Some(PageEnd::Complete));
        assert_eq!(one("a", 0), Some(PageEnd::Complete));
        // A carriage return within a line begins the next page, one before a line feed does not.
        assert_eq!(text::fitting_chars("aa\r bbbb", space(100_000, 3), limits), 2);
        assert_eq!(text::fitting_chars("aa\r\nbbbb", space(100_000, 3), limits), 3);
        // Where much fits, the last few characters are not looked for one by one.
        let long = "a".repeat(2_000);
        assert_eq!(text::fitting_chars(&long, space(100_000, 1_000), limits), 985);
    });
}

#[test]
fn of_a_long_text_head_and_tail_are_shown() {
    let lines: String = (0..30).map(|n| format!("line {n:04}\n")).collect();
    let shown = of_text(&lines, space(100_000, 90));
    let head: String = (0..6).map(|n| format!("line {n:04}\n")).collect();
    let tail: String = (27..30).map(|n| format!("line {n:04}\n")).collect();
    let mark = "… 21 lines cut (lines 6 to 26, 210 characters) …\n";
    assert_eq!(shown.text, format!("{head}{mark}{tail}"));
    assert_eq!(shown.note.unwrap(), "Cut: 21 of 30 lines.");
    let next = shown.rest.unwrap().into_first_query(true);
    assert_eq!(next, json!({ "view": "lines", "args": { "start": 6, "end": 27 } }));
    let whole = of_text(&lines, space(100_000, 300));
    assert!(whole.text == lines && whole.note.is_none() && whole.rest.is_none());
}

#[test]
fn of_a_long_line_the_first_and_last_characters_are_shown() {
    let line = "abcdefghij".repeat(30);
    let shown = of_text(&line, space(40, 30));
    let mark = "… 270 characters cut (characters 20 to 289) …";
    assert_eq!(shown.text, format!("abcdefghijabcdefghij{mark}abcdefghij"));
    assert_eq!(shown.note.unwrap(), "Cut: 270 of 300 characters.");
    assert_eq!(
        shown.rest.unwrap().into_first_query(true),
        json!({ "view": "chars", "args": { "start": 20, "end": 290 } })
    );
}

#[test]
fn the_space_is_shared_among_blocks() {
    let empty = json!({ "type": "text", "text": "" });
    for (tokens, blocks, others, expected) in [
        (1_000, 0, 1, vec![904]),
        (1_000, 0, 2, vec![420, 420]),
        (1_000, 0, 3, vec![258, 259, 259]),
        (1_000, 1, 1, vec![0, 904]),
        (1_000, 2, 0, vec![0, 0]),
        (100, 0, 1, vec![16]),
        (112, 0, 1, vec![16]),
        (113, 0, 1, vec![17]),
        (100, 0, 0, vec![]),
    ] {
        let blocks = vec![Cow::Borrowed(&empty); blocks];
        let shared =
            with_limits(tokens, None, |limits| block_budgets::allocate(&blocks, others, limits));
        assert!(shared.iter().all(|share| share.chars == usize::MAX));
        let shared: Vec<usize> = shared.iter().map(|share| share.tokens).collect();
        assert_eq!(shared, expected, "{tokens} {} {others}", blocks.len());
    }
}

#[test]
fn json_that_no_frame_holds_is_far_too_large() {
    let is_large = |raw: &RawResult| with_limits(10, None, |limits| is_far_too_large(raw, limits));
    let text = |length: usize| RawResult::json(json!("x".repeat(length)));
    assert!(!is_large(&text(318)) && is_large(&text(319)));
    assert!(!is_large(&RawResult::text("x".repeat(1_000))));
    let rows = |length: usize| {
        let row = json!({ "a": "x".repeat(length) });
        let rows = JsonRows::from_rows(&json!([]), std::iter::once(row), 10).unwrap();
        RawResult { content: RawContent::Rows(rows), ..RawResult::text("") }
    };
    // `[{"a":""}]` has ten bytes.
    assert!(!is_large(&rows(310)) && is_large(&rows(311)));
}

#[test]
fn rows_are_too_many_where_a_rule_bounds_them() {
    let three = json!([{ "a": 1 }, { "a": 2 }, { "a": 3 }]);
    for (value, rows, expected) in [
        (three.clone(), Some(2), true),
        (three.clone(), Some(3), false),
        (three, None, false),
        (json!([1, 2, 3]), Some(2), true),
        (json!([1, 2, 3]), Some(3), false),
        (json!({ "a": 1 }), Some(0), false),
    ] {
        let raw = RawResult::json(value);
        let told = with_limits(8_000, rows, |limits| has_too_many_rows(&raw, limits));
        assert_eq!(told, expected, "{rows:?}");
    }
}

#[test]
fn a_rule_about_rows_bounds_the_lists_in_cells_in_mode_auto_alone() {
    with_limits(8_000, Some(3), |limits| {
        let mut table = limits.clone();
        table.mode = ResponseMode::Table;
        assert_eq!((limits.max_cell_items(), table.max_cell_items()), (3, 50));
    });
}

#[test]
fn a_value_that_wraps_a_text_wraps_what_is_shown_of_it() {
    let redactor = Redactor::builtin();
    let wrapped = |value: Value, blocks: Value| {
        let blocks = blocks.as_array().unwrap().clone();
        let wrapped = |limits: &EffectiveLimits| {
            Masker::new(&redactor, limits).wrapped(&value, &blocks, "shown")
        };
        with_limits(8_000, None, wrapped)
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    let one = json!([text("text")]);
    assert_eq!(wrapped(json!({ "r": "text" }), one.clone()), Some(json!({ "r": "shown" })));
    assert_eq!(wrapped(json!({ "r": "text" }), json!([text("text"), text("text")])), None);
    assert_eq!(wrapped(json!({ "r": "text" }), json!([])), None);
    for other in
        [json!({ "r": "other" }), json!({ "r": "text", "s": 1 }), json!({ "r": 1 }), json!({})]
    {
        assert_eq!(wrapped(other, one.clone()), None);
    }
    assert_eq!(wrapped(json!("text"), one), None);
    assert_eq!(redacted_driver_note("mail jane.roe@corp.net"), "mail [REDACTED]");
}

#[test]
fn a_table_has_plain_values_or_short_ones() {
    let text = |length: usize| json!([{ "a": { "b": "x".repeat(length) } }]);
    for (rows, is_flat) in [
        (json!([{ "a": 1, "b": "x" }, { "a": null }]), true),
        (json!([{ "a": [1, 2, 3, 4, 5, 6, 7, 8] }]), true),
        (json!([{ "a": [1, 2, 3, 4, 5, 6, 7, 8, 9] }]), false),
        (json!([{ "a": ["x".repeat(196)] }]), true),
        (json!([{ "a": ["x".repeat(197)] }]), false),
        (text(192), true),
        (text(193), false),
        (json!([{ "a": 1 }, { "a": [1, 2, 3, 4, 5, 6, 7, 8, 9] }]), false),
    ] {
        let rows = Rows::from(rows.as_array().unwrap().as_slice());
        assert_eq!(table::is_flat(rows), is_flat);
    }
}

#[test]
fn rows_are_lines_under_the_names_of_their_columns() {
    let value = json!([{ "a": 1, "b": null }, { "a": "x,y", "b": "" }, { "c": true }]);
    let content = Content::Json(Cow::Borrowed(&value));
    let redactor = Redactor::builtin();
    let shown = |space: RenderBudget, offset: usize| {
        with_limits(8_000, None, |limits| {
            let mut masker = Masker::new(&redactor, limits);
            let part = part(&content, space, offset);
            let excerpt = excerpt::of_content(&redactor, limits, &part, &mut masker).unwrap();
            let next = excerpt.rest.map(|rest| rest.into_first_query(true));
            (excerpt.text, excerpt.note, next)
        })
    };
    let most = usize::MAX;
    let all = "a,b,c\n1,,\n\"x,y\",\"\",\n,,true".to_owned();
    assert_eq!(shown(space(8_000, most), 0), (all, None, None));
    let last = "c\ntrue".to_owned();
    assert_eq!(shown(space(8_000, most), 2), (last, None, None));
    let note = |text: &str| Some(text.to_owned());
    let next = |offset: usize| Some(json!({ "offset": offset }));
    // `1,` and the end of its line have three characters, the next line has nine.
    let two = ("a,b\n1,\n\"x,y\",\"\"".to_owned(), note("Shown: rows 0 to 1 of 3."), next(2));
    assert_eq!(shown(space(8_000, 12), 0), two);
    let one = ("a,b\n1,".to_owned(), note("Shown: rows 0 to 0 of 3."), next(1));
    assert_eq!(shown(space(8_000, 11), 0), one);
    // Of rows that do not fit there is an overview, or the first characters.
    let first = ("[{".to_owned(), note("Shown: characters 0 to 1 of 48."));
    let (text, said, _) = shown(space(8_000, 2), 0);
    assert_eq!((text, said), first);
}

#[test]
fn the_fields_around_rows_are_shown_at_the_first_look() {
    let value = json!({ "items": [{ "a": 1 }, { "a": 2 }], "total": 3 });
    let content = Content::Json(Cow::Borrowed(&value));
    let redactor = Redactor::builtin();
    let shown = |first: bool, offset: usize| {
        with_limits(8_000, None, |limits| {
            let mut masker = Masker::new(&redactor, limits);
            let part = excerpt_request::ExcerptRequest {
                is_first_page: first,
                ..part(&content, space(8_000, usize::MAX), offset)
            };
            excerpt::of_content(&redactor, limits, &part, &mut masker).unwrap().text
        })
    };
    assert_eq!(shown(false, 0), "{\"total\":3}\na\n1\n2");
    assert_eq!(shown(false, 1), "a\n2");
    assert!(shown(true, 0).starts_with("{\"total\":3}\na\n1\n2"), "{}", shown(true, 0));
}

#[test]
fn a_list_is_paged_by_its_items_whatever_they_are() {
    let redactor = Redactor::builtin();
    let shown = |value: &Value, offset: usize| {
        let content = Content::Json(Cow::Borrowed(value));
        with_limits(8_000, None, |limits| {
            let mut masker = Masker::new(&redactor, limits);
            let part = part(&content, space(8_000, usize::MAX), offset);
            excerpt::of_content(&redactor, limits, &part, &mut masker).unwrap().text
        })
    };
    let numbers = json!([1, 2, 3]);
    assert_eq!(
        (shown(&numbers, 0).as_str(), shown(&numbers, 1).as_str()),
        ("[1,2,3]", "value\n2\n3")
    );
    let nested = json!([{ "a": 1 }, { "a": [1, 2, 3, 4, 5, 6, 7, 8, 9] }, { "a": 2 }]);
    assert!(shown(&nested, 0).starts_with('['), "{}", shown(&nested, 0));
    assert_eq!(shown(&nested, 2), "a\n2");
}
