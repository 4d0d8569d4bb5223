// Package oracle computes the market of tokens a second time, for tests: with plain loops over all
// legs, by the formulas of docs/volume.md and docs/api-reference.md.
//
// In: what was told of trades, pools and launches. Out: a failed test if a node's answers differ.
// Guarantees: it uses no code of the rooms that make the figures.
package oracle

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const sol = "So11111111111111111111111111111111111111112"

// stables all have six decimals.
var stables = map[string]bool{
	"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v": true, "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB": true,
	"2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo": true, "USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB": true, "USDSwr9ApdHk5bvJKMjzff41FfuX8bSxdKcR81vTwcA": true,
}

// Anchor reports whether a mint has a price of its own: SOL and stables.
func Anchor(mint string) bool { return mint == sol || stables[mint] }

// place is where an instruction stands on the chain; legs here have no two of one place.
type place [5]uint64

func placeOf(p *eventspb.Position) place {
	inner := uint64(0)
	if p.InnerInstructionIndex != nil {
		inner = uint64(p.GetInnerInstructionIndex()) + 1
	}
	return place{p.GetSlot(), uint64(p.GetTransactionIndex()), uint64(p.GetInstructionIndex()), inner, uint64(p.GetBatchIndex())}
}

func (p place) before(q place) bool { return slices.Compare(p[:], q[:]) < 0 }

// leg is a leg as the oracle reads it; side 0 went in, side 1 came out.
type leg struct {
	place
	at       time.Time
	pool     string
	mint     [2]string
	amount   [2]uint64
	decimals [2]*uint32
	reserve  *[2]uint64
	trader   string
	value    *float64
	// What trades are listed with; wallet is trader in base58.
	signature, venue, wallet, aggregator string
}

// pooled is a pool with one pair of mints.
type pooled struct{ pool, a, b string }

func (l *leg) pooled() pooled {
	return pooled{l.pool, min(l.mint[0], l.mint[1]), max(l.mint[0], l.mint[1])}
}

// creation is the record of a pool's creation, or of its sight.
type creation struct {
	place
	at      time.Time
	created bool
}

// launched is what instructions told of a mint's launchpad.
type launched struct {
	launch, graduation place
	// launchpad and creator are empty, and graduated is nil, where nothing told them.
	launchpad, creator string
	graduated          *time.Time
}

// Oracle knows everything that was told.
type Oracle struct {
	legs    []*leg
	changes []*liquidity
	// priced are the prices of all minutes with legs, in order, as market computed them last.
	priced    []*prices
	creations map[pooled][]creation
	launches  map[string]*launched
	// supplies are what was read of mint accounts, in the smallest unit.
	supplies map[string]uint64
}

// New returns an oracle that knows nothing.
func New() *Oracle {
	return &Oracle{creations: map[pooled][]creation{}, launches: map[string]*launched{}, supplies: map[string]uint64{}}
}

// Read returns what each transaction in a folder of blocks tells: legs, pools, and token events.
func Read(t testing.TB, folder string) (transactions [][]proto.Message) {
	t.Helper()
	source, err := file.New(file.Config{Paths: []string{folder}}, file.Deps{})
	require.NoError(t, err)
	var sink sourcetest.Sink
	require.NoError(t, source.Run(context.Background(), sourcetest.Ledger{}, &sink))
	decoder := decode.New(nil)
	for _, block := range sink.Blocks() {
		for i := range block.Transactions {
			var told []proto.Message
			found := decoder.Swaps(&block.Transactions[i], block.Slot, block.BlockTime)
			for _, l := range found.Legs {
				if !bytes.Equal(l.GetMintIn(), l.GetMintOut()) {
					told = append(told, l)
				}
			}
			for _, pool := range found.Pools {
				if len(pool.GetMintA()) == 32 && len(pool.GetMintB()) == 32 {
					told = append(told, pool)
				}
			}
			for _, change := range found.Liquidity {
				if len(change.GetMintB()) == 32 {
					told = append(told, change)
				}
			}
			for _, event := range decoder.Decode(&block.Transactions[i], block.Slot, block.BlockTime) {
				told = append(told, event)
			}
			if len(told) > 0 {
				transactions = append(transactions, told)
			}
		}
	}
	return transactions
}

// Add tells the oracle of a leg, a pool, a token event, or a read of a mint account. Tell it each
// once.
func (o *Oracle) Add(message proto.Message) {
	switch m := message.(type) {
	case *eventspb.SwapLeg:
		l := &leg{
			place: placeOf(m.GetPosition()), at: time.Unix(m.GetBlockTime(), 0).UTC(), pool: base58.Encode(m.GetPool()),
			mint: [2]string{base58.Encode(m.GetMintIn()), base58.Encode(m.GetMintOut())}, amount: [2]uint64{m.GetAmountIn(), m.GetAmountOut()},
			decimals: [2]*uint32{m.DecimalsIn, m.DecimalsOut}, trader: string(m.GetTrader()),
			signature: base58.Encode(m.GetSignature()), venue: m.GetVenue(), wallet: base58.Encode(m.GetTrader()), aggregator: m.GetAggregator(),
		}
		if m.ReserveIn != nil && m.ReserveOut != nil {
			l.reserve = &[2]uint64{m.GetReserveIn(), m.GetReserveOut()}
		}
		o.legs = append(o.legs, l)
	case *eventspb.Pool:
		a, b := base58.Encode(m.GetMintA()), base58.Encode(m.GetMintB())
		key := pooled{base58.Encode(m.GetPool()), min(a, b), max(a, b)}
		o.creations[key] = append(o.creations[key], creation{placeOf(m.GetPosition()), time.Unix(m.GetBlockTime(), 0).UTC(), m.GetCreated()})
	case *eventspb.LiquidityChange:
		o.liquidity(m)
	case *eventspb.TokenEvent:
		o.event(m)
	case *eventspb.Enrichment:
		o.supplies[base58.Encode(m.GetMint())] = m.GetMintAccount().GetSupply()
	}
}

// event keeps the launch and the graduation of the highest place.
func (o *Oracle) event(m *eventspb.TokenEvent) {
	mint, at := base58.Encode(m.GetMint()), placeOf(m.GetPosition())
	l := o.launches[mint]
	if l == nil {
		l = new(launched)
		o.launches[mint] = l
	}
	if launch := m.GetLaunch(); launch != nil && !at.before(l.launch) {
		l.launch, l.launchpad, l.creator = at, launch.GetLaunchpad(), base58.Encode(launch.GetCreator())
	}
	if m.GetGraduate() != nil && !at.before(l.graduation) {
		when := time.Unix(m.GetBlockTime(), 0).UTC()
		l.graduation, l.graduated = at, &when
	}
}

// row is what the market says of a mint. Nil: unknown.
type row struct {
	price, liquidity, organic, day, fiveMinutes, hour, sixHours *float64
	// whole is the supply in whole tokens.
	whole                        *float64
	priceAt, firstPool, liquidAt *time.Time
	trades, pools                uint64
	traders                      map[string]bool
	mint                         string
	heldUSD                      *float64
	windows                      map[string]*window
	last                         time.Time
}

// market is computed anew from all legs. until is the highest block time.
func (o *Oracle) market() (rows map[string]*row, until time.Time) {
	minutes := o.minutes()
	starts := map[time.Time]bool{}
	for _, l := range o.legs {
		starts[l.at.Truncate(time.Minute)] = true
		if l.at.After(until) {
			until = l.at
		}
	}
	all := make([]*prices, 0, len(starts))
	at := map[time.Time]*prices{}
	for start := range starts {
		p := pricesAt(start, minutes)
		all, at[start] = append(all, p), p
	}
	slices.SortFunc(all, func(a, b *prices) int { return a.start.Compare(b.start) })
	o.priced = all
	for _, l := range o.legs {
		l.value = valueOf(l, at[l.at.Truncate(time.Minute)])
	}
	rows = map[string]*row{}
	o.windows(rows, until)
	o.organic(rows, until)
	latest := func(mint string, from, to time.Time, of func(*prices) map[string]float64) (price *float64, when *time.Time) {
		for _, p := range all {
			if value, known := of(p)[mint]; known && p.start.After(from) && !p.start.After(to) {
				price, when = &value, &p.start
			}
		}
		return price, when
	}
	whole := func(p *prices) map[string]float64 { return p.whole }
	day := until.Add(-24 * time.Hour)
	solPrice, _ := latest(sol, day, until, func(p *prices) map[string]float64 { return p.raw })
	for mint, r := range rows {
		r.mint = mint
		r.price, r.priceAt = latest(mint, day, until, whole)
	}
	o.windowsOf(rows, until, func(mint string, from, to time.Time, first bool) (*float64, *time.Time) {
		if !first {
			return latest(mint, from, to, whole)
		}
		for _, p := range all {
			if value, known := p.whole[mint]; known && p.start.After(from) && !p.start.After(to) {
				return &value, &p.start
			}
		}
		return nil, nil
	})
	o.held(rows, until, solPrice)
	o.pools(rows, day, solPrice)
	return rows, until
}
