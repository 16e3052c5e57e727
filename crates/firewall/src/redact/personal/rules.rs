//! The rules by name, with examples.

use super::{ScanRule, document_numbers};

pub(super) const EMAIL: usize = 0;
pub(super) const PHONE: usize = 1;
pub(super) const CARD: usize = 2;
pub(super) const SSN: usize = 3;
pub(super) const IBAN: usize = 4;
pub(super) const IPV4: usize = 5;
pub(super) const IPV6: usize = 6;
pub(super) const MAC: usize = 7;
pub(super) const WRITTEN_EMAIL: usize = 8;
pub(super) const BIRTH_DATE: usize = 9;

/// The rules in the order of hit numbers: rules with their own code first, then the tables.
pub(super) const RULES: &[ScanRule] = &all_rules();

#[expect(clippy::indexing_slicing, reason = "runs while compiling, where it cannot panic")]
const fn all_rules() -> [ScanRule; CODED_RULES.len() + document_numbers::RULE_COUNT] {
    let mut rules = [CODED_RULES[0]; CODED_RULES.len() + document_numbers::RULE_COUNT];
    let mut count = 0;
    while count < CODED_RULES.len() {
        rules[count] = CODED_RULES[count];
        count += 1;
    }
    let mut table = 0;
    while table < document_numbers::TABLES.len() {
        let mut row = 0;
        while row < document_numbers::TABLES[table].len() {
            rules[count] = document_numbers::TABLES[table][row].rule;
            count += 1;
            row += 1;
        }
        table += 1;
    }
    rules
}

/// The rules with their own code, in the order of the numbers above.
pub(super) const CODED_RULES: &[ScanRule] = &[
    ScanRule {
        id: "email",
        kind: "email",
        masks: &[
            ("mail jane.roe@corp.example.com now", "jane.roe@corp.example.com"),
            ("<a href=\"mailto:a+b@x-y.co.uk\">", "a+b@x-y.co.uk"),
            ("grüße@müller.de", "grüße@müller.de"),
            ("x@y.cd.", "x@y.cd"),
            ("email:o'neil@yahoo.com", "o'neil@yahoo.com"),
            ("jane@example.com.corp.net", "jane@example.com.corp.net"),
            ("jane@3x.com", "jane@3x.com"),
            ("jane@163.com", "jane@163.com"),
            ("mailto://jane@corp.net", "jane@corp.net"),
            ("UID:jane.roe@corp.net", "jane.roe@corp.net"),
            ("use ssh, jane@corp.net", "jane@corp.net"),
            ("https://corp.net,jane@corp.net", "jane@corp.net"),
            ("jane@corp.net:open", "jane@corp.net"),
        ],
        keeps: &[
            "@decorator",
            "m***@corp.net",
            "user@host",
            "git@",
            "a @ b.com",
            "@scope/pkg@1.2.3",
            "icon@2x.png",
            "Default principal: ann@CORP.NET",
            "krbtgt/CORP.NET@CORP.NET",
            "git@github.com:org/repo.git",
            "getty@tty1.service",
            "user@1000.slice",
            "icon@3x.min.js",
            "left-pad@1.3.0-rc.next",
            "jane.roe@example.com",
            "UID:ehsk3t9f2r06a786gmp9vpqu2v@google.com",
            "\"iCalUID\": \"kb35zo060yfedowpqhlmx4opp7@google.com\"",
            "ssh deploy@web-2.corp.net uptime",
            "a@mail.example, b@x.test, c@x.invalid, d@x.localhost",
            "ssh://git@git.corp.net/x",
            "https://jane.roe@wiki.corp.net/x",
            "deploy@build.corp.net:/srv/repo",
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
            ("{\"type\":\"mobile\",\"number\":\"5551234567\"}", "5551234567"),
            ("Tel. 0351 / 86 22 714", "0351 / 86 22 714"),
            ("(37) 788-063-Office", "(37) 788-063"),
            ("0917-123-4567", "0917-123-4567"),
            ("call +41 21 235 97 57 17 times", "+41 21 235 97 57"),
            ("202-555-2143 ext. 12", "202-555-2143 ext. 12"),
            ("my number is (04895) 54442 198.", "(04895) 54442 198"),
            ("lead,415-666-3621x0135,warm", "415-666-3621x0135"),
            ("call (415) 020-7251 x259", "(415) 020-7251 x259"),
        ],
        keeps: &[
            "2024-01-02 10:11:12",
            "total tokens: 123456",
            "10.0.0.1",
            "LIN+1++4364030196444:EN",
            "tel. of the authors\n 2003-2009, A. B.",
            "CA\t+4612-05957\tAmerica/Glace_Bay",
            "BR\t-0351-03225\tAmerica/Noronha",
            "[0483042](https://github.com/a/b/commit/0483042)",
            "contact arn:aws:ssm-contacts:*:111122223333:contact/x",
            "договір № 067-771-97-91",
            "customer no. 262-444-9897",
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
            "[{\"f\":\"hp\"},{\"e\":1000018}]",
            "{\"type\":\"mobile\",\"id\":447182090}",
            "{\"sent\":1739442285,\"phone_views\":1204471}",
        ],
    },
    ScanRule {
        id: "card",
        kind: "card",
        masks: &[
            ("card 4539 1488 0343 6467 ok", "4539 1488 0343 6467"),
            ("4539148803436467", "4539148803436467"),
            ("3472 481902 55718", "3472 481902 55718"),
            ("3472-481902-55718", "3472-481902-55718"),
            ("pan=4539 1488-0343 6467", "4539 1488-0343 6467"),
            ("5018648506601140", "5018648506601140"),
            ("122000000000003", "122000000000003"),
            ("a,4539148803436467.0,b", "4539148803436467"),
        ],
        keeps: &[
            "c2268 6147 1032 12398-748",
            "reference 5358796624245208",
            "1714000000000",
            "978-3-16-148410-0",
            "1.4539148803436467",
            "4539148803436467.5",
            "x4539148803436467",
            "4539 1488 0343 6468",
            "4242 4242 4242 4242",
            "card 3782-822463-10005",
            "A8E4  2201 6819 2201 1900 44F7",
        ],
    },
    ScanRule {
        id: "us-ssn",
        kind: "ssn",
        masks: &[
            ("SSN 419-06-3188 verified", "419-06-3188"),
            ("value: 123-45-6789", "123-45-6789"),
            ("536 22 1234", "536 22 1234"),
            ("Park,424-32-8755,2024-03-01", "424-32-8755"),
            ("078.05.1123", "078.05.1123"),
            ("my ssn is 536221234", "536221234"),
            ("078-051121", "078-051121"),
        ],
        keeps: &[
            "000-12-3456", "911-89-1234", "1536-22-1234", "536-22-12345", "badge 666-37-5808",
            "693-09.4444", "lot no. 220-84-4471", "ssn: 000123456", "SSN 078-05-1120",
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
            ("server 126.0.0.0/8", "126.0.0.0/8"),
            ("192.0.3.1", "192.0.3.1"),
            ("255.0.255.0", "255.0.255.0"),
            ("clientIp=5.2.2.0", "5.2.2.0"),
            ("server web-1.corp.net 5.2.2.1", "5.2.2.1"),
            ("serverName 10.0.0.5", "10.0.0.5"),
        ],
        keeps: &[
            "openssl version 1.2.3.4",
            "lib==101.2.3.4",
            "Chrome/120.0.0.0 Safari",
            "192.168.1.256",
            "oid 1.3.6.1.4.1",
            "v1.2.3.4",
            "v. 10.0.0.5",
            "tool>=101.2.3.4",
            "Depends: libpam0g (>= 0.99.7.1), libx (= 18.89.2.7-1)",
            "Microsoft.Data.SqlClient 5.2.2.0, lwIP 2.2.0.1",
            "101.2.3.4+build7",
            "Chrome 126.0.0.0",
            "section 3.2.1.4",
            "listening on 127.0.0.1:8080, 0.0.0.0",
            "mask 255.255.240.0 or 0.0.15.255, broadcast 255.255.255.255",
            "192.0.2.1, 198.51.100.0/24, 203.0.113.9",
            "multicast 224.0.0.251",
        ],
    },
    ScanRule {
        id: "ipv6",
        kind: "ip",
        masks: &[
            ("Connect to [2a01:4f8::1]:8080", "2a01:4f8::1"),
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("Tunnel to 2a01:4f8::10.0.0.1", "2a01:4f8::10.0.0.1"),
            ("Prefix: 2a01:4f8::/32", "2a01:4f8::/32"),
            ("connecting from ::ffff:10.0.0.1", "::ffff:10.0.0.1"),
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
            "connecting from ::1",
            "src=:: dst=::ffff:127.0.0.1",
            "Tunnel to 2001:db8::10.0.0.1",
            "all nodes ff02::1",
            "serial 04:0b:2c:1e:99:cf:87:e2",
            "messagebus:x:100:102::/nonexistent:/usr/sbin/nologin",
            "core::<wbr>f128::<wbr>consts",
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
            ("jane [at] example [dot] de", "jane [at] example [dot] de"),
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
            "jane[.]roe at example[.]com",
            "jane [at] mail [dot] example",
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
