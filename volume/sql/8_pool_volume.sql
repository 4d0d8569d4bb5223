INSERT INTO {database}.pool_volume_{interval}_raw
    (bucket, pool, mint_a, mint_b, venue, volume_usd, user_volume_usd, trades, unpriced, traders, {set_column}amount_a, amount_b, generation)
SELECT
    bucket, pool, mint_a, mint_b, max(pool_venue) AS venue, sum(usd) AS volume_usd, sum(abs(net_usd)) AS user_volume_usd,
    sum(legs) AS trades, sum(legs_unpriced) AS unpriced, uniqExact(sipHash64(trader)) AS traders, {set}sum(a) AS amount_a, sum(b) AS amount_b, {generation} AS generation
FROM
(
    SELECT
        bucket, pool, mint_a, mint_b, signature_head, trader, max(leg_venue) AS pool_venue, sum(value) AS usd, sum(if(in_is_a, value, -value)) AS net_usd,
        count() AS legs, countIf(isNull(usd_value)) AS legs_unpriced,
        sum(toUInt128(if(in_is_a, amount_in, amount_out))) AS a, sum(toUInt128(if(in_is_a, amount_out, amount_in))) AS b
    FROM
    (
        SELECT
            {start}(block_time) AS bucket, toString(pool) AS pool, toString(venue) AS leg_venue, toString(mint_in) < toString(mint_out) AS in_is_a,
            if(in_is_a, toString(mint_in), toString(mint_out)) AS mint_a, if(in_is_a, toString(mint_out), toString(mint_in)) AS mint_b,
            signature_head, trader, usd_value, toDecimal128(ifNull(usd_value, 0), 6) AS value, amount_in, amount_out
        FROM {database}.swaps_raw FINAL
        WHERE {legs}
    )
    GROUP BY bucket, pool, mint_a, mint_b, signature_head, trader
)
GROUP BY bucket, pool, mint_a, mint_b
