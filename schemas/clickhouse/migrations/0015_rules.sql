-- Rows of tokens tell by which version's rules they were made. Those of earlier ones are made anew at the next start: tags that only token lists
-- can give (verified) were taken from the creator's document too.
ALTER TABLE {{.Database}}.tokens_raw {{onCluster}} ADD COLUMN IF NOT EXISTS rules UInt16 DEFAULT 0 COMMENT 'Number of the rules that made the row; rows of earlier ones are made anew at the start';
ALTER TABLE {{.Database}}.tokens_raw {{onCluster}} MODIFY COLUMN tags Array(String) COMMENT 'Tags of token lists and of the off-chain metadata; verified, strict and lst are of lists only' CODEC(ZSTD(1));
