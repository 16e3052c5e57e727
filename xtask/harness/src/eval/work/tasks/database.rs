//! A database: querying, paging, writing.

use serde_json::json;

use crate::eval::work::task::{Script, Task, group};

const READ: &str = "sqlite.read_query";
const WRITE: &str = "sqlite.write_query";

/// The tasks.
pub fn tasks() -> Vec<Task> {
    let scripts: &[(&str, Script)] = &[
        ("list-the-tables", |a| {
            a.expect("sqlite.list_tables", json!({}), &["customers", "articles", "orders"])
        }),
        ("columns-of-a-table", |a| {
            let arguments = json!({ "table_name": "orders" });
            a.expect("sqlite.describe_table", arguments, &["customer", "quantity", "state"])
        }),
        ("one-sum", |a| {
            let query = json!({ "query": "select count(*) as n, sum(id) as s from orders" });
            a.expect(READ, query, &["500", "125250"])
        }),
        ("sums-by-group", |a| {
            let query = "select state, count(*) as n from orders group by state order by state";
            a.expect(READ, json!({ "query": query }), &["lost at sea", "open", "paid", "sent"])
        }),
        ("join-of-three-tables", |a| {
            let query = "select c.name, a.title, o.quantity from orders o join customers c on \
                c.id = o.customer join articles a on a.id = o.article where o.id = 333";
            a.expect(READ, json!({ "query": query }), &["Customer's ", "Article "])
        }),
        ("pages-of-a-table", |a| {
            for offset in [0, 20, 40, 60] {
                let query =
                    format!("select id, name from customers order by id limit 20 offset {offset}");
                let last = format!("Customer's {}", offset + 20);
                a.call_and_expect(READ, json!({ "query": query }), &[&last])?;
            }
            Ok(())
        }),
        ("row-among-500", |a| {
            let query = json!({ "query": "select * from orders order by id" });
            let mut shown = a.call_and_expect(READ, query, &[])?;
            a.find(&mut shown, "lost at sea", "lost at sea")
        }),
        ("last-of-500", |a| {
            let query = json!({ "query": "select id, state from orders order by id" });
            let mut shown = a.call_and_expect(READ, query, &[])?;
            a.find(&mut shown, "500", "500")
        }),
        ("insert-a-row", |a| {
            let query = "insert into customers values (81, 'Customer ''81''', 'Split')";
            a.call_and_expect(WRITE, json!({ "query": query }), &["1"])?;
            let query = "select name from customers where id = 81";
            a.expect(READ, json!({ "query": query }), &["Customer '81'"])
        }),
        ("update-rows", |a| {
            let query = "update orders set state = 'paid' where state = 'open' and quantity > 20";
            a.expect(WRITE, json!({ "query": query }), &["affected_rows"])
        }),
        ("delete-rows", |a| {
            let query = json!({ "query": "delete from orders where state = 'lost at sea'" });
            a.call_and_expect(WRITE, query, &["affected_rows"])?;
            let query = json!({ "query": "select count(*) as n from orders" });
            a.expect(READ, query, &["499"])
        }),
        ("new-table", |a| {
            let query = "create table notes (id integer primary key, text text)";
            a.call_and_expect("sqlite.create_table", json!({ "query": query }), &["created"])?;
            let query = "insert into notes values (1, '水泵 \"nine\"')";
            a.call_and_expect(WRITE, json!({ "query": query }), &[])?;
            let query = json!({ "query": "select text from notes" });
            a.expect(READ, query, &["水泵 \"nine\""])
        }),
        ("copy-a-value", |a| {
            let query = json!({ "query": "select name from customers where id = 7" });
            let shown = a.call_and_expect(READ, query, &["Customer's 7"])?;
            let name = a.between(&shown, "\"", "\"")?.replace('\'', "''");
            let query = format!("update customers set city = '{name}' where id = 8");
            a.expect(WRITE, json!({ "query": query }), &[])
        }),
        ("insight", |a| {
            let arguments = json!({ "insight": "Orders over 20 pieces are mostly paid." });
            a.expect("sqlite.append_insight", arguments, &["Insight added"])
        }),
    ];
    group("database", scripts)
}
