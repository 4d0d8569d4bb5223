-- Pictures that several mints show now, with the mint that showed it first. A mint shows a picture since the first check that found it, whatever was checked after; one that showed another picture in between counts since the first time, too (the API counts since the last).
CREATE OR REPLACE VIEW {{.Database}}.copied_logos {{onCluster}}
(
    picture UInt64        COMMENT 'Difference hash of the picture; for SVG the beginning of the content''s hash',
    mints   UInt64        COMMENT 'How many mints show it',
    first   String        COMMENT 'The mint whose logo it was at the lowest slot',
    others  Array(String) COMMENT 'The others, by slot, at most 1,000'
)
AS SELECT picture, count() AS mints, argMin(mint, (since, mint)) AS first,
    arraySlice(arrayMap(m -> m.2, arraySort(groupArray((since, mint)))), 2, 1000) AS others
FROM
(
    SELECT mint, argMax(shown, last) AS picture, argMax(first_slot, last) AS since
    FROM
    (
        SELECT mint, multiIf(content_hash = '', 0, isNotNull(perceptual_hash), assumeNotNull(perceptual_hash),
            content_type = 'image/svg+xml', reinterpretAsUInt64(unhex(substring(content_hash, 1, 16))), 0) AS shown,
            min(slot) AS first_slot, max((slot, check_number)) AS last
        FROM {{.Database}}.logo_checks_raw
        GROUP BY mint, shown
    )
    GROUP BY mint
)
WHERE picture != 0
GROUP BY picture
HAVING mints > 1;

ALTER TABLE {{.Database}}.copied_logos {{onCluster}} MODIFY COMMENT 'One row a picture that several mints show, and the mint that showed it first';
