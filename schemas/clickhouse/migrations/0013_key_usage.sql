-- What API keys used, by minute. A process writes the totals of a minute several times while it counts; of its rows the one of the highest
-- sequence holds, so a record that comes again changes nothing.
CREATE TABLE IF NOT EXISTS {{.Database}}.key_usage_1m_raw {{onCluster}}
(
    minute    DateTime('UTC')        COMMENT 'Start of the minute, UTC, by the clock of the node' CODEC(Delta, ZSTD(1)),
    product   LowCardinality(String) COMMENT 'rpc or swap',
    key       String                 COMMENT 'Name of the key; open where none was needed' CODEC(ZSTD(1)),
    method    LowCardinality(String) COMMENT 'Method or route; other for what clients invent',
    node      LowCardinality(String) COMMENT 'Machine of the process that counted',
    epoch     UInt64                 COMMENT 'Random number of the process that counted' CODEC(ZSTD(1)),
    sequence  UInt64                 COMMENT 'Number of the record: decides between copies' CODEC(Delta, ZSTD(1)),
    requests  UInt64                 COMMENT 'Requests that the key was admitted for' CODEC(T64, ZSTD(1)),
    refused   UInt64                 COMMENT 'Requests that its rules or limits refused' CODEC(T64, ZSTD(1)),
    bytes     UInt64                 COMMENT 'Bytes of answers and notifications' CODEC(T64, ZSTD(1)),
    units     UInt64                 COMMENT 'Requests by weight, and one for each 10,000 bytes that streams sent' CODEC(T64, ZSTD(1)),
    streams   UInt64                 COMMENT 'The most streams that were open at the same time' CODEC(T64, ZSTD(1)),
    addresses UInt64                 COMMENT 'The most addresses in the filters of its streams' CODEC(T64, ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "sequence"}}
PARTITION BY toYYYYMM(minute)
ORDER BY (product, key, minute, method, node, epoch)
COMMENT 'Usage of API keys as delivered, earlier totals included until merges remove them: read key_usage_1m';

CREATE OR REPLACE VIEW {{.Database}}.key_usage_1m {{onCluster}}
(
    minute    DateTime('UTC')        COMMENT 'Start of the minute, UTC',
    product   LowCardinality(String) COMMENT 'rpc or swap',
    key       String                 COMMENT 'Name of the key; open where none was needed',
    method    LowCardinality(String) COMMENT 'Method or route; other for what clients invent',
    requests  UInt64                 COMMENT 'Requests that the key was admitted for',
    refused   UInt64                 COMMENT 'Requests that its rules or limits refused',
    bytes     UInt64                 COMMENT 'Bytes of answers and notifications',
    units     UInt64                 COMMENT 'Requests by weight, and one for each 10,000 bytes that streams sent',
    streams   UInt64                 COMMENT 'The most streams that were open at the same time on each node, added up',
    addresses UInt64                 COMMENT 'The most addresses in the filters of its streams, likewise'
)
AS SELECT minute, product, key, method, sum(r.requests) AS requests, sum(r.refused) AS refused, sum(r.bytes) AS bytes, sum(r.units) AS units,
    sum(r.streams) AS streams, sum(r.addresses) AS addresses
FROM {{.Database}}.key_usage_1m_raw AS r FINAL
GROUP BY minute, product, key, method;

ALTER TABLE {{.Database}}.key_usage_1m {{onCluster}} MODIFY COMMENT 'One row a minute, product, key and method: what was used';
