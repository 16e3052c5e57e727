//! Personal data: addresses, numbers and documents that name a person.
//!
//! One pass stops at digits, colons, brackets and `@`. What stands there is read once, brought to one form
//! and shown to the rules of that form. Words around are looked up only for a candidate whose form
//! says too little.

mod americas;
mod asia;
mod birth;
mod card;
mod checksum;
mod cluster;
mod context;
mod email;
mod europe;
mod iban;
mod national;
mod network;
mod phone;
mod plan;
mod security;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::scanner::{Hit, ScanRule, Scanner};
use cluster::{Cluster, Hold, Token, before, byte, continues};
use context::{Context, Words, topic};
use network::Address;

/// Texts up to this many bytes may be one value, whatever its letters.
const SHORT: usize = 64;

const EMAIL: usize = 0;
const PHONE: usize = 1;
const CARD: usize = 2;
const SSN: usize = 3;
const IBAN: usize = 4;
const V4: usize = 5;
const V6: usize = 6;
const MAC: usize = 7;
const WRITTEN_EMAIL: usize = 8;
const BIRTH: usize = 9;

/// The rules, in the order that hits name them by: those with code of their own, then the tables.
const RULES: &[ScanRule] = &joined();

#[expect(clippy::indexing_slicing, reason = "runs while compiling, where it cannot panic")]
const fn joined() -> [ScanRule; OWN.len() + national::COUNT] {
    let mut rules = [OWN[0]; OWN.len() + national::COUNT];
    let mut count = 0;
    while count < OWN.len() {
        rules[count] = OWN[count];
        count += 1;
    }
    let mut table = 0;
    while table < national::TABLES.len() {
        let mut row = 0;
        while row < national::TABLES[table].len() {
            rules[count] = national::TABLES[table][row].rule;
            count += 1;
            row += 1;
        }
        table += 1;
    }
    rules
}

const OWN: &[ScanRule] = &[
    ScanRule {
        id: "email",
        kind: "email",
        masks: &[
            ("mail jane.roe@corp.example.com now", "jane.roe@corp.example.com"),
            ("<a href=\"mailto:a+b@x-y.co.uk\">", "a+b@x-y.co.uk"),
            ("grüße@müller.de", "grüße@müller.de"),
            ("x@y.cd.", "x@y.cd"),
            ("email:o'neil@yahoo.com", "o'neil@yahoo.com"),
        ],
        keeps: &[
            "@decorator",
            "user@host",
            "git@",
            "a @ b.com",
            "@scope/pkg@1.2.3",
            "icon@2x.png",
            "git@github.com:org/repo.git",
            "getty@tty1.service",
        ],
    },
    ScanRule {
        id: "phone",
        kind: "phone",
        masks: &[
            ("tel: +1 (415) 555-2671", "+1 (415) 555-2671"),
            ("lead,+8222120497,warm", "+8222120497"),
            ("Desk: +41 (0)96 471 07 95", "+41 (0)96 471 07 95"),
            ("lead,01512 3456254,warm", "01512 3456254"),
            ("lead,(11) 96123-9452,warm", "(11) 96123-9452"),
            ("lead,8 (912) 345-66-62,warm", "8 (912) 345-66-62"),
            ("lead,08-12 37 19,warm", "08-12 37 19"),
            ("mobile: 432 03 163", "432 03 163"),
            ("+1-903-140-4508x769 home", "+1-903-140-4508x769"),
            ("phone: 5551234567", "5551234567"),
            ("{\"phone\":\"030 1234567\"}", "030 1234567"),
            ("{\"homePhone\":5551234567}", "5551234567"),
            ("(37) 788-063-Office", "(37) 788-063"),
            ("0917-123-4567", "0917-123-4567"),
            ("call +41 21 235 97 57 17 times", "+41 21 235 97 57"),
            ("202-555-0143 ext. 12", "202-555-0143 ext. 12"),
            ("my number is (04895) 54442 198.", "(04895) 54442 198"),
            ("lead,415-666-3621x0135,warm", "415-666-3621x0135"),
            ("call (415) 020-7251 x259", "(415) 020-7251 x259"),
        ],
        keeps: &[
            "2024-01-02 10:11:12",
            "total tokens: 123456",
            "10.0.0.1",
            "call 12 times",
            "telemetry 123456",
            "call 2024-01-02 10.10",
            "917-123-4567",
            "ISBN 0-306-40615-2",
            "lat=-26.14473 lon=91.57204",
            "01 02 03 04 05",
            "Order #003811708594 shipped",
            "tracking: 2851 8479 4357 7055",
            "01-02-2023 10:00",
            "9785 1234 0987",
            "my credit card number is 36168002586008",
            "mobile order 12345678",
        ],
    },
    ScanRule {
        id: "card",
        kind: "card",
        masks: &[
            ("card 4012 8888 8888 1881 ok", "4012 8888 8888 1881"),
            ("4111111111111111", "4111111111111111"),
            ("3782 822463 10005", "3782 822463 10005"),
            ("3782-822463-10005", "3782-822463-10005"),
            ("5019717010103742", "5019717010103742"),
            ("122000000000003", "122000000000003"),
        ],
        keeps: &[
            "reference 5358796624245208",
            "1714000000000",
            "978-3-16-148410-0",
            "1.4111111111111111",
            "4111111111111111.5",
            "x4111111111111111",
            "4111 1111 1111 1112",
        ],
    },
    ScanRule {
        id: "us-ssn",
        kind: "ssn",
        masks: &[
            ("SSN 419-06-3188 verified", "419-06-3188"),
            ("value: 123-45-6789", "123-45-6789"),
            ("536 22 1234", "536 22 1234"),
            ("078.05.1123", "078.05.1123"),
            ("my ssn is 536221234", "536221234"),
            ("078-051121", "078-051121"),
        ],
        keeps: &[
            "000-12-3456",
            "911-89-1234",
            "1536-22-1234",
            "536-22-12345",
            "badge 666-37-5808",
            "693-09.4444",
            "ssn: 000123456",
        ],
    },
    ScanRule {
        id: "iban",
        kind: "iban",
        masks: &[
            ("IBAN GB82 WEST 1234 5698 7654 32 please", "GB82 WEST 1234 5698 7654 32"),
            ("pay DE89370400440532013000", "DE89370400440532013000"),
        ],
        keeps: &["GB82 WEST 1234 5698 7654 31", "US12345678901234567890"],
    },
    ScanRule {
        id: "ipv4",
        kind: "ip",
        masks: &[
            ("from 192.168.0.1:8080 to", "192.168.0.1"),
            ("Route is 10.0.0.0/8.", "10.0.0.0/8"),
            ("10.0.0.0/123", "10.0.0.0"),
            ("ping 8.8.4.4", "8.8.4.4"),
        ],
        keeps: &[
            "openssl version 1.2.3.4",
            "lib==101.2.3.4",
            "Chrome/120.0.0.0 Safari",
            "192.168.1.256",
            "oid 1.3.6.1.4.1",
            "v1.2.3.4",
            "section 3.2.1.4",
        ],
    },
    ScanRule {
        id: "ipv6",
        kind: "ip",
        masks: &[
            ("Connect to [2001:db8::1]:8080", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("Tunnel to 2001:db8::10.0.0.1", "2001:db8::10.0.0.1"),
            ("Prefix: 2001:db8::/32", "2001:db8::/32"),
            ("connecting from ::1", "::1"),
        ],
        keeps: &[
            "std::cout",
            "Time 12:34:56",
            "foo :: Int",
            "2001::db8::1",
            "xs[::2]",
            "12345:db8::1",
            "fe80::1text",
            "Port 80:443",
        ],
    },
    ScanRule {
        id: "mac",
        kind: "mac",
        masks: &[
            ("MAC 00:1A:2B:3C:4D:5E", "00:1A:2B:3C:4D:5E"),
            ("00-1A-2B-3C-4D-5E", "00-1A-2B-3C-4D-5E"),
            ("My MAC is 0012.3456.789a", "0012.3456.789a"),
        ],
        keeps: &["00:1A:2B:3C:4D", "FF:FF:FF:FF:FF:FF", "10:2F:33-AC-29-C3", "00-11-22"],
    },
    ScanRule {
        id: "email-written-out",
        kind: "email",
        masks: &[
            ("write jane[.]roe at corp[.]example[.]com", "jane[.]roe at corp[.]example[.]com"),
            ("jane.roe (at) corp.example.com!", "jane.roe (at) corp.example.com"),
            ("jane[at]corp[dot]com", "jane[at]corp[dot]com"),
            ("jane@corp[.]example[.]com", "jane@corp[.]example[.]com"),
            ("jane [at] corp [dot] com", "jane [at] corp [dot] com"),
        ],
        keeps: &[
            "seen at evil[.]example",
            "meet (at) noon",
            "arr[at] = x.y",
            "f(at)",
            "see evil[.]com",
        ],
    },
    ScanRule {
        id: "date-of-birth",
        kind: "date_of_birth",
        masks: &[
            ("DOB: 12/03/1980", "12/03/1980"),
            ("{\"birth_date\":\"1980-03-12\"}", "1980-03-12"),
            ("born on 3.12.1980 in", "3.12.1980"),
        ],
        keeps: &["date: 12/03/1980", "born in 1980", "the dob field, changed on 12/03/2020"],
    },
];

/// The rules with their scan.
pub(crate) fn scanner() -> Scanner {
    Scanner { rules: RULES, scan }
}

/// Finds personal data; hits may overlap.
fn scan(text: &str, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(place) = next(bytes, at) {
        at = match byte(bytes, place) {
            b'@' => {
                push(text, hits, EMAIL, email::address(bytes, place));
                place + 1
            }
            b'(' | b'[' => {
                push(text, hits, WRITTEN_EMAIL, email::bracketed(bytes, place));
                place + 1
            }
            b':' => {
                match network::colons(bytes, place) {
                    Some(Address::V6(range)) => push(text, hits, V6, Some(range)),
                    Some(Address::Mac(range)) => push(text, hits, MAC, Some(range)),
                    None => {}
                }
                place + 1
            }
            _ => {
                let (token, fits) = Token::around(bytes, place);
                if fits && !(token.hash && bytes.len() > SHORT) {
                    numbers(text, token, hits);
                }
                let uuid = cluster::uuid_end(bytes, token);
                uuid.unwrap_or(token.end).max(place + 1)
            }
        };
    }
}

/// The next byte that a value can stand at.
fn next(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let found = rest.iter().position(|byte| stops(*byte))?;
    Some(at + found)
}

/// True for digits, colons, `@` and opening brackets.
fn stops(byte: u8) -> bool {
    byte.wrapping_sub(b'0') <= 10 || matches!(byte, b'@' | b'[' | b'(')
}

fn push(text: &str, hits: &mut Vec<Hit>, rule: usize, range: Option<Range<usize>>) {
    if let Some(range) = range {
        let range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end);
        hits.push(Hit { range, rule });
    }
}

/// What a token with digits, and the groups that start with it, can be.
fn numbers(text: &str, token: Token, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    push(text, hits, V4, network::v4(bytes, token));
    push(text, hits, MAC, network::mac(bytes, token));
    if token.digits {
        if let Some(card) = card::starting(bytes, token)
            && !(card.weak && speaks_of_other(bytes, &card.range))
        {
            push(text, hits, CARD, Some(card.range));
        }
    } else {
        push(text, hits, IBAN, iban::starting(bytes, token));
    }
    clusters(text, token, hits);
}

/// What the token is with what follows: across blanks, without them, and by itself.
fn clusters(text: &str, token: Token, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let long = token.end - token.start >= 6;
    let follows = continues(bytes, token.start, Hold::Loose);
    let joined = cluster::is_joined(bytes, token.end);
    let mut end = token.end;
    let mut blanks = follows;
    if !follows && (joined || long || lettered(bytes, token.start).is_some()) {
        if let Some(cluster) = Cluster::gather(bytes, token.start, Hold::Loose) {
            groups(text, &cluster, Hold::Loose, hits);
            end = cluster.end;
            blanks = cluster.separators & (cluster::BLANK | cluster::BRACKET) != 0;
        } else {
            blanks = true;
        }
    }
    if !blanks || continues(bytes, token.start, Hold::Tight) {
        return;
    }
    if joined
        && let Some(cluster) = Cluster::gather(bytes, token.start, Hold::Tight)
        && cluster.end != token.end
        && (follows || cluster.end != end)
    {
        groups(text, &cluster, Hold::Tight, hits);
    } else if long
        && (follows || end != token.end)
        && let Some(cluster) = Cluster::gather(bytes, token.start, Hold::Token)
    {
        groups(text, &cluster, Hold::Token, hits);
    }
    if follows
        && bracketed(bytes, token)
        && let Some(cluster) = Cluster::gather(bytes, token.start, Hold::Loose)
    {
        let words = Words::new(bytes, cluster.start, cluster.end);
        push(text, hits, PHONE, phone::restarted(&words, &cluster));
    }
}

/// What groups of digits and letters are, taken together.
fn groups(text: &str, cluster: &Cluster, hold: Hold, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    if cluster.len() >= 6 {
        let words = Words::new(bytes, cluster.start, cluster.end);
        if security::is_ssn(&words, cluster) {
            push(text, hits, SSN, Some(cluster.start..cluster.end));
        }
        push(text, hits, PHONE, phone::phone(&words, cluster));
        push(text, hits, BIRTH, birth::date(&words, cluster));
        documents(text, &words, cluster, hits);
    }
    if let Some(start) = lettered(bytes, cluster.start)
        && let Some(cluster) = Cluster::gather(bytes, start, hold)
    {
        let words = Words::new(bytes, cluster.start, cluster.end);
        documents(text, &words, &cluster, hits);
    }
}

/// Numbers of documents and registers.
fn documents(text: &str, words: &Words<'_>, cluster: &Cluster, hits: &mut Vec<Hit>) {
    national::kinds(words, cluster, |row| {
        push(text, hits, OWN.len() + row, Some(cluster.start..cluster.end));
    });
}

/// The start of a short word before a number that may be its first group, as in `AA 12 34 56 B`.
fn lettered(bytes: &[u8], start: usize) -> Option<usize> {
    if !matches!(before(bytes, start), b' ' | b'-' | b'.') {
        return None;
    }
    let end = start.checked_sub(1)?;
    let last = before(bytes, end);
    if bytes.len() > SHORT && !last.is_ascii_uppercase() {
        return None;
    }
    let mut at = end;
    while end - at <= 4 && before(bytes, at).is_ascii_alphabetic() {
        at -= 1;
    }
    let bounded = !before(bytes, at).is_ascii_alphanumeric() && before(bytes, at) != b'_';
    (at < end && end - at <= 4 && bounded).then_some(at)
}

/// True for a number after a blank that starts anew: with a bracket, or the zero of an area.
fn bracketed(bytes: &[u8], token: Token) -> bool {
    let left = before(bytes, token.start);
    let zero = byte(bytes, token.start) == b'0' && token.end - token.start >= 2;
    token.digits && (left == b'(' || left == b' ' && zero)
}

/// True when the words before speak of orders, parcels and the like, and not of cards.
fn speaks_of_other(bytes: &[u8], range: &Range<usize>) -> bool {
    let context = Context::around(bytes, range.start, range.end);
    let hash = before(bytes, range.start) == b'#';
    (hash || context.near & topic::OTHER != 0) && context.last & topic::CARD == 0
}
