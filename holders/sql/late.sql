-- Mints whose creation, or a pool, came to the tables after their holders were counted: other projectors write them. A lone transaction may have slot 0,
-- which tells nothing.
SELECT h.mint, h.touched, h.accounts, h.changes
FROM (SELECT mint, touched, accounts, changes, created_slot, pools FROM {database}.holder_counts_raw FINAL) AS h
LEFT JOIN (SELECT DISTINCT mint FROM {database}.created_mints_raw WHERE slot > 0) AS c ON c.mint = h.mint
LEFT JOIN (
    SELECT mint, uniqExact(address) AS keys
    FROM (SELECT mint, address FROM {database}.pools_raw ARRAY JOIN [mint_a, mint_b, mint_a, mint_b] AS mint, [vault_a, vault_b, pool, pool] AS address)
    WHERE mint != '' AND address != ''
    GROUP BY mint
) AS p ON p.mint = h.mint
WHERE h.created_slot = 0 AND c.mint != '' OR h.pools != p.keys
