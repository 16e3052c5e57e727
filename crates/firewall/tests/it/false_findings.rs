//! What looks like a value and is nobody's: it goes to the model untouched. Beside it stand near
//! neighbours, which are masked.

use serde_json::json;
use weaver_types::{RawResult, ResponseMode};

use crate::support::{FIREWALL, check, shown, spec};

#[test]
fn addresses_that_are_nobodys() {
    check(&[
        ("server listening on 127.0.0.1:8080", "="),
        ("127.8.9.1 and 127.0.0.0/8", "="),
        ("[::1]:8080 or ::1, localhost:80", "="),
        ("connecting from ::1", "="),
        ("bind 0.0.0.0:443, route 0.0.0.0/0", "="),
        ("src=:: dst=::1 ::/0", "="),
        ("ether broadcast 255.255.255.255", "="),
        ("inet netmask 255.255.255.0", "="),
        ("255.255.252.0 255.128.0.0 255.255.255.252", "="),
        ("permit ip any 0.0.0.255", "="),
        ("access-list 0.0.15.255", "="),
        ("host 192.0.2.17, peer 198.51.100.7:443, 203.0.113.0/24", "="),
        ("2001:db8::1 and [2001:db8:85a3::8a2e:370:7334]:80", "="),
        ("Tunnel to 2001:db8::10.0.0.1", "="),
        ("3fff:fff::1", "="),
        ("::ffff:127.0.0.1 ::ffff:c000:201 64:ff9b::192.0.2.1", "="),
        ("mDNS 224.0.0.251 and ff02::fb", "="),
        ("http://127.0.0.1:3000/x?ip=192.0.2.1", "="),
        ("call 192.0.2.17 203.0.113.200 phone 198.51.100.100", "="),
    ]);
}

#[test]
fn addresses_of_hosts_beside_them() {
    check(&[
        ("listening on 10.0.0.5", "listening on [REDACTED]"),
        ("host 8.8.4.4", "host [REDACTED]"),
        ("192.168.1.20 172.16.5.4", "[REDACTED] [REDACTED]"),
        ("128.0.0.1 and 126.255.0.7", "[REDACTED] and [REDACTED]"),
        ("from 192.0.3.1, 198.51.101.1", "from [REDACTED], [REDACTED]"),
        ("mask 255.0.255.0", "mask [REDACTED]"),
        ("link 169.254.7.8 fe80::1%eth0", "link [REDACTED] [REDACTED]"),
        ("2001:db9::1 2a01:4f8::1", "[REDACTED] [REDACTED]"),
        ("::ffff:10.0.0.1", "[REDACTED]"),
        ("64:ff9b::8.8.4.4", "[REDACTED]"),
        ("Tunnel to 2a01:4f8::10.0.0.1", "Tunnel to [REDACTED]"),
        ("foo2001:db8::10.0.0.1", "foo2001:db8::[REDACTED]"),
        ("ff02::1:ff12:3456", "[REDACTED]"),
        ("127.0.0.1 10.0.0.5", "127.0.0.1 [REDACTED]"),
        ("phone 235.97.57.12", "phone [REDACTED]"),
    ]);
}

#[test]
fn mail_of_example_domains() {
    check(&[
        ("mail jane.roe@example.com, bob@EXAMPLE.org", "="),
        ("jane@example.net.", "="),
        ("<a href=\"mailto:jane@example.edu\">", "="),
        ("bob@mail.example a@corp.test b@x.invalid c@y.localhost", "="),
        ("jane[.]roe at example[.]com", "="),
        ("jane (at) example.com", "="),
        ("jane%40example.com", "="),
        ("mail jane.roe@corp.example.com", "mail [REDACTED]"),
        ("jane@example.de", "[REDACTED]"),
        ("jane@notexample.com", "[REDACTED]"),
        ("jane@my-example.com", "[REDACTED]"),
        ("jane@example.com.corp.net", "[REDACTED]"),
        ("jane@test.com, bob@invalid.org", "[REDACTED], [REDACTED]"),
        ("jane [at] example [dot] de", "[REDACTED]"),
        ("bob@example.com, bob@corp.net", "bob@example.com, [REDACTED]"),
    ]);
}

#[test]
fn names_of_messages() {
    check(&[
        ("Message-ID: <20260814091244.4F1C22@mx.corp.net>", "="),
        ("postfix/cleanup: message-id=<20260814091244.4F1C22@mx.corp.net>", "="),
        ("In-Reply-To: <CAF4abc12XYZ@mail.corp.net>", "="),
        ("References: <545627C2.3050608@corp.net>", "="),
        ("Message-ID: <jane.roe@corp.net>", "Message-ID: <[REDACTED]>"),
        ("Message-ID: <20260814091244.38950-1-jane@corp.net>", "Message-ID: <[REDACTED]>"),
        ("Reply-To: <20260814091244.4F1C22@mx.corp.net>", "Reply-To: <[REDACTED]>"),
    ]);
}

#[test]
fn words_for_a_password_in_place_of_one() {
    check(&[
        ("postgres://user:password@localhost:5432/mydb", "="),
        ("mysql://USER:PASS@HOST/DB", "="),
        ("http://user:password@proxy.corp.net:80/", "="),
        ("postgres://user:p4ss@localhost/db", "postgres://user:[REDACTED]@localhost/db"),
        ("postgres://user:password1@localhost/db", "postgres://user:[REDACTED]@localhost/db"),
        ("redis://:pw@h", "redis://:[REDACTED]@h"),
    ]);
}

#[test]
fn versions_of_four_numbers() {
    check(&[
        ("v1.2.3.4", "="),
        ("v. 10.0.0.5", "="),
        ("version 10.0.19041.1", "="),
        ("FileVersion: 6.1.7601.17514", "="),
        ("ProductVersion=\"101.0.0.1\"", "="),
        ("Mozilla/5.0 Chrome/126.0.0.0 Safari/537.36", "="),
        ("Google Chrome 126.0.0.0", "="),
        ("1.2.3.4-beta 101.2.3.4-rc1", "="),
        ("101.2.3.4+build5", "="),
        ("pkg==1.2.3.4", "="),
        ("tool>=101.2.3.4", "="),
        ("tool~=101.2.3.4", "="),
        ("1.2.3.4.5", "="),
        ("OID 1.3.6.1.4.1 .1.3.6.1.4.1.311", "="),
        ("foo-101.2.3.4.tar.gz", "="),
        ("ip>=101.2.3.4", "ip>=[REDACTED]"),
        ("server 126.0.0.0", "server [REDACTED]"),
        ("node 126.0.0.7", "node [REDACTED]"),
        ("get 101.2.3.4+x", "get [REDACTED]+x"),
        ("IP 10.0.0.5.443 > 10.0.0.9.51234", "IP [REDACTED].443 > [REDACTED].51234"),
    ]);
}

#[test]
fn users_of_repositories_and_servers() {
    check(&[
        ("git@github.com:org/repo.git", "="),
        ("ssh -T git@github.com", "="),
        ("ssh://git@git.corp.net/x", "="),
        ("git+ssh://git@github.com/org/repo.git#v1", "="),
        ("deploy@build.corp.net:repo.git", "="),
        ("rsync deploy@build.corp.net:/srv/www/ .", "="),
        ("scp x deploy@build.corp.net:~/x", "="),
        ("https://user@host/", "="),
        ("https://jane.roe@wiki.corp.net/path", "="),
        ("abfss://data@store.dfs.corp.net/p", "="),
        ("postgres://${USER}:${PASS}@db.corp.net/app", "="),
        ("postgres://app:*****@db.corp.net/app", "="),
        ("npm:@scope/pkg@1.2.3", "="),
        ("npm:@scope/pkg@1.2.3-rc.next", "="),
        ("left-pad@1.3.0-alpha.beta", "="),
        ("golang.org/x/text@v0.3.0-pre.one", "="),
        ("pkg@npm:1.0", "="),
        ("requests @ https://github.com/psf/requests/archive/main.zip", "="),
        (
            "docker.io/library/x@sha256:9c4e1f7ab2d8056e3f91a7c5d40b86e29c4e1f7ab2d8056e3f91a7c5d40b86e2",
            "=",
        ),
        ("curl@7.88.1-10+deb12u5", "="),
        ("icon@2x.png logo@2x.avif icon@3x.min.js", "="),
        ("user-runtime-dir@1000.service user@1000.slice", "="),
        ("@app.route(\"/x\")", "="),
        ("jane@corp.net: hello", "[REDACTED]: hello"),
        ("jane@corp.net:hunter2", "[REDACTED]:hunter2"),
        ("legit@corp.net", "[REDACTED]"),
        ("mailto://jane@corp.net", "mailto://[REDACTED]"),
        ("sip://jane@corp.net", "sip://[REDACTED]"),
        ("https://corp.net,jane@corp.net", "https://corp.net,[REDACTED]"),
        ("https://corp.net/jane@corp.net", "https://[REDACTED]"),
        ("https://corp.net?u=jane@corp.net", "https://corp.net?u=[REDACTED]"),
        ("https://jane@corp.net@host.net/", "https://[REDACTED]/"),
        ("jane@3x.com jane@163.com", "[REDACTED] [REDACTED]"),
    ]);
}

#[test]
fn of_a_url_the_password_is_masked() {
    check(&[
        (
            "postgres://app:s3cret@db.internal:5432/x",
            "postgres://app:[REDACTED]@db.internal:5432/x",
        ),
        ("redis://:pw@h", "redis://:[REDACTED]@h"),
        ("https://user:token@git.host/x", "https://user:[REDACTED]@git.host/x"),
        (
            "url=postgres://app:q8V/n2Lm@db.internal/x",
            "url=postgres://app:[REDACTED]@db.internal/x",
        ),
        (
            "mongodb+srv://app:q8Vn@2L@cluster0.corp.net/",
            "mongodb+srv://app:[REDACTED]@cluster0.corp.net/",
        ),
        (
            "https://u:p1@a.net https://v:p2@b.net",
            "https://u:[REDACTED]@a.net https://v:[REDACTED]@b.net",
        ),
        (
            "https://ghp_0123456789abcdefghij0123456789abcdef@github.com/x",
            "https://[REDACTED]@github.com/x",
        ),
        (
            "https://0a1b2c3d4e5f6a7b8c9d:x-oauth-basic@api.corp.net/",
            "https://[REDACTED]:[REDACTED]@api.corp.net/",
        ),
        (
            "https://cafeb4b3:d3adb33f@gems.contribsys.com/",
            "https://[REDACTED]@gems.contribsys.com/",
        ),
        ("https://0a1b2c3d4e5f6a7b:x@api.corp.net/", "https://[REDACTED]:x@api.corp.net/"),
        (
            "smtp://jane@corp.net:q8Vn2L@mail.corp.net/",
            "smtp://[REDACTED]:[REDACTED]@mail.corp.net/",
        ),
        (
            "smtp://jane%40corp.net:q8Vn2L@mail.corp.net/",
            "smtp://[REDACTED]:[REDACTED]@mail.corp.net/",
        ),
        ("sqlplus scott/dk4bXT7S@db.corp.net:1521", "sqlplus scott/[REDACTED]@db.corp.net:1521"),
    ]);
}

#[test]
fn numbers_that_are_published() {
    check(&[
        ("4242 4242 4242 4242", "="),
        ("card 4242-4242-4242-4242, 4242.4242.4242.4242", "="),
        ("4111111111111111 4012888888881881.0", "="),
        ("５５５５５５５５５５５５４４４４", "="),
        ("pay with 5105 1051 0510 5100", "="),
        ("call 3782 822463 10005", "="),
        ("phone: 3714-496353-98431", "="),
        ("6011111111111117,6011000990139424", "="),
        ("3056 930902 5904 or 38520000023237", "="),
        ("account 3530111333300000, card 3566002020360505", "="),
        ("{\"pan\": \"2223003122003222\"}", "="),
        ("Stripe: 4000 0566 5566 5556", "="),
        ("SSN 078-05-1120, ssn 219-09-9999", "="),
        ("ssn 000-12-3456 666-12-3456 912-12-3456", "="),
        ("card 4539 1488 0343 6467", "card [REDACTED]"),
        ("4242 4242 4242 4259", "[REDACTED]"),
        ("4242424242424242 4539148803436467", "4242424242424242 [REDACTED]"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [REDACTED]"),
        ("SSN 078-05-1121", "SSN [REDACTED]"),
        ("ssn 123-45-6789", "ssn [REDACTED]"),
    ]);
}

#[test]
fn a_number_of_json_that_is_published_is_shown() {
    let value = json!([{ "n": 4_242_424_242_424_242_u64, "m": 4_539_148_803_436_467_u64 }]);
    let table = FIREWALL.frame(&RawResult::json(value), &spec(ResponseMode::Table)).table;
    assert_eq!(json!(table), json!([{ "n": 4_242_424_242_424_242_u64, "m": "[REDACTED]" }]));
}

#[test]
fn a_cut_says_that_it_is_one() {
    let value = json!([{ "a": { "b": { "c": 1 } } }]);
    let table = FIREWALL.frame(&RawResult::json(value), &spec(ResponseMode::Table)).table;
    assert_eq!(json!(table), json!([{ "a": { "b": "[cut: deeper than 3 levels]" } }]));
    // It is no mask and no value, and nothing to be written in place of what was cut.
    assert_eq!(shown("[cut: deeper than 3 levels]"), "[cut: deeper than 3 levels]");
    let unknown = |text: &str| FIREWALL.resolve_masks(&json!(text)).unknown.map(|found| found.mask);
    let marker = "[cut: deeper than 3 levels]";
    assert_eq!(unknown(&format!("x {marker}")).as_deref(), Some(marker));
    assert_eq!(unknown("[cut: of beef]"), None);
}
