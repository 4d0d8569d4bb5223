// Package sizing has what a topic or a table takes on disk, and how often it grows.
//
// In: how often things happen in a day. Out: bytes a day, and after any number of days. Guarantees:
// docs/sizing.md has the same figures, as a test holds; `make bench-sizing` measures them.
package sizing

import (
	"github.com/mintlake/mintlake/schemas"
)

// Unit is what a topic or a table grows with.
type Unit string

// The units. A row of a pool and a minute is made if the pool trades in that minute.
const (
	Slot        Unit = "slot"
	Event       Unit = "token event"
	Leg         Unit = "swap leg"
	Transaction Unit = "transaction"
	NewMint     Unit = "new mint"
	NewPool     Unit = "new pool"
	PoolMinute  Unit = "pool and minute"
	PoolHour    Unit = "pool and hour"
	PoolDay     Unit = "pool and day"
	MintMinute  Unit = "mint and minute"
	MintHour    Unit = "mint and hour"
	MintDay     Unit = "mint and day"
	Minute      Unit = "minute"
)

// Rates are how many of each unit a day has.
type Rates map[Unit]float64

// Mainnet returns the rates that docs/sizing.md plans with. That page names their sources.
func Mainnet() Rates {
	return Rates{
		Slot: 432_000, Event: 5_328_000, Leg: 100_000_000, Transaction: 135_302_400, NewMint: 30_000, NewPool: 30_000,
		PoolMinute: 2_880_000, PoolHour: 360_000, PoolDay: 100_000, MintMinute: 2_880_000, MintHour: 360_000, MintDay: 100_000, Minute: 1_440,
	}
}

// Store is a topic, a table, or an index of a table.
type Store struct {
	Name  string
	Grows Unit
	// Bytes is what one of Grows takes on disk. Later is what of it stays after 30 days, if that is
	// less; else 0.
	Bytes, Later float64
	// Days is how long records are kept; 0 is for ever.
	Days float64
}

// laterDays is after how many days Bytes shrinks to Later.
const laterDays = 30

// Topics returns what each topic takes, with one copy of each record and compression zstd. It
// leaves out topics whose size depends on users or on creators of tokens.
func Topics() []Store {
	stores := []Store{
		{Name: schemas.TopicTransactions, Grows: Transaction, Bytes: 1_098},
		{Name: schemas.TopicSwaps, Grows: Leg, Bytes: 483.5},
		{Name: schemas.TopicTokenEvents, Grows: Event, Bytes: 141.0},
		{Name: schemas.TopicSlots, Grows: Slot, Bytes: 216},
		{Name: schemas.TopicPools, Grows: NewPool, Bytes: 298.9},
		{Name: schemas.TopicEnrichmentRequests, Grows: NewMint, Bytes: 90.7},
	}
	for i := range stores {
		stores[i].Days = KeptDays(stores[i].Name)
	}
	return stores
}

// KeptDays returns for how many days a topic keeps its records by default; 0 is for ever.
func KeptDays(topic string) float64 {
	for _, t := range schemas.Topics() {
		if t.Name == topic {
			return t.Retention.Hours() / 24
		}
	}
	return 0
}

// Tables returns what each table takes after all merges, in one copy.
func Tables() []Store {
	return []Store{
		{Name: "swaps_raw", Grows: Leg, Bytes: 91.4, Later: 55.6},
		{Name: "signature_index", Grows: Leg, Bytes: 1.3},
		{Name: "routes_raw", Grows: Leg, Bytes: 49.8},
		{Name: "token_events_raw", Grows: Event, Bytes: 93.3},
		{Name: "token_fact_history_raw", Grows: Event, Bytes: 78.8},
		{Name: "pool_minutes_raw", Grows: PoolMinute, Bytes: 115.6},
		{Name: "pool_volume_1m_raw", Grows: PoolMinute, Bytes: 115.3},
		{Name: "pool_reserves_raw", Grows: PoolMinute, Bytes: 96.0},
		{Name: "prices_1m_raw", Grows: MintMinute, Bytes: 104.7},
		{Name: "volume_1m_raw", Grows: MintMinute, Bytes: 100.2},
		{Name: "volume_1h_raw", Grows: MintHour, Bytes: 328.3},
		{Name: "pool_volume_1h_raw", Grows: PoolHour, Bytes: 250.0},
		{Name: "slots_raw", Grows: Slot, Bytes: 126.2},
		{Name: "pool_volume_1d_raw", Grows: PoolDay, Bytes: 115.3},
		{Name: "volume_1d_raw", Grows: MintDay, Bytes: 104.6},
		{Name: "tokens_raw", Grows: NewMint, Bytes: 307.8},
		{Name: "token_facts_raw", Grows: NewMint, Bytes: 207.7},
		{Name: "daily_volumes_raw", Grows: NewMint, Bytes: 74.0},
		{Name: "last_trades_raw", Grows: NewMint, Bytes: 38.6},
		{Name: "pools_raw", Grows: NewPool, Bytes: 282.8},
		{Name: "created_mints_raw", Grows: NewMint, Bytes: 71},
		{Name: "venue_volume_1m_raw", Grows: Minute, Bytes: 108},
		{Name: "trade_pools_1m_raw", Grows: Minute, Bytes: 9.3},
	}
}

// ADay returns the bytes that a store grows by in a day.
func (s Store) ADay(rates Rates) float64 { return rates[s.Grows] * s.Bytes }

// After returns the bytes that a store has after some days, without what has expired by then.
func (s Store) After(days float64, rates Rates) float64 {
	if s.Days > 0 {
		days = min(days, s.Days)
	}
	if s.Later > 0 {
		return rates[s.Grows] * (min(days, laterDays)*s.Bytes + max(days-laterDays, 0)*s.Later)
	}
	return days * s.ADay(rates)
}

// After returns the bytes that all stores have after some days.
func After(stores []Store, days float64, rates Rates) (sum float64) {
	for _, s := range stores {
		sum += s.After(days, rates)
	}
	return sum
}

// Grows returns the unit with which each topic and table grows, by name.
func Grows() map[string]Unit {
	all := map[string]Unit{}
	for _, s := range append(Topics(), Tables()...) {
		all[s.Name] = s.Grows
	}
	return all
}
