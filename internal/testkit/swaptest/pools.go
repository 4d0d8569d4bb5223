package swaptest

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	rpc "github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap/venue"
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

// CPMM adds a pool with its vaults and config. Its mints must exist.
func (c *Chain) CPMM(p Pool) PoolKeys {
	if bytes.Compare(p.Mints[0][:], p.Mints[1][:]) > 0 {
		p.Mints[0], p.Mints[1] = p.Mints[1], p.Mints[0]
		p.Amounts[0], p.Amounts[1] = p.Amounts[1], p.Amounts[0]
	}
	keys := PoolKeys{Named(p.Name), Named(p.Name + " config"), Named(p.Name + " observation"),
		[2]Key{Named(p.Name + " vault 0"), Named(p.Name + " vault 1")}, p.Mints}
	config := make([]byte, 236)
	copy(config, []byte{0xda, 0xf4, 0x21, 0x68, 0xcb, 0xcb, 0x2b, 0x6f})
	binary.LittleEndian.PutUint64(config[12:], p.TradeRate)
	binary.LittleEndian.PutUint64(config[108:], p.CreatorRate)
	c.Set(keys.Config, CPMMProgram, config)
	data := make([]byte, 637)
	copy(data, []byte{0xf7, 0xed, 0xe3, 0xf5, 0xd7, 0xc3, 0xde, 0x46})
	copy(data[8:], keys.Config[:])
	for side := range 2 {
		program := c.accounts[p.Mints[side]].Owner
		copy(data[72+32*side:], keys.Vaults[side][:])
		copy(data[168+32*side:], p.Mints[side][:])
		copy(data[232+32*side:], program[:])
		c.TokenAccount(keys.Vaults[side], program, p.Mints[side], p.Amounts[side])
	}
	copy(data[296:], keys.Observation[:])
	data[329] = p.Status
	binary.LittleEndian.PutUint64(data[341:], p.ProtocolFees0)
	binary.LittleEndian.PutUint64(data[373:], p.OpenTime)
	data[389] = p.CreatorFeeOn
	if p.EnableCreatorFee {
		data[390] = 1
	}
	binary.LittleEndian.PutUint64(data[405:], p.CreatorFees1)
	c.Set(keys.Pool, CPMMProgram, data)
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

// decode gives the pool only the accounts that Ref.Accounts names, and the mints, as the market
// does.
func (c *Chain) decode(ref venue.Ref) (venue.Pool, error) {
	held := map[Key]*rpc.Account{}
	mints := ref.Mints()
	for _, key := range append(ref.Accounts(), mints[:]...) {
		held[key] = c.accounts[key]
	}
	return ref.Decode(venue.NewAccounts(held))
}
