// Package chain makes blocks of real Solana transactions and executes them, and blocks of
// transactions that nobody executes.
//
// In: a Config, and transactions that a user submits.
// Out: slots in order: live blocks, blocks of dead forks, skipped slots; each transaction with
// signatures, meta and account writes.
// Guarantees: no clock, no global randomness: equal Configs and equal submissions give equal bytes.
// Every account write of an executed block is the result of executing the instructions of a
// transaction; a failed transaction changes nothing but its payer's lamports.
package chain

import (
	"errors"
	"fmt"
	"time"
)

// Config says which chain to make. The zero value of a field takes the default named here.
type Config struct {
	// Seed decides everything random.
	Seed uint64
	// TPS is the transactions a second, user transactions and votes together; default 100.
	TPS int
	// Tokens is how many tokens are created in the first blocks, besides the 24 that exist at
	// genesis.
	Tokens int
	// MaxTokens ends creations when so many tokens exist, which bounds memory (about 4 KiB each);
	// default 1,000,000.
	MaxTokens int
	// Wallets is how many wallets trade; default 512.
	Wallets int
	// V1 is the share of version-1 transactions among those that are no votes, in percent; default
	// 40. NoV1 means none.
	V1 int
	// Votes puts vote transactions into the blocks, as before Alpenglow.
	Votes bool
	// SlotTime is the block time from one slot to the next; default 200 ms.
	SlotTime time.Duration
	// Past is how many slots the chain has before its first live one, see PastStep; default none.
	Past uint64
	// GenesisSlot is the first slot of the history; default 400,000,000.
	GenesisSlot uint64
	// ParentSlot is the parent of the first block; default GenesisSlot-1.
	ParentSlot uint64
	// GenesisTime is the block time of GenesisSlot, unless an anchor says otherwise; default
	// 2026-01-01 00:00 UTC.
	GenesisTime time.Time
	// Anchors move the clock: from an anchor's slot on, block times count from its time. They are
	// in rising order of slots; a node that was down for an hour adds one, so that the slots before
	// keep their block times. The past is counted back from its end.
	Anchors []Anchor
	// ForkRate and SkipRate are the shares of slots that die on a fork and that have no block; 0
	// means none.
	ForkRate, SkipRate float64
	// Switched and Dead say every how many slots a block is Replaced by another of its slot, and
	// every how many a slot is declared dead and has a block later all the same; 0 means never.
	Switched, Dead uint64
	// BaseURL is where metadata URIs point, without a trailing slash; default
	// https://demo.mintlake.invalid.
	BaseURL string
}

// Anchor fixes the block time of a slot, in Unix milliseconds.
type Anchor struct {
	Slot   uint64 `json:"slot"`
	TimeMS int64  `json:"time_ms"`
}

// NoV1 in Config.V1 means a chain without transactions of version 1.
const NoV1 = -1

// Limits of Config.
const (
	maxTPS     = 200_000
	maxTokens  = 20_000_000
	maxWallets = 100_000
)

// WithDefaults fills the fields that are zero.
func (c Config) WithDefaults() Config {
	if c.TPS == 0 {
		c.TPS = 100
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = 1_000_000
	}
	if c.Wallets == 0 {
		c.Wallets = 512
	}
	if c.V1 == 0 {
		c.V1 = 40
	}
	if c.SlotTime == 0 {
		c.SlotTime = 200 * time.Millisecond
	}
	if c.GenesisSlot == 0 {
		c.GenesisSlot = 400_000_000
	}
	if c.ParentSlot == 0 {
		c.ParentSlot = c.GenesisSlot - 1
	}
	if c.GenesisTime.IsZero() {
		c.GenesisTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if c.BaseURL == "" {
		c.BaseURL = "https://demo.mintlake.invalid"
	}
	return c
}

// Validate reports every problem at once, each with key, value and rule.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.TPS >= 1 && c.TPS <= maxTPS, "tps %d: must be 1 to %d", c.TPS, maxTPS)
	check(c.Tokens >= 0 && c.Tokens <= maxTokens, "tokens %d: must be 0 to %d", c.Tokens, maxTokens)
	check(c.MaxTokens >= 1 && c.MaxTokens <= maxTokens, "max_tokens %d: must be 1 to %d", c.MaxTokens, maxTokens)
	check(c.Wallets >= 8 && c.Wallets <= maxWallets, "wallets %d: must be 8 to %d", c.Wallets, maxWallets)
	check(c.V1 >= NoV1 && c.V1 <= 100, "v1 %d: must be 0 to 100 percent", c.V1)
	check(c.Switched == 0 || c.Switched >= minBetween, "switched %d: must be 0, or %d slots at least", c.Switched, minBetween)
	check(c.Dead == 0 || c.Dead >= minBetween, "dead %d: must be 0, or %d slots at least", c.Dead, minBetween)
	check(c.Past <= maxPast, "past %d: must be at most %d slots", c.Past, maxPast)
	check(c.SlotTime >= time.Millisecond && c.SlotTime <= time.Minute, "slot_time %s: must be 1ms to 1m", c.SlotTime)
	check(c.ForkRate >= 0 && c.ForkRate <= 0.5, "fork_rate %g: must be 0 to 0.5", c.ForkRate)
	check(c.SkipRate >= 0 && c.SkipRate <= 0.5, "skip_rate %g: must be 0 to 0.5", c.SkipRate)
	check(c.ParentSlot < c.GenesisSlot, "parent_slot %d: must be below the first slot %d", c.ParentSlot, c.GenesisSlot)
	for i := 1; i < len(c.Anchors); i++ {
		a, b := c.Anchors[i-1], c.Anchors[i]
		check(a.Slot < b.Slot && a.TimeMS <= b.TimeMS, "anchors: slot %d and its time must not come after slot %d", a.Slot, b.Slot)
	}
	check(len(c.BaseURL) <= 100, "public_base_url: must have at most 100 bytes, so that URIs fit Metaplex's 200")
	return errors.Join(errs...)
}
