package clickhouse

// everywhere stands for a table of which every server of a cluster has all rows. It is the same
// text as clickhouse.Everywhere in internal/clickhouse, which schemas must not import.
const everywhere = "everywhere"

// Sharding returns for each table the expression that chooses the shard of a row in a cluster. An
// expression has columns of the table's sorting key only: all rows of one sorting key must be on
// one shard, because the table's engine merges them into one row. byMint puts all rows of a mint on
// one shard, bySlot all legs of a transaction, and byPool all rows of a pool.
func Sharding() map[string]string {
	const byMint, byPool, bySlot = "cityHash64(mint)", "cityHash64(pool)", "cityHash64(slot)"
	return map[string]string{
		"token_events_raw": byMint, "created_mints_raw": byMint, "token_facts_raw": byMint, "tokens_raw": byMint, "token_fact_history_raw": byMint,
		"logo_checks_raw": byMint, "off_chain_documents_raw": byMint,
		"last_trades_raw": byMint, "prices_1m_raw": byMint, "daily_volumes_raw": byMint,
		"volume_1m_raw": byMint, "volume_1h_raw": byMint, "volume_1d_raw": byMint,
		"slots_raw": bySlot, "swaps_raw": bySlot, "routes_raw": bySlot,
		"pools_raw": byPool, "liquidity_raw": byPool, "pool_reserves_raw": byPool, "pool_minutes_raw": byPool, "pool_held_1h_raw": byPool,
		"pool_volume_1m_raw": byPool, "pool_volume_1h_raw": byPool, "pool_volume_1d_raw": byPool,
		"swap_minutes_raw": "cityHash64(minute)", "venue_volume_1m_raw": "cityHash64(bucket)", "trade_pools_1m_raw": "cityHash64(bucket)",
		"balance_changes_raw": byMint, "token_accounts_raw": byMint, "transfers_raw": byMint, "balance_mints_raw": byMint,
		"account_states_raw": byMint, "delegate_spends_raw": byMint,
		"holder_counts_raw": byMint, "holder_counts_1h_raw": byMint,
		"balance_reach_raw":   "cityHash64(name)",
		"balance_bases_raw":   "cityHash64(began)",
		"wallet_accounts_raw": "cityHash64(owner)", "wallet_transfers_raw": "cityHash64(owner)",
		"key_usage_1m_raw": "cityHash64(key)",
		"valuations":       everywhere, "table_rules": "cityHash64(made)",
	}
}
