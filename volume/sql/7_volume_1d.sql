INSERT INTO {database}.volume_1d_raw
    (bucket, mint, volume_usd, user_volume_usd, organic_volume_usd, trades, unpriced, traders, open, high, low, close, generation)
SELECT
    toStartOfDay(bucket) AS day, mint, sum(volume_usd), sum(user_volume_usd), sum(organic_volume_usd), sum(trades), sum(unpriced),
    uniqExactMerge(trader_set), argMinIf(open, bucket, isNotNull(open)), max(high), min(low), argMaxIf(close, bucket, isNotNull(close)), {generation}
FROM {database}.volume_1h_raw FINAL
WHERE bucket >= toDateTime({from}, 'UTC') AND bucket < toDateTime({to}, 'UTC') AND toStartOfDay(bucket) IN ({buckets})
GROUP BY day, mint
