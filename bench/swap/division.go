package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

const (
	// mostDivisions is how many divisions a quote may take.
	mostDivisions = 10.0
	// batch is how many quotes are timed together: the clock is too coarse for one.
	batch = 1000
	// rounds is how many batches of each kind are timed, in turns: what else the machine does meets
	// both.
	rounds = 3000
)

// divisions measures a quote of a constant product against one division of 256 by 128 bits.
func divisions(r *report.Report) error {
	quote, err := constantProduct()
	if err != nil {
		return err
	}
	product := new(uint256.Int).Lsh(uint256.NewInt(0x9e3779b97f4a7c15), 190)
	divisor := new(uint256.Int).Lsh(uint256.NewInt(0xc2b2ae3d27d4eb4f), 63)
	var quotient uint256.Int
	divide := func() { quotient.Div(product, divisor) }
	var quotes, alone []float64
	for range rounds {
		quotes = append(quotes, timed(quote))
		alone = append(alone, timed(divide))
	}
	allocations := testing.AllocsPerRun(batch, quote)
	q, d := median(quotes), median(alone)
	r.Add(report.Figure{
		Name: "quote of an AMM v4 pool", Value: q, Unit: "ns", Peer: "one division of 256 by 128 bits", PeerValue: d,
		Goal: fmt.Sprintf("ratio <= %.0f", mostDivisions), Met: q <= mostDivisions*d,
	})
	r.Add(report.Figure{Name: "quotes a second", Value: 1e9 / q, Unit: "a core"})
	r.Add(report.Figure{Name: "allocations of a quote", Value: allocations, Unit: "a quote", Goal: "none", Met: allocations == 0})
	return nil
}

// constantProduct returns a call that quotes a pool of a constant product.
func constantProduct() (func(), error) {
	coin := swaptest.Named("coin")
	p, err := decode(ammTemplate().pool("quoted", [2]pubkey.Key{coin, mint.WrappedSOL}, [2]uint64{1 << 50, 1 << 50}))
	if err != nil {
		return nil, err
	}
	order := venue.Order{In: coin, Amount: 1_000_000_007}
	var sum uint64
	return func() {
		q, err := p.Quote(order)
		if err != nil {
			panic(err) // the pool has enough
		}
		sum += q.AmountOut
	}, nil
}

// decode returns the state of a pool.
func decode(p *pool) (venue.Pool, error) {
	ref, err := p.venue.Open(p.accounts[0].key, p.accounts[0].Data, p.mints[:]...)
	if err != nil {
		return nil, err
	}
	return ref.Decode(venue.NewAccounts(p.all()))
}

// timed returns the nanoseconds of one call.
func timed(call func()) float64 {
	began := time.Now()
	for range batch {
		call()
	}
	return float64(time.Since(began).Nanoseconds()) / batch
}

func median(list []float64) float64 { return quantile(list, 0.5) }

// quantile sorts the list.
func quantile(list []float64, q float64) float64 {
	slices.Sort(list)
	return list[min(int(q*float64(len(list))), len(list)-1)]
}
