package all_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/all"
)

// venues by name.
var venues = func() map[string]venue.Venue {
	byName := map[string]venue.Venue{}
	for _, v := range all.Venues() {
		byName[v.Name()] = v
	}
	return byName
}()

type watch struct {
	Key   string `json:"key"`
	Token bool   `json:"token"`
	Want  string `json:"want"`
}

// scene makes cases. Each begins with empty accounts.
type scene struct {
	*svmtest.Scene
	t       *testing.T
	encoder *json.Encoder
	coin    venue.Key
	cases   int
	limits  map[string]uint32
	counts  map[string]int
}

func newScene(t *testing.T, encoder *json.Encoder) *scene {
	t.Helper()
	return &scene{
		Scene: svmtest.NewScene(t, swaptest.Named("user"), 1), t: t, encoder: encoder, coin: swaptest.Named("coin"),
		limits: map[string]uint32{}, counts: map[string]int{},
	}
}

func (s *scene) run(count int) {
	for i := range count {
		s.ammV4(i)
		s.pumpSwap(i)
		s.curve(i)
	}
}

// rich gives the user much of both.
func (s *scene) rich() {
	s.Associated(s.User, s.coin, svmtest.Rich)
	s.Associated(s.User, mint.WrappedSOL, svmtest.Rich)
}

// ammV4 is a swap on a pool of two SPL tokens.
func (s *scene) ammV4(id int) {
	s.Clear()
	s.Mint(s.coin, mint.Token, 1<<62)
	pool := s.AMMV4("v4", s.coin, [2]int{12, 58})
	s.rich()
	s.swap("raydium_amm_v4", id, venues["raydium_amm_v4"], pool, s.order(s.Either(s.coin, mint.WrappedSOL), 57))
}

// pumpSwap is a swap on a pool of a Token-2022 coin and SOL under mainnet's configuration.
func (s *scene) pumpSwap(id int) {
	s.Clear()
	s.Mint(s.coin, s.Either(mint.Token, mint.Token2022), s.Amount(40, 52))
	pool := s.PumpSwap(s.coin, [2]int{20, 50}, true)
	s.rich()
	s.swap("pumpswap", id, venues["pumpswap"], pool, s.order(s.Either(s.coin, mint.WrappedSOL), 49))
}

// curve is a swap on a curve in SOL.
func (s *scene) curve(id int) {
	s.Clear()
	version := 2 + s.Random.IntN(2)
	address := s.Curve(s.coin, version)
	s.rich()
	order := s.order(s.Either(s.coin, mint.WrappedSOL), 36)
	if order.In == s.coin != order.ExactOut {
		order.Amount <<= 10
	}
	s.swap("pump_curve v"+strconv.Itoa(version), id, venues["pump_curve"], address, order)
}

// swap quotes an order on the scene's pool, builds the transaction and writes the case.
func (s *scene) swap(kind string, id int, v venue.Venue, address venue.Key, order venue.Order) {
	t := s.t
	ref, err := v.Open(address, s.Held[address].Data, s.coin, mint.WrappedSOL)
	require.NoError(t, err)
	pool, err := ref.Decode(venue.NewAccounts(s.Held))
	require.NoError(t, err)
	order.Clock = svmtest.Now
	q, err := pool.Quote(order)
	if err != nil {
		require.NotEmpty(t, venue.RefusalOf(err), err)
		return
	}
	limit := q.AmountOut
	if order.ExactOut {
		limit = q.AmountIn
	}
	wraps := order.Amount
	if order.ExactOut {
		wraps = q.AmountIn
	}
	side := func(key venue.Key) txn.Side { return txn.Side{Mint: key, Program: s.Held[key].Owner} }
	built, err := txn.Build(txn.Request{User: s.User, In: side(order.In), Out: side(q.Out), HasWrapped: true, Swaps: []txn.Swap{{
		In: side(order.In), Out: side(q.Out), Spend: wraps, Native: q.Native, Units: q.ComputeUnits,
		Instructions: func(user venue.UserAccounts) ([]venue.Instruction, error) { return pool.Instructions(q, limit, user) },
	}}})
	require.NoError(t, err)
	s.write(kind, id, order, q, built)
}

func (s *scene) write(kind string, id int, order venue.Order, q venue.Quote, built *txn.Transaction) {
	if order.ExactOut {
		kind += " exact out"
	}
	// Fewer accounts to create means a lower limit: the lowest counts.
	if least := s.limits[kind]; least == 0 || built.ComputeUnits < least {
		s.limits[kind] = built.ComputeUnits
	}
	const fee = 5000
	var watches []watch
	for _, leg := range []struct {
		mint     venue.Key
		out      uint64
		in, wrap uint64
	}{{order.In, 0, q.AmountIn, q.AmountIn}, {q.Out, q.AmountOut, 0, 0}} {
		if leg.mint == mint.WrappedSOL && q.Native {
			watches = append(watches, watch{s.User.String(), false, fmt.Sprint(uint64(svmtest.Rich) + leg.out - leg.in - fee)})
			continue
		}
		key, err := venue.AssociatedAccount(s.User, leg.mint, s.Held[leg.mint].Owner)
		require.NoError(s.t, err)
		want := uint64(svmtest.Rich) + leg.out - leg.in
		if leg.mint == mint.WrappedSOL && leg.in > 0 {
			// What was wrapped for it lies there besides; more than was used stays.
			if want = svmtest.Rich; !order.ExactOut {
				want += order.Amount - leg.in
			}
		}
		watches = append(watches, watch{key.String(), true, fmt.Sprint(want)})
	}
	s.cases++
	s.counts[kind]++
	require.NoError(s.t, s.encoder.Encode(map[string]any{
		"t": "case", "id": fmt.Sprintf("%s %d: %d for %d", kind, id, q.AmountIn, q.AmountOut), "kind": kind, "slot": svmtest.Now.Slot, "time": svmtest.Now.UnixTime,
		"accounts": svmtest.Listed(s.Held), "wire": base64.StdEncoding.EncodeToString(built.Bytes), "watch": watches,
	}))
}

// order draws one: what of the pool's first or second mint.
func (s *scene) order(in venue.Key, most int) venue.Order {
	return venue.Order{In: in, Amount: s.Amount(3, most), ExactOut: s.Random.IntN(3) == 0}
}
