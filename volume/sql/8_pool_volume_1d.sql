INSERT INTO {database}.pool_volume_1d_raw
    (bucket, pool, mint_a, mint_b, venue, volume_usd, user_volume_usd, trades, unpriced, traders, amount_a, amount_b, generation)
SELECT
    toStartOfDay(bucket) AS day, pool, mint_a, mint_b, max(venue), sum(volume_usd), sum(user_volume_usd), sum(trades), sum(unpriced),
    uniqExactMerge(trader_set), sum(amount_a), sum(amount_b), {generation}
FROM {database}.pool_volume_1h_raw FINAL
WHERE bucket >= toDateTime({from}, 'UTC') AND bucket < toDateTime({to}, 'UTC') AND toStartOfDay(bucket) IN ({buckets})
GROUP BY day, pool, mint_a, mint_b
