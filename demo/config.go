package demo

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/mintlake/mintlake/internal/nearest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// Config of a demo node. The zero value of a field takes the default named here.
type Config struct {
	// Seed decides everything random; equal seeds make equal chains.
	Seed uint64
	// TPS is the transactions a second; default 100.
	TPS int
	// Tokens is how many tokens are created in the first blocks, besides the 24 that exist at
	// genesis.
	Tokens int
	// maxTokens ends creations when so many exist; default 1,000,000.
	maxTokens int
	// Wallets is how many wallets trade; default 512.
	Wallets int
	// V1 is the share of version-1 transactions, in percent; default 40. NoV1 means none.
	V1 int
	// Votes makes the chain as it was before Alpenglow: with vote transactions, and final after 31
	// slots.
	Votes bool
	// SlotTime is the time of a slot; default 200 ms.
	SlotTime time.Duration
	// Past is how long the chain's market goes on before its first live slot: a slot a minute, with
	// 13 transactions. Whole minutes, at most 24 h; default none.
	Past time.Duration
	// GenesisSlot is where the history begins; default StartSlot, less the slots of the past.
	GenesisSlot uint64
	// StartSlot is the first slot that this node makes on the clock; default 400,000,000, or the
	// one after the past if that is higher. The slots between are generated at the start (about
	// 70,000 transactions a second), so that a restart goes on with the same accounts. keptSlots of
	// them are served.
	StartSlot uint64
	// ParentSlot is the parent of the block at GenesisSlot; default GenesisSlot-1.
	ParentSlot uint64
	// genesisTime is the block time of GenesisSlot. Default: in real time, such that StartSlot
	// happens now; else 2026-01-01 00:00 UTC. In real time the slots of the past end at the first
	// live one.
	genesisTime time.Time
	// GenesisHash is what getGenesisHash answers; zero: a function of Seed. A chain that goes on
	// under other settings keeps it.
	GenesisHash pubkey.Key
	// Anchors are what Anchors() returned in the last run of this chain. With them a restart gives
	// the slots of that run the block times that they had, and the slots from a little after
	// StartSlot on the time of day. Without them a real-time node begins its own.
	Anchors []Anchor
	// Checkpoints is a folder of this chain's own: with it a restart goes on from a file there, and
	// does not make all slots from GenesisSlot again; empty means none.
	Checkpoints string
	// ForkRate and SkipRate are the shares of slots that die on a fork and that have no block;
	// defaults 0.
	ForkRate, SkipRate float64
	// Switched and Dead say every how many slots a block is replaced by another of its slot, and
	// every how many a slot is declared dead and has a block later all the same; 0 means never.
	Switched, Dead uint64
	// WithoutBankIDs makes a Geyser server that does not say which bank it tells of.
	WithoutBankIDs bool
	// WithoutReplay makes a Geyser server that fails whenever it is asked to replay.
	WithoutReplay bool
	// WithoutAccountFilters makes a Geyser server that refuses filters of blocks by accounts, and
	// WithoutPages a JSON-RPC server without getProgramAccountsV2.
	WithoutAccountFilters, WithoutPages bool
	// RPCRate is how many JSON-RPC requests a second are answered. What is beyond gets 429. 0 is no
	// limit.
	RPCRate float64
	// Future, if set, returns whether getBlock says of a slot's block that it has a transaction of
	// a version that nobody knows yet. It is for tests.
	Future func(slot uint64) bool
	// maxSlots ends production after that many slots; 0 is endless.
	maxSlots uint64
	// RealTime makes a slot every SlotTime; otherwise slots are made as fast as they can be.
	RealTime bool
	// Manual makes slots only when Step is called.
	Manual bool
	// GeyserAddr and HTTPAddr are listen addresses; default 127.0.0.1:0.
	GeyserAddr, HTTPAddr string
	// publicBaseURL is where metadata and logos are reached from outside; default the HTTP address.
	publicBaseURL string
	// token is the x-token that Geyser clients must send; empty asks for none.
	token string
	// ledger bounds the history and sets the commitment lags.
	ledger ledger.Config
	// geyserBuffer is the unread events after which a subscriber is cut off; default 4,096.
	geyserBuffer int
	// pingInterval is the time between Geyser pings; default 10 s.
	pingInterval time.Duration
}

// Anchor fixes the block time of a slot.
type Anchor = chain.Anchor

// ChainVersion is the version of the code that makes the chain. Another one makes other blocks of
// the same settings.
const ChainVersion = 5

// NoV1 in Config.V1 means no transactions of version 1.
const NoV1 = chain.NoV1

const (
	defaultTokens = 300
	defaultPast   = 24 * time.Hour
)

// ParseSource reads a source text: `demo:` or `demo:?key=value&…`. The keys are seed, tps, tokens,
// max_tokens, wallets, past, slot_time, start_slot, genesis_slot, parent_slot, fork_rate,
// skip_rate, max_slots, history, history_txs, base_url, and of a node that offers less:
// account_filters, pages and rpc_rate. All unknown keys and wrong values are reported at once. The
// defaults are those of `make run`: real time, a day of past, 300 tokens, 2 % forks, 3 % skipped
// slots.
func ParseSource(source string) (Config, error) {
	c := Config{TPS: 100, Tokens: defaultTokens, Past: defaultPast, ForkRate: 0.02, SkipRate: 0.03, RealTime: true}
	rest, ok := strings.CutPrefix(source, "demo:")
	if !ok {
		return c, fmt.Errorf("source %q: must have the scheme demo", source)
	}
	rest = strings.TrimPrefix(rest, "?")
	q, err := url.ParseQuery(rest)
	if err != nil {
		return c, fmt.Errorf("source %q: %w", source, err)
	}
	fields := c.sourceFields()
	var errs []error
	for _, key := range sortedKeys(q) {
		set, ok := fields[key]
		if !ok {
			errs = append(errs, fmt.Errorf("unknown key %q: must be one of %s%s", key, strings.Join(sortedKeys(fields), ", "), nearest.Hint(key, sortedKeys(fields))))
			continue
		}
		if len(q[key]) != 1 {
			errs = append(errs, fmt.Errorf("%s: given %d times", key, len(q[key])))
			continue
		}
		if err := set(q[key][0]); err != nil {
			errs = append(errs, fmt.Errorf("%s=%q: %w", key, q[key][0], err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return c, fmt.Errorf("source %q: %w", source, err)
	}
	if err := c.validate(); err != nil {
		return c, fmt.Errorf("source %q: %w", source, err)
	}
	return c, nil
}

func sortedKeys[T any](m map[string]T) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// sourceFields returns, for each key of a source text, the function that parses and sets its value.
func (c *Config) sourceFields() map[string]func(string) error {
	number := func(to *uint64) func(string) error {
		return func(s string) (err error) {
			if *to, err = strconv.ParseUint(s, 10, 64); err != nil {
				return errors.New("must be a whole number, 0 or more")
			}
			return nil
		}
	}
	whole := func(to *int) func(string) error {
		return func(s string) (err error) {
			if *to, err = strconv.Atoi(s); err != nil {
				return errors.New("must be a whole number")
			}
			return nil
		}
	}
	rate := func(to *float64) func(string) error {
		return func(s string) (err error) {
			if *to, err = strconv.ParseFloat(s, 64); err != nil {
				return errors.New("must be a number from 0 to 0.5")
			}
			return nil
		}
	}
	yes := func(to *bool, means bool) func(string) error {
		return func(s string) error {
			v, err := strconv.ParseBool(s)
			if err != nil {
				return errors.New("must be true or false")
			}
			*to = v == means
			return nil
		}
	}
	return map[string]func(string) error{
		"account_filters": yes(&c.WithoutAccountFilters, false), "pages": yes(&c.WithoutPages, false),
		"rpc_rate": func(s string) (err error) {
			if c.RPCRate, err = strconv.ParseFloat(s, 64); err != nil || !(c.RPCRate >= 0 && c.RPCRate <= 1e6) {
				return errors.New("must be a number of requests a second, or 0")
			}
			return nil
		},
		"votes": yes(&c.Votes, true), "bank_ids": yes(&c.WithoutBankIDs, false), "replay": yes(&c.WithoutReplay, false), "switched": number(&c.Switched), "dead": number(&c.Dead),
		"v1":   percent(&c.V1),
		"seed": number(&c.Seed), "tps": whole(&c.TPS), "tokens": whole(&c.Tokens), "max_tokens": whole(&c.maxTokens), "wallets": whole(&c.Wallets),
		"start_slot": number(&c.StartSlot), "genesis_slot": number(&c.GenesisSlot), "parent_slot": number(&c.ParentSlot),
		"max_slots": number(&c.maxSlots), "fork_rate": rate(&c.ForkRate), "skip_rate": rate(&c.SkipRate), "history": whole(&c.ledger.Blocks), "history_txs": whole(&c.ledger.Transactions),
		"base_url": func(s string) error {
			u, err := url.Parse(s)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return errors.New("must be an http or https URL")
			}
			c.publicBaseURL = strings.TrimRight(s, "/")
			return nil
		},
		"slot_time": duration(&c.SlotTime, "200ms"), "past": duration(&c.Past, "24h, or 0 for none"),
	}
}

// duration parses a duration. example ends the error.
func duration(to *time.Duration, example string) func(string) error {
	return func(s string) (err error) {
		if *to, err = time.ParseDuration(s); err != nil {
			return errors.New("must be a duration such as " + example)
		}
		return nil
	}
}

// percent parses a share in percent. 0 is kept as NoV1, as 0 means the default.
func percent(to *int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 100 {
			return errors.New("must be a whole number from 0 to 100")
		}
		if *to = n; n == 0 {
			*to = NoV1
		}
		return nil
	}
}

func (c Config) withDefaults() Config {
	past := c.pastSlots()
	if c.StartSlot == 0 {
		c.StartSlot = max(400_000_000, c.GenesisSlot+past)
	}
	if c.GenesisSlot == 0 {
		c.GenesisSlot = c.StartSlot - min(c.StartSlot-1, past)
	}
	c.GeyserAddr = cmp.Or(c.GeyserAddr, "127.0.0.1:0")
	c.HTTPAddr = cmp.Or(c.HTTPAddr, "127.0.0.1:0")
	c.ledger.Votes = c.Votes
	return c
}

// pastSlots is how many slots the past has.
func (c Config) pastSlots() uint64 { return uint64(max(c.Past, 0) / chain.PastStep) }

// WithSlots returns the configuration with GenesisSlot and StartSlot filled in.
func (c Config) WithSlots() Config {
	d := c.withDefaults()
	c.GenesisSlot, c.StartSlot = d.GenesisSlot, d.StartSlot
	return c
}

// chain returns the part of the configuration that decides the chain's bytes. baseURL is where
// metadata is served. In real time, unless genesisTime is set, an anchor makes StartSlot happen at
// now. If a chain goes on, the anchor is resumeMargin slots after StartSlot instead, and its time
// is not before that of the earlier run's clock.
func (c Config) chain(baseURL string, now time.Time) chain.Config {
	out := chain.Config{Seed: c.Seed, TPS: c.TPS, Tokens: c.Tokens, MaxTokens: c.maxTokens, Wallets: c.Wallets, SlotTime: c.SlotTime, Past: c.pastSlots(),
		GenesisSlot: c.GenesisSlot, ParentSlot: c.ParentSlot, GenesisTime: c.genesisTime, ForkRate: c.ForkRate, SkipRate: c.SkipRate,
		V1: c.V1, Votes: c.Votes, Switched: c.Switched, Dead: c.Dead,
		BaseURL: baseURL, Anchors: c.Anchors}.WithDefaults()
	if !c.RealTime || !c.genesisTime.IsZero() {
		return out
	}
	if len(c.Anchors) == 0 {
		live := out.Live()
		out.Anchors = []chain.Anchor{{Slot: live, TimeMS: now.Add(-time.Duration(c.StartSlot-live) * out.SlotTime).UnixMilli()}}
		return out
	}
	next := chain.Anchor{Slot: c.StartSlot + resumeMargin}
	next.TimeMS = max(now.Add(resumeMargin*out.SlotTime).UnixMilli(), out.TimeMS(next.Slot))
	if next.Slot > c.Anchors[len(c.Anchors)-1].Slot {
		out.Anchors = append(append([]chain.Anchor(nil), c.Anchors...), next)
	}
	return out
}

// resumeMargin is how many slots from StartSlot on still have the clock of the earlier run. A node
// that was killed may have served a few slots more than the caller knows of, and those must come
// out the same.
const resumeMargin = 8

// validate checks the configuration with its defaults filled in, and joins all that is wrong.
func (c Config) validate() error {
	c = c.withDefaults()
	errs := []error{c.chain(c.publicBaseURL, time.Unix(0, 0)).Validate()}
	if c.Past < 0 || c.Past%chain.PastStep != 0 {
		errs = append(errs, fmt.Errorf("past %s: must be whole minutes, 0 or more", c.Past))
	}
	if c.StartSlot < c.GenesisSlot+c.pastSlots() {
		errs = append(errs, fmt.Errorf("start_slot %d: must not be below genesis_slot %d and the %d slots of the past", c.StartSlot, c.GenesisSlot, c.pastSlots()))
	}
	if c.ledger.Blocks < 0 || c.ledger.Blocks > 0 && c.ledger.Blocks < 100 || c.ledger.Blocks > 1_000_000 {
		errs = append(errs, fmt.Errorf("history %d: must be 100 to 1000000 blocks", c.ledger.Blocks))
	}
	if c.ledger.Transactions < 0 {
		errs = append(errs, fmt.Errorf("history_txs %d: must be 0 or more", c.ledger.Transactions))
	}
	return errors.Join(errs...)
}
