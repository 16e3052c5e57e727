//! Statements that write to a local database and can be undone by hand: rows are added, or some are
//! changed.
//!
//! A condition on the text of a statement can only look at its beginning and for fixed words, so it
//! lists what is known to be harmless and stops the rest: dropping, deleting, replacing, changing
//! every row, attaching other files, and more than one statement. A statement that begins in mixed
//! case is not in the list, and so is stopped too. A condition that every row meets is seen in its
//! plain forms (`where 1`, `where true`); `where a = a` is not.

use weaver_policy::{ArgumentPredicate, Match, Pattern};
use weaver_types::Pointer;

/// What a harmless statement begins with.
const BEGINNINGS: [&str; 8] = [
    "insert into ", "INSERT INTO ", "update ", "UPDATE ", "create table ", "CREATE TABLE ",
    "create index ", "CREATE INDEX ",
];
/// Globs that rule a statement out: a second statement, a comment, upserts, access to files, and
/// conditions that are always true.
const EXCLUDED: [&str; 24] = [
    "*;*", "*--*",
    // A comment around the condition: a star is no character of a pattern, so its slashes are seen.
    "*/*where*/*", "*/*WHERE*/*", "* conflict*", "* Conflict*", "* CONFLICT*", "update or *",
    "update OR *", "UPDATE OR *", "UPDATE or *", "*load_extension*", "*writefile*", "*where 1*",
    "*WHERE 1*", "*where true*", "*where True*", "*where TRUE*", "*WHERE TRUE*", "*WHERE true*",
    "*or 1*=*1*", "*OR 1*=*1*", "*where ''*", "*WHERE ''*",
];

/// Names of arguments that take a program: what a call does is decided by their text alone.
const PROGRAMS: [&str; 12] = [
    "sql", "query", "statement", "cypher", "script", "code", "command", "cmd", "shell", "program",
    "expression", "commands",
];

/// Whether an argument of this name takes a program.
pub(crate) fn takes_program(name: &str) -> bool {
    PROGRAMS.contains(&name.to_ascii_lowercase().as_str())
}

/// A condition on a statement: it adds rows, or changes some of them.
pub(crate) struct HarmlessSqlCondition {
    /// What must hold.
    pub(crate) begins: ArgumentPredicate,
    /// What must not.
    pub(crate) unless: Match,
}

impl HarmlessSqlCondition {
    pub(crate) fn for_argument(at: &Pointer) -> Self {
        let predicate = || ArgumentPredicate::at(at.clone());
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let begins = ArgumentPredicate { prefix: texts(&BEGINNINGS), ..predicate() };
        let holds = |predicate| Match { arguments: vec![predicate], ..Match::default() };
        let globs = |list: &[&str]| {
            let glob = list.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
            ArgumentPredicate { glob, ..predicate() }
        };
        let more = globs(&EXCLUDED);
        let update = ArgumentPredicate { prefix: texts(&["update ", "UPDATE "]), ..predicate() };
        let some_rows = globs(&["* where *", "* WHERE *"]);
        let every_row = Match {
            arguments: vec![update],
            not: Some(Box::new(holds(some_rows))),
            ..Match::default()
        };
        let unless = Match { any: vec![holds(more), every_row], ..Match::default() };
        Self { begins, unless }
    }

    /// Whether this text is harmless.
    pub(crate) fn is_harmless(&self, text: &str) -> bool {
        let at = self.begins.at.as_str();
        let name = at.strip_prefix('/').unwrap_or(at);
        let arguments = serde_json::json!({ name: text });
        self.begins.holds(&arguments) && !match_holds(&self.unless, &arguments)
    }
}

fn match_holds(matches: &Match, arguments: &serde_json::Value) -> bool {
    let own = matches.arguments.iter().all(|one| one.holds(arguments));
    let any = matches.any.is_empty() || matches.any.iter().any(|one| match_holds(one, arguments));
    let not = matches.not.as_ref().is_none_or(|one| !match_holds(one, arguments));
    own && any && not
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_rows_and_changing_some_is_harmless() {
        let statement = HarmlessSqlCondition::for_argument(&Pointer::parse("/query").unwrap());
        for text in [
            "insert into customers values (81, 'Customer ''81''', 'Split')",
            "INSERT INTO notes (id) VALUES (1)",
            "update orders set state = 'paid' where state = 'open' and quantity > 20",
            "create table notes (id integer primary key, text text)",
        ] {
            assert!(statement.is_harmless(text), "{text}");
        }
    }

    #[test]
    fn what_loses_rows_or_hides_another_statement_is_not() {
        let statement = HarmlessSqlCondition::for_argument(&Pointer::parse("/query").unwrap());
        for text in [
            "drop table orders",
            "DROP TABLE orders",
            "delete from orders",
            "DELETE FROM orders WHERE id = 1",
            "update orders set state = 'paid'",
            "UPDATE orders SET state = 'x' WHERE 1 = 1",
            "update orders set state = 'x' where true",
            "insert or replace into orders values (1)",
            "replace into orders values (1)",
            "insert into a values (1); drop table a",
            "insert into a values (1) --",
            "insert into a values (1) on conflict do update set b = 1",
            "insert into a values (1) On Conflict do update set b = 1",
            "update a set b = 1 /* where */",
            "UPDATE a SET b = 1 /* WHERE x */",
            "update a set b = 1 where True",
            "update or replace a set b = 1 where c = 2",
            "with x as (select 1) delete from orders",
            "attach database '/etc/x' as y",
            "pragma writable_schema = 1",
            "vacuum into '/tmp/copy'",
            "Update orders Set state = 'x'",
            " drop table a",
            "alter table a rename to b",
            "truncate table a",
        ] {
            assert!(!statement.is_harmless(text), "{text}");
        }
    }
}
