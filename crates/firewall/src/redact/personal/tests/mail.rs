//! E-mail addresses, written plainly and spelled out.

use super::{check, found};

#[test]
fn an_address_has_a_name_and_a_domain() {
    check(&[
        ("#[at] corp [dot] com", ""),
        ("golang.org/x/text@V0.3.0-pre.one", "email=golang.org/x/text@V0.3.0-pre.one"),
        ("icon@2y.min.png", "email=icon@2y.min"),
        ("jane [at] corp dot com", "email-written-out=jane [at] corp dot com"),
        ("jane [at] corp dotcom", ""),
        ("jane [at] exam[dot] de", ""),
        ("jane at corp[.]com", ""),
        ("jane(@)corp.com", "email-written-out=jane(@)corp.com"),
        ("jane@-corp.net", ""),
        ("jane@1.2.x.net", "email=jane@1.2.x.net"),
        ("ci@p1.iam.gserviceaccount.com", ""),
        ("_jane@corp.net", "email=_jane@corp.net"),
        ("jane@corp.net-x", "email=jane@corp.net"),
        ("jane@corp.net1", ""),
        ("jane[.]r oe at corp[.]com", ""),
        ("#jane[at]corp[dot]com", "email-written-out=jane[at]corp[dot]com"),
        ("roe (at) croe (at) corp.net", "email-written-out=croe (at) corp.net"),
        ("П@a.роль", "email=П@a.роль"),
    ]);
}

#[test]
fn a_user_of_a_server_is_no_address() {
    check(&[
        ("https://jane@corp.net#@a", ""),
        ("jane@corp.net:.git", "email=jane@corp.net"),
        ("to ftp://jane@corp.net now", ""),
        ("to jane@corp.net:x.git now", ""),
    ]);
}

#[test]
fn a_name_is_read_as_far_back_as_200_bytes() {
    for (length, read) in [(199, 199), (200, 200), (201, 200)] {
        let text = format!("{}@corp.net", "a".repeat(length));
        assert_eq!(found(&text), format!("email={}@corp.net", "a".repeat(read)), "{length}");
    }
}

#[test]
fn a_domain_has_at_most_253_bytes() {
    for (labels, is_found) in [(124, true), (125, true), (126, false)] {
        let text = format!("jane@{}net", "a.".repeat(labels));
        assert_eq!(!found(&text).is_empty(), is_found, "{labels}");
    }
}
