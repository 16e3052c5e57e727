//! Secrets that only their name gives away: `password=…`, `"api_key": "…"`, `--token …`.

use super::access::is_token;
use crate::redact::checksum;
use crate::redact::old::rule::{Find, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "password",
        kind: "password",
        find: Find::Near {
            anchors: &["passw", "passphrase", "passcode", "pwd"],
            before: 0,
            after: 128,
            pattern: r#"(?i)(?:password|passwd|passphrase|passcode|pwd)\d?["'\\\]]{0,4}[ \t]{0,8}(?:=>|:=|[:=]|\bis\b)[ \t]{0,8}(?:\\?"([^"\n\\]{1,200})|'([^'\n\\]{1,200})|([^\s"'\\,;&<>\[\]{}]{4,}))"#,
            check: is_password,
        },
        masks: &[
            ("password=hunter2", "hunter2"),
            ("{\"password\": \"correct horse\"}", "correct horse"),
            ("{\\\"userPassword\\\": \\\"abc\\\"}", "abc"),
            ("PGPASSWORD=hw3m6rCkhLEr8$2 psql", "hw3m6rCkhLEr8$2"),
            ("Server=x;Uid=sa;Pwd=S3cr3t!;", "S3cr3t!"),
        ],
        keeps: &[
            "password: required",
            "the password is wrong",
            "password=${DB_PASSWORD}",
            "password_length: 12",
            "PuttyPassword=0",
            "\"password\": \"string\"",
            "forgot password? click",
        ],
    },
    Rule {
        id: "flag",
        kind: "password",
        find: Find::Near {
            anchors: &["--pass", "--token", "--secret", "--api-key", "--apikey", "--pwd"],
            before: 0,
            after: 128,
            pattern: r#"(?i)--(?:password|passphrase|passwd|pass|pwd|token|secret|api-?key)(?:=|[ \t]+)["']?([^\s"'\[\]]{3,})"#,
            check: is_password,
        },
        masks: &[("mysqldump --password s3cr3t db", "s3cr3t"), ("x --token=abc123", "abc123")],
        keeps: &["--password-file /run/x", "--token $TOKEN", "--password <password>"],
    },
    Rule {
        id: "user-flag",
        kind: "password",
        find: Find::Near {
            anchors: &["-u ", "--user"],
            before: 1,
            after: 128,
            pattern: r#"(?:^|\s)(?:-u|--user)[ =]["']?([^\s:"'\[\]$]{1,64}:[^\s"'\[\]$]{3,})"#,
            check: |text| !text.contains("//"),
        },
        masks: &[("curl -u admin:s3cr3t https://x", "admin:s3cr3t")],
        keeps: &["sort -u file", "docker run -u 1000:0 x", "curl -u $USER:$PASS"],
    },
    Rule {
        id: "short-flag",
        kind: "password",
        find: Find::Near {
            anchors: &["mysql", "mariadb", "sshpass", "docker login"],
            before: 0,
            after: 160,
            pattern: r#"(?:(?:mysql|mariadb)\w*|sshpass)\b[^\n|;]{0,80}?\s-p["']?([^\s"'\[\]]{4,})|docker login\b[^\n|;]{0,80}?\s-p[ =]["']?([^\s"'\[\]]{4,})"#,
            check: is_password,
        },
        masks: &[
            ("mysql -uroot -p6vKSuXbbi16Oxy shop", "6vKSuXbbi16Oxy"),
            ("docker login -u bob -p 4SD64aFk2u reg", "4SD64aFk2u"),
        ],
        keeps: &["mysql -u root -p shop", "docker run -p 8080:80 x", "docker login -p $PASS"],
    },
    Rule {
        id: "named-secret",
        kind: "secret",
        find: Find::Near {
            anchors: &["key", "token", "secret", "auth", "cred", "passw", "api", "pwd"],
            before: 0,
            after: 96,
            pattern: r#"(?i)(?:key|token|secret|auth|credentials?|creds?|passw(?:or)?d|api|pwd)[\w.\-]{0,30}["'\\\]>]{0,4}[ \t]{0,8}(?:string[ \t])?(?:=>|:{1,3}=|[?.]=|\|\||[:=>,(])[ \t\n\r]{0,16}["'\\`=]{0,4}[ \t]{0,4}([A-Za-z0-9_.=+/~!#$%&*^@\-]{8,200})"#,
            check: is_secret,
        },
        masks: &[
            ("api_key=ABCDEFGH12345678", "ABCDEFGH12345678"),
            ("plaid_TOKEN :::= \"z18cqmjv8tp9v7oo4mmlcrgo0\"", "z18cqmjv8tp9v7oo4mmlcrgo0"),
            ("twitchToken := \"iviqrkgt6zv115b3pfkig5iu7sjnrv\"", "iviqrkgt6zv115b3pfkig5iu7sjnrv"),
            ("aws_secret_access_key=wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI/K7MDENG"),
        ],
        keeps: &[
            "total tokens: 123456",
            "key: value",
            "token: abcdefghijkl",
            "api: https://example.com/v1/users",
            "author: jane2020",
            "token_count=12345678",
            "key = os.environ.get1",
            "access_key=short",
        ],
    },
    Rule {
        id: "spaced-key",
        kind: "secret",
        find: Find::Near {
            anchors: &["key", "token", "secret"],
            before: 8,
            after: 64,
            pattern: r"(?i)\b(?:api|access|secret|auth)[ _-]?(?:key|token|secret)(?: is)?[ \t]{1,8}([A-Za-z0-9_\-]{8,200})\b",
            check: is_token,
        },
        masks: &[("API-TOKEN  abcdefgh1", "abcdefgh1")],
        keeps: &["api key rotation", "access token required"],
    },
];

/// Words that stand where a password would.
const PLACEHOLDERS: &[&str] = &[
    "changed",
    "empty",
    "expired",
    "false",
    "field",
    "forgotten",
    "hidden",
    "incorrect",
    "invalid",
    "masked",
    "missing",
    "nil",
    "none",
    "null",
    "optional",
    "password",
    "prompt",
    "redacted",
    "required",
    "reset",
    "secret",
    "string",
    "token",
    "true",
    "undefined",
    "unset",
    "weak",
    "wrong",
    "correct",
    "your",
    "stored",
    "correct.",
    "wrong.",
    "required.",
];

fn is_password(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    let stands_for = word.starts_with('$')
        || word.starts_with('<')
        || word.starts_with("{{")
        || word.starts_with("%(")
        || word.bytes().all(|b| b"*.x-_".contains(&b));
    !stands_for && !PLACEHOLDERS.contains(&word.as_str())
}

/// Varied enough for a secret, and no path, code or plain word.
fn is_secret(text: &str) -> bool {
    let text = text.trim_end_matches(['.', '=', ',', ';', '!']);
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    let code = text.contains("::")
        || text.contains("//")
        || text.starts_with(['$', '/', '.', '%', '#'])
        || text.matches('.').count() > 0 && text.split('.').all(|part| part.len() < 16)
        || text.bytes().filter(|b| *b == b'/').count() > 3;
    let word = digits == 0 && !(is_token(text) && text.len() >= 20);
    let varied = checksum::entropy(text) >= if text.len() < 20 { 2.9 } else { 3.1 };
    text.len() >= 8 && letters > 0 && !code && !word && varied
}
