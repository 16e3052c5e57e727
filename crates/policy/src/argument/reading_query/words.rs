//! Words of the languages of queries.

use super::super::is_listed;

/// Whether a word, in lower case, changes something or reaches out in one of the languages.
pub(super) fn changes(word: &str) -> bool {
    CHANGES.contains(&word)
}

const CHANGES: &[&str] = &[
    "add", "alter", "append", "attach", "call", "checkpoint", "clear", "commit", "copy", "create",
    "deallocate", "declare", "define", "delete", "deny", "detach", "disable", "drop", "enable",
    "evaluate", "exec", "execute", "export", "externaldata", "flush", "foreach", "grant", "import",
    "ingest", "insert", "install", "into", "invoke", "kill", "load", "merge", "modify", "move",
    "purge", "put", "reallocate", "rebuild", "relate", "remove", "rename", "replace", "revoke",
    "rollback", "service", "set", "shutdown", "start", "stop", "terminate", "throw", "truncate",
    "uninstall", "update", "upsert", "use", "write",
];

/// Whether a word, in lower case, is one with which the languages say what to read.
pub(super) fn reads(word: &str) -> bool {
    KEYWORDS.contains(&word) || is_piped(word)
}

/// Words of Cypher, GQL, SPARQL, AQL, KQL, XQuery and InfluxQL.
const KEYWORDS: &[&str] = &[
    "a", "all", "and", "any", "as", "asc", "ascending", "ask", "at", "base", "between", "bind",
    "by", "case", "construct", "contains", "contains_cs", "cross", "desc", "descending",
    "describe", "distinct", "div", "else", "empty", "end", "ends", "endswith", "eq", "every",
    "except", "exists", "explain", "false", "fill", "filter", "for", "from", "ge", "graph",
    "group", "gt", "has", "has_all", "has_any", "has_cs", "hasprefix", "hassuffix", "having",
    "idiv", "if", "in", "inbound", "indexes", "constraints", "inner", "instance", "intersect",
    "is", "kind", "last", "le", "left", "leftanti", "leftouter", "leftsemi", "let", "like",
    "limit", "lt", "match", "matches", "minus", "mod", "named", "ne", "none", "not", "null",
    "nulls", "of", "offset", "on", "optional", "or", "order", "outbound", "outer", "prefix",
    "profile", "reduced", "regex", "return", "satisfies", "select", "shortest", "show", "single",
    "skip", "some", "sort", "stable", "starts", "startswith", "step", "then", "to", "true",
    "undef", "union", "unwind", "values", "when", "where", "with", "xor", "yield", "asof", "first",
];

/// Whether a word may stand behind a pipe.
pub(super) fn is_piped(word: &str) -> bool {
    const PIPED: &[&str] = &[
        "count", "distinct", "extend", "getschema", "join", "limit", "lookup", "mv-expand",
        "order", "parse", "project", "project-away", "project-keep", "project-rename",
        "project-reorder", "render", "sample", "search", "serialize", "sort", "summarize", "take",
        "tail", "top", "union", "where", "make-series",
    ];
    PIPED.contains(&word)
}

/// Whether a function of this name, in lower case, only computes.
pub(super) fn computes(name: &str) -> bool {
    is_listed(name, FUNCTIONS)
}

const FUNCTIONS: &[&str] = &[
    // Cypher and GQL.
    "abs all_nodes allshortestpaths any avg ceil ceiling char_length coalesce collect cos count \
     date datetime degrees duration elementid endnode exists exp floor head id isempty isnan \
     keys labels last length localdatetime localtime log log10 ltrim max min nodes none \
     percentilecont percentiledisc point properties radians range reduce relationships rels \
     reverse round rtrim shortestpath sign sin single size split sqrt startnode stdev stdevp \
     substring sum tail tan time timestamp toboolean tofloat tointeger tolower tostring toupper \
     trim type upper lower label offset",
    // SPARQL.
    "bound concat contains datatype day group_concat hours if iri isblank isiri isliteral \
     isnumeric isuri lang langmatches lcase minutes month now regex sample sameterm seconds str \
     strafter strbefore strdt strends strlang strlen strstarts substr ucase uri year",
    // KQL.
    "ago arg_max arg_min array_length avgif bin column_ifexists countif datetime_add \
     datetime_diff dcount dcountif dynamic endofday endofmonth extract format_datetime \
     hourofday iff indexof isnotempty isnotnull isnull make_list make_set makelist makeset \
     materialize maxif minif next parse_json percentile percentiles prev row_number startofday \
     startofhour startofmonth startofweek strcat sumif timespan todatetime todouble todynamic \
     toint tolong toreal toscalar totimespan variance",
    // Flux and InfluxQL.
    "aggregatewindow bottom contains derivative difference distinct fill filter first from \
     group histogram increase integral keep limit map mean median mode pivot quantile sort \
     spread stddev top window yield holt_winters moving_average movingaverage elapsed",
    // XPath and XQuery.
    "ancestor attribute avg boolean ceiling comment data deep-equal distinct-values element \
     empty ends-with false index-of local-name lower-case matches name node node-name \
     normalize-space not number position root starts-with string string-join string-length \
     subsequence substring-after substring-before text tokenize translate true upper-case \
     year-from-date month-from-date xs:date xs:integer xs:decimal xs:string xs:double \
     xs:datetime xsd:integer xsd:decimal xsd:double xsd:date xsd:datetime xsd:string",
    // AQL.
    "average document flatten is_null like merge_recursive sorted unique values date_now \
     date_format to_number to_string attributes",
    // Of libraries.
    "date.truncate datetime.truncate datetime.fromepoch datetime.fromepochmillis \
     duration.between duration.indays duration.inmonths duration.inseconds \
     localdatetime.truncate point.distance time.truncate",
];

/// Whether a step of a Gremlin traversal, in lower case, only reads.
pub(super) fn traverses(step: &str) -> bool {
    const STEPS: &[&str] = &[
        "aggregate and as both bothe bothv by cap choose coalesce constant count dedup e elementmap \
         emit fold group groupcount has hasid haskey haslabel hasnext hasnot hasvalue id in ine inv \
         is key label limit local loops match max mean min next not optional or order otherv out \
         oute outv path project properties propertymap range repeat sample select simplepath skip \
         sum tail times tolist toset tree unfold union until v value valuemap values where",
    ];
    is_listed(step, STEPS)
}

/// Whether a procedure, in lower case, only tells what the database holds.
pub(super) fn tells(procedure: &str) -> bool {
    const PROCEDURES: &[&str] =
        &["apoc.meta.data apoc.meta.schema db.constraints db.indexes db.info db.labels db.ping \
         db.propertykeys db.relationshiptypes db.schema.nodetypeproperties \
         db.schema.reltypeproperties db.schema.visualization dbms.components show_connection \
         show_tables table_info"];
    is_listed(procedure, PROCEDURES)
}
