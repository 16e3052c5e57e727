//! What the operator says of a capability counts before what its server says.

use weaver_policy::ContractStatus;
use weaver_types::{
    AgentId, AllowedAgents, Capability, CapabilityDraft, Confidentiality, Digest, Effects,
    Integrity, JsonPointer, ReasonCode, Rung, SensitivityTag, SinkKind, Verdict,
};

use crate::support::{Case, draft, foreign, host, load, principal, set};

fn of(contracts: &str, proposal: &Capability) -> Capability {
    set("", contracts).apply_contract(proposal).unwrap()
}

fn refused(contracts: &str) -> &'static str {
    load("", contracts, "").unwrap_err().code()
}

#[test]
fn what_a_server_says_of_its_tool_lowers_nothing() {
    let mut claims = foreign("fs.read", Effects::READ_LOCAL).into_draft();
    claims.rung = Some(Rung::L0);
    claims.sink = Some(SinkKind::None);
    claims.idempotent = true;
    claims.tags.insert("safe".to_owned());
    claims.output_label.integrity = Integrity::Trusted;
    claims.clearance = Confidentiality::Restricted;
    let effective = of("", &claims.build().unwrap());
    let spec = effective.spec();
    assert_eq!(spec.effects, Effects::UNDECLARED);
    assert_eq!((effective.rung(), effective.sink()), (Rung::L4, SinkKind::Destructive));
    assert!(!spec.idempotent && spec.tags.is_empty());
    assert_eq!(spec.output_label.integrity, Integrity::Untrusted);
    assert_eq!(spec.clearance, Confidentiality::Internal);
}

#[test]
fn a_contract_declares_what_counts() {
    let contracts = r#"
[capabilities."fs.read"]
effects = "read_local"
sensitivity = "pii"
allowed_fields = ["name"]
agents = ["bot"]
permissions = ["fs"]
output = { confidentiality = "confidential", integrity = "trusted" }
idempotent = true
timeout_ms = 500
"#;
    let effective = of(contracts, &foreign("fs.read", Effects::WRITE_OPEN));
    let spec = effective.spec();
    assert_eq!((spec.effects, effective.rung()), (Effects::READ_LOCAL, Rung::L0));
    assert!(spec.sensitivity.contains(&SensitivityTag::Pii));
    assert!(spec.allowed_fields.contains("name") && spec.permissions.contains("fs"));
    assert_eq!(spec.agents, AllowedAgents::Only([AgentId::parse("bot").unwrap()].into()));
    assert_eq!(spec.output_label.confidentiality, Confidentiality::Confidential);
    assert_eq!(spec.output_label.integrity, Integrity::Trusted);
    assert_eq!((spec.idempotent, spec.timeout_ms), (true, 500));
}

#[test]
fn secrets_in_the_output_raise_its_label() {
    let contracts = "[capabilities.\"x\"]\neffects = \"read_local\"\nsensitivity = \"secrets\"\n\
                     output = { confidentiality = \"public\" }\n";
    let effective = of(contracts, &foreign("x", Effects::READ_LOCAL));
    assert_eq!(effective.spec().output_label.confidentiality, Confidentiality::Restricted);
}

#[test]
fn a_lowered_rung_must_be_said_in_that_entry() {
    let entry = |more: &str| format!("[capabilities.\"x\"]\neffects = \"write_open\"\n{more}\n");
    assert_eq!(refused(&entry("rung = \"L3\"")), "policy.lowered_rung");
    let lowered = of(&entry("rung = \"L3\"\nlower_rung = true"), &foreign("x", Effects::READ_OPEN));
    assert_eq!(lowered.rung(), Rung::L3);
    let raised = of(&entry("rung = \"L5\""), &foreign("x", Effects::READ_OPEN));
    assert_eq!(raised.rung(), Rung::L5);
}

#[test]
fn a_rung_without_effects_does_not_lower_undeclared_effects() {
    let set = set("", "[capabilities.\"x\"]\nrung = \"L1\"\n");
    let error = set.apply_contract(&foreign("x", Effects::READ_LOCAL)).unwrap_err();
    assert_eq!(error.code(), "policy.contract_lowers");
    assert_eq!(set.apply_contract(&host("x", Effects::READ_LOCAL)).unwrap().rung(), Rung::L1);
}

#[test]
fn host_code_keeps_what_it_declares_until_a_contract_says_otherwise() {
    let write = host("x", Effects::WRITE_OPEN);
    let mut critical = write.clone().into_draft();
    critical.critical_arguments.insert(JsonPointer::parse("").unwrap());
    assert_eq!(of("", &write), critical.build().unwrap(), "read off its schema: it has none");
    let milder = "[capabilities.\"x\"]\neffects = \"read_local\"\n";
    let error = set("", milder).apply_contract(&write).unwrap_err();
    assert_eq!(error.code(), "policy.contract_lowers_effects");
    let said = format!("{milder}lower_rung = true\n");
    assert_eq!(of(&said, &write).rung(), Rung::L0);
    let stricter = "[capabilities.\"x\"]\neffects = \"destructive\"\n";
    assert_eq!(of(stricter, &write).sink(), SinkKind::Destructive);
}

#[test]
fn l2_l5_and_lower_rungs_are_the_operators_to_declare() {
    let with = |effects, rung| CapabilityDraft { rung: Some(rung), ..draft("x", effects) };
    for (effects, rung) in [
        (Effects::READ_LOCAL, Rung::L2),
        (Effects::READ_LOCAL, Rung::L5),
        (Effects::WRITE_OPEN, Rung::L3),
    ] {
        let error = set("", "").apply_contract(&with(effects, rung).build().unwrap()).unwrap_err();
        assert_eq!(error.code(), "policy.contract_operator_only");
    }
    let raised = with(Effects::READ_LOCAL, Rung::L4).build().unwrap();
    assert_eq!(of("", &raised).rung(), Rung::L4);
}

#[test]
fn among_globs_the_strictest_wins_and_the_id_replaces_them() {
    let contracts = r#"
[capabilities."fs.*"]
effects = "read_local"
allowed_fields = ["a", "b"]
clearance = "confidential"
timeout_ms = 900
idempotent = true
agents = "any"
[capabilities."*.write"]
effects = "write_local"
allowed_fields = ["b", "c"]
clearance = "public"
timeout_ms = 500
idempotent = false
agents = ["bot"]
[capabilities."fs.write"]
timeout_ms = 800
"#;
    let effective = of(contracts, &foreign("fs.write", Effects::READ_LOCAL));
    let spec = effective.spec();
    assert_eq!((spec.effects, effective.rung()), (Effects::WRITE_LOCAL, Rung::L3));
    assert_eq!(spec.allowed_fields.iter().collect::<Vec<_>>(), ["b"]);
    assert_eq!(spec.clearance, Confidentiality::Public);
    assert_eq!((spec.timeout_ms, spec.idempotent), (800, false));
    assert!(matches!(spec.agents, AllowedAgents::Only(_)));
    assert_eq!(of(contracts, &foreign("fs.read", Effects::READ_LOCAL)).rung(), Rung::L0);
}

#[test]
fn a_lowering_glob_does_not_lower_what_another_glob_declares() {
    let contracts = r#"
[capabilities."a.*"]
effects = "write_open"
rung = "L1"
lower_rung = true
[capabilities."*.z"]
effects = "destructive"
"#;
    assert_eq!(of(contracts, &foreign("a.z", Effects::READ_LOCAL)).rung(), Rung::L4);
    assert_eq!(of(contracts, &foreign("a.y", Effects::READ_LOCAL)).rung(), Rung::L1);
}

#[test]
fn globs_that_leave_no_field_do_not_free_all_fields() {
    let contracts = "[capabilities.\"a*\"]\nallowed_fields = [\"x\"]\n\
                     [capabilities.\"*b\"]\nallowed_fields = [\"y\"]\n";
    let error = set("", contracts).apply_contract(&foreign("ab", Effects::READ_LOCAL)).unwrap_err();
    assert_eq!(error.code(), "policy.contract_no_fields");
    assert_eq!(refused("[capabilities.\"a\"]\nallowed_fields = []\n"), "policy.empty_list");
}

#[test]
fn applying_a_contract_twice_changes_nothing() {
    let contracts = "[capabilities.\"x\"]\neffects = \"read_open\"\nrung = \"L0\"\n\
                     lower_rung = true\ntags = [\"t\"]\nclearance = \"public\"\n";
    for proposal in [foreign("x", Effects::READ_LOCAL), host("x", Effects::WRITE_OPEN)] {
        let once = of(contracts, &proposal);
        assert_eq!(of(contracts, &once), once);
    }
}

#[test]
fn the_status_tells_a_changed_contract_from_an_unknown_one() {
    let pinned =
        format!("[capabilities.\"x\"]\nupstream_digest = \"{}\"\n", Digest::from_bytes([1; 32]));
    let status =
        |contracts: &str, proposal: &Capability| set("", contracts).contract_status(proposal);
    let tool = foreign("x", Effects::READ_LOCAL);
    assert_eq!(status(&pinned, &tool), ContractStatus::Approved);
    assert_eq!(status("", &tool), ContractStatus::Unknown);
    assert_eq!(status("[capabilities.\"*\"]\nsink = \"none\"\n", &tool), ContractStatus::Unpinned);
    assert_eq!(status("", &host("x", Effects::READ_LOCAL)), ContractStatus::Approved);
    let (approved, found) = (Digest::from_bytes([1; 32]), Digest::from_bytes([2; 32]));
    let mut other = tool.into_draft();
    other.upstream_digest = Some(found);
    assert_eq!(
        status(&pinned, &other.build().unwrap()),
        ContractStatus::Changed { approved, found }
    );
    assert!(matches!(
        status(&pinned, &host("x", Effects::READ_LOCAL)),
        ContractStatus::Changed { .. }
    ));
    assert_eq!(refused(&pinned.replace("\"x\"", "\"x*\"")), "policy.digest_under_glob");
}

#[test]
fn visibility_hides_and_never_permits() {
    let contracts = r#"
[capabilities."a.hidden"]
visible = false
[capabilities."a.never"]
rung = "L5"
[capabilities."a.bot"]
agents = ["bot"]
"#;
    let all = set("", contracts);
    let sees = |set: &weaver_policy::PolicySet, id: &str, roles: &[&str]| {
        let capability = set.apply_contract(&host(id, Effects::READ_LOCAL)).unwrap();
        set.is_visible(&principal(roles), &capability)
    };
    assert!(sees(&all, "a.other", &[]));
    for id in ["a.hidden", "a.never", "a.bot"] {
        assert!(!sees(&all, id, &["admin"]), "{id}");
    }
    let some = format!(
        "{contracts}\n[[visible]]\nroles = [\"reader\"]\ncapabilities = [\"a.*\"]\n\
         [[visible]]\ncapabilities = \"free.*\"\n"
    );
    let some = set("", &some);
    assert!(sees(&some, "a.other", &["reader"]) && !sees(&some, "a.other", &[]));
    assert!(sees(&some, "free.x", &[]) && !sees(&some, "b.x", &["reader"]));
    assert!(!sees(&some, "a.hidden", &["reader"]));
}

#[test]
fn a_namespace_is_seen_where_a_rule_about_the_principal_can_name_something_in_it() {
    let sees = |contracts: &str, namespace: &str| {
        set("", contracts).may_see_namespace(&principal(&["reader"]), namespace)
    };
    assert!(sees("", "pay"));
    for (pattern, seen) in [
        ("*", true),
        ("pay.*", true),
        ("p*", true),
        ("pay.read", true),
        ("pay.read_*", true),
        ("*.read", true),
        ("pay", false),
        ("payroll.*", false),
        ("mail.*", false),
    ] {
        let rule = format!("[[visible]]\nroles = [\"reader\"]\ncapabilities = \"{pattern}\"\n");
        assert_eq!(sees(&rule, "pay"), seen, "{pattern}");
        assert!(!sees(&rule.replace("reader", "writer"), "pay"), "{pattern}: about others");
    }
}

#[test]
fn host_code_that_raised_its_rung_is_not_lowered_unsaid() {
    let raised = CapabilityDraft { rung: Some(Rung::L4), ..draft("x", Effects::READ_LOCAL) };
    let raised = raised.build().unwrap();
    let lower = "[capabilities.\"x\"]\nrung = \"L1\"\n";
    let error = set("", lower).apply_contract(&raised).unwrap_err();
    assert_eq!(error.code(), "policy.contract_lowers");
    assert_eq!(of(&format!("{lower}lower_rung = true\n"), &raised).rung(), Rung::L1);
}

#[test]
fn whoever_gives_a_rung_below_the_effects_or_the_declared_one_says_so() {
    let refused = |contracts: &str, proposal: &Capability| {
        set("", contracts).apply_contract(proposal).unwrap_err().code()
    };
    // Effects of several patterns, none of which is so high as all of them together.
    let apart = "[capabilities.\"*.*\"]\nrung = \"L0\"\nlower_rung = true\n\
        [capabilities.\"mail*\"]\neffects = \"read_open\"\n\
        [capabilities.\"m*l.*d\"]\neffects = \"write_local\"\n";
    assert_eq!(of(apart, &foreign("mail.send", Effects::READ_LOCAL)).rung(), Rung::L4);
    // A word beside the effects excuses no rung that another entry gives.
    let raised =
        CapabilityDraft { rung: Some(Rung::L4), ..draft("mail.send", Effects::WRITE_LOCAL) };
    let raised = raised.build().unwrap();
    for contracts in [
        "[capabilities.\"*.*\"]\nrung = \"L0\"\n\
         [capabilities.\"m*l.*d\"]\neffects = \"write_local\"\nlower_rung = true\n",
        "[capabilities.\"*.*\"]\nrung = \"L0\"\n\
         [capabilities.\"m*l.*d\"]\nrung = \"L3\"\nlower_rung = true\n",
        "[capabilities.\"*a*\"]\neffects = \"read_local\"\nlower_rung = true\n\
         [capabilities.\"mail.send\"]\nrung = \"L0\"\n",
    ] {
        assert_eq!(refused(contracts, &raised), "policy.contract_lowers", "{contracts}");
    }
    // An id that states effects stands on their rung, whatever a pattern lowered.
    let own = "[capabilities.\"mail.*\"]\nrung = \"L0\"\nlower_rung = true\n\
        [capabilities.\"mail.send\"]\neffects = \"write_open\"\n";
    assert_eq!(of(own, &foreign("mail.send", Effects::READ_LOCAL)).rung(), Rung::L4);
    // Where all that give a rung say so, it is lowered, and applying it again changes nothing.
    let said =
        "[capabilities.\"mail.*\"]\neffects = \"write_open\"\nrung = \"L3\"\nlower_rung = true\n";
    let lowered = of(said, &foreign("mail.send", Effects::READ_LOCAL));
    assert_eq!(lowered.rung(), Rung::L3);
}

/// Cases: W10.
#[test]
fn a_tool_that_reaches_out_meets_no_rule_about_what_stays_here() {
    let rule = "[[rules]]\nname = \"local\"\neffect = \"allow\"\n\
        match = { effects = { world = \"closed\" }, rung = [\"L0\", \"L1\", \"L2\", \"L3\"] }\n";
    let policy = set(rule, "");
    // The server says that it only reads here. Nobody else does, so it counts as the worst.
    let egress = policy.apply_contract(&foreign("net.post", Effects::READ_LOCAL)).unwrap();
    let answer = Case::new(egress, &[]).answer(&policy);
    assert_eq!(answer, (Verdict::Deny, ReasonCode::NoMatchingRule));
    // The operator's word is what counts, and it can say so.
    let contract = "[capabilities.\"net.post\"]\neffects = \"read_local\"\n";
    let policy = set(rule, contract);
    let said = policy.apply_contract(&foreign("net.post", Effects::UNDECLARED)).unwrap();
    assert_eq!(Case::new(said, &[]).answer(&policy).0, Verdict::Allow);
}

#[test]
fn enforcement_says_what_a_changed_contract_means() {
    let approved = foreign("x", Effects::READ_LOCAL).spec().upstream_digest.unwrap();
    let contracts = format!(
        "[capabilities.\"x\"]\neffects = \"read_local\"\nupstream_digest = \"{approved}\"\n"
    );
    let changed = CapabilityDraft {
        upstream_digest: Some(Digest::from_bytes([9; 32])),
        ..foreign("x", Effects::READ_LOCAL).spec().clone()
    };
    let changed = changed.build().unwrap();
    for (word, wanted) in [
        ("", Some(Verdict::Deny)),
        ("contract_enforcement = \"enforce\"\n", Some(Verdict::Deny)),
        ("contract_enforcement = \"observe\"\n", Some(Verdict::Allow)),
        ("contract_enforcement = \"off\"\n", None),
    ] {
        let policy = set(word, &contracts);
        let said = policy.contract_check_result(&changed);
        assert_eq!(said.as_ref().map(|said| said.verdict), wanted, "{word}");
        assert!(said.is_none_or(|said| said.reason == ReasonCode::ContractChanged));
        assert_eq!(policy.contract_check_result(&foreign("x", Effects::READ_LOCAL)), None);
    }
}

#[test]
fn a_contract_names_the_critical_arguments_and_a_server_none() {
    let at = |text: &str| [JsonPointer::parse(text).unwrap()].into();
    let mut draft = draft("x", Effects::WRITE_OPEN);
    draft.critical_arguments = at("/own");
    let own = draft.clone().build().unwrap();
    assert_eq!(of("", &own).spec().critical_arguments, at("/own"));
    let said = "[capabilities.\"x\"]\ncritical_arguments = \"/to/*\"\n";
    assert_eq!(of(said, &own).spec().critical_arguments, at("/to/*"));
    draft.upstream_digest = Some(Digest::from_bytes([9; 32]));
    let foreign = draft.build().unwrap();
    assert_eq!(of("", &foreign).spec().critical_arguments, at(""), "there is no schema");
}
