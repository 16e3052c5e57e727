//! The search for a witness.

use std::collections::BTreeSet;

use weaver_types::{
    AgentId, Capability, CapabilityRequest, Confidentiality, Integrity, Label, Operation,
    Principal, PrincipalId, SafetyMode, Timestamp, Verdict,
};

use super::argument::{self, Built};
use super::choice::{Choice, Taken};
use super::possible::Possible;
use super::space::Space;
use super::view::{Allowance, View};
use super::{Question, Witness};
use crate::analysis::request::RecordedRequest;
use crate::rule::Rule;
use crate::set::PolicySet;
use crate::truth::Truth;

/// How a search ended.
pub(super) enum End {
    /// With a request that gets the verdict.
    Found(Box<Witness>),
    /// There is none.
    Nothing,
    /// Something was left open.
    Open(String),
}

/// What is to be done with the choices made so far.
enum Step {
    /// The verdict can no longer be had.
    Cut,
    /// Everything that matters is settled; true where the verdict must be the one looked for.
    Settled(bool),
    /// This choice comes next.
    Next(usize),
}

/// A search about one capability.
pub(super) struct Search<'s> {
    view: View<'s>,
    verdict: Verdict,
    whom: Option<Principal>,
    with_roles: BTreeSet<String>,
}

impl<'s> Search<'s> {
    pub(super) fn new(
        question: &Question,
        set: &'s PolicySet,
        capability: &'s Capability,
        whom: Option<&Principal>,
    ) -> Self {
        let all = &set.policy().rules;
        let places = set.compiled().candidates(capability.id().as_str());
        let rules: Vec<&'s Rule> = places
            .iter()
            .filter_map(|place| all.get(usize::try_from(*place).ok()?))
            .filter(|rule| crate::decide::about_capability(&rule.matches, capability))
            .collect();
        let space = Space::new(question, set, capability, &rules, whom);
        let view = View { set, capability, operation: question.operation, rules, space };
        let with_roles = question.with_roles.clone();
        Self { view, verdict: question.verdict, whom: whom.cloned(), with_roles }
    }

    /// Looks until a witness is found, everything is cut, or no steps are left.
    pub(super) fn run(&self, left: &mut u64) -> End {
        let choices = &self.view.space.choices;
        if choices.all.iter().any(|choice| choice.len() == 0) {
            return End::Nothing;
        }
        let mut taken: Taken = vec![None; choices.all.len()];
        let mut path: Vec<usize> = Vec::new();
        let mut open = self.view.space.gap.clone();
        // Making arguments for a condition costs as much as looking at many rules.
        let conditions = self.view.space.predicates.len().saturating_mul(16);
        let cost = self.view.rules.len().saturating_add(conditions).saturating_add(1);
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        loop {
            if *left < cost {
                return End::Open("the search was given up after too many steps".to_owned());
            }
            *left -= cost;
            match self.step(&taken) {
                Step::Next(choice) => {
                    path.push(choice);
                    take(&mut taken, choice, Some(0));
                    continue;
                }
                Step::Settled(sure) => match self.witness(&taken) {
                    Ok(Some(witness)) => return End::Found(Box::new(witness)),
                    Ok(None) if sure => {
                        open = open.or(Some("the search and the decision disagree".to_owned()));
                    }
                    Ok(None) => {}
                    Err(why) => open = open.or(Some(why)),
                },
                Step::Cut => {}
            }
            if !self.turn(&mut taken, &mut path) {
                return open.map_or(End::Nothing, End::Open);
            }
        }
    }

    /// Goes on to the next value of the last choice that has one.
    fn turn(&self, taken: &mut Taken, path: &mut Vec<usize>) -> bool {
        while let Some(choice) = path.last().copied() {
            let next = taken.get(choice).copied().flatten().map_or(0, |place| place + 1);
            if next < self.view.space.choices.all.get(choice).map_or(0, Choice::len) {
                take(taken, choice, Some(next));
                return true;
            }
            take(taken, choice, None);
            path.pop();
        }
        false
    }

    fn step(&self, taken: &Taken) -> Step {
        if matches!(argument::build(&self.wanted(taken)), Built::Never) {
            return Step::Cut;
        }
        let obstacles = self.view.obstacles(taken);
        let certain = obstacles.iter().filter(|(_, says)| says.must(Truth::Yes));
        let strictest = certain.map(|(verdict, _)| *verdict).max().unwrap_or(Verdict::Allow);
        if strictest > self.verdict {
            return Step::Cut;
        }
        let allowances = self.view.allowances(taken);
        let group = Group::of(&allowances);
        if self.verdict == Verdict::Deny && (strictest == Verdict::Deny) {
            return Step::Settled(true);
        }
        if self.verdict == Verdict::Allow && !group.may_be_met {
            return Step::Cut;
        }
        let have = strictest == self.verdict;
        let may = obstacles.iter().any(|(v, says)| *v == self.verdict && says.may(Truth::Yes));
        if self.verdict != Verdict::Allow && !may && group.met {
            return Step::Cut;
        }
        let against = obstacles
            .iter()
            .filter(|(verdict, _)| *verdict > self.verdict || (*verdict == self.verdict && !have));
        let against = against.filter_map(|(_, says)| says.open).next();
        let next = if self.verdict == Verdict::Allow {
            group.open_for_allow.filter(|_| !group.met).or(against)
        } else {
            against.or(self.open_of_group(&allowances, &group, taken))
        };
        next.map_or(Step::Settled(group.met), Step::Next)
    }

    /// What is open about the allow rules where the verdict looked for is not allow.
    fn open_of_group(
        &self,
        allowances: &[Allowance],
        group: &Group,
        taken: &Taken,
    ) -> Option<usize> {
        if group.met {
            return None;
        }
        let open = allowances.iter().find_map(|one| {
            let justified = one.justified.open.filter(|_| one.access.may(Truth::Yes));
            one.applies.open.or(one.access.open).or(justified)
        });
        let human = self.view.space.choices.human;
        let human = taken.get(human).is_some_and(Option::is_none).then_some(human);
        open.or(self.view.spoken(taken).open).or(human.filter(|_| !allowances.is_empty()))
    }

    /// How the conditions on arguments are to come out.
    fn wanted(&self, taken: &Taken) -> Vec<(&'s crate::argument::ArgumentPredicate, Truth)> {
        let space = &self.view.space;
        let truth = |at: usize| match (space.choices.all.get(at), taken.get(at)) {
            (Some(Choice::Predicate(all)), Some(Some(place))) => all.get(*place).copied(),
            _ => None,
        };
        space.predicates.iter().filter_map(|(one, at)| Some((*one, truth(*at)?))).collect()
    }

    /// The request that the choices make, if it gets the verdict.
    fn witness(&self, taken: &Taken) -> Result<Option<Witness>, String> {
        let request = self.request(taken)?;
        let decision = self.view.set.decide(&request.query(self.view.capability));
        Ok((decision.verdict() == self.verdict).then(|| Witness {
            request: request.to_json(),
            verdict: decision.verdict(),
            primary: decision.primary(),
        }))
    }

    fn request(&self, taken: &Taken) -> Result<RecordedRequest, String> {
        let choices = &self.view.space.choices;
        let given = choices.flag(Some(&choices.arguments), taken);
        let (mode, label, at) = self.settings(taken);
        let arguments = if given.may(Truth::Yes) {
            match argument::build(&self.wanted(taken)) {
                Built::Found(value) => Some(value),
                Built::Never | Built::NotFound => {
                    return Err(
                        "no arguments were found under which its conditions come out so".to_owned()
                    );
                }
            }
        } else {
            None
        };
        let id = self.view.capability.id().clone();
        let justification = match choices.all.get(choices.justification) {
            Some(Choice::Justification(all)) => {
                all.get(choices.place(choices.justification, taken)).copied().flatten()
            }
            _ => None,
        };
        let mut request = CapabilityRequest::new(id, "");
        request.intent = choices.text_of(choices.intent, taken).map(str::to_owned);
        let scope = choices.scope.iter();
        request.scope = scope
            .filter_map(|(name, at)| Some((name.clone(), choices.text_of(*at, taken)?.to_owned())))
            .collect();
        if let Some((length, source)) = justification {
            request = request.justified(reason(length), source);
        }
        Ok(RecordedRequest {
            id: "witness".to_owned(),
            principal: self.principal(taken)?,
            request,
            arguments,
            operation: self.operation(),
            mode,
            label,
            run: None,
            at,
            human_channel: choices.place(choices.human, taken) == 0,
        })
    }

    fn operation(&self) -> Operation {
        self.view.operation
    }

    fn principal(&self, taken: &Taken) -> Result<Principal, String> {
        if let Some(known) = &self.whom {
            return Ok(known.clone());
        }
        let choices = &self.view.space.choices;
        let name = choices.text_of(choices.principal, taken).unwrap_or("someone");
        let id = PrincipalId::parse(name).map_err(|error| error.to_string())?;
        let agent = choices.text_of(choices.agent, taken).map(AgentId::parse).transpose();
        let attributes = choices.attributes.iter();
        let mut roles: BTreeSet<_> = choices.held(&choices.roles, taken).into_iter().collect();
        roles.extend(self.with_roles.iter().cloned());
        Ok(Principal {
            roles,
            permissions: choices.held(&choices.permissions, taken).into_iter().collect(),
            attributes: attributes
                .filter_map(|(name, at)| {
                    Some((name.clone(), choices.text_of(*at, taken)?.to_owned()))
                })
                .collect(),
            agent: agent.map_err(|error| error.to_string())?,
            ..Principal::new(id)
        })
    }

    fn settings(&self, taken: &Taken) -> (SafetyMode, Label, Timestamp) {
        let choices = &self.view.space.choices;
        let place = |at: usize| choices.place(at, taken);
        let mode = match choices.all.get(choices.mode) {
            Some(Choice::Mode(all)) => all.get(place(choices.mode)).copied(),
            _ => None,
        };
        let confidentiality = match choices.all.get(choices.confidentiality) {
            Some(Choice::Confidentiality(all)) => all.get(place(choices.confidentiality)).copied(),
            _ => None,
        };
        let integrity = match choices.all.get(choices.integrity) {
            Some(Choice::Integrity(all)) => all.get(place(choices.integrity)).copied(),
            _ => None,
        };
        let at = match choices.all.get(choices.time) {
            Some(Choice::Time(all)) => all.get(place(choices.time)).copied(),
            _ => None,
        };
        let label = Label::of(
            confidentiality.unwrap_or(Confidentiality::Public),
            integrity.unwrap_or(Integrity::Trusted),
        );
        (mode.unwrap_or_default(), label, at.unwrap_or_default())
    }
}

fn take(taken: &mut Taken, choice: usize, place: Option<usize>) {
    if let Some(slot) = taken.get_mut(choice) {
        *slot = place;
    }
}

/// A justification of exactly so many characters.
fn reason(length: u32) -> String {
    let words = "because it has been asked for and is needed now ";
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut out: String = words.chars().cycle().take(length).collect();
    if out.ends_with(' ') {
        out.pop();
        out.push('.');
    }
    out
}

/// What the allow rules come to together.
struct Group {
    /// One of them certainly allows.
    met: bool,
    may_be_met: bool,
    /// What is open about the first that may allow.
    open_for_allow: Option<usize>,
}

impl Group {
    fn of(allowances: &[Allowance]) -> Self {
        let whole =
            |one: &Allowance| -> Possible { one.applies.and(one.access).and(one.justified) };
        let hopeful = allowances.iter().map(whole).filter(|one| one.may(Truth::Yes));
        let hopeful: Vec<_> = hopeful.collect();
        Self {
            met: hopeful.iter().any(|one| one.must(Truth::Yes)),
            may_be_met: !hopeful.is_empty(),
            open_for_allow: hopeful.iter().find_map(|one| one.open),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_the_length_that_counts() {
        for length in 1..200 {
            let text = reason(length);
            assert_eq!(text.trim().chars().count(), usize::try_from(length).unwrap());
        }
    }
}
