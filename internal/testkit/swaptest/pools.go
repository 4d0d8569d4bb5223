package swaptest

import (
	"bytes"
	"slices"
	"testing"

	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/layout"
)

// Pool describes a CPMM pool.
type Pool struct {
	Name                        string
	Mints                       [2]Key // in any order
	Amounts                     [2]uint64
	TradeRate                   uint64
	CreatorRate                 uint64
	CreatorFeeOn                byte
	EnableCreatorFee            bool
	ProtocolFees0, CreatorFees1 uint64
	Status                      byte
	OpenTime                    uint64
}

// PoolKeys are a pool's addresses.
type PoolKeys struct {
	Pool, Config, Observation Key
	Vaults                    [2]Key
	Mints                     [2]Key
}

// CPMM adds a pool with its vaults and config. Its mints must exist. The layouts are PoolState and
// AmmConfig of raydium-cp-swap (states/pool.rs, states/config.rs).
func (c *Chain) CPMM(p Pool) PoolKeys {
	if bytes.Compare(p.Mints[0][:], p.Mints[1][:]) > 0 {
		p.Mints[0], p.Mints[1] = p.Mints[1], p.Mints[0]
		p.Amounts[0], p.Amounts[1] = p.Amounts[1], p.Amounts[0]
	}
	keys := PoolKeys{Named(p.Name), Named(p.Name + " config"), Named(p.Name + " observation"),
		[2]Key{Named(p.Name + " vault 0"), Named(p.Name + " vault 1")}, p.Mints}
	config := layout.CPMMConfig{TradeRate: p.TradeRate, Creator: p.CreatorRate}
	c.Set(keys.Config, CPMMProgram, config.Bytes())
	pool := layout.CPMMPool{Config: keys.Config, Vaults: keys.Vaults, Mints: p.Mints, Observation: keys.Observation, Status: p.Status, OpenTime: p.OpenTime,
		ProtocolFees: [2]uint64{p.ProtocolFees0}, CreatorFees: [2]uint64{0, p.CreatorFees1}, CreatorFeeOn: p.CreatorFeeOn, CreatorFee: p.EnableCreatorFee}
	for side := range 2 {
		pool.Programs[side] = c.accounts[p.Mints[side]].Owner
		c.TokenAccount(keys.Vaults[side], pool.Programs[side], p.Mints[side], p.Amounts[side])
	}
	c.Set(keys.Pool, CPMMProgram, pool.Bytes())
	return keys
}

// Pool finds and decodes the pool of a pair on a venue. There must be exactly one.
func (c *Chain) Pool(t testing.TB, v venue.Venue, mints [2]Key) (venue.Pool, error) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	lookup := v.Lookup(mints[1], mints[0])
	var found []venue.Ref
	for key, account := range c.accounts {
		if account.Owner != v.Program() {
			continue
		}
		fits := slices.Contains(lookup.Addresses, key)
		for _, f := range lookup.Filters {
			fits = fits || f.Matches(account.Data)
		}
		if !fits {
			continue
		}
		ref, err := v.Open(key, account.Data, mints[:]...)
		if err != nil {
			return nil, err
		}
		found = append(found, ref)
	}
	if len(found) != 1 {
		t.Fatalf("%d pools", len(found))
	}
	return c.decode(found[0])
}

// Decode decodes a pool from the present accounts.
func (c *Chain) Decode(ref venue.Ref) (venue.Pool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.decode(ref)
}

// decode gives the pool only the accounts of venue.Needs and the mints, as the market does.
func (c *Chain) decode(ref venue.Ref) (venue.Pool, error) {
	held := map[Key]*rpc.Account{}
	mints := ref.Mints()
	for _, key := range slices.Concat(venue.Needs(ref), mints[:]) {
		held[key] = c.accounts[key]
	}
	return ref.Decode(venue.NewAccounts(held))
}
