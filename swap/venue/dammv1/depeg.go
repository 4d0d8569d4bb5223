package dammv1

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// depeg says where a stable curve has the price of its token b from: that of staked SOL in SOL,
// which the curve takes for the ratio of equal worth. A pool keeps the price for cacheTime.
type depeg uint8

const (
	depegNone depeg = iota
	depegMarinade
	depegLido
	depegSPL
)

const (
	// pricePrecision is a price of 1.
	pricePrecision = 1_000_000
	// cacheTime is in seconds.
	cacheTime = 600
)

// The accounts that have the price of mSOL and of stSOL.
var (
	marinadeState = pubkey.MustParse("8szGkuLTAux9XMgZ2vtY39jVSowEcpBfFfD8hXSEqdGC")
	lidoState     = pubkey.MustParse("49Yi1TKkNyYjPAFdR9LBvoHcUjuPX4Df5T5yv39w2XTn")
)

// Offsets in these accounts: Marinade's price, in 2⁻³² lamports; of the other two the supply of the
// token and the lamports that it stands for.
const (
	marinadePrice = 512
	lidoSupply    = 73
	lidoLamports  = 81
	splLamports   = 258
	splSupply     = 266
)

// priceOf reads the price of a stake account, in millionths. A price of 0 is none: the program
// cannot compute with it.
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

// priceAt returns the price that a swap at a Unix second uses, and whether it is read from the
// stake account.
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
