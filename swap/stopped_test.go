package swap

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// ammV4 puts a pool of the coin and wrapped SOL.
func ammV4(c *swaptest.Chain, name string, amount uint64) venue.Key {
	data := make([]byte, ammv4.PoolSize)
	for at, n := range map[int]uint64{0: 6, 176: 25, 184: 10_000} {
		binary.LittleEndian.PutUint64(data[at:], n)
	}
	for i, mint := range []venue.Key{coin, swaptest.WrappedSOL} {
		vault := swaptest.Named(name + " vault " + string(rune('0'+i)))
		copy(data[336+32*i:], vault[:])
		copy(data[400+32*i:], mint[:])
		c.TokenAccount(vault, swaptest.TokenProgram, mint, amount)
	}
	c.Set(swaptest.Named(name), ammv4.Program, data)
	return swaptest.Named(name)
}

// listedVenue is a venue as GET /api/v2/venues tells it.
func (f *fixture) listedVenue(t *testing.T, name string) ListedVenue {
	t.Helper()
	status, body := f.do(t, http.MethodGet, routeVenues, "")
	require.Equal(t, http.StatusOK, status)
	var list struct{ Venues []ListedVenue }
	require.NoError(t, json.Unmarshal(body, &list))
	for _, v := range list.Venues {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		conforms(t, "Venue", raw)
		if v.Venue == name {
			return v
		}
	}
	t.Fatalf("%s is not listed", name)
	return ListedVenue{}
}

// TestAVenueThatPanicsIsOutAndTheOthersAnswer: wherever it panics, with the best pool of the pair.
func TestAVenueThatPanicsIsOutAndTheOthersAnswer(t *testing.T) {
	for _, place := range venuetest.Places {
		t.Run(place, func(t *testing.T) {
			c := chain()
			deep := c.CPMM(swaptest.Pool{Name: "deep", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 50, 1 << 50}, TradeRate: 100})
			other := ammV4(c, "other", 1<<40)
			broken := &venuetest.Broken{Venue: cpmm.Venue{}}
			f := start(t, Config{venues: venue.List{broken, ammv4.Venue{}}, Hubs: []venue.Key{}}, c)
			ask := query(coin, swaptest.WrappedSOL, "1000000", fieldUser, wallet.String())
			require.Equal(t, deep.Pool.String(), f.quoteOK(t, ask).Route[0].Pool)
			require.Equal(t, statusProved, f.listedVenue(t, cpmm.Name).Status)
			require.EqualValues(t, 1, up(t, f, cpmm.Name))

			broken.Panics(place)
			time.Sleep(2 * time.Nanosecond) // the state that was read lives for a nanosecond
			r := f.quoteOK(t, ask)
			require.Equal(t, other.String(), r.Route[0].Pool)
			require.NotEmpty(t, r.Txn)
			require.Equal(t, statusStopped, f.listedVenue(t, cpmm.Name).Status)
			require.Equal(t, stopPanicked, f.listedVenue(t, cpmm.Name).Stopped.Reason)
			require.Equal(t, statusProved, f.listedVenue(t, ammv4.Name).Status)
			require.Zero(t, up(t, f, cpmm.Name))
			require.EqualValues(t, 1, up(t, f, ammv4.Name))
			require.Contains(t, f.log.String(), venuetest.Reason)

			broken.Panics("")
			r = f.quoteOK(t, ask)
			require.Equal(t, other.String(), r.Route[0].Pool, "it is out for a while")
			var report *VenueReport
			for i := range r.Venues {
				if r.Venues[i].Venue == cpmm.Name {
					report = &r.Venues[i]
				}
			}
			require.NotNil(t, report)
			require.Equal(t, stopPanicked, report.Stopped.Reason)
			require.Len(t, report.Refused, 1)
			require.Equal(t, codeStopped, report.Refused[0].Code)

			c.Remove(other)
			status, body := f.do(t, http.MethodGet, ask, "")
			require.Equal(t, http.StatusNotFound, status)
			require.Contains(t, string(body), `"code":"`+codeStopped+`"`)
			require.NotContains(t, string(body), venuetest.Reason)
			conforms(t, "Error", body)
		})
	}
}

// up is whether the metrics say that a venue gives quotes.
func up(t *testing.T, f *fixture, name string) float64 {
	t.Helper()
	families, err := f.deps.Registerer.(*prometheus.Registry).Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() != "mintlake_swap_venue_up" {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == name {
				return m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no metric of %s", name)
	return 0
}
