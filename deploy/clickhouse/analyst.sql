-- A user for analysts on a ClickHouse server: reads the database mintlake, within limits, and nothing else. Put the SHA-256 of a password
-- in the place of SHA256_OF_THE_PASSWORD (printf %s 'the password' | sha256sum) and run it as a user who may manage access:
--
--   clickhouse-client --multiquery < deploy/clickhouse/analyst.sql
--
-- On a cluster access lies in Keeper (user_directories, replicated), or each statement gets ON CLUSTER. The embedded engine has no users:
-- docs/analytics.md, "Users and limits".

-- readonly = 2 lets a client set its own settings, as most drivers do, up to the bounds below; it cannot write, and cannot change readonly.
CREATE SETTINGS PROFILE OR REPLACE mintlake_analyst SETTINGS
    readonly = 2 CONST,
    allow_ddl = 0 CONST,
    allow_introspection_functions = 0 CONST,
    max_execution_time = 120 MAX 600,
    max_memory_usage = 8000000000 MAX 8000000000,
    max_memory_usage_for_user = 16000000000 MAX 16000000000,
    max_bytes_before_external_group_by = 4000000000 MAX 8000000000,
    max_bytes_before_external_sort = 4000000000 MAX 8000000000,
    max_rows_to_read = 20000000000 MAX 20000000000,
    max_result_rows = 10000000 MAX 10000000,
    max_result_bytes = 4000000000 MAX 4000000000,
    result_overflow_mode = 'throw' CONST,
    max_concurrent_queries_for_user = 4 MAX 4,
    max_threads = 8 MAX 8,
    priority = 10 MIN 10;

CREATE ROLE OR REPLACE mintlake_analyst SETTINGS PROFILE 'mintlake_analyst';

-- Nothing else is granted: file(), url(), s3(), remote() and their like need privileges of their own, and so do the tables of system that hold
-- settings, users, queries of others and secrets.
GRANT SELECT ON mintlake.* TO mintlake_analyst;
GRANT dictGet ON mintlake.token_names TO mintlake_analyst;

CREATE QUOTA OR REPLACE mintlake_analyst KEYED BY user_name
    FOR INTERVAL 1 minute MAX queries = 120, errors = 60,
    FOR INTERVAL 1 hour MAX queries = 2000, read_rows = 200000000000, execution_time = 3600
    TO mintlake_analyst;

CREATE USER OR REPLACE analyst IDENTIFIED WITH sha256_hash BY 'SHA256_OF_THE_PASSWORD' DEFAULT ROLE mintlake_analyst SETTINGS PROFILE 'mintlake_analyst';
GRANT mintlake_analyst TO analyst;

-- Where the user "default" has a password the dictionary needs a user that has none. It may come from this machine only and reads one table.
CREATE USER OR REPLACE mintlake_dictionary IDENTIFIED WITH no_password HOST LOCAL SETTINGS readonly = 2, allow_ddl = 0;
GRANT SELECT ON mintlake.tokens_raw TO mintlake_dictionary;
CREATE OR REPLACE DICTIONARY mintlake.token_names
(
    mint     String,
    symbol   String DEFAULT '',
    name     String DEFAULT '',
    decimals Nullable(UInt8) DEFAULT NULL
)
PRIMARY KEY mint
SOURCE(CLICKHOUSE(USER 'mintlake_dictionary' PASSWORD '' QUERY 'SELECT mint, symbol, name, decimals FROM mintlake.tokens_raw FINAL WHERE is_member'))
LAYOUT(COMPLEX_KEY_HASHED_ARRAY())
LIFETIME(MIN 60 MAX 120)
COMMENT 'Symbol, name and decimals by mint: dictGet(''mintlake.token_names'', ''symbol'', mint)';
