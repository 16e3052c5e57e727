//! Recognises tools that share, publish, give access, disarm or configure. What they do concerns
//! others or lasts, whatever they do it to: the public link of a file is nothing local.

use super::lexicon::singular;
use super::tool_text::ToolText;

/// Words for showing something to others.
const SHARING: [&str; 9] = [
    "share", "shared", "sharing", "shareable", "public", "publicly", "publish", "publishing",
    "collaborative",
];
/// Words of a first sentence for people or places beside the user.
const OTHERS: [&str; 28] = [
    "team", "organization", "organisation", "company", "department", "customer", "client",
    "colleague", "collaborator", "guest", "patient", "student", "family", "tenant", "everyone",
    "everybody", "anyone", "public", "portal", "website", "site", "storefront", "deployment",
    "cluster", "warehouse", "instance", "server", "release",
];
/// Words of a name for what works later, without anybody asking.
const CONFIGURATION: [&str; 21] = [
    "setting", "config", "configuration", "default", "env", "environment", "variable", "policy",
    "rule", "protection", "automation", "workflow", "webhook", "hook", "mode", "limit", "quota",
    "rate", "flag", "filter", "macro",
];

/// Whether a write gives somebody access, or says who has it.
pub(super) fn gives_access(text: &ToolText) -> bool {
    const NAMED: [&str; 6] =
        ["ownership", "collaboration", "webhook", "visibility", "disarm", "owner"];
    const PEOPLE: [&str; 6] =
        ["editor", "viewer", "commenter", "collaborator", "delegate", "maintainer"];
    const ARGUMENTS: [&str; 8] = [
        "permission", "acl", "visibility", "editor", "viewer", "collaborator", "privilege",
        "sharing",
    ];
    let for_somebody = text.name.last().is_some_and(|word| PEOPLE.contains(&singular(word)));
    for_somebody
        || text.is_named(&NAMED)
        // The mode of a file on a disk is no grant.
        || !text.takes_path && text.last_words().any(|word| ARGUMENTS.contains(&word))
        || text.first_sentence().windows(2).any(|two| two == ["who", "can"])
        || takes_program_of_machine(text)
        || disarms(text)
}

/// Whether it takes keys or a script for a machine that it sets up.
fn takes_program_of_machine(text: &ToolText) -> bool {
    const MACHINES: [&str; 8] =
        ["instance", "server", "machine", "vm", "droplet", "node", "host", "cluster"];
    text.is_about(&MACHINES)
        && text.argument_words.iter().any(|words| {
            let words: Vec<&str> = words.iter().map(|word| singular(word)).collect();
            matches!(words[..], ["ssh", "key"] | ["user", "data"] | ["cloud", "init"])
                || matches!(words[..], ["public" | "authorized", "key"])
        })
}

/// Whether it arms or disarms something that keeps watch.
fn disarms(text: &ToolText) -> bool {
    const WATCHES: [&str; 5] = ["system", "house", "security", "burglar", "intrusion"];
    let words = || text.name.iter().chain(text.first_sentence());
    let arms = |word: &String| matches!(word.as_str(), "disarm" | "disarms" | "disarming");
    let alarm = words().any(|word| singular(word) == "alarm");
    words().any(arms) || alarm && words().any(|word| WATCHES.contains(&singular(word)))
}

/// A word that says that it shares or publishes something: in the name, in an argument or, unless
/// it takes a path, in the first sentence.
pub(super) fn sharing_word(text: &ToolText) -> Option<&str> {
    let shares = |word: &&String| SHARING.contains(&word.as_str());
    if let Some(word) = text.name.iter().find(shares) {
        return Some(word);
    }
    let makes_link = text.name.len() > 1 && text.name.last().is_some_and(|last| last == "link");
    if makes_link && !text.takes_path {
        return Some("link");
    }
    if text.last_words().any(|word| word == "public" || word == "shared") {
        return Some("public");
    }
    let sentence = text.first_sentence();
    let told = sentence.iter().enumerate().find(|(at, word)| {
        let next = sentence.get(at.saturating_add(1)).map(String::as_str);
        // `a public key`, `the public domain`: nobody is shown anything.
        let other = matches!(next, Some("key" | "keys" | "domain" | "ip"));
        let all = matches!(word.as_str(), "anyone" | "everyone" | "everybody");
        (SHARING.contains(&word.as_str()) || all) && !other
    });
    told.filter(|_| !text.takes_path).map(|(_, word)| word.as_str())
}

/// Whether a read answers with a link or a token that lets somebody else in.
pub(super) fn answers_with_access(text: &ToolText) -> Option<&'static str> {
    const OPENS: [&str; 4] = ["signed", "presigned", "anyone", "everyone"];
    let last = text.name.last().map(|word| singular(word))?;
    let words = || text.name.iter().chain(text.first_sentence());
    let opens = |word: &String| SHARING.contains(&word.as_str()) || OPENS.contains(&word.as_str());
    let looks = text.name.iter().any(|word| matches!(word.as_str(), "list" | "search" | "find"));
    match last {
        "link" | "url" if !looks && words().any(opens) => {
            Some("it answers with a link that lets others in")
        }
        "token" if text.last_words().any(|word| word == "user" || word == "member") => {
            Some("it answers with somebody's token")
        }
        _ => None,
    }
}

/// Whether the first sentence names people or places beside the user, who see what is written.
pub(super) fn others_see(text: &ToolText) -> Option<&str> {
    let sentence = text.first_sentence();
    let pairs = [["knowledge", "base"], ["pull", "request"], ["merge", "request"]];
    if sentence.windows(2).any(|two| pairs.iter().any(|pair| two == pair)) {
        return Some("others");
    }
    let others = sentence.iter().map(|word| singular(word));
    others.into_iter().find(|word| OTHERS.contains(word))
}

/// A word of the name for what works later, without anybody asking. The first word is the verb.
pub(super) fn configuration_word(text: &ToolText) -> Option<&str> {
    let objects = text.name.iter().skip(1).map(|word| singular(word));
    objects.into_iter().find(|word| CONFIGURATION.contains(word))
}
