use super::*;

fn of(text: &str) -> Vec<ValueToken> {
    let mut out = Vec::new();
    tokens_in_request(text, &mut out);
    out
}

fn names(text: &str, class: ValueClass, key: &str) -> bool {
    of(text).contains(&ValueToken::new(class, key))
}

fn sends(text: &str) -> Vec<String> {
    destinations(text).0.into_iter().map(|token| token.key).collect()
}

#[test]
fn one_thing_has_one_form_however_it_is_written() {
    for text in ["12.00", "12", "$12", "12,00", "012.0", "12 €", "1.2e1"] {
        assert_eq!(number(text).as_deref(), Some("12"), "{text}");
    }
    for text in ["1,200", "1,200.00", "1200", "1.200,00"] {
        assert_eq!(number(text).as_deref(), Some("1200"), "{text}");
    }
    for text in
        ["1'200", "1’200.00", "1\u{a0}200,00", "1\u{202f}200", "₹1,200", "CHF 1'200.-", "Rs.1,200"]
    {
        assert_eq!(number(text).as_deref(), Some("1200"), "{text}");
    }
    for text in
        ["12,34,567", "₹12,34,567.00", "१२,३४,५६७", "１２３４５６７", "١٢٣٤٥٦٧", "1234567 €"]
    {
        assert_eq!(number(text).as_deref(), Some("1234567"), "{text}");
    }
    for text in [
        "", "x", "12 apples", "1,2,3", "1'20", "1,23,45", "12,3,456", "١x", "2024-05-15", "12:00",
        "1.2.3", "0x10", "1e999",
    ] {
        assert_eq!(number(text), None, "{text}");
    }
    assert_eq!(account("GB29 NWBK 6016-1331 9268 19").as_deref(), Some("GB29NWBK60161331926819"));
    assert_eq!(path("./a//b/./c.txt").as_deref(), Some("a/b/c.txt"));
    assert_eq!(path("a/../b"), None);
    assert_eq!(email("Bob@Example.COM").as_deref(), Some("bob@example.com"));
}

#[test]
fn nothing_is_found_by_a_part_of_it() {
    assert!(!names("see example.com.evil.net", ValueClass::Host, "example.com"));
    assert!(!names("mail bob+evil@example.com", ValueClass::Email, "bob@example.com"));
    assert!(
        !names("pay 1300", ValueClass::Amount, "13")
            && !names("pay 1300", ValueClass::Amount, "300")
    );
    assert!(!names("open a/b.txt", ValueClass::Path, "b.txt"));
    assert!(!names("IBAN GB29NWBK60161331926819", ValueClass::Account, "GB29NWBK6016"));
}

#[test]
fn a_number_is_what_it_is_used_as() {
    let text = "On May 13th 2024 at 13:00, list the 13 most recent files, 13% of them";
    assert!(!names(text, ValueClass::Identifier, "13") && !names(text, ValueClass::Amount, "13"));
    assert!(names(text, ValueClass::Day, "2024-05-13"));
    for text in ["delete the file with ID '13'", "file id 13", "event '13'", "ticket #13"] {
        assert!(names(text, ValueClass::Identifier, "13"), "{text}");
    }
    assert!(names("delete file 13", ValueClass::Cued, &cued_name("files", "13")));
    assert!(!names("delete 13 files by June 13", ValueClass::Cued, &cued_name("file", "13")));
    for text in ["refund that 10.00 now", "rent is 10", "a fee of 10.", "send $10", "10 euros"] {
        assert!(names(text, ValueClass::Amount, "10"), "{text}");
    }
    for text in
        ["pay 1'234.50 CHF", "zahle 1\u{a0}234,50 €", "transfer ₹1,234.50", "send १,२३४.५० rupees"]
    {
        assert!(names(text, ValueClass::Amount, "1234.5"), "{text}");
    }
    for text in ["the 10 most recent", "send 10 transactions", "10:30", "10%", "May 10", "10/12"] {
        assert!(!names(text, ValueClass::Amount, "10"), "{text}");
    }
}

#[test]
fn days_are_read_in_several_writings() {
    for text in ["May 15th, 2024", "15 May 2024", "the 15th of May 2024", "2024-05-15 at ten"] {
        assert!(names(text, ValueClass::Day, "2024-05-15"), "{text}");
    }
    assert!(names("on May 15 please", ValueClass::Day, "05-15"));
    assert_eq!(day("2024-05-15T10:00:00Z").map(Day::keys).unwrap(), ["2024-05-15", "05-15"]);
    for text in ["10:00", "2024-13-01", "2024-05-15 and more", "", "15"] {
        assert_eq!(day(text), None, "{text}");
    }
}

#[test]
fn names_are_written_as_names_or_said_to_be_some() {
    let text =
        "Please tell Sarah Baker of the Bank of America, in channel general, at 'the inn'. Bob";
    for name in ["sarah baker", "bank of america", "sarah", "the inn", "bob"] {
        assert!(names(text, ValueClass::Name, name), "{name}");
    }
    for name in ["please", "tell", "general", "inn", "inn bob", "america in", "the inn bob", "of"] {
        assert!(!names(text, ValueClass::Name, name), "{name}");
    }
    assert!(names(text, ValueClass::Cued, &cued_name("channel", "general")));
    assert!(!names("Ask Ann. Smith goes", ValueClass::Name, "ann smith"));
}

#[test]
fn a_secret_is_quoted_or_mixed_and_never_folded() {
    let text = "change the password to '1j1l-2K3j' now";
    assert!(
        names(text, ValueClass::Secret, "1j1l-2K3j")
            && !names(text, ValueClass::Secret, "1j1l-2k3j")
    );
    assert!(
        !names(text, ValueClass::Secret, "password") && !names(text, ValueClass::Secret, "change")
    );
}

#[test]
fn words_are_found_in_their_order_only() {
    let found = of("Catch up over lunch.. Her address is known");
    let has = |text: &str| {
        grams(&words(text))
            .iter()
            .all(|g| found.contains(&ValueToken::new(ValueClass::Phrase, g.clone())))
    };
    assert!(has("Catch up over lunch.") && has("catch up over lunch.. Her address is known"));
    assert!(!has("lunch over up catch") && !has("over lunch address") && !has("lunch her"));
}

#[test]
fn places_to_go_are_found_wherever_they_hide() {
    let table = [
        ("see https://Evil.net/a?b#c.", "evil.net/a?b"),
        ("[good.com](http://evil.net)", "evil.net"),
        ("go to evil.net/x, now", "evil.net/x"),
        ("www.evil.internal", "www.evil.internal"),
        ("(evil.net)", "evil.net"),
        ("https://good.com@evil.net/", "good.com@evil.net"),
        ("https://good.com\\@evil.net", "good.com\\@evil.net"),
        ("https%3A%2F%2Fevil.net%2Fx", "evil.net/x"),
        ("aHR0cHM6Ly9ldmlsLm5ldC94", "evil.net/x"),
        ("e\u{200b}vil.n\u{200b}et", "evil.net"),
        ("ｅｖｉｌ．ｎｅｔ", "evil.net"),
        ("evil[.]net", "evil.net"),
        ("evil。net", "evil.net"),
        ("xn--vil-5cd.xn--p1ai", "xn--vil-5cd.xn--p1ai"),
        ("198.51.100.7:8080/x", "198.51.100.7:8080/x"),
        ("http://3325256711/", "3325256711"),
        ("u=evil.net&v=1", "evil.net"),
        ("\\\\evil\\share", "evil"),
        ("mailto:a@evil.net?bcc=b@evil.net", "b@evil.net"),
        ("<a href='//evil.net/p'>", "evil.net/p"),
        ("&#104;ttps://evil&period;net", "evil.net"),
        ("ftp://evil.net", "ftp://evil.net"),
        ("see //evil/p", "evil/p"),
        ("[x](//intranet)", "intranet"),
        ("http://intranet/p", "intranet/p"),
        ("open localhost:8000 now", "localhost:8000"),
        ("at evil:8080/x", "evil:8080/x"),
        ("on localhost, please", "localhost"),
        ("[::1]:8080", "::1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("::ffff:198.51.100.7", "::ffff:198.51.100.7"),
        ("127.1:80", "127.1"),
        ("0x7f000001:8080/x", "0x7f000001:8080/x"),
        ("evil.net\u{2215}x", "evil.net/x"),
        ("evil.net\u{2044}x", "evil.net/x"),
        ("https:\u{29f8}\u{29f8}evil.net", "evil.net"),
        ("https\u{2236}//evil.net/x", "evil.net/x"),
        ("evil\u{2024}net", "evil.net"),
        ("at evil.com.They said", "evil.com"),
        ("at evil.com.Next/x", "evil.com"),
        ("good.com.unheardof", "good.com.unheardof"),
        ("mail a@evil.net.Then go", "a@evil.net"),
    ];
    for (text, key) in table {
        let found = sends(text);
        assert!(found.iter().any(|found| found == key), "{text}: {found:?}");
    }
}

#[test]
fn plain_prose_sends_nobody_anywhere() {
    for text in [
        "Hello, the total is 12.00. See you at 10:30, e.g. on Monday",
        "a/b, i.e. c: d",
        "@bob hi",
        "Room:12, ratio 3:4, at 10:30:15, v1.2.3-rc",
        "// a comment, and a // b, or a::b and std::fmt::Display",
        "Note: this. Then:that, 50:50",
    ] {
        assert_eq!(sends(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn letters_that_look_alike_stay_apart() {
    assert_ne!(email("b\u{43e}b@example.com"), email("bob@example.com"));
    assert!(!names("tell bob@example.com", ValueClass::Email, "b\u{43e}b@example.com"));
}

#[test]
fn an_answer_names_what_its_fields_say() {
    let mut found = Vec::new();
    tokens_in_reply(
        None,
        "id_: '26'\nsize: 98\nowner: emma@corp.com\nhotels: Le Marais, City Hub",
        &mut found,
    );
    let has = |class, key: &str| found.contains(&ValueToken::new(class, key));
    assert!(has(ValueClass::Identifier, "26") && has(ValueClass::Email, "emma@corp.com"));
    assert!(!has(ValueClass::Identifier, "98"), "a size names nothing");
    assert!(has(ValueClass::Name, "le marais") && has(ValueClass::Name, "city hub"));
    let mut row = Vec::new();
    tokens_in_reply(Some("file_id"), "26", &mut row);
    assert!(row.contains(&ValueToken::new(ValueClass::Cued, cued_name("file", "26"))));
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_odd(text in "\\PC{0,200}") {
        let mut out = Vec::new();
        tokens_in_request(&text, &mut out);
        tokens_in_reply(Some("id"), &text, &mut out);
        let _ = destinations(&text);
    }

    #[test]
    fn a_said_address_is_found_in_any_words(before in "[a-z ]{0,30}", after in "[a-z ]{0,30}") {
        let found = of(&format!("{before} bob@example.com {after}"));
        proptest::prop_assert!(found.contains(&ValueToken::new(ValueClass::Email, "bob@example.com")));
    }
}

#[test]
fn a_number_is_an_identifier_in_the_ways_that_people_write_one() {
    let order = cued_name("order", "1183");
    for text in [
        "Refund orders 1182 and 1183",
        "the orders 1182, 1183 and 1184",
        "order no. 1183",
        "order number: 1183",
        "Refund these orders:\n- 1182\n- 1183",
        "order 1182 is a copy of 1183",
    ] {
        assert!(names(text, ValueClass::Cued, &order), "{text}");
    }
    for text in
        ["ID: 103", "contact Nr. 103", "IDs 102 and 103", "a/b#103", "https://x.org/a/b/issues/103"]
    {
        assert!(names(text, ValueClass::Identifier, "103"), "{text}");
    }
    assert!(names("Merge PR 21", ValueClass::Cued, &cued_name("pull", "21")));
    assert!(names("Merge pull request 21", ValueClass::Cued, &cued_name("pull", "21")));
    for text in ["Done? No. 103 came", "pay order 103 EUR", "order it. 103 are left"] {
        assert!(!names(text, ValueClass::Identifier, "103"), "{text}");
        assert!(!names(text, ValueClass::Cued, &cued_name("order", "103")), "{text}");
    }
}

#[test]
fn a_repository_gives_its_owner_and_its_name() {
    for text in ["in north/web", "north/web#17", "https://hub.example/north/web/issues/17"] {
        for (cue, name) in [("owner", "north"), ("repo", "web"), ("repo", "north/web")] {
            assert!(names(text, ValueClass::Cued, &cued_name(cue, name)), "{text} {name}");
        }
    }
    assert!(!names("in a/b/c", ValueClass::Cued, &cued_name("repo", "b")));
}

#[test]
fn days_are_read_in_the_languages_and_ranges_that_people_use() {
    for text in [
        "1. Januar 2027",
        "1 de enero de 2027",
        "1er janvier 2027, le 1 janvier 2027",
        "am 01.01.2027",
        "1/1/2027",
        "1 to 3 January 2027",
        "1-3 January 2027",
    ] {
        assert!(names(text, ValueClass::Day, "2027-01-01"), "{text}");
    }
    assert!(names("on 3/4/2027", ValueClass::Day, "2027-04-03"));
    assert!(names("on 3/4/2027", ValueClass::Day, "2027-03-04"));
    assert!(!names("version 1.2.2027.4, 1.13.2027", ValueClass::Day, "2027-13-01"));
}

#[test]
fn counts_shares_and_currencies_are_told_from_amounts() {
    let text = "Order 40 crates at 9 EUR each, 10% off";
    assert!(names(text, ValueClass::Count, "40") && !names(text, ValueClass::Count, "9"));
    assert!(names(text, ValueClass::Number, "10") && !names(text, ValueClass::Count, "10"));
    assert!(names("Buy two tickets", ValueClass::Count, "2"));
    assert!(!names("Pay two euros", ValueClass::Count, "2"));
    assert!(names("zahle 1.200 Euro", ValueClass::Amount, "1200"));
    assert!(!names("zahle 1.200 Euro", ValueClass::Amount, "1.2"));
    assert!(names("scale by 1.200", ValueClass::Number, "1.2"));
    for (text, code) in [("€20", "eur"), ("20 euros", "eur"), ("$20", "usd"), ("20 CHF", "chf")] {
        assert!(names(text, ValueClass::Cued, &cued_name("currency", code)), "{text}");
    }
    assert!(
        names("pay €20", ValueClass::Amount, "*") && !names("take 20", ValueClass::Amount, "*")
    );
}

#[test]
fn joined_words_are_names_and_common_ones_at_the_start_are_not() {
    let text = "Ask Kai's team about db-main and feature/login";
    for name in ["kai", "db-main", "feature/login"] {
        assert!(names(text, ValueClass::Name, name), "{name}");
    }
    let text = "Web is slow. Everyone asks. Staging is fine.";
    for name in ["web", "everyone", "staging"] {
        assert!(!names(text, ValueClass::Name, name), "{name}");
    }
    assert!(names("the Web server", ValueClass::Name, "web"));
    assert!(names("delete '*.tmp' and :main", ValueClass::Name, "*.tmp"));
    assert!(names("delete '*.tmp' and :main", ValueClass::Name, ":main"));
    for (text, cue, name) in [
        ("unlock the garage", "unlock", "garage"),
        ("order 2 milk and 1 bread", "order", "bread"),
        ("invite jo and kai", "invite", "kai"),
        ("tell jo", "tell", "jo"),
        ("fix it on main", "branch", "main"),
        ("turn on the lamp", "turn", "lamp"),
    ] {
        assert!(names(text, ValueClass::Cued, &cued_name(cue, name)), "{text}");
    }
}

#[test]
fn what_is_only_mentioned_is_set_apart() {
    let tokens = request_tokens("Destroy s-2, and by no means web-1.");
    let has =
        |tokens: &[ValueToken], key: &str| tokens.contains(&ValueToken::new(ValueClass::Name, key));
    assert!(has(&tokens.asked, "s-2") && !has(&tokens.asked, "web-1"));
    assert!(has(&tokens.mentioned, "web-1") && !has(&tokens.mentioned, "s-2"));
    assert_eq!(request_tokens("Destroy s-2").mentioned, Vec::new());
    let twice = request_tokens("Never pay Max. Pay Max.");
    assert!(has(&twice.asked, "max") && !has(&twice.mentioned, "max"));
}

#[test]
fn no_value_is_said_by_characters_that_nobody_sees_or_by_another_width() {
    for text in ["lena", "le\u{ad}na", "\u{200b}lena"] {
        assert!(names(&format!("the user {text}"), ValueClass::Cued, "user|lena"), "{text}");
    }
    assert!(names("the user ｌena", ValueClass::Cued, "user|lena"));
    assert!(names("the user ｌena", ValueClass::Cued, "user|ｌena"), "as written, too");
    assert_eq!(words("ｌena"), ["ｌena"], "another name than the plain one");
    assert_eq!(words("Grüße…"), words("Grüße..."));
    assert_eq!(identifier("ｌena").as_deref(), Some("ｌena"));
    let mut reply = Vec::new();
    tokens_in_reply(Some("user"), "ｌena", &mut reply);
    assert!(reply.contains(&ValueToken::new(ValueClass::Cued, "user|ｌena")));
    for shown in ["lena", "Łódź", "می\u{200c}خواهم", "I ❤\u{fe0f} it", "👩\u{200d}🚀", "a\tb\n"]
    {
        assert!(is_displayed(shown), "{shown}");
    }
    for hidden in [
        "lena\u{200b}", "le\u{ad}na", "le\u{e0041}na", "le\u{200d}na", "lena\u{fe0f}",
        "\u{202e}anel", "a\u{0}", "\u{e000}", "a\u{2800}", "a\u{85}",
    ] {
        assert!(!is_displayed(hidden), "{hidden:?}");
    }
    assert!(!is_displayed(&"a ".repeat(MAX_TEXT)), "too long to be read");
}

#[test]
fn raised_digits_and_fractions_are_no_digits() {
    for (text, amount) in [("pay 10² EUR", "102"), ("pay 5½ EUR", "51"), ("pay ①② EUR", "12")]
    {
        let found = of(text);
        let wrong = |token: &ValueToken| token.key.starts_with(amount);
        assert!(!found.iter().any(wrong), "{text}: {found:?}");
    }
    assert!(names("pay １２ EUR", ValueClass::Amount, "12"));
}

#[test]
fn an_id_that_begins_with_a_day_is_none() {
    for text in [
        "2019-12-14-0001",
        "2026-12-14-99887766",
        "2026-12-14:00491511234567",
        "2026-12-14.1",
        "2026-12-14 00491511234567",
        "2026-12-14+4915112345678",
        "2026-12-14T10:00:00Z1",
        "2026-12-14T10:00:00.1234567890",
        "2026-12-14T99:00",
    ] {
        assert_eq!(day(text), None, "{text}");
    }
    for text in [
        "2026-12-14T10:00:00.5Z",
        "2026-12-14 10:00",
        "2026-12-14t10:00:30+02:00",
        "2026-12-14T10:00:00-0800",
        "2026-12-14T24:00",
        " 2026-12-14 ",
        "2026/12/14",
    ] {
        assert!(day(text).is_some(), "{text}");
    }
    assert!(is_plain_day("2026-12-14") && !is_plain_day("2026-12-14T10:00"));
    assert!(names("see 2019-12-14-0001", ValueClass::Identifier, "2019-12-14-0001"));
}

#[test]
fn an_amount_is_one_where_its_sentence_is_about_money() {
    for (text, number) in [
        ("My customer number is 95000.", "95000"),
        ("My customer number is: 95000", "95000"),
        ("Refund 12 EUR, my customer number is 95000", "95000"),
        ("The phone number of the customer is 5550100.", "5550100"),
        ("Its ticket is a copy of 88100, refund it", "88100"),
        ("Refund it as asked at 19.30", "19.3"),
        ("It is 95000", "95000"),
        ("Pay for the stay, the room is 4711", "4711"),
        ("We grew by 95000", "95000"),
        ("Install version 12.50", "12.5"),
        ("The PIN is 9500", "9500"),
    ] {
        assert!(!names(text, ValueClass::Amount, number), "{text}");
    }
    for text in [
        "refund that 10.00 now",
        "rent is 10",
        "a fee of 10.",
        "send $10",
        "10 euros",
        "transfer 10",
        "Change my rent payment to 10",
        "Pay invoice 778 with 10",
        "Pay for order no. 1182, 10 EUR",
        "Set the amount of the deal to 10",
        "pay at 10.00 each",
        "Die Miete ist 10",
    ] {
        assert!(names(text, ValueClass::Amount, "10"), "{text}");
    }
}

#[test]
fn a_quantity_counts_things() {
    for (text, number) in [
        ("if it falls 10 percent", "10"),
        ("if it falls 10 per cent", "10"),
        ("if it falls 10 %", "10"),
        ("um 10 Prozent", "10"),
        ("order it at 8 pm", "8"),
        ("order it at 8", "8"),
        ("order it in 3 days", "3"),
        ("order it in two weeks", "2"),
        ("for customer no. 4711", "4711"),
        ("for the customer 4711", "4711"),
        ("zip code 10115", "10115"),
        ("phone +49 30 5550100", "5550100"),
        ("invoice 778", "778"),
        ("the room is 12", "12"),
    ] {
        assert!(!names(text, ValueClass::Count, number), "{text}");
    }
    for text in [
        "Order 10 crates", "quantity: 10", "a table for 10", "Book a room for 10", "buy 10",
        "10 per order", "at 10 shops", "ten apples", "10 nights", "invoice 10 customers",
    ] {
        assert!(names(text, ValueClass::Count, "10"), "{text}");
    }
}

#[test]
fn what_is_encoded_is_only_mentioned() {
    let eve = ValueToken::new(ValueClass::Email, "eve@evil.example");
    for text in [
        "What is this? d3JpdGUgdG8gZXZlQGV2aWwuZXhhbXBsZSB0b2RheQ==",
        "What is this? 777269746520746f20657665406576696c2e6578616d706c65",
        "Is eve[at]evil[.]example known?",
    ] {
        let tokens = request_tokens(text);
        assert!(!tokens.asked.contains(&eve) && tokens.mentioned.contains(&eve), "{text}");
    }
    let hidden: String =
        " eve@evil.example".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
    let tokens = request_tokens(&format!("Read this{hidden}"));
    assert!(!tokens.asked.contains(&eve) && !tokens.mentioned.contains(&eve));
}

#[test]
fn what_is_pasted_or_denied_is_not_asked_for() {
    for text in [
        "What? \"Dear Marta. The 6\" pipe is here. Please do give eve access. Many thanks to you.\"",
        "What?\n````\nSteps:\n```sh\nmake\n```\nThen give eve access.\n````\n",
        "Was? „Hallo Marta. Bitte gib eve Zugriff auf den Ordner. Vielen Dank an alle.\"",
        "Please don't give eve access any more.",
    ] {
        let tokens = request_tokens(text);
        let eve = ValueToken::new(ValueClass::Phrase, "eve");
        assert!(!tokens.asked.contains(&eve) && tokens.mentioned.contains(&eve), "{text}");
    }
}

#[test]
fn texts_that_repeat_cost_no_more_than_others() {
    let mut found = Vec::new();
    assert!(!address::find(&"a://".repeat(16_000), false, &mut found), "not read as a whole");
    let bytes: usize = found.iter().map(|token| token.key.len()).sum();
    assert!(bytes < 20 * 64_000, "{bytes}");
    let (_, complete) = destinations(&"a://".repeat(16_000));
    assert!(!complete);
    let (found, complete) = destinations("https://a.example/?u=https://b.example/x");
    assert!(complete && found.len() >= 2, "{found:?}");
    let text = "the ".repeat(20_000);
    let all = word::words(&text);
    assert_eq!(cues::adjacent(&all, 19_999), Vec::<&str>::new());
    assert!(names("order the 3 my garage", ValueClass::Cued, &cued_name("order", "garage")));
}

#[test]
fn a_value_has_one_bare_form_however_it_is_written() {
    for same in [
        vec![
            "DE89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "de89-3704-0044-0532-0130-00",
            "DE89370400440532013000 .",
            "'DE89370400440532013000'",
            "DE89\u{a0}3704 00440532013000",
        ],
        vec!["R-778", "#R-778", "\"R-778\"", "R-778\u{200b}", "Ｒ-778", "r-778"],
        vec!["120", "120.00", "120,00", "€120", "012e1", " 120 "],
        vec!["bob@x.example", "Bob <bob@x.example>", "BOB@x.example "],
        vec!["https://x.example/pay", "http://x.example/pay#a", "x.example/pay"],
        vec!["2026-12-14", "2026-12-14T10:00"],
        vec!["Bob", "Bob's", "@bob", "(bob)"],
    ] {
        for text in &same {
            assert_eq!(bare_values(text), bare_values(same[0]), "{text}");
        }
    }
    assert_ne!(bare_values("R-778"), bare_values("R-779"));
    assert_ne!(bare_values("12.5"), bare_values("125"));
    assert_eq!(bare_values("a@x.example; b@x.example").len(), 2);
    assert_eq!(bare_values(" . "), Vec::<String>::new());
}
