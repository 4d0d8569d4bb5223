INSERT INTO {database}.trade_pools_1m_raw (bucket, paths, generation)
SELECT minute AS bucket, arraySort(groupArray((through, pools, trades))) AS paths, {generation} AS generation
FROM
(
    SELECT minute, through, pools, count() AS trades
    FROM
    (
        SELECT min(toStartOfMinute(block_time)) AS minute, max(aggregator) AS through, uniqExact(pool) AS pools
        FROM {database}.swaps_raw FINAL
        WHERE {legs}
        GROUP BY slot, signature_head, trader
    )
    GROUP BY minute, through, pools
)
GROUP BY minute
