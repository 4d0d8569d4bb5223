-- By which version's rules the rows of tables were made of the log. An upgrade that makes other rows of the same records finds no row of its rules
-- here, and makes them anew in the background.
CREATE TABLE IF NOT EXISTS {{.Database}}.table_rules {{onCluster}}
(
    made    LowCardinality(String) COMMENT 'What was made: facts, which is token_facts_raw, token_fact_history_raw and tokens_raw',
    rules   UInt16                 COMMENT 'Number of the rules that made all rows',
    made_at DateTime64(3, 'UTC')   COMMENT 'When the last of them was made'
)
ENGINE = {{engine "ReplacingMergeTree" "made_at"}}
ORDER BY (made, rules)
COMMENT 'Which rules have made all rows of tables';
