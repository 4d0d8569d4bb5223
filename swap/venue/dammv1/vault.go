package dammv1

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// Layout of a Vault.
const (
	vaultSize = 1227

	vaultEnabled     = 8
	vaultTotal       = 11
	vaultTokens      = 19
	vaultMint        = 83
	vaultShareMint   = 115
	vaultProfit      = 1203
	vaultReported    = 1211
	vaultDegradation = 1219
)

// unlocked is 100 % of the profit, in units of 10⁻¹² (LOCKED_PROFIT_DEGRADATION_DENOMINATOR).
const unlocked = 1_000_000_000_000

var vaultDiscriminator = [8]byte{0xd3, 0x08, 0xe8, 0x2b, 0x02, 0x98, 0x75, 0x77}

// vault is a vault's account: what it has of one token for the holders of its shares.
type vault struct {
	addresses
	mint venue.Key
	// enabled says that tokens can be put in.
	enabled bool
	// total includes what the vault has lent, and its profit. From the Unix second reported on, the
	// locked part of profit falls each second by degradation·10⁻¹² of profit.
	total, profit, reported, degradation uint64
}

// addresses are the accounts of a vault: itself, its tokens, and the mint of its shares.
type addresses struct{ vault, tokens, shareMint venue.Key }

// addressesOf returns a vault's accounts.
func addressesOf(vault venue.Key) (a addresses, err error) {
	a.vault = vault
	if a.tokens, err = venue.Derive(VaultProgram, []byte("token_vault"), vault[:]); err != nil {
		return a, err
	}
	var older bool
	if a.shareMint, older = olderShareMints[vault]; !older {
		a.shareMint, err = venue.Derive(VaultProgram, []byte("lp_mint"), vault[:])
	}
	return a, err
}

func decodeVault(data []byte) (*vault, error) {
	if len(data) < vaultSize || [8]byte(data) != vaultDiscriminator {
		return nil, fmt.Errorf("%w: a vault of %d bytes", venue.ErrMalformed, len(data))
	}
	key := func(at int) venue.Key { return venue.Key(data[at : at+keySize]) }
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	return &vault{
		addresses: addresses{tokens: key(vaultTokens), shareMint: key(vaultShareMint)}, mint: key(vaultMint), enabled: data[vaultEnabled] == 1,
		total: number(vaultTotal), profit: number(vaultProfit), reported: number(vaultReported), degradation: number(vaultDegradation),
	}, nil
}

// free returns the vault's amount without the profit that is locked at a Unix second. ok is false
// if now is before reported, or if the vault has less than its locked profit.
func (v *vault) free(now uint64) (amount uint64, ok bool) {
	if now < v.reported {
		return 0, false
	}
	hi, fallen := bits.Mul64(now-v.reported, v.degradation)
	if hi != 0 || fallen > unlocked {
		return v.total, true
	}
	locked, _ := arith.MulDiv(v.profit, unlocked-fallen, unlocked)
	return v.total - locked, locked <= v.total
}

// holding is what a pool has of a vault at a point in time: the pool's shares, the supply of all
// shares, and free, the tokens that all shares stand for.
type holding struct{ shares, supply, free uint64 }

// amount returns how many tokens the pool's shares stand for. ok is false if the vault has no
// shares.
func (h holding) amount() (uint64, bool) { return arith.MulDiv(h.shares, h.free, h.supply) }

// put returns the holding after tokens were put in. ok is false if a number exceeds 64 bits.
func (h holding) put(tokens uint64) (next holding, ok bool) {
	bought, ok := arith.MulDiv(tokens, h.supply, h.free)
	if !ok {
		return h, false
	}
	var over [3]uint64
	next.shares, over[0] = bits.Add64(h.shares, bought, 0)
	next.supply, over[1] = bits.Add64(h.supply, bought, 0)
	next.free, over[2] = bits.Add64(h.free, tokens, 0)
	return next, over == [3]uint64{}
}

// take returns the holding after the pool has sold shares worth at most tokens, and how many tokens
// the vault gives for them. ok is false if the pool has not so many shares.
func (h holding) take(tokens uint64) (next holding, given uint64, ok bool) {
	sold, ok := arith.MulDiv(tokens, h.supply, h.free)
	if !ok || sold > h.shares || sold > h.supply {
		return h, 0, false
	}
	given, ok = arith.MulDiv(sold, h.free, h.supply)
	if !ok || given > h.free {
		return h, 0, false
	}
	return holding{h.shares - sold, h.supply - sold, h.free - given}, given, true
}
