-- The latest change of each account is found while the changes are read in their order: argMax takes more time and memory.
CREATE OR REPLACE VIEW {{.Database}}.holders_at {{onCluster}}
AS SELECT if(holder = toFixedString('', 32), '', base58Encode(holder)) AS owner, total AS amount, accounts
FROM (
    SELECT owner AS holder, sum(toUInt128(c.amount)) AS total, count() AS accounts
    FROM (
        SELECT open, owner, amount FROM {{.Database}}.balance_changes_raw WHERE mint = {mint:String} AND slot <= {slot:UInt64}
        ORDER BY mint DESC, account DESC, slot DESC, place DESC LIMIT 1 BY mint, account
    ) AS c
    WHERE open
    GROUP BY holder
)
WHERE total > 0;

ALTER TABLE {{.Database}}.holders_at {{onCluster}} MODIFY COMMENT 'The holders of a mint at the end of a slot: holders_at(mint = …, slot = …)';
