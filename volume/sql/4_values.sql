-- What each leg was worth: docs/volume.md, "The value of a leg". Only legs whose value changes are written again.
INSERT INTO {database}.swaps_raw ({columns}, usd_value, version)
SELECT {columns}, new_value AS usd_value, bitOr(bitAnd(old_version, 9223372036854775808), toUInt64({generation})) AS version
FROM
(
    SELECT
        legs.*,
        toFloat64(amount_in) * price_in.raw_price_usd AS in_usd,
        toFloat64(amount_out) * price_out.raw_price_usd AS out_usd,
        multiIf(
            mint_in IN ({stables}) AND mint_out IN ({stables}), least(in_usd, out_usd),
            mint_in IN ({stables}), in_usd,
            mint_out IN ({stables}), out_usd,
            mint_in = '{sol}' AND isNotNull(in_usd), in_usd,
            mint_out = '{sol}' AND isNotNull(out_usd), out_usd,
            arrayMin(arrayMap(v -> assumeNotNull(v), arrayFilter(v -> isNotNull(v), [in_usd, price_in.liquidity_usd, out_usd, price_out.liquidity_usd])))) AS value,
        if(isNull(in_usd) AND isNull(out_usd), NULL, toDecimal64(round(least(ifNull(value, 0), 1e11), 6), 6)) AS new_value
    FROM
    (
        SELECT {columns}, mint_in, mint_out, usd_value AS old_value, version AS old_version, toStartOfMinute(block_time) AS minute
        FROM {database}.swaps_raw FINAL
        WHERE {legs}
    ) AS legs
    LEFT JOIN {prices} AS price_in ON legs.minute = price_in.minute AND legs.mint_in = price_in.mint
    LEFT JOIN {prices} AS price_out ON legs.minute = price_out.minute AND legs.mint_out = price_out.mint
)
WHERE NOT (old_value <=> new_value)
SETTINGS join_use_nulls = 1
