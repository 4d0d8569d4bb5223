package market

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// trade is what one recorded transaction swapped and created.
type trade struct {
	legs  []*eventspb.SwapLeg
	pools []*eventspb.Pool
}

// history makes more of the recorded trades: the same ones at other times, with other amounts, and
// from the second variant on with other mints and pools.
type history struct {
	random   *rand.Rand
	trades   []trade
	variants int
	n        uint64
	oracle   *oracle
}

func newHistory(t *testing.T, random *rand.Rand, mints int) *history {
	t.Helper()
	source, err := file.New(file.Config{Paths: []string{testkit.Shared(t, "data/blocks")}}, file.Deps{})
	require.NoError(t, err)
	var sink sourcetest.Sink
	require.NoError(t, source.Run(context.Background(), sourcetest.Ledger{}, &sink))
	h, decoder, seen := &history{random: random, oracle: newOracle()}, decode.New(nil), map[string]bool{}
	for _, block := range sink.Blocks() {
		for i := range block.Transactions {
			found := decoder.Swaps(&block.Transactions[i], block.Slot, block.BlockTime)
			var told trade
			for _, leg := range found.Legs {
				if string(leg.GetMintIn()) != string(leg.GetMintOut()) {
					told.legs = append(told.legs, leg)
					seen[string(leg.GetMintIn())], seen[string(leg.GetMintOut())] = true, true
				}
			}
			for _, pool := range found.Pools {
				if len(pool.GetMintA()) == 32 && len(pool.GetMintB()) == 32 {
					told.pools = append(told.pools, pool)
				}
			}
			if len(told.legs) > 0 || len(told.pools) > 0 {
				h.trades = append(h.trades, told)
			}
		}
	}
	h.variants = 1 + 2*mints/len(seen)
	t.Logf("%d trades with %d mints, %d variants", len(h.trades), len(seen), h.variants)
	return h
}

// trade repeats some trades at about until; at the first moment all, at any time of two days.
func (h *history) trade(until time.Time, mints int, first bool) (fresh []proto.Message) {
	count := max(60, mints/6)
	if first {
		count = len(h.trades) * h.variants
	}
	for i := range count {
		source, variant := h.trades[i%len(h.trades)], i/len(h.trades)
		if !first {
			source, variant = h.trades[h.random.IntN(len(h.trades))], h.random.IntN(h.variants)
		}
		at := until.Add(-h.ago(first))
		for _, message := range h.again(source, variant, at.Truncate(time.Second)) {
			fresh = append(fresh, message)
			if leg, ok := message.(*eventspb.SwapLeg); ok && first && h.random.IntN(2) == 0 {
				fresh = append(fresh, h.creationOf(leg))
			}
		}
	}
	for _, message := range fresh {
		h.oracle.add(message)
	}
	return fresh
}

// creationOf is a creation of the leg's pool, some time before all trades: recorded blocks create
// few.
func (h *history) creationOf(leg *eventspb.SwapLeg) *eventspb.Pool {
	h.n++
	at := noon.Add(-time.Duration(h.random.IntN(1e6)) * time.Second)
	signature := make([]byte, 64)
	copy(signature, hash(fmt.Sprint("transaction ", h.n)))
	return &eventspb.Pool{
		Position:  &eventspb.Position{Slot: uint64(at.Unix())*1_000 + h.n%1_000, TransactionIndex: proto.Uint32(0)},
		BlockTime: at.Unix(), Signature: signature, ProgramId: leg.GetProgramId(), Venue: leg.GetVenue(), Pool: leg.GetPool(),
		MintA: leg.GetMintIn(), MintB: leg.GetMintOut(), Created: true, Creator: leg.GetTrader(),
	}
}

// ago is how old a trade is: most are as old as a window is long, so that they lie at its edges.
// Prices need trades within the same hour, so most of the first lie in a few hours.
func (h *history) ago(first bool) time.Duration {
	windows := []time.Duration{0, 5 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 25 * time.Hour}
	window := windows[h.random.IntN(2)]
	if first || h.random.IntN(50) == 0 {
		window = windows[h.random.IntN(len(windows))]
	}
	return max(0, window+time.Duration(h.random.IntN(360)-180)*time.Second)
}

// again is a trade at another time, in a slot of its own.
func (h *history) again(source trade, variant int, at time.Time) (messages []proto.Message) {
	h.n++
	position := func(p *eventspb.Position) *eventspb.Position {
		p = proto.CloneOf(p)
		p.Slot = uint64(at.Unix())*1_000 + h.n%1_000
		return p
	}
	signature := make([]byte, 64)
	copy(signature, hash(fmt.Sprint("transaction ", h.n)))
	factor := 1 + h.random.Uint64N(4)
	for _, leg := range source.legs {
		l := proto.CloneOf(leg)
		l.Position, l.BlockTime, l.Signature = position(l.GetPosition()), at.Unix(), signature
		l.MintIn, l.MintOut, l.Pool = other(l.GetMintIn(), variant), other(l.GetMintOut(), variant), other(l.GetPool(), variant)
		l.AmountIn, l.AmountOut = l.GetAmountIn()/factor, l.GetAmountOut()/factor
		messages = append(messages, l)
	}
	for _, pool := range source.pools {
		p := proto.CloneOf(pool)
		p.Position, p.BlockTime, p.Signature = position(p.GetPosition()), at.Unix(), signature
		p.MintA, p.MintB, p.Pool = other(p.GetMintA(), variant), other(p.GetMintB(), variant), other(p.GetPool(), variant)
		messages = append(messages, p)
	}
	return messages
}

// other is the same key in another variant; anchors stay what they are.
func other(key []byte, variant int) []byte {
	if text := base58.Encode(key); variant == 0 || text == sol || stables[text] {
		return key
	}
	return hash(fmt.Sprint(string(key), variant))
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
