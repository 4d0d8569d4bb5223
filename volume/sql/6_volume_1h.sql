INSERT INTO {database}.volume_1h_raw
    (bucket, mint, volume_usd, user_volume_usd, organic_volume_usd, trades, unpriced, traders, trader_set, buyer_set, seller_set, open, high, low, close, generation)
SELECT
    hours.hour AS bucket, hours.mint AS mint, volume_usd, user_volume_usd,
    -- One trader counts for at most a tenth of what all changed their positions by, or a thousand dollars if that is more.
    arraySum(arrayMap(n -> least(n, greatest(toDecimal128(1000, 6), arraySum(nets) / 10)), nets)) AS organic_volume_usd,
    trades, unpriced, traders, trader_set, buyer_set, seller_set, open, high, low, close, {generation} AS generation
FROM
(
    SELECT
        toStartOfHour(bucket) AS hour, mint, sum(volume_usd) AS volume_usd, sum(user_volume_usd) AS user_volume_usd,
        sum(trades) AS trades, sum(unpriced) AS unpriced,
        argMinIf(open, bucket, isNotNull(open)) AS open, max(high) AS high, min(low) AS low, argMaxIf(close, bucket, isNotNull(close)) AS close
    FROM {database}.volume_1m_raw FINAL
    WHERE bucket >= toDateTime({from}, 'UTC') AND bucket < toDateTime({to}, 'UTC') AND toStartOfHour(bucket) IN ({buckets})
    GROUP BY hour, mint
) AS hours
LEFT JOIN
(
    SELECT
        hour, mint, uniqExact(sipHash64(trader)) AS traders, uniqExactState(sipHash64(trader)) AS trader_set,
        uniqExactStateIf(sipHash64(trader), legs_bought > 0) AS buyer_set, uniqExactStateIf(sipHash64(trader), legs_sold > 0) AS seller_set,
        arraySort(groupArray(toDecimal128(abs(net_usd), 6))) AS nets
    FROM
    (
        SELECT hour, mint, trader, sum(if(sold, value, -value)) AS net_usd, countIf(sold) AS legs_sold, countIf(NOT sold) AS legs_bought
        FROM
        (
            SELECT
                toStartOfHour(block_time) AS hour, trader, toDecimal128(ifNull(usd_value, 0), 6) AS value,
                arrayJoin([(toString(mint_in), true), (toString(mint_out), false)]) AS side, side.1 AS mint, side.2 AS sold
            FROM {database}.swaps_raw FINAL
            WHERE {legs}
        )
        GROUP BY hour, mint, trader
    )
    GROUP BY hour, mint
) AS people ON hours.hour = people.hour AND hours.mint = people.mint
