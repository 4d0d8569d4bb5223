INSERT INTO {database}.venue_volume_1m_raw (bucket, venues, generation)
SELECT minute AS bucket, arraySort(groupArray((venue, aggregator, usd, legs, legs_unpriced, legs_agreed, legs_disagreed))) AS venues, {generation} AS generation
FROM
(
    SELECT
        toStartOfMinute(block_time) AS minute, venue, aggregator,
        sum(toDecimal128(ifNull(usd_value, 0), 6)) AS usd, count() AS legs, countIf(isNull(usd_value)) AS legs_unpriced,
        countIf(bitCount(agreed) >= 2) AS legs_agreed, countIf(disagreed != 0) AS legs_disagreed
    FROM {database}.swaps_raw FINAL
    WHERE {legs}
    GROUP BY minute, venue, aggregator
)
GROUP BY minute
