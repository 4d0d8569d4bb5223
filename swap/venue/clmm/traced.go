package clmm

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/swap/venue"
)

var _ venue.Arrayed = Venue{}

// Features of a swap.
const (
	featureExactOut venue.Features = 1 << iota
	featureTicks
	featureFeeOnToken0
	featureFeeOnToken1
	featureDynamicFee
	featureLimitOrders
	featureBitmapExtension
	featureTransferFee
	featureTwoHop
)

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string {
	return []string{"exact_out", "ticks", "fee_on_token_0", "fee_on_token_1", "dynamic_fee", "limit_orders", "bitmap_extension", "transfer_fee", "two_hop"}
}

// Optional implements venue.Traced. It is empty, as a pool's account shows whether the pool uses
// what older builds lack.
func (Venue) Optional() venue.Features { return 0 }

// Proof implements venue.Traced. There is no executable of the forks to run.
func (v Venue) Proof() venue.Proof {
	if v.fork {
		return venue.ProofChain
	}
	return venue.ProofExecution
}

// Programs implements venue.Traced.
func (v Venue) Programs() []venue.Key { return []venue.Key{v.program} }

// features returns the features of a swap that follow from the pool and the swap's steps.
func (p *Pool) features(r *result) (f venue.Features) {
	orders := false
	for i := range r.steps {
		orders = orders || r.steps[i].orders > 0
	}
	from, to := p.listed(r)
	return f.With(featureTicks, len(r.steps) > 1).With(featureFeeOnToken0, p.state.feeOn == feeOnToken0).With(featureFeeOnToken1, p.state.feeOn == feeOnToken1).
		With(featureDynamicFee, p.state.dynamic.on).With(featureLimitOrders, orders).With(featureBitmapExtension, p.extended(from, to))
}

// swapOld is sha256("global:swap")[:8]. This older instruction is for mints of SPL Token alone, and
// has the same data as swap_v2.
var swapOld = [8]byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8}

// Trade implements venue.Traced. A swap with a price limit is not a trade, as no order can express
// that it may end early.
func (v Venue) Trade(c venue.Call) (venue.Trade, bool) {
	const accounts, user, pool, source, destination = 10, 0, 2, 3, 4 // least number, and indexes
	const amount, limit, base, size = 8, 24, 40, 41                  // offsets in the data, size
	if len(c.Accounts) < accounts || len(c.Data) < size {
		return venue.Trade{}, false
	}
	if d := [8]byte(c.Data); d != swapV2 && d != swapOld || !empty(c.Data[limit:base]) {
		return venue.Trade{}, false
	}
	return venue.Trade{
		Pool: c.Accounts[pool], User: c.Accounts[user], Source: c.Accounts[source], Destination: c.Accounts[destination],
		Amount: binary.LittleEndian.Uint64(c.Data[amount:]), ExactOut: c.Data[base] == 0,
	}, true
}
