// Command swap measures how long a quote of a constant-product pool takes, compared with one
// division of 256 by 128 bits in the same run. It fails when a bound is missed.
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
)

const (
	// mostDivisions is how many divisions a quote may take.
	mostDivisions = 10.0
	// batch is how many quotes are timed together: the clock is too coarse for one.
	batch = 1000
)

func main() {
	rounds := flag.Int("rounds", 3000, "batches of each kind")
	flag.Parse()
	if err := run(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, "swap:", err)
		os.Exit(1)
	}
}

func run(rounds int) error {
	coin := swaptest.Named("coin")
	pool, err := openPool(coin)
	if err != nil {
		return err
	}
	order := venue.Order{In: coin, Amount: 1_000_000_007}
	var wanted uint64
	quote := func() {
		q, err := pool.Quote(order)
		if err != nil {
			panic(err) // the pool has enough
		}
		wanted += q.AmountOut
	}
	product := new(uint256.Int).Lsh(uint256.NewInt(0x9e3779b97f4a7c15), 190)
	divisor := new(uint256.Int).Lsh(uint256.NewInt(0xc2b2ae3d27d4eb4f), 63)
	var quotient uint256.Int
	divide := func() { quotient.Div(product, divisor) }
	var quotes, divisions []float64
	for range rounds { // in turns, so that other work of the machine slows both alike
		quotes = append(quotes, timed(quote))
		divisions = append(divisions, timed(divide))
	}
	allocations := testing.AllocsPerRun(batch, quote)
	q, d := median(quotes), median(divisions)
	r := report.New("bench-swap")
	r.Add(report.Figure{
		Name: "quote of an AMM v4 pool", Value: q, Unit: "ns", Peer: "one division of 256 by 128 bits", PeerValue: d,
		Goal: fmt.Sprintf("ratio <= %.0f", mostDivisions), Met: q <= mostDivisions*d,
	})
	r.Add(report.Figure{Name: "quotes a second", Value: 1e9 / q, Unit: "a core"})
	r.Add(report.Figure{Name: "allocations of a quote", Value: allocations, Unit: "a quote", Goal: "none", Met: allocations == 0})
	if err := r.Write(); err != nil {
		return err
	}
	if missed := r.Missed(); missed > 0 {
		return fmt.Errorf("%d bounds are missed", missed)
	}
	return nil
}

// openPool returns an AMM v4 pool of coin and SOL, made of the accounts of a test chain.
func openPool(coin venue.Key) (venue.Pool, error) {
	chain := swaptest.New()
	chain.Mint(coin, swaptest.TokenProgram, 6)
	data := make([]byte, ammv4.PoolSize)
	for at, n := range map[int]uint64{0: 6, 176: 25, 184: 10_000} {
		binary.LittleEndian.PutUint64(data[at:], n)
	}
	for i, mint := range []venue.Key{coin, swaptest.WrappedSOL} {
		vault := swaptest.Named(fmt.Sprintf("vault %d", i))
		copy(data[336+32*i:], vault[:])
		copy(data[400+32*i:], mint[:])
		chain.TokenAccount(vault, swaptest.TokenProgram, mint, 1<<50)
	}
	address := swaptest.Named("pool")
	chain.Put(map[venue.Key]*solana.Account{address: {Owner: ammv4.Program, Lamports: 1, Data: data}})
	ref, err := ammv4.Venue{}.Open(address, data)
	if err != nil {
		return nil, err
	}
	return chain.Decode(ref)
}

// timed returns the mean time of a call in nanoseconds.
func timed(call func()) float64 {
	began := time.Now()
	for range batch {
		call()
	}
	return float64(time.Since(began).Nanoseconds()) / batch
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
