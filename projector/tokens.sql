-- The numbers are those of registry.Register. Each step adds columns to those of the step before. The
-- steps are many because ClickHouse analyses an alias anew wherever it is used in its own step.
INSERT INTO {database}.tokens_raw ({columns})
WITH
-- registry.Shown.
(text -> trimBoth(replaceRegexpAll(replaceRegexpAll(text, {break_pattern}, ' '), {hidden_pattern}, ''))) AS plain,
folded AS
(
    SELECT
        mint,
        arraySort(groupArray((register, item, fact.1, fact.2))) AS all_facts,
        -- What is taken back lowers the sum. So the number of ranges that were heeded stands above it.
        sum(toUInt256(fact.1)) + bitShiftLeft(toUInt256({taken}), 200) AS row_version,
        anyIf(fact.1, register = 3) AS supply_at,
        anyIf(fact.1, register = 23 AND item = 'closed') AS closed_at,
        anyIf(fact.1, register = 23 AND item = 'initialized') AS initialized_at,
        anyIf(fact.1, register = 25 AND item = '') AS fields_at,
        anyIf(fact.2, register = 7) AS metaplex_name,
        anyIf(fact.2, register = 8) AS metaplex_symbol,
        anyIf(fact.2, register = 9) AS metaplex_uri_text,
        anyIf(fact.2, register = 10) AS metaplex_update_authority,
        anyIf(fact.2, register = 11) AS seller_fee,
        anyIf(fact.2, register = 12) AS standard,
        anyIf(fact.2, register = 19) AS offchain,
        anyIf(fact.2, register = 20) AS logo,
        anyIf(fact.2, register = 26) AS logo_override,
        anyIf(fact.2, register = 21) AS first_seen,
        anyIf(fact.2, register = 22) AS last_seen,
        anyIf(fact.2, register = 23 AND item = '') AS closed,
        arrayFilter(l -> NOT JSONExtractBool(l, 'removed'), arrayMap(l -> l.2, arraySort(groupArrayIf((item, fact.2), register = 24)))) AS lists
    FROM {facts}
    GROUP BY mint
    {having}
),
living AS
(
    SELECT
        *,
        -- What is dead is left out as registry.State does, see registry/incarnation.go.
        arrayFilter(f -> multiIf(
            f.1 IN (1, 2, 3, 5, 6, 17, 18, 27, 28, 29), closed_at = 0 OR f.3 > closed_at,
            f.1 = 4, (closed_at = 0 OR f.3 > closed_at) AND (supply_at = 0 OR f.3 > supply_at),
            f.1 BETWEEN 13 AND 16, (closed_at = 0 OR f.3 > closed_at) AND f.3 >= initialized_at,
            f.1 = 25, (closed_at = 0 OR f.3 > closed_at) AND f.3 >= initialized_at AND f.3 >= fields_at,
            true), all_facts) AS alive
    FROM folded
),
registers AS
(
    SELECT
        *,
        arrayFirst(f -> f.1 = 1, alive).4 AS program,
        arrayFirst(f -> f.1 = 2, alive).4 AS decimals_text,
        arrayExists(f -> f.1 = 3, alive) AS has_supply,
        arrayFirst(f -> f.1 = 3, alive).4 AS supply_base,
        arrayExists(f -> f.1 = 5, alive) AS has_mint_authority,
        arrayFirst(f -> f.1 = 5, alive).4 AS mint_authority_text,
        arrayFirst(f -> f.1 = 6, alive).4 AS freeze_authority_text,
        arrayFirst(f -> f.1 = 13, alive).4 AS token22_name,
        arrayFirst(f -> f.1 = 14, alive).4 AS token22_symbol,
        arrayFirst(f -> f.1 = 15, alive).4 AS token22_uri,
        arrayFirst(f -> f.1 = 16, alive).4 AS token22_update_authority,
        arrayFirst(f -> f.1 = 17, alive).4 = mint AS own_metadata,
        arrayFilter(f -> f.1 = 25 AND f.2 != '' AND f.4 != '' AND NOT match(f.2, {hidden_pattern}), alive) AS fields
    FROM living
),
located AS
(
    SELECT
        *,
        if(metaplex_uri_text = '' AND own_metadata, token22_uri, metaplex_uri_text) AS uri,
        toInt64OrNull(first_seen) AS first_ms,
        toInt64OrNull(last_seen) AS last_ms,
        toInt256OrZero(supply_base) + arraySum(arrayMap(f -> toInt256OrZero(f.4), arrayFilter(f -> f.1 = 4, alive))) AS total
    FROM registers
),
chosen AS
(
    SELECT
        *,
        if(JSONExtractString(offchain, 'uri') = uri, offchain, '') AS document
    FROM located
),
documented AS
(
    SELECT
        *,
        JSONExtractString(document, 'external_url') AS document_link,
        JSONExtractString(document, 'name') AS document_name,
        JSONExtractString(document, 'symbol') AS document_symbol,
        multiIf(JSONExtractBool(logo_override, 'none'), '', JSONExtractString(logo_override, 'url') != '', JSONExtractString(logo_override, 'url'),
            JSONExtractString(document, 'image') != '', JSONExtractString(document, 'image'), arrayFirst(v -> v != '', arrayMap(l -> JSONExtractString(l, 'logo_uri'), lists))) AS named_image,
        JSONExtract(document, 'extensions', 'Map(String, String)') AS document_extensions,
        JSONExtract(document, 'tags', 'Array(String)') AS document_tags,
        arrayFirst(v -> v != '', arrayMap(l -> JSONExtractString(l, 'name'), lists)) AS list_name,
        arrayFirst(v -> v != '', arrayMap(l -> JSONExtractString(l, 'symbol'), lists)) AS list_symbol,
        -- registry.Membership: at most one indivisible unit, and an authority that is known.
        toUInt8OrNull(decimals_text) = 0 AND has_mint_authority AND has_supply AND total >= 0 AND total <= 1 AND mint != 'So11111111111111111111111111111111111111112' AS single
    FROM chosen
),
shown AS
(
    SELECT
        *,
        if(match(named_image, {uri_pattern}), named_image, '') AS document_image,
        -- registry.IsEdition.
        arrayExists(bump -> hex(SHA256(concat('metadata', unhex({metadata_program}), tryBase58Decode(mint), 'edition', char(bump), unhex({metadata_program}), 'ProgramDerivedAddress')))
            = hex(tryBase58Decode(mint_authority_text)), if(ifNull(single, false) AND mint_authority_text != '', range({edition_bumps}), range(0))) AS edition
    FROM documented
)
SELECT
    mint,
    plain(multiIf(metaplex_symbol != '', metaplex_symbol, own_metadata AND token22_symbol != '', token22_symbol, document_symbol != '', document_symbol, list_symbol)) AS symbol,
    plain(multiIf(metaplex_name != '', metaplex_name, own_metadata AND token22_name != '', token22_name, document_name != '', document_name, list_name)) AS name,
    ifNull(toUInt8OrNull(decimals_text), 0) AS decimals,
    nullIf(document_image, '') AS logo_url,
    multiIf(document_image = '', 'missing', JSONExtractString(logo, 'url') = document_image AND JSONExtractUInt(logo, 'purge') >= JSONExtractUInt(logo_override, 'purge'), JSONExtractString(logo, 'status'), 'unchecked') AS logo_status,
    program = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' AS is_token22,
    CAST(NULL, 'Nullable(Float64)') AS daily_volume_usd,
    fromUnixTimestamp64Milli(first_ms, 'UTC') AS first_seen_at,
    fromUnixTimestamp64Milli(if(isNull(first_ms), last_ms, greatest(ifNull(last_ms, first_ms), first_ms)), 'UTC') AS last_seen_at,
    if(has_supply AND total >= 0 AND total <= 18446744073709551615 AND mint != 'So11111111111111111111111111111111111111112', toUInt64(total), NULL) AS supply,
    nullIf(mint_authority_text, '') AS mint_authority,
    nullIf(freeze_authority_text, '') AS freeze_authority,
    if(match(uri, {uri_pattern}), uri, NULL) AS metaplex_uri,
    nullIf(if(metaplex_update_authority = '' AND own_metadata, token22_update_authority, metaplex_update_authority), '') AS update_authority,
    toUInt16OrNull(seller_fee) AS seller_fee_basis_points,
    toUInt8OrNull(standard) AS token_standard,
    nullIf(JSONExtractString(document, 'description'), '') AS description,
    if(match(document_link, {uri_pattern}), document_link, NULL) AS external_url,
    mapUpdate(
        if(empty(document_extensions), arrayFirst(e -> notEmpty(e), arrayMap(l -> JSONExtract(l, 'extensions', 'Map(String, String)'), lists)), document_extensions),
        if(own_metadata, mapFromArrays(arrayMap(f -> substring(f.2, 2), fields), arrayMap(f -> plain(f.4), fields)), CAST(map(), 'Map(String, String)'))) AS extensions,
    -- Reserved ones are the lists' to give: registry.IsReservedTag.
    arrayDistinct(arrayConcat(arrayFlatten(arrayMap(l -> JSONExtract(l, 'tags', 'Array(String)'), lists)),
        arrayFilter(t -> replaceRegexpAll(lower(t), '[^a-z0-9]', '') NOT IN ({reserved_tags}), document_tags))) AS tags,
    nullIf(arrayFirst(f -> f.1 = 27, alive).4, '') AS launchpad,
    nullIf(arrayFirst(f -> f.1 = 28, alive).4, '') AS creator,
    fromUnixTimestamp64Milli(toInt64OrNull(arrayFirst(f -> f.1 = 29, alive).4), 'UTC') AS graduated_at,
    isNotNull(toUInt8OrNull(decimals_text)) AND program != '' AND closed != 'true'
        AND NOT (ifNull(token_standard, 2) IN (0, 3, 4, 5))
        AND NOT (ifNull(single, false) AND (mint_authority_text = '' OR edition)) AS is_member,
    alive AS facts,
    row_version,
    {rules} AS rules
FROM shown
