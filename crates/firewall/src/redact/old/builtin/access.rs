//! Tokens, keys and credentials with a form of their own.

use crate::redact::old::rule::{Find, Rule, any};
use crate::redact::{checksum, pem};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "private-key",
        kind: "private_key",
        find: Find::Scan(pem::blocks),
        masks: &[
            (
                "x -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- y",
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
            ),
            (
                "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
                "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
            ),
        ],
        keeps: &["-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----"],
    },
    Rule {
        id: "jwt",
        kind: "jwt",
        find: Find::Near {
            anchors: &["eyJ"],
            before: 0,
            after: 64,
            pattern: r"\beyJ[A-Za-z0-9_-]{6,}\.eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?",
            check: any,
        },
        masks: &[(
            "t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln end",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        )],
        keeps: &["eyJhbGciOiJIUzI1NiJ9", "eyJ.eyJ."],
    },
    Rule {
        id: "authorization-header",
        kind: "authorization",
        find: Find::Near {
            anchors: &["authorization"],
            before: 0,
            after: 64,
            pattern: r#"(?i)authorization["'\\]{0,2}[ \t]{0,4}[:=][ \t]{0,4}["'\\]{0,2}(?:(?:bearer|basic|token|digest|apikey|negotiate)[ \t]+)?([^\s"'\\,;<>\[\]]{4,})"#,
            check: is_credential,
        },
        masks: &[
            ("Authorization: Bearer abc.DEF-123_~+/==", "abc.DEF-123_~+/=="),
            ("{\"authorization\":\"s3cr3t-value\"}", "s3cr3t-value"),
        ],
        keeps: &["Authorization: Bearer", "authorization = none"],
    },
    Rule {
        id: "bearer",
        kind: "bearer",
        find: Find::Near {
            anchors: &["bearer"],
            before: 0,
            after: 64,
            pattern: r#"(?i)\bbearer[ \t:=]+["']?([A-Za-z0-9\-._~+/]{8,}=*)"#,
            check: is_token,
        },
        masks: &[("curl -H 'bearer abcdefgh1234'", "abcdefgh1234")],
        keeps: &["bearer authentication is required", "Bearer token"],
    },
    Rule {
        id: "basic-auth",
        kind: "authorization",
        find: Find::Near {
            anchors: &["basic"],
            before: 0,
            after: 64,
            pattern: r#"(?i)\bbasic[ \t]+["']?([A-Za-z0-9+/]{8,}={0,2})"#,
            check: is_basic,
        },
        masks: &[("Basic d2hpdG5leTpXazczOVk=", "d2hpdG5leTpXazczOVk=")],
        keeps: &["basic authentication", "Basic training12"],
    },
    Rule {
        id: "url-credentials",
        kind: "connection_string",
        find: Find::Near {
            anchors: &["://"],
            before: 0,
            after: 128,
            pattern: r#"://([^\s/@"'<>\[\]]*:[^\s/"'<>\[\]]+)@"#,
            check: any,
        },
        masks: &[
            ("postgres://user:p4ss@db.internal:5432/app", "user:p4ss"),
            ("redis://:*!m8P_x@cache:6379/0", ":*!m8P_x"),
        ],
        keeps: &["https://user@host/path", "http://host:8080/x@y", "https://a.b/c"],
    },
    Rule {
        id: "url-token",
        kind: "connection_string",
        find: Find::Near {
            anchors: &["://"],
            before: 0,
            after: 128,
            pattern: r"://([A-Za-z0-9_\-]{20,})@",
            check: is_token,
        },
        masks: &[("https://x0ken1234567890abcdefx@github.com/a", "x0ken1234567890abcdefx")],
        keeps: &["https://user@host"],
    },
    Rule {
        id: "oracle-thin",
        kind: "connection_string",
        find: Find::Near {
            anchors: &["thin:"],
            before: 0,
            after: 128,
            pattern: r#"(?i)thin:[^\s/@"']+/([^\s@"'\[\]]+)@"#,
            check: any,
        },
        masks: &[("jdbc:oracle:thin:scott/dk4bXT7S@//db:1521/O", "dk4bXT7S")],
        keeps: &["jdbc:oracle:thin:@db:1521"],
    },
    Rule {
        id: "signed-url",
        kind: "secret",
        find: Find::Near {
            anchors: &["signature=", "sig=", "sharedaccesskey="],
            before: 0,
            after: 128,
            pattern: r#"(?i)\b(?:x-(?:amz|goog)-signature|sig|signature|sharedaccesskey)=([A-Za-z0-9%+/=_-]{16,})"#,
            check: is_token,
        },
        masks: &[(
            "?X-Amz-Signature=2801627ea6b044a553d7fc492becdb64",
            "2801627ea6b044a553d7fc492becdb64",
        )],
        keeps: &["signature=none", "sig=short"],
    },
];

/// Not a word that stands for a credential.
fn is_credential(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    ![
        "bearer",
        "basic",
        "token",
        "digest",
        "apikey",
        "negotiate",
        "none",
        "null",
        "true",
        "false",
        "required",
    ]
    .contains(&word.as_str())
}

/// Not a plain word: it has a digit, or both cases in the middle.
pub(super) fn is_token(text: &str) -> bool {
    let inner = text.bytes().skip(1);
    text.bytes().any(|b| b.is_ascii_digit())
        || inner.clone().any(|b| b.is_ascii_uppercase())
            && inner.clone().any(|b| b.is_ascii_lowercase())
}

/// Base64 of `user:password`.
fn is_basic(text: &str) -> bool {
    checksum::base64(text)
        .is_some_and(|bytes| bytes.contains(&b':') && bytes.iter().all(|b| !b.is_ascii_control()))
}
