package dammv1

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// depeg says from where a stable curve takes the price of its token b, which is staked SOL, in SOL.
// On the curve an amount of b counts times this price. A pool keeps the price for cacheTime. A
// curve with depegNone has no such price.
type depeg uint8

const (
	depegNone depeg = iota
	depegMarinade
	depegLido
	depegSPL
)

const (
	// pricePrecision is the price 1: prices are in millionths.
	pricePrecision = 1_000_000
	// cacheTime is how long a pool uses the price that it has read, in seconds.
	cacheTime = 600
)

// The accounts that have the price of mSOL and of stSOL.
var (
	marinadeState = pubkey.MustParse("8szGkuLTAux9XMgZ2vtY39jVSowEcpBfFfD8hXSEqdGC")
	lidoState     = pubkey.MustParse("49Yi1TKkNyYjPAFdR9LBvoHcUjuPX4Df5T5yv39w2XTn")
)

// Offsets in the accounts with a price. Marinade's account has the price, in 2⁻³² lamports. Lido's
// account and the SPL stake pool have the supply of the token and the lamports that it stands for.
const (
	marinadePrice = 512
	lidoSupply    = 73
	lidoLamports  = 81
	splLamports   = 258
	splSupply     = 266
)

// priceOf reads the price in a stake account, in millionths. It returns 0 if the account has no
// price: the program cannot compute with 0.
func (d depeg) priceOf(account *solana.Account) (price uint64) {
	var data []byte
	if account != nil {
		data = account.Data
	}
	ratio := func(amount, supply int) uint64 {
		if len(data) < max(amount, supply)+8 {
			return 0
		}
		price, _ := arith.MulDiv(binary.LittleEndian.Uint64(data[amount:]), pricePrecision, binary.LittleEndian.Uint64(data[supply:]))
		return price
	}
	switch d {
	case depegMarinade:
		if len(data) >= marinadePrice+8 {
			price, _ = arith.MulDiv(binary.LittleEndian.Uint64(data[marinadePrice:]), pricePrecision, 1<<32)
		}
	case depegLido:
		price = ratio(lidoLamports, lidoSupply)
	case depegSPL:
		price = ratio(splLamports, splSupply)
	case depegNone:
	}
	return price
}

// priceAt returns the price of token b that a swap at a Unix second uses. read says that the swap
// reads it from the stake account.
func (p *Pool) priceAt(now uint64) (price uint64, read bool, err error) {
	c := &p.state.curve
	switch {
	case c.depeg == depegNone:
		return 1, false, nil
	case now <= c.cached || now-c.cached <= cacheTime:
		price = c.price
	default:
		price, read = p.stakePrice, true
	}
	if price == 0 {
		return 0, read, fmt.Errorf("%w: the staked token has no price", venue.ErrMalformed)
	}
	return price, read, nil
}
