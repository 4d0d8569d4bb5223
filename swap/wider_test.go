package swap

import (
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// narrow is a venue whose pools take at most narrowMost until a wider window of them is read.
type narrow struct{ venue.Venue }

const narrowMost, wideMost = 1_000_000, 100_000_000

func (n narrow) Open(address venue.Key, data []byte, mints ...venue.Key) (venue.Ref, error) {
	ref, err := n.Venue.Open(address, data, mints...)
	return &narrowRef{ref, narrowMost}, err
}

type narrowRef struct {
	venue.Ref
	most uint64
}

func (r *narrowRef) Depth() uint64                  { return 1 }
func (r *narrowRef) Near() []venue.Key              { return nil }
func (r *narrowRef) Spare() []venue.Key             { return nil }
func (r *narrowRef) Next([]byte) (venue.Ref, error) { return r, nil }

func (r *narrowRef) Wider() venue.Ref {
	if r.most == wideMost {
		return nil
	}
	return &narrowRef{r.Ref, wideMost}
}

func (r *narrowRef) Decode(state venue.State) (venue.Pool, error) {
	pool, err := r.Ref.Decode(state)
	return &narrowPool{pool, r.most}, err
}

type narrowPool struct {
	venue.Pool
	most uint64
}

func (p *narrowPool) Quote(o venue.Order) (venue.Quote, error) {
	if o.Amount > p.most {
		return venue.Quote{}, venue.ErrBeyond
	}
	return p.Pool.Quote(o)
}

// TestAnOrderBeyondTheWindowIsAnsweredByASecondReading, and refused if it is beyond the wider one
// too.
func TestAnOrderBeyondTheWindowIsAnsweredByASecondReading(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "pool", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 2500})
	f := start(t, Config{venues: venue.List{narrow{cpmm.Venue{}}}, Hubs: []venue.Key{}}, c)
	for _, amount := range []string{"1000000", "100000000"} {
		r := f.quoteOK(t, query(coin, swaptest.WrappedSOL, amount))
		require.Equal(t, amount, r.AmountIn)
		require.Len(t, r.Route, 1)
		require.Equal(t, map[string]float64{"1000000": 0, "100000000": 1}[amount], widerReads(t, f))
	}
	f.refused(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "100000001"), "", http.StatusNotFound, "farther from the price")

	// A small pool beside it would give a bad price.
	c.CPMM(swaptest.Pool{Name: "small", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 20, 1 << 20}, TradeRate: 2500})
	require.Less(t, f.quoteOK(t, query(coin, swaptest.WrappedSOL, "50000000")).PriceImpactBps, uint64(10))
}

// widerReads returns how many pools were read with a wider window.
func widerReads(t *testing.T, f *fixture) (count float64) {
	t.Helper()
	families, err := f.deps.Registerer.(*prometheus.Registry).Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "mintlake_swap_pair_reads_total" && m.GetLabel()[0].GetValue() == "wider" {
				count += m.GetCounter().GetValue()
			}
		}
	}
	return count
}
