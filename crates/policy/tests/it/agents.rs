//! What a policy declares of agents, and the three policies of the SecondBrain kernel.

use weaver_policy::{
    AgentCapabilities, Contracts, Effect, Pattern, Policy, PolicyQuery, PolicySet, Rule,
    ToolPolicyPresets,
};
use weaver_types::{
    AgentId, Capability, CapabilityRequest, Decision, Effects, Operation, Principal, PrincipalId,
    ReasonCode, ResponseMode, Rung, SafetyClass, Verdict,
};

use crate::support::{codes, draft, set};

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap()
}

fn tool(id: &str, effects: Effects) -> Capability {
    draft(id, effects).build().unwrap()
}

fn acting(name: Option<&str>) -> Principal {
    let who = Principal::new(PrincipalId::parse("ana").unwrap());
    Principal { agent: name.map(agent), ..who }
}

fn decide(set: &PolicySet, who: &Principal, tool: &Capability, intent: Option<&str>) -> Decision {
    let mut request = CapabilityRequest::new(tool.id().clone(), "");
    request.intent = intent.map(str::to_owned);
    let arguments = serde_json::json!({});
    set.decide(&PolicyQuery {
        arguments: Some(&arguments),
        ..PolicyQuery::new(tool, who, &request)
    })
}

/// Everything is allowed; the agent of the SecondBrain kernel's page is declared.
fn copilot() -> PolicySet {
    set(
        "[agents.\"meeting_copilot\"]\ndescription = \"Extracts action items\"\n\
         required_packs = [\"meeting.transcript\"]\n\
         tool_allowlist = [\"meeting.extract_action_items\", \"meeting.identify_risks\"]\n\
         decision_keys = [\"support.meeting.extract\", \"support.meeting.followup\"]\n\
         safety_class_ceiling = \"read_only\"\nversion = \"1.1.0\"\n\
         [[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n",
        "",
    )
}

#[test]
fn an_agent_does_what_it_is_declared_for_and_nothing_else() {
    let (set, who) = (copilot(), acting(Some("meeting_copilot")));
    let extract = tool("meeting.extract_action_items", Effects::READ_LOCAL);
    let key = Some("support.meeting.extract");
    assert!(decide(&set, &who, &extract, key).is_allowed());
    for (tool, intent, reason) in [
        (tool("mail.list", Effects::READ_LOCAL), key, ReasonCode::AgentNotAllowed),
        (tool("meeting.extract", Effects::READ_LOCAL), key, ReasonCode::AgentNotAllowed),
        (tool("meeting.identify_risks", Effects::READ_OPEN), key, ReasonCode::AgentCeiling),
        (tool("meeting.identify_risks", Effects::WRITE_LOCAL), key, ReasonCode::AgentCeiling),
        (extract.clone(), Some("support.meeting"), ReasonCode::IntentNotAllowed),
        (extract.clone(), None, ReasonCode::IntentNotAllowed),
    ] {
        let decision = decide(&set, &who, &tool, intent);
        assert_eq!(
            (decision.verdict(), decision.primary_reason()),
            (Verdict::Deny, reason),
            "{}",
            tool.id()
        );
        assert!(decision.detail().contains("meeting_copilot"), "{}", decision.detail());
    }
}

#[test]
fn where_agents_are_declared_another_agent_may_nothing_and_a_person_is_none() {
    let extract = tool("meeting.extract_action_items", Effects::READ_LOCAL);
    let other = decide(&copilot(), &acting(Some("Meeting_copilot")), &extract, None);
    assert_eq!(
        (other.verdict(), other.primary_reason()),
        (Verdict::Deny, ReasonCode::AgentNotAllowed)
    );
    assert!(decide(&copilot(), &acting(None), &extract, None).is_allowed());
    let free = set("[[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n", "");
    assert!(decide(&free, &acting(Some("anybody")), &extract, None).is_allowed());
}

#[test]
fn a_declaration_permits_nothing_and_a_view_states_no_intent() {
    let policy = Policy::new("t").with_agent(
        AgentCapabilities::new(agent("a"), SafetyClass::Destructive).with_tools([pattern("*")]),
    );
    let silent = PolicySet::from_code(policy, Contracts::new("none")).unwrap();
    let read = tool("x.read", Effects::READ_LOCAL);
    let denied = decide(&silent, &acting(Some("a")), &read, None);
    assert_eq!(denied.primary_reason(), ReasonCode::NoMatchingRule);
    let extract = tool("meeting.extract_action_items", Effects::READ_LOCAL);
    let request = CapabilityRequest::new(extract.id().clone(), "");
    let who = acting(Some("meeting_copilot"));
    let view =
        PolicyQuery { operation: Operation::View, ..PolicyQuery::new(&extract, &who, &request) };
    assert!(copilot().decide(&view).is_allowed());
}

#[test]
fn tools_and_ceiling_of_an_agent_must_be_said() {
    let body = "[agents.\"a\"]\ntool_allowlist = []\n";
    assert_eq!(codes(body), ["policy.missing_key"]);
    let body = "[agents.\"a\"]\nsafety_class_ceiling = \"network\"\n";
    assert_eq!(codes(body), ["policy.missing_key"]);
    let whole = "[agents.\"a\"]\ntool_allowlist = []\nsafety_class_ceiling = \"network\"\n";
    assert!(codes(whole).is_empty());
    assert_eq!(codes(&format!("{whole}tools = [\"x\"]\n")), ["policy.unknown_key"]);
    assert_eq!(codes(&format!("{whole}decision_keys = []\n")), ["policy.empty_list"]);
    let stranger = format!("{whole}[principals.\"p\"]\nagent = \"b\"\n");
    assert_eq!(codes(&stranger), ["policy.unknown_agent"]);
}

#[test]
fn a_declaration_is_part_of_the_digest_and_its_absence_changes_none() {
    let digest = |policy| PolicySet::from_code(policy, Contracts::new("c")).unwrap().basis().policy;
    let one = AgentCapabilities::new(agent("a"), SafetyClass::ReadOnly);
    let two = AgentCapabilities::new(agent("a"), SafetyClass::Network);
    assert_ne!(digest(Policy::new("t").with_agent(one)), digest(Policy::new("t").with_agent(two)));
    let rule = Policy::new("t").with_rule(Rule::new("r", Effect::Allow));
    let text = serde_json::to_string(&rule).unwrap();
    assert!(!text.contains("agents"), "{text}");
}

// The policies of the SecondBrain kernel.

fn outcome(policy: &Policy, id: &str, effects: Effects) -> Verdict {
    let set = PolicySet::from_code(policy.clone(), Contracts::new("none")).unwrap();
    decide(&set, &acting(None), &tool(id, effects), None).verdict()
}

/// One capability of each class.
const CLASSES: [Effects; 4] =
    [Effects::READ_LOCAL, Effects::WRITE_LOCAL, Effects::READ_OPEN, Effects::DESTROY_LOCAL];

/// Cases: SBK-02.
#[test]
fn each_policy_says_what_it_says_there() {
    let all = |policy: Policy| CLASSES.map(|effects| outcome(&policy, "x.y", effects));
    let (allow, deny) = (Verdict::Allow, Verdict::Deny);
    assert_eq!(all(ToolPolicyPresets::safe_mode()), [allow, deny, deny, deny]);
    assert_eq!(all(ToolPolicyPresets::strict_mode()), [allow, deny, deny, deny]);
    assert_eq!(all(ToolPolicyPresets::normal([], None)), [allow, allow, allow, Verdict::Hold]);
    // What writes outside is of class network too, and the floor holds it.
    assert_eq!(
        outcome(&ToolPolicyPresets::normal([], None), "x.y", Effects::WRITE_OPEN),
        Verdict::Hold
    );
}

/// Cases: SBK-03.
#[test]
fn blocking_beats_allowing() {
    let policy =
        ToolPolicyPresets::normal([pattern("a.x")], Some(vec![pattern("a.x"), pattern("a.y")]));
    let of = |id| outcome(&policy, id, Effects::READ_LOCAL);
    assert_eq!(["a.x", "a.y", "a.z"].map(of), [Verdict::Deny, Verdict::Allow, Verdict::Deny]);
    let nothing = ToolPolicyPresets::normal([], Some(Vec::new()));
    assert_eq!(CLASSES.map(|effects| outcome(&nothing, "a.x", effects)), [Verdict::Deny; 4]);
    let destroyed = Effects::DESTROY_LOCAL;
    assert_eq!(outcome(&policy, "a.z", destroyed), Verdict::Deny, "nothing there to approve");
}

#[test]
fn what_is_destructive_waits_also_on_a_lower_rung() {
    let mut lowered = draft("x.y", CLASSES[3]);
    lowered.rung = Some(Rung::L2);
    let set =
        PolicySet::from_code(ToolPolicyPresets::normal([], None), Contracts::new("none")).unwrap();
    let decision = decide(&set, &acting(None), &lowered.build().unwrap(), None);
    assert_eq!(decision.primary_reason(), ReasonCode::ApprovalRequired);
}

#[test]
fn strict_mode_shows_handles_alone() {
    let set =
        PolicySet::from_code(ToolPolicyPresets::strict_mode(), Contracts::new("none")).unwrap();
    let read = tool("x.y", Effects::READ_LOCAL);
    let mode = |set: &PolicySet| decide(set, &acting(None), &read, None).constraints().mode;
    assert_eq!(mode(&set), Some(ResponseMode::HandleOnly));
    let safe =
        PolicySet::from_code(ToolPolicyPresets::safe_mode(), Contracts::new("none")).unwrap();
    assert_eq!(mode(&safe), None);
}
