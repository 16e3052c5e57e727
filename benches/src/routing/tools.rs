//! Tools by the thousand.

use contextweaver::catalog::{Parameter, SelectableItem};
use weaver_types::CapabilityId;

use super::words::{DOMAINS, PARAMETERS, QUALITIES, VERBS};
use crate::{Failure, Numbers};

/// Tools on one server.
const OF_SERVER: usize = 25;

/// So many tools, on servers of some 25, each with a field of its own. No two say the same.
///
/// # Errors
/// When an id is malformed.
pub fn tools(count: usize) -> Result<Vec<SelectableItem>, Failure> {
    let mut numbers = Numbers::new(11);
    (0..count).map(|number| tool(number, &mut numbers)).collect()
}

fn tool(number: usize, numbers: &mut Numbers) -> Result<SelectableItem, Failure> {
    let server = number / OF_SERVER;
    let (field, things) = DOMAINS[server % DOMAINS.len()];
    let things: Vec<&str> = things.split(' ').collect();
    let (thing, other) = (numbers.pick(&things), numbers.pick(&things));
    let (verb, says) = often(&VERBS, numbers);
    let quality = often(&QUALITIES, numbers);
    let namespace = format!("{field}{}", server / DOMAINS.len());
    let name = match numbers.below(3) {
        0 => format!("{verb}_{thing}"),
        1 => format!("{verb}_{quality}_{thing}"),
        _ => format!("{thing}_{other}_{verb}"),
    };
    let (elsewhere, _) = numbers.pick(&DOMAINS);
    let mut description =
        format!("{verb} the {quality} {thing} of one {other} in the {field} system.");
    if numbers.below(2) == 0 {
        description += &format!(
            " Use it to {says} every {thing} that belongs to a {other}, also for {elsewhere}."
        );
    }
    let id = CapabilityId::parse(format!("{namespace}.{name}.{number}"))?;
    let mut item = SelectableItem::new(id, name, description);
    item.namespace = namespace;
    item.tags = vec![field.to_owned(), (*thing).to_owned()];
    item.parameters = parameters(thing, numbers);
    Ok(item)
}

fn parameters(thing: &str, numbers: &mut Numbers) -> Vec<Parameter> {
    let mut all = vec![Parameter {
        name: format!("{thing}_id"),
        description: format!("identifier of the {thing}"),
    }];
    for _ in 0..1 + numbers.below(3) {
        let (name, description) = often(&PARAMETERS, numbers);
        all.push(Parameter { name: name.to_owned(), description: description.to_owned() });
    }
    all
}

/// One of these, the first ones more often.
pub(super) fn often<T: Copy>(all: &[T], numbers: &mut Numbers) -> T {
    let most = 1 + numbers.below(all.len());
    all[numbers.below(most)]
}

/// The same tool on another server.
pub(super) fn copy(item: &SelectableItem, server: &str) -> Result<SelectableItem, Failure> {
    let mut copy = item.clone();
    copy.id = CapabilityId::parse(format!("{server}{}", item.id))?;
    copy.namespace = format!("{server}{}", item.namespace);
    Ok(copy)
}
