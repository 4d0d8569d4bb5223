package verify

import (
	"maps"
	"slices"
	"strings"

	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/projector/swaps"
)

// spec describes how the rows of a table are compared. Its texts are SQL.
type spec struct {
	table string
	// key is the table's sorting key, as expressions.
	key string
	// slot is the expression of a row's slot; 0 if the table's rows have none.
	slot string
	// order is an expression that is greater in a later state of a row; "0" if rows never change.
	order string
	// without are the columns that are not compared: those that valuations and expiry change, and
	// those that differ between copies of a row.
	without []string
	// as are expressions that are compared instead of a column, by column.
	as map[string]string
	// buckets is set for a table that a valuation makes of swap legs: see figures.go.
	buckets *buckets
	// only is a condition for the rows that are compared; empty: all are.
	only string
	// columns are the columns that are compared, if a projector does not write the table.
	columns []string
}

// where returns the WHERE clause for the rows that are compared; empty if all are.
func (s *spec) where(database string) string {
	if s.only != "" {
		return " WHERE " + s.only
	}
	if s.buckets == nil || !s.buckets.newest {
		return ""
	}
	return " WHERE generation = (SELECT max(generation) FROM " + database + "." + s.table + ")"
}

// perRange returns the length of the ranges that are compared. Most tables are compared in ranges
// of so many slots. A table of buckets has Unix seconds in place of slots, and a range is one
// bucket.
func (s *spec) perRange(slots uint64) uint64 {
	if s.buckets == nil {
		return slots
	}
	return uint64(s.buckets.length.Seconds())
}

// slotOf returns the expression for the slot of a position, which is its upper 64 bits.
func slotOf(position string) string { return "toUInt64(bitShiftRight(" + position + ", 64))" }

// specs returns every table that the projectors fill. A test compares it with what they write.
func specs() []spec {
	return []spec{
		{table: "token_events_raw", key: "mint, slot, signature, instruction_index, inner_instruction_index, batch_index, kind", slot: "slot", order: "version"},
		{table: "created_mints_raw", key: "slot, mint, signature, instruction_index, inner_instruction_index, batch_index", slot: "slot", order: "version"},
		{
			table: "token_fact_history_raw", key: "mint, slot, signature, place, kind", slot: "slot", as: map[string]string{"facts": "arraySort(facts)"},
			// Each of these only grows as copies are merged into a row.
			order: "(position, transaction_index, ifNull(toUnixTimestamp(block_time), 0), length(facts))",
		},
		// Register 21, first seen, has reversed positions.
		{table: "token_facts_raw", key: "mint, register, item", order: "fact", slot: "if(register = 21, bitNot(" + slotOf("fact.1") + "), " + slotOf("fact.1") + ")"},
		{table: "slots_raw", key: "slot, blockhash", slot: "slot", order: "version", without: []string{"source"}},
		{table: "logo_checks_raw", key: "mint, slot, check_number", slot: "slot", order: "0"},
		{table: "off_chain_documents_raw", key: "mint, slot, uri", slot: "slot", order: "0"},
		{table: "tokens_raw", key: "mint", slot: "toUInt64(0)", order: "row_version"},
		{
			table: "swaps_raw", key: "slot, signature_head, instruction_index, inner_instruction_index, batch_index", slot: "slot",
			order: "bitShiftRight(version, 63)", without: []string{"version", "signature_rest"},
		},
		{table: "routes_raw", key: "slot, signature, instruction_index, inner_instruction_index", slot: "slot", order: "version"},
		{
			table: "liquidity_raw", key: "pool, slot, signature, instruction_index, inner_instruction_index, batch_index", slot: "slot", order: "version",
		},
		{
			table: "pools_raw", key: "pool, mint_a, mint_b", slot: slotOf("first.1"),
			// Each of these only grows as records are merged into a row. first and creation shrink.
			order: "(last, bitNot(first.1), bitNot(toUnixTimestamp(first.2)), bitNot(creation.1), bitNot(toUnixTimestamp(creation.2)), " +
				"venue, program_id, vault_a, vault_b, ifNull(decimals_a + 1, 0), ifNull(decimals_b + 1, 0), lp_mint)",
		},
		{table: "pool_reserves_raw", key: "minute, pool, mint_a, mint_b", slot: slotOf("last.1"), order: "last"},
		{table: "last_trades_raw", key: "mint", slot: "toUInt64(0)", order: "last_trade_at"},
		// Partitions below 0 stand for pools and rebuilds. Earlier versions wrote none for pools.
		{table: "swap_minutes_raw", key: "minute, partition", slot: "toUInt64(0)", order: "touched", only: "partition >= 0"},
		{table: "balance_changes_raw", key: "mint, account, slot, place", slot: "slot", order: "0"},
		{table: "token_accounts_raw", key: "mint, account", slot: slotOf("position"), order: "position"},
		{table: "wallet_accounts_raw", key: "owner, mint, account", slot: slotOf("position"), order: "position"},
		// Each of these only grows as facts are merged into a row.
		{table: "account_states_raw", key: "mint, account", slot: slotOf("greatest(opened, frozen.1, approved.1)"), order: "(opened, frozen, approved)"},
		{table: "delegate_spends_raw", key: "mint, account, slot, place", slot: "slot", order: "0"},
		{table: "transfers_raw", key: "mint, slot, place, signature", slot: "slot", order: "0"},
		{table: "wallet_transfers_raw", key: "owner, slot, place, signature, is_in", slot: "slot", order: "0"},
		// Each of these only grows, or shrinks, as records are merged into a row. Partitions below
		// 0 are those of bases, and tables leave out the bases that were read from them.
		{
			table: "balance_mints_raw", key: "mint, partition", slot: "toUInt64(0)", order: "(touched, bitNot(first), based, based_from)",
			without: []string{"begun", "vouched"}, only: "partition >= 0",
		},
	}
}

// written returns the columns that the projectors write, by table.
func written() map[string][]string {
	all := maps.Clone(projector.Columns())
	maps.Copy(all, swaps.Columns())
	maps.Copy(all, balances.Columns())
	return all
}

// hash returns the expression of a row's checksum.
func (s *spec) hash() string {
	columns := s.columns
	if columns == nil {
		columns = written()[s.table]
	}
	list := make([]string, 0, len(columns))
	for _, column := range columns {
		if slices.Contains(s.without, column) {
			continue
		}
		if as, ok := s.as[column]; ok {
			column = as
		}
		list = append(list, column)
	}
	return "cityHash64(formatRowNoNewline('TSV', " + strings.Join(list, ", ") + "))"
}
