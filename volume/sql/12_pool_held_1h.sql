-- The first quartile of what a pool held at the ends of the hour's minutes: what is there for a moment counts nothing.
INSERT INTO {database}.pool_held_1h_raw (bucket, pool, mint_a, mint_b, held_a, held_b, minutes, generation)
SELECT
    toStartOfHour(minute) AS hour, pool, mint_a, mint_b, quantileExactLow(0.25)(reserve_a) AS held_a, quantileExactLow(0.25)(reserve_b) AS held_b,
    count(reserve_a) AS minutes, {generation} AS generation
FROM {database}.pool_minutes_raw FINAL
WHERE minute >= toDateTime({from}, 'UTC') AND minute < toDateTime({to}, 'UTC') AND toStartOfHour(minute) IN ({buckets})
GROUP BY hour, pool, mint_a, mint_b
