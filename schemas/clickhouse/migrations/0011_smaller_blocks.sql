-- Smaller compressed blocks. Where a block has the wrong checksum, ClickHouse flips each of its bits in turn to find out which one is wrong, and nothing
-- can end that: 5 s for 64 KiB that do not compress, minutes for the 426 KB of signature_rest. Existing parts keep their blocks until they are
-- merged. Columns with settings of their own (the keys of swaps_raw, whose size on disk needs blocks of 16 MiB) keep these.
-- swaps_raw grows by 0.03 percent, token_events_raw by 0.9, the facts by 0.1 or less.
ALTER TABLE {{.Database}}.swaps_raw {{onCluster}} MODIFY SETTING max_compress_block_size = 65536;

ALTER TABLE {{.Database}}.routes_raw {{onCluster}} MODIFY SETTING max_compress_block_size = 65536;

ALTER TABLE {{.Database}}.token_events_raw {{onCluster}} MODIFY SETTING max_compress_block_size = 131072;

ALTER TABLE {{.Database}}.token_facts_raw {{onCluster}} MODIFY SETTING max_compress_block_size = 131072;

ALTER TABLE {{.Database}}.token_fact_history_raw {{onCluster}} MODIFY SETTING max_compress_block_size = 131072;

ALTER TABLE {{.Database}}.off_chain_documents_raw {{onCluster}} MODIFY SETTING max_compress_block_size = 131072;
