package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/mintlake/mintlake/access/origins"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/slottime"
	"github.com/mintlake/mintlake/swap/lookup"
	"github.com/mintlake/mintlake/swap/trust"
)

// SwapConfig has the settings of the swap API.
type SwapConfig struct {
	Addr           string        `koanf:"addr" usage:"swap quote API"`
	Keys           []string      `koanf:"keys" usage:"accepted keys of the swap API as NAME:SHA256 (mintlake keys new swap NAME)"`
	AllowedOrigins []string      `koanf:"allowed_origins" usage:"web origins whose pages may call the swap API: https://app.example, http://localhost:* for every port, * for any page, none"`
	State          string        `koanf:"state" usage:"where pools' state comes from: stream (held from the geyser+ or demo source's account updates, read where that lacks), rpc (read when somebody asks), auto (stream where the source is one)"`
	MaxPairs       int           `koanf:"max_pairs" usage:"pairs whose pools are held from the stream; the one that was asked for first gives way"`
	MaxPools       int           `koanf:"max_pools" usage:"pools that are held from the stream, at some 6 KB each"`
	LeastDepth     int           `koanf:"least_depth" usage:"liquidity at the price, as the geometric mean of both reserves in raw units, from which on the arrays of a concentrated pool are held from the stream; a pair of shallower pools alone is read over JSON-RPC"`
	Hubs           []string      `koanf:"hubs" usage:"mints that a route may go through; auto = wrapped SOL, and up to three more that take most SOL for one percent of the price (USDC as long as no pools are held); none = only those in which pump quotes a token"`
	StateTTL       time.Duration `koanf:"state_ttl" usage:"how long pools' state that was read over JSON-RPC is quoted from; a slot takes some 200ms"`
	PoolsTTL       time.Duration `koanf:"pools_ttl" usage:"how long the list of a pair's pools is used before they are looked for again over JSON-RPC; an empty list 2s at most"`
	Fill           bool          `koanf:"fill" usage:"list all pools of all venues at the start, so that no pair is listed when somebody asks for it (needs swap.state: stream, and a JSON-RPC server that answers getProgramAccounts for whole programs: hundreds of megabytes on mainnet)"`
	Trust          []string      `koanf:"trust" usage:"builds of venues' programs whose swaps are quoted though nothing here proves them, as PROGRAM:SHA256 (GET /api/v2/venues tells both)"`
	LookupTables   []string      `koanf:"lookup_tables" usage:"address lookup tables that transactions of swaps may use where that makes them smaller; the first ones are preferred; none = none"`
}

func defaultSwapConfig() SwapConfig {
	return SwapConfig{
		Addr: "127.0.0.1:8081", AllowedOrigins: origins.ThisMachine(), State: stateAuto, MaxPairs: 4096, MaxPools: 50_000, LeastDepth: 1_000_000_000, Hubs: []string{autoHubs},
		StateTTL: slottime.Default, PoolsTTL: 30 * time.Second, LookupTables: lookup.Public(),
	}
}

func (c *SwapConfig) validate(bad func(key string, value any, rule string)) {
	oneOf(bad, "swap.state", c.State, stateAuto, stateStream, stateRPC)
	for key, n := range map[string]int{"swap.max_pairs": c.MaxPairs, "swap.max_pools": c.MaxPools, "swap.least_depth": c.LeastDepth} {
		if n < 1 {
			bad(key, n, "must be at least 1")
		}
	}
	for key, wait := range map[string]time.Duration{"swap.state_ttl": c.StateTTL, "swap.pools_ttl": c.PoolsTTL} {
		if wait <= 0 {
			bad(key, wait, "must be more than 0")
		}
	}
	if _, err := trust.ParseAccepted(c.Trust); err != nil {
		bad("swap.trust", c.Trust, err.Error())
	}
	if _, err := c.hubs(); err != nil {
		bad("swap.hubs", c.Hubs, err.Error())
	}
	if _, err := lookup.ParseTables(c.LookupTables); err != nil {
		bad("swap.lookup_tables", c.LookupTables, err.Error())
	}
}

// Values of swap.hubs beside mints, and how many mints it may name.
const (
	autoHubs = "auto"
	noHubs   = "none"
	mostHubs = 16
)

// hubs returns the mints that a route may go through. The result is nil for auto, when the swap API
// computes them, and empty for none.
func (c *SwapConfig) hubs() ([]pubkey.Key, error) {
	if len(c.Hubs) == 0 || slices.Equal(c.Hubs, []string{autoHubs}) {
		return nil, nil
	}
	list := make([]pubkey.Key, 0, len(c.Hubs))
	if slices.Equal(c.Hubs, []string{noHubs}) {
		return list, nil
	}
	if len(c.Hubs) > mostHubs {
		return nil, fmt.Errorf("must be at most %d mints", mostHubs)
	}
	for _, text := range c.Hubs {
		mint, err := pubkey.Parse(text)
		if err != nil || slices.Contains(list, mint) {
			return nil, fmt.Errorf("%q: must be auto, none, or mints that differ", text)
		}
		list = append(list, mint)
	}
	return list, nil
}
