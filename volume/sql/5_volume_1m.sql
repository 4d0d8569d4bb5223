INSERT INTO {database}.volume_1m_raw (bucket, mint, volume_usd, user_volume_usd, trades, unpriced, traders, last_trade_at, open, high, low, close, buys, bought_usd, generation)
SELECT bucket, mint, volume_usd, user_volume_usd, trades, unpriced, traders, last_trade_at, open, high, low, close, buys, bought_usd, {generation} AS generation
FROM
(
SELECT
    minute AS bucket, mint,
    sum(usd) AS volume_usd,
    sum(abs(net_usd)) AS user_volume_usd,
    sum(legs_bought) AS buys, sum(usd_bought) AS bought_usd,
    sum(legs) AS trades, sum(legs_unpriced) AS unpriced, uniqExact(trader) AS traders, max(last) AS last_trade_at,
    arraySort(arrayFlatten(groupArray(prices))) AS in_order,
    arraySort(arrayMap(p -> p.2, in_order))[intDiv(length(in_order) + 1, 2)] AS median,
    -- A price three times off the minute's median is no price: dust, or a pool without depth.
    arrayMap(p -> p.2, arrayFilter(p -> p.2 >= median / 3 AND p.2 <= median * 3, in_order)) AS kept,
    if(empty(kept), NULL, kept[1]) AS open, if(empty(kept), NULL, arrayMax(kept)) AS high,
    if(empty(kept), NULL, arrayMin(kept)) AS low, if(empty(kept), NULL, kept[-1]) AS close
FROM
(
    SELECT
        minute, mint, signature_head, trader,
        sum(value) AS usd, sum(if(sold, value, -value)) AS net_usd,
        countIf(NOT sold) AS legs_bought, sumIf(value, NOT sold) AS usd_bought,
        count() AS legs, max(block_time) AS last, countIf(isNull(usd_value)) AS legs_unpriced,
        groupArrayIf((position, toFloat64(value) * exp10(assumeNotNull(decimals)) / toFloat64(amount)), value >= 0.01 AND amount > 0 AND isNotNull(decimals)) AS prices
    FROM
    (
        SELECT
            toStartOfMinute(block_time) AS minute, signature_head, trader, position, usd_value, block_time,
            toDecimal128(ifNull(usd_value, 0), 6) AS value,
            arrayJoin([(toString(mint_in), amount_in, decimals_in, true), (toString(mint_out), amount_out, decimals_out, false)]) AS side,
            side.1 AS mint, side.2 AS amount, side.3 AS decimals, side.4 AS sold
        FROM {database}.swaps_raw FINAL
        WHERE {legs}
    )
    GROUP BY minute, mint, signature_head, trader
)
GROUP BY minute, mint
)
