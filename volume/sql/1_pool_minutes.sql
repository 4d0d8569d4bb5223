INSERT INTO {database}.pool_minutes_raw (minute, pool, mint_a, mint_b, amount_a, amount_b, reserve_a, reserve_b, decimals_a, decimals_b, generation)
SELECT
    traded.minute, traded.pool, traded.mint_a, traded.mint_b, amount_a, amount_b,
    if(reserves.last.1 = 0, NULL, reserves.last.2) AS reserve_a,
    if(reserves.last.1 = 0, NULL, reserves.last.3) AS reserve_b,
    decimals_a, decimals_b, {generation} AS generation
FROM
(
    SELECT
        minute, pool, mint_a, mint_b,
        sum(toUInt128(if(in_is_a, amount_in, amount_out))) AS amount_a,
        sum(toUInt128(if(in_is_a, amount_out, amount_in))) AS amount_b,
        max(if(in_is_a, decimals_in, decimals_out)) AS decimals_a,
        max(if(in_is_a, decimals_out, decimals_in)) AS decimals_b
    FROM
    (
        SELECT
            toStartOfMinute(block_time) AS minute, toString(pool) AS pool, toString(mint_in) AS mint_i, toString(mint_out) AS mint_o,
            mint_i < mint_o AS in_is_a, if(in_is_a, mint_i, mint_o) AS mint_a, if(in_is_a, mint_o, mint_i) AS mint_b,
            amount_in, amount_out, decimals_in, decimals_out
        FROM {database}.swaps_raw FINAL
        WHERE {legs}
    )
    GROUP BY minute, pool, mint_a, mint_b
) AS traded
LEFT JOIN
(
    SELECT minute, pool, mint_a, mint_b, max(last) AS last
    FROM {database}.pool_reserves_raw
    WHERE minute IN ({minutes})
    GROUP BY minute, pool, mint_a, mint_b
) AS reserves ON traded.minute = reserves.minute AND traded.pool = reserves.pool AND traded.mint_a = reserves.mint_a AND traded.mint_b = reserves.mint_b
