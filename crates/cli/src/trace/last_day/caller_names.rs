//! Whose calls those of a list are, as far as their lines must tell them apart.

use std::collections::BTreeSet;

use weaver_trace_store::query::EventFacts;

/// Whose call it is, as far as the log tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallerNames {
    pub(super) principal: String,
    /// The client over HTTP, whose token it came with.
    pub(super) token: String,
    /// The program, as it calls itself.
    pub(super) client: String,
}

/// Which names tell the callers of a list apart.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShownNames {
    principal: bool,
    token: bool,
    client: bool,
}

impl ShownNames {
    /// Names that several of the calls differ in. A token is always named: it stands for somebody on
    /// another machine.
    pub(super) fn of<'c>(callers: impl Iterator<Item = &'c CallerNames>) -> Self {
        let callers: Vec<&CallerNames> = callers.collect();
        let differs = |name: fn(&CallerNames) -> &str| {
            let names: BTreeSet<&str> = callers.iter().copied().map(name).collect();
            names.len() > 1
        };
        Self {
            principal: differs(|caller| &caller.principal),
            token: callers.iter().any(|caller| !caller.token.is_empty()),
            client: differs(|caller| &caller.client),
        }
    }
}

impl CallerNames {
    pub(super) fn note(&mut self, facts: &EventFacts) {
        let fill = |name: &mut String, value: Option<String>| {
            if name.is_empty() {
                *name = value.unwrap_or_default();
            }
        };
        fill(&mut self.principal, facts.principal().map(str::to_owned));
        fill(&mut self.token, facts.http_client());
        fill(&mut self.client, facts.client());
    }

    /// The caller in one column: `ana (token ci, cursor)`.
    pub(super) fn text(&self, shown: ShownNames) -> String {
        let named = |is_shown: bool, name: &str| is_shown && !name.is_empty();
        let token = match named(shown.token, &self.token) {
            true => format!("token {}", self.token),
            false => String::new(),
        };
        let client = if named(shown.client, &self.client) { self.client.as_str() } else { "" };
        let rest: Vec<&str> =
            [token.as_str(), client].into_iter().filter(|text| !text.is_empty()).collect();
        let rest = rest.join(", ");
        let principal = named(shown.principal || !token.is_empty(), &self.principal);
        match (principal, rest.is_empty()) {
            (true, true) => self.principal.clone(),
            (true, false) => format!("{} ({rest})", self.principal),
            (false, _) => rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_several_people_or_tokens_are_told_apart() {
        let call = |principal: &str, token: &str, client: &str| CallerNames {
            principal: principal.to_owned(),
            token: token.to_owned(),
            client: client.to_owned(),
        };
        let columns = |callers: &[CallerNames]| -> Vec<String> {
            let names = ShownNames::of(callers.iter());
            callers.iter().map(|caller| caller.text(names)).collect()
        };
        let alone = call("owner", "", "cursor");
        assert_eq!(columns(&[alone.clone(), alone.clone()]), ["", ""]);
        assert_eq!(columns(&[alone.clone(), call("owner", "", "claude")]), ["cursor", "claude"]);
        assert_eq!(columns(&[alone.clone(), call("guest", "", "cursor")]), ["owner", "guest"]);
        // Twelve developers with the same client.
        let team = [call("dev1", "dev1", "ts"), call("dev2", "laptop", "ts")];
        assert_eq!(columns(&team), ["dev1 (token dev1)", "dev2 (token laptop)"]);
        let one_principal = [call("dev1", "ci", "ts"), call("dev1", "", "cursor")];
        assert_eq!(columns(&one_principal), ["dev1 (token ci, ts)", "cursor"]);
        assert_eq!(columns(&[call("dev1", "ci", "ts")]), ["dev1 (token ci)"]);
    }
}
