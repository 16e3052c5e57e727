//! Personal data.

use crate::redact::old::rule::{Find, Rule, any};
use crate::redact::{checksum, numeric, phone};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "email",
        kind: "email",
        find: Find::Near {
            anchors: &["@"],
            before: 64,
            after: 255,
            pattern: r"[A-Za-z0-9!#$%&*+/?^_{|}~.\-\x80-\xff]*[A-Za-z0-9_+\-\x80-\xff]@(?:[A-Za-z0-9\x80-\xff](?:[A-Za-z0-9\-\x80-\xff]{0,62})\.)+(?:[A-Za-z]{2,24}|xn--[a-z0-9-]{2,59})\b",
            check: any,
        },
        masks: &[
            ("mail jane.roe@corp.example.com now", "jane.roe@corp.example.com"),
            ("<a href=\"mailto:a+b@x-y.co.uk\">", "a+b@x-y.co.uk"),
            ("grüße@müller.de", "grüße@müller.de"),
            ("x@y.cd.", "x@y.cd"),
        ],
        keeps: &["@decorator", "user@host", "git@", "a @ b.com", "@scope/pkg@1.2.3"],
    },
    Rule {
        id: "phone",
        kind: "phone",
        find: Find::Scan(phone::numbers),
        masks: &[("tel: +1 (415) 555-2671", "+1 (415) 555-2671"), ("+8222120497", "+8222120497")],
        keeps: &["2024-01-02 10:11:12", "total tokens: 123456", "10.0.0.1"],
    },
    Rule {
        id: "phone-in-context",
        kind: "phone",
        find: Find::Near {
            anchors: &["phone", "mobile", "tel", "cell", "fax", "whatsapp", "call", "sms"],
            before: 0,
            after: 48,
            pattern: r#"(?i)\b(?:tele)?(?:phone|mobile|tel|cell|fax|whatsapp|call|sms)(?: ?(?:number|no|nr|me|us))?(?: (?:is|at|on))?["'.:=# ]{1,6}(\(?\d[\d ()./-]{5,20}\d)\b"#,
            check: is_phone,
        },
        masks: &[
            ("phone: 5551234567", "5551234567"),
            ("{\"phone\":\"030 1234567\"}", "030 1234567"),
        ],
        keeps: &["call 12 times", "telemetry 123456", "call 2024-01-02 10.10"],
    },
    Rule {
        id: "card",
        kind: "card",
        find: Find::Scan(numeric::cards),
        masks: &[
            ("card 4012 8888 8888 1881 ok", "4012 8888 8888 1881"),
            ("4111111111111111", "4111111111111111"),
        ],
        keeps: &["reference 5358796624245208", "1714000000000", "978-3-16-148410-0"],
    },
    Rule {
        id: "us-ssn",
        kind: "ssn",
        find: Find::Near {
            anchors: &["-", " "],
            before: 3,
            after: 7,
            pattern: r"(?:^|[^0-9A-Za-z.\-])(\d{3}-\d{2}-\d{4}|\d{3} \d{2} \d{4})(?:$|[^0-9A-Za-z\-])",
            check: checksum::ssn,
        },
        masks: &[("SSN 419-06-3188 verified", "419-06-3188"), ("536 22 1234", "536 22 1234")],
        keeps: &["000-12-3456", "911-89-1234", "1536-22-1234", "536-22-12345"],
    },
    Rule {
        id: "us-ssn-in-context",
        kind: "ssn",
        find: Find::Near {
            anchors: &["ssn", "social security"],
            before: 0,
            after: 48,
            pattern: r#"(?i)\b(?:ssn|social security(?: number| no)?)(?: is)?["'.:=# ]{1,6}(\d{9}|\d{3}[. -]\d{2}[. -]\d{4})\b"#,
            check: checksum::ssn,
        },
        masks: &[("my ssn is 536221234", "536221234")],
        keeps: &["ssn 123", "ssn: 000123456"],
    },
    Rule {
        id: "iban",
        kind: "iban",
        find: Find::Scan(numeric::ibans),
        masks: &[("IBAN GB82 WEST 1234 5698 7654 32 please", "GB82 WEST 1234 5698 7654 32")],
        keeps: &["GB82 WEST 1234 5698 7654 31", "US12345678901234567890"],
    },
];

fn is_phone(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let date = text.get(4..5).is_some_and(|c| c == "-" || c == "/");
    (7..=15).contains(&digits) && !date
}
