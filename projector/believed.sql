-- The facts of mints that a retraction is about: the highest of all that was ever stated and is not taken back. token_facts_raw has only
-- the highest of all, so the others come from the history. It also has what the history lost: of copies of one instruction the history
-- keeps the highest position, while first seen (21) has the lowest. The rule is that of registry.Retracted.
(
    SELECT mint, register, item, max(said) AS fact, any(length(ranges)) AS taken
    FROM
    (
        SELECT mint, register, item, tuple(fact.1, fact.2) AS said FROM {database}.token_facts_raw WHERE mint IN ({mints})
        UNION ALL
        SELECT mint, f.1 AS register, f.2 AS item, tuple(if(f.1 = 21, bitNot(position), position), f.3) AS said
        FROM {database}.token_fact_history_raw FINAL ARRAY JOIN facts AS f WHERE mint IN ({mints})
    ) AS stated
    LEFT JOIN
    (
        SELECT mint, arrayFilter(r -> r.2 <= r.3, groupArray((startsWith(item, 'events'), toUInt64OrNull(splitByRegexp('[ -]', item)[2]), toUInt64OrNull(splitByRegexp('[ -]', item)[3])))) AS ranges
        FROM {database}.token_facts_raw FINAL
        WHERE mint IN ({mints}) AND register = 30 AND match(item, '^(reads|events) (0|[1-9][0-9]*)-(0|[1-9][0-9]*)$')
        GROUP BY mint
    ) AS retracted USING (mint)
    WHERE register IN (24, 26, 30) OR NOT arrayExists(
        r -> toUInt64(bitShiftRight(if(register = 21, bitNot(said.1), said.1), 64)) BETWEEN r.2 AND r.3
            AND (r.1 OR register = 20 OR toUInt64(if(register = 21, bitNot(said.1), said.1)) = 18446744073709551615),
        ranges)
    GROUP BY mint, register, item
)
