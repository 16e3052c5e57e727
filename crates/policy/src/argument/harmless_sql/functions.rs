//! The functions and the pragmas that only compute or read.

/// Functions that only compute, in all well-known databases.
pub(super) const FUNCTIONS: &[&str] = &[
    // Aggregates.
    "count sum avg min max total mean median mode stddev stddev_pop stddev_samp std variance \
     var_pop var_samp corr covar_pop covar_samp percentile_cont percentile_disc quantile \
     quantile_cont quantile_disc approx_count_distinct approx_quantile any_value arg_max arg_min \
     max_by min_by first last bool_and bool_or every bit_and bit_or list array_agg group_concat \
     string_agg listagg histogram grouping rollup cube",
    // Arrays and searched texts.
    "array_append array_cat array_dims array_lower array_ndims array_positions array_prepend \
     array_remove array_replace array_upper regexp_split_to_array to_tsvector to_tsquery \
     plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_rank ts_rank_cd ts_headline \
     similarity word_similarity unaccent",
    // Over windows.
    "row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value \
     nth_value",
    // Numbers.
    "abs round floor ceil ceiling trunc truncate sign mod sqrt power pow exp ln log log10 log2 \
     pi sin cos tan asin acos atan atan2 radians degrees random rand greatest least",
    // Texts.
    "lower upper initcap trim ltrim rtrim btrim length len char_length character_length \
     octet_length substr substring mid left right replace translate reverse lpad rpad concat \
     concat_ws instr strpos position locate split_part string_split string_to_array \
     regexp_replace regexp_matches regexp_match regexp_extract regexp_like regexp_substr \
     regexp_count regexp_instr starts_with ends_with contains format printf ascii chr char \
     unicode hex unhex quote soundex levenshtein md5 sha1 sha256",
    // Dates and times.
    "date time datetime timestamp strftime strptime julianday unixepoch now today curdate \
     curtime current_date current_time current_timestamp localtimestamp year quarter month week \
     day hour minute second dayofweek dayofmonth dayofyear weekday weekofyear isodow dayname \
     monthname last_day date_trunc date_part datepart datetrunc date_diff datediff date_add \
     dateadd date_sub date_bin time_bucket timediff timestampdiff timestampadd adddate subdate \
     date_format str_to_date to_date to_char to_number to_timestamp to_days make_date make_time \
     make_timestamp age epoch epoch_ms from_unixtime unix_timestamp to_seconds to_minutes \
     to_hours to_months to_years",
    // Choices and types.
    "coalesce ifnull nullif nvl isnull iif if typeof pg_typeof",
    // JSON and lists.
    "json jsonb json_extract json_extract_string json_extract_path json_extract_path_text \
     json_value json_query json_unquote json_contains json_exists json_keys json_length \
     json_type json_typeof json_valid json_array json_array_length json_object json_group_array \
     json_group_object json_agg jsonb_agg json_object_agg jsonb_object_agg json_arrayagg \
     json_objectagg json_build_object jsonb_build_object json_build_array jsonb_build_array \
     jsonb_extract_path jsonb_extract_path_text jsonb_array_length jsonb_typeof json_each \
     jsonb_each json_each_text jsonb_each_text json_array_elements jsonb_array_elements \
     json_array_elements_text jsonb_array_elements_text json_object_keys jsonb_object_keys \
     jsonb_path_exists jsonb_path_query jsonb_path_query_array jsonb_path_query_first \
     jsonb_pretty jsonb_set jsonb_strip_nulls json_strip_nulls row_to_json to_json to_jsonb array_length array_to_string array_position cardinality \
     list_contains array_contains list_value list_aggregate list_sort list_distinct unnest \
     generate_series range",
    // Of the database itself.
    "gen_random_uuid uuid version sqlite_version database current_database current_schema \
     current_user session_user user schema connection_id found_rows row_count \
     format_type to_regclass pg_get_constraintdef pg_get_expr pg_get_indexdef pg_get_viewdef \
     pg_get_functiondef pg_get_serial_sequence pg_get_userbyid pg_table_is_visible \
     changes last_insert_rowid last_insert_id pg_size_pretty pg_relation_size \
     pg_total_relation_size pg_table_size pg_indexes_size pg_database_size obj_description \
     col_description",
];

/// Functions whose result is a table, and that read nothing but their arguments and the catalog.
pub(super) const TABLE_FUNCTIONS: &[&str] = &[
    "generate_series range unnest json_each json_tree jsonb_each json_each_text jsonb_each_text \
     json_array_elements jsonb_array_elements json_array_elements_text jsonb_array_elements_text \
     json_object_keys jsonb_object_keys regexp_split_to_table string_to_table pragma_table_info \
     pragma_table_xinfo pragma_table_list pragma_index_list pragma_index_info \
     pragma_foreign_key_list duckdb_tables duckdb_columns duckdb_views duckdb_indexes \
     duckdb_schemas duckdb_databases duckdb_functions duckdb_types duckdb_constraints \
     duckdb_extensions",
];

/// Functions in which `from` and `for` part the arguments.
pub(super) const KEYWORD_FUNCTIONS: &[&str] =
    &["extract", "trim", "substring", "substr", "position", "overlay"];

/// Pragmas that tell something of what their argument names.
pub(super) const TABLE_PRAGMAS: &[&str] = &[
    "table_info", "table_xinfo", "index_list", "index_info", "index_xinfo", "foreign_key_list",
    "foreign_key_check", "storage_info",
];

/// Pragmas that tell something and take no argument: with one, some of them change it.
pub(super) const BARE_PRAGMAS: &[&str] =
    &["table_list database_list collation_list function_list module_list pragma_list \
     compile_options user_version schema_version application_id encoding page_count page_size \
     freelist_count integrity_check quick_check journal_mode foreign_keys show_tables \
     show_tables_expanded show_databases database_size version platform collations"];

/// Units of an interval.
pub(super) const UNITS: &[&str] = &[
    "microsecond", "microseconds", "millisecond", "milliseconds", "second", "seconds", "minute",
    "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months", "quarter",
    "quarters", "year", "years", "decade", "decades", "century", "centuries",
];

/// Endings of files that a database may read in place of a table: `data.csv`.
pub(super) const FILE_ENDINGS: &[&str] = &[
    "csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "xlsx", "xls", "arrow", "feather",
    "avro", "orc", "gz", "zst", "bz2", "zip", "db", "sqlite", "sqlite3", "duckdb", "gpkg", "shp",
];
