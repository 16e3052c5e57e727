//! Whatever is received, in whatever order: a release exists exactly when enough distinct people
//! with the authority agreed to this request and nobody with it refused.

use std::collections::BTreeSet;

use proptest::prelude::*;
use weaver_policy::approval::{ApprovalRequest, Resolution, ResolutionVerdict};
use weaver_types::Timestamp;

use crate::approvals::{
    ALICE, ALICE_NEW, BOB, CAROL, Desk, LOW_CLEARANCE, LOW_TRUST, NO_SCOPE, OPERATOR, OWNER,
    RETIRED, STRANGER, key, nonce, request,
};
use crate::support::NOW;

/// People with a key, and whether they count.
const PEOPLE: [(&str, u8, bool); 13] = [
    ("alice", ALICE, true),
    ("alice", ALICE_NEW, true),
    ("bob", BOB, true),
    ("carol", CAROL, true),
    ("low_trust", LOW_TRUST, false),
    ("low_clearance", LOW_CLEARANCE, false),
    ("no_scope", NO_SCOPE, false),
    ("owner", OWNER, false),
    ("operator", OPERATOR, false),
    ("retired", RETIRED, false),
    ("nobody", STRANGER, false),
    ("alice", BOB, false),
    ("carol", STRANGER, false),
];

/// One thing that is received.
#[derive(Debug, Clone)]
struct Message {
    person: usize,
    granted: bool,
    /// 0 and 1: this request; 2: one with other arguments; 3: another one.
    about: u8,
    /// 0 to 2: now; 3: long before; 4: long after.
    dated: u8,
    /// A byte of the file that is changed to another digit or letter, if any.
    tampered: Option<prop::sample::Index>,
    /// The operator ends the request before this is received.
    ended: bool,
}

fn message() -> impl Strategy<Value = Message> {
    let person = prop_oneof![3 => 0..4_usize, 1 => 0..PEOPLE.len()];
    let tampered = prop::option::weighted(0.1, any::<prop::sample::Index>());
    let parts = (person, prop::bool::weighted(0.9), 0..10_u8, 0..20_u8, tampered);
    (parts, prop::bool::weighted(0.02)).prop_map(|(parts, ended)| {
        let (person, granted, about, dated, tampered) = parts;
        Message { person, granted, about, dated, tampered, ended }
    })
}

fn file(of: &ApprovalRequest, message: &Message) -> Vec<u8> {
    let about = match message.about {
        2 => ApprovalRequest { arguments: serde_json::json!({ "x": 1 }), ..of.clone() },
        3 => ApprovalRequest {
            id: weaver_types::ApprovalRequestId::parse("apr_9").unwrap(),
            nonce: nonce(9),
            ..of.clone()
        },
        _ => of.clone(),
    };
    let (name, seed, _) = PEOPLE[message.person];
    let verdict =
        if message.granted { ResolutionVerdict::Granted } else { ResolutionVerdict::Denied };
    let at = match message.dated {
        3 => Timestamp::from_micros(0),
        4 => Timestamp::from_micros(NOW.micros() + 86_400_000_000),
        _ => NOW,
    };
    let said = Resolution::new(&about, verdict, name, at).unwrap();
    let mut bytes = said.sign(&key(seed)).unwrap().to_json().unwrap();
    if let Some(index) = message.tampered {
        let places: Vec<_> =
            (0..bytes.len()).filter(|i| bytes[*i].is_ascii_alphanumeric()).collect();
        let place = places[index.index(places.len())];
        bytes[place] = if bytes[place] == b'a' { b'b' } else { b'a' };
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn only_enough_authorised_distinct_people_make_a_release(
        quorum in 0..5_u8,
        messages in prop::collection::vec(message(), 0..12),
    ) {
        let mut desk = Desk::open(request(quorum));
        let (mut people, mut open) = (BTreeSet::new(), true);
        let need = usize::from(quorum.max(1));
        for message in &messages {
            if message.ended {
                let end = weaver_policy::approval::RequestEnd::Expired;
                let was_open = open;
                prop_assert_eq!(desk.state.end(end).is_ok(), was_open);
                open = false;
            }
            let (name, _, counts) = PEOPLE[message.person];
            let honest = counts
                && message.tampered.is_none()
                && !matches!(message.about, 2 | 3)
                && !matches!(message.dated, 3 | 4);
            let granted_before = people.len() >= need;
            let heard = desk.receive(&file(&desk.request, message)).is_ok();
            if heard {
                prop_assert!(honest, "{:?} counted", message);
            }
            if honest && open {
                if message.granted && !granted_before {
                    people.insert(name);
                } else if !message.granted {
                    open = false;
                }
            }
            let release = desk.release();
            prop_assert_eq!(release.is_ok(), open && people.len() >= need, "{:?}", message);
            if let Ok(release) = release {
                prop_assert_eq!(release.approvers(), people.clone());
            }
        }
        // The order of what was received makes no difference where nothing ended the request.
        if messages.iter().all(|m| m.granted && !m.ended) {
            let mut turned = Desk::open(request(quorum));
            for message in messages.iter().rev() {
                let _ = turned.receive(&file(&turned.request, message));
            }
            prop_assert_eq!(turned.release().is_ok(), desk.release().is_ok());
        }
    }

    #[test]
    fn reading_a_file_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = weaver_policy::approval::SignedFile::parse(&bytes);
    }

    #[test]
    fn what_is_shown_never_hides_and_differs_where_the_request_does(
        one in "\\PC{0,6}|[\\x00-\\u{10ffff}]{0,6}",
        other in "\\PC{0,6}|[\\x00-\\u{10ffff}]{0,6}",
    ) {
        let show = |text: &str| {
            let arguments = serde_json::json!({ "a": text });
            ApprovalRequest { arguments, ..request(1) }.render().unwrap()
        };
        let without_digest = |text: String| text.rsplit_once("digest: ").unwrap().0.to_owned();
        prop_assert!(show(&one).chars().all(|c| c == '\n' || !weaver_text::escape::needs_escape(c)));
        let same = without_digest(show(&one)) == without_digest(show(&other));
        prop_assert_eq!(same, one == other);
    }
}
