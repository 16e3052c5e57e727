use super::*;

fn header() -> EventHeader {
    EventHeader {
        log: LogId::parse("log_1").unwrap(),
        seq: 7,
        at: Timestamp::from_micros(42),
        kind: EventKind::Intent,
        run: None,
        call: Some(CallId::parse("call_1").unwrap()),
        commit: commitment(&[1; SALT_BYTES], b"{}"),
    }
}

#[test]
fn the_bytes_are_pinned() {
    let bytes = header().to_bytes().unwrap();
    assert_eq!(
        String::from_utf8(bytes.clone()).unwrap(),
        r#"{"at":42,"call":"call_1","commit":"sha256:adaf1902480a8716e83568973a67b1c822dcf9748edd39f8a55aee8e70c0a7e8","log":"log_1","seq":7,"type":"call.intent","v":1}"#
    );
    assert_eq!(EventHeader::parse(&bytes), Ok(header()));
}

#[test]
fn only_what_was_written_is_read() {
    let text = String::from_utf8(header().to_bytes().unwrap()).unwrap();
    for (from, to) in [
        ("\"at\":42", "\"at\": 42"),
        ("\"v\":1", "\"v\":1,\"x\":2"),
        ("\"v\":1", "\"v\":2"),
        ("\"v\":1", "\"v\":0"),
        ("\"log\":\"log_1\",", ""),
        ("call.intent", "call.invented"),
        ("\"call_1\"", "null"),
        ("sha256:", "sha512:"),
    ] {
        assert!(EventHeader::parse(text.replace(from, to).as_bytes()).is_err(), "{from} {to}");
    }
    assert_eq!(
        EventHeader::parse(text.replace("\"v\":1", "\"v\":2").as_bytes()),
        Err(HeaderError::Newer { found: 2 })
    );
}

#[test]
fn a_commitment_of_other_digits_is_refused_wherever_they_stand() {
    let text = String::from_utf8(header().to_bytes().unwrap()).unwrap();
    let at = text.find("sha256:").unwrap() + 7;
    let with = |place: usize, digits: &str| {
        let mut text = text.clone();
        text.replace_range(at + place..at + place + digits.len(), digits);
        EventHeader::parse(text.as_bytes())
    };
    assert!(with(0, &"0".repeat(64)).is_ok() && with(0, &"f".repeat(64)).is_ok());
    let bad = Err(HeaderError::Field { field: "commit".to_owned() });
    for place in 0..63 {
        for digits in ["g", "A", "/", ":", "`", " ", "gg", "FF", "zz"] {
            assert_eq!(with(place, digits), bad, "{digits} at {place}");
        }
    }
    assert_eq!(with(0, &"g".repeat(64)), bad);
}

#[test]
fn every_field_that_is_missing_unknown_or_malformed_is_named() {
    let text = String::from_utf8(header().to_bytes().unwrap()).unwrap();
    for (from, to, field) in [
        ("\"at\":42,", "", "at"),
        ("\"at\":42", "\"at\":\"42\"", "at"),
        ("\"seq\":7,", "", "seq"),
        ("\"seq\":7", "\"seq\":-7", "seq"),
        ("\"v\":1", "\"v\":0", "v"),
        ("\"v\":1", "\"v\":\"1\"", "v"),
        ("\"v\":1", "\"v\":1,\"w\\n\":1", "w\\n"),
        ("\"log\":\"log_1\"", "\"log\":\"log 1\"", "log"),
        ("\"call_1\"", "\"call 1\"", "call"),
        ("\"call_1\"", "7", "call"),
        ("\"log_1\",", "\"log_1\",\"run\":\"run 1\",", "run"),
        ("call.intent", "call.invented", "type"),
        ("sha256:", "sha512:", "commit"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let wanted = Err(HeaderError::Field { field: field.to_owned() });
        assert_eq!(EventHeader::parse(changed.as_bytes()), wanted, "{changed}");
    }
    let long = text.replace("\"v\":1", &format!("\"v\":1,\"w{}\":1", "x".repeat(60)));
    let cut = HeaderError::Field { field: format!("w{}", "x".repeat(39)) };
    assert_eq!(EventHeader::parse(long.as_bytes()), Err(cut));
    let cut = text.strip_prefix('{').unwrap();
    for bad in ["", "7", "[]", cut, &format!("{text} "), &text.replace(":42", ":042")] {
        assert_eq!(EventHeader::parse(bad.as_bytes()), Err(HeaderError::Form), "{bad}");
    }
}

#[test]
fn numbers_go_up_to_2_to_the_53_and_no_further() {
    let most = 1_u64 << 53;
    for (seq, at, fits) in [
        (most, 0, true),
        (most + 1, 0, false),
        (0, 1 << 53, true),
        (0, -(1 << 53), true),
        (0, (1 << 53) + 1, false),
        (0, -(1 << 53) - 1, false),
        (0, i64::MIN, false),
    ] {
        let header = EventHeader { seq, at: Timestamp::from_micros(at), ..header() };
        let bytes = header.to_bytes();
        assert_eq!(bytes.is_ok(), fits, "{seq} {at}");
        if let Ok(bytes) = bytes {
            assert_eq!(EventHeader::parse(&bytes), Ok(header));
        }
    }
    let text = String::from_utf8(header().to_bytes().unwrap()).unwrap();
    for number in ["9007199254740993", "99999999999999999", "-0", "00", "-", ""] {
        let changed = text.replace("\"at\":42", &format!("\"at\":{number}"));
        assert!(EventHeader::parse(changed.as_bytes()).is_err(), "{number}");
    }
}

/// The canonical bytes by the long way.
fn slowly(header: &EventHeader) -> Vec<u8> {
    let mut map = Map::new();
    map.insert("v".to_owned(), HEADER_VERSION.into());
    map.insert("log".to_owned(), header.log.as_str().into());
    map.insert("seq".to_owned(), header.seq.into());
    map.insert("at".to_owned(), header.at.micros().into());
    map.insert("type".to_owned(), header.kind.as_str().into());
    if let Some(run) = &header.run {
        map.insert("run".to_owned(), run.as_str().into());
    }
    if let Some(call) = &header.call {
        map.insert("call".to_owned(), call.as_str().into());
    }
    map.insert("commit".to_owned(), header.commit.to_string().into());
    canonical::to_bytes(&Value::Object(map), Profile::Record).unwrap()
}

proptest::proptest! {
    #[test]
    fn the_short_way_is_the_long_way(
        at in -(1_i64 << 53)..=1 << 53,
        seq in 0..=1_u64 << 53,
        run in proptest::option::of("[!-~\u{e9}\u{4e2d}\u{1f600}]{1,9}"),
        call in proptest::option::of("[a-z\"\\\\]{1,9}"),
        commit in proptest::array::uniform32(0..=255_u8),
        (place, byte) in (0..200_usize, 0..=255_u8),
    ) {
        let header = EventHeader {
            at: Timestamp::from_micros(at),
            seq,
            run: run.and_then(|run| RunId::parse(run).ok()),
            call: call.and_then(|call| CallId::parse(call).ok()),
            commit: Digest::from_bytes(commit),
            ..header()
        };
        let mut bytes = header.to_bytes().unwrap();
        assert_eq!(bytes, slowly(&header));
        assert_eq!(EventHeader::parse(&bytes), Ok(header.clone()));
        assert_eq!(EventHeader::parse_closely(&bytes), Ok(header));
        if let Some(changed) = bytes.get_mut(place) {
            *changed = byte;
        }
        assert_eq!(EventHeader::parse(&bytes), EventHeader::parse_closely(&bytes));
    }
}

#[test]
fn every_kind_is_written_as_it_is() {
    for kind in EventKind::ALL {
        let header = EventHeader { kind: *kind, ..header() };
        assert_eq!(header.to_bytes().unwrap(), slowly(&header));
    }
}

#[test]
fn plain_headers_need_no_closer_look() {
    let bytes = header().to_bytes().unwrap();
    assert_eq!(bytes::glance(&bytes), Some(EventHeaderRef::from(header())));
    let beyond = EventHeader { seq: (1 << 53) + 1, ..header() };
    assert_eq!(beyond.to_bytes(), Err(HeaderError::Form));
}
