package market

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/e2e/oracle"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// demoSlots are those of the demo chain whose trades are repeated.
const demoSlots = 20

var tokenProgram = pubkey.MustParse(schemas.ProgramToken)

// trade is what one recorded transaction swapped and created.
type trade struct {
	legs    []*eventspb.SwapLeg
	pools   []*eventspb.Pool
	changes []*eventspb.LiquidityChange
}

// history makes more of the recorded trades: the same ones at other times, with other amounts, and
// from the second variant on with other mints and pools.
type history struct {
	random   *rand.Rand
	trades   []trade
	variants int
	n        uint64
	oracle   *oracle.Oracle
	// introduced are the mints that were told of.
	introduced map[string]bool
}

// newHistory reads recorded blocks and some of the demo chain.
func newHistory(t *testing.T, random *rand.Rand, mints int) *history {
	t.Helper()
	demoBlocks := t.TempDir()
	const first = 400_000_000
	_, err := demo.WriteBlocks(demoBlocks, demo.Config{Seed: 7, TPS: 250, Tokens: 60, StartSlot: first}, first, first+demoSlots-1)
	require.NoError(t, err)
	h, seen := &history{random: random, oracle: oracle.New(), introduced: map[string]bool{}}, map[string]bool{}
	for _, folder := range []string{testkit.Shared(t, "data/blocks"), demoBlocks} {
		before := len(h.trades)
		for _, messages := range oracle.Read(t, folder) {
			var told trade
			for _, message := range messages {
				switch m := message.(type) {
				case *eventspb.SwapLeg:
					told.legs = append(told.legs, m)
					seen[string(m.GetMintIn())], seen[string(m.GetMintOut())] = true, true
				case *eventspb.Pool:
					told.pools = append(told.pools, m)
				case *eventspb.LiquidityChange:
					told.changes = append(told.changes, m)
				}
			}
			if len(told.legs)+len(told.pools)+len(told.changes) > 0 {
				h.trades = append(h.trades, told)
			}
		}
		require.Greater(t, len(h.trades), before+100, "trades in %s", folder)
	}
	h.variants = 1 + 2*mints/len(seen)
	t.Logf("%d trades with %d mints, %d variants", len(h.trades), len(seen), h.variants)
	return h
}

// trade repeats some trades at about until; at the first moment all, at any time of two days. facts
// are about mints that are new.
func (h *history) trade(until time.Time, mints int, first bool) (fresh, facts []proto.Message) {
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
			if leg, ok := message.(*eventspb.SwapLeg); ok && leg.ReserveIn != nil && leg.ReserveOut != nil && h.random.IntN(8) == 0 {
				fresh = append(fresh, h.changeOf(leg))
			}
		}
	}
	facts = h.introduce(fresh)
	for _, message := range slices.Concat(fresh, facts) {
		h.oracle.Add(message)
	}
	return fresh, facts
}

// introduce tells of mints that are new in the legs: of each its decimals, of most a supply, and
// of some that a launchpad created them or moved their trading to a pool.
func (h *history) introduce(fresh []proto.Message) (facts []proto.Message) {
	tell := func(mint []byte, at int64, payload func(*eventspb.TokenEvent)) {
		h.n++
		event := &eventspb.TokenEvent{
			Position: &eventspb.Position{Slot: uint64(at)*1_000 + h.n%1_000, TransactionIndex: proto.Uint32(0)}, BlockTime: at,
			Signature: append(hash(fmt.Sprint("transaction ", h.n)), make([]byte, 32)...), ProgramId: tokenProgram[:], Mint: mint,
		}
		payload(event)
		facts = append(facts, event)
	}
	for _, message := range fresh {
		leg, ok := message.(*eventspb.SwapLeg)
		if !ok {
			continue
		}
		for side, mint := range [][]byte{leg.GetMintIn(), leg.GetMintOut()} {
			if h.introduced[string(mint)] {
				continue
			}
			h.introduced[string(mint)] = true
			decimals, early := []uint32{leg.GetDecimalsIn(), leg.GetDecimalsOut()}[side], noon.Unix()-1e6
			tell(mint, early, func(e *eventspb.TokenEvent) {
				e.Payload = &eventspb.TokenEvent_Sighting{Sighting: &eventspb.Sighting{Decimals: decimals}}
			})
			if h.random.IntN(10) > 0 && base58.Encode(mint) != schemas.MintWrappedSOL {
				facts = append(facts, &eventspb.Enrichment{Mint: mint, Slot: uint64(early) * 1_001, Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{
					ProgramId: tokenProgram[:], Decimals: decimals, Supply: 2 + h.random.Uint64N(1e18),
				}}})
			}
			name := schemas.Launchpads()[h.random.IntN(len(schemas.Launchpads()))]
			if h.random.IntN(2) == 0 {
				tell(mint, early+h.random.Int64N(1e6), func(e *eventspb.TokenEvent) {
					e.Payload = &eventspb.TokenEvent_Launch{Launch: &eventspb.Launch{Launchpad: name, Creator: leg.GetTrader()}}
				})
			}
			if h.random.IntN(4) == 0 {
				tell(mint, early+h.random.Int64N(1e6), func(e *eventspb.TokenEvent) {
					e.Payload = &eventspb.TokenEvent_Graduate{Graduate: &eventspb.Graduate{Launchpad: name}}
				})
			}
		}
	}
	return facts
}

// creationOf is a creation of the leg's pool, some time before all trades: recorded blocks create
// few.
func (h *history) creationOf(leg *eventspb.SwapLeg) *eventspb.Pool {
	h.n++
	at := noon.Add(-time.Duration(h.random.IntN(20_000)) * time.Second)
	signature := make([]byte, 64)
	copy(signature, hash(fmt.Sprint("transaction ", h.n)))
	return &eventspb.Pool{
		Position:  &eventspb.Position{Slot: uint64(at.Unix())*1_000 + h.n%1_000, TransactionIndex: proto.Uint32(0)},
		BlockTime: at.Unix(), Signature: signature, ProgramId: leg.GetProgramId(), Venue: leg.GetVenue(), Pool: leg.GetPool(),
		MintA: leg.GetMintIn(), MintB: leg.GetMintOut(), Created: true, Creator: leg.GetTrader(),
	}
}

// changeOf fills or empties the leg's pool within a minute of the leg.
func (h *history) changeOf(leg *eventspb.SwapLeg) *eventspb.LiquidityChange {
	h.n++
	at := leg.GetBlockTime() - h.random.Int64N(60)
	signature := make([]byte, 64)
	copy(signature, hash(fmt.Sprint("transaction ", h.n)))
	c := &eventspb.LiquidityChange{
		Position: &eventspb.Position{Slot: uint64(at)*1_000 + h.n%1_000, TransactionIndex: proto.Uint32(0), InstructionIndex: 2}, BlockTime: at, Signature: signature,
		ProgramId: leg.GetProgramId(), Venue: leg.GetVenue(), Pool: leg.GetPool(), Added: h.random.IntN(2) == 0, MintA: leg.GetMintIn(), MintB: leg.GetMintOut(),
		AmountA: leg.GetAmountIn(), AmountB: leg.GetAmountOut(), DecimalsA: leg.DecimalsIn, DecimalsB: leg.DecimalsOut, Provider: leg.GetTrader(), Instruction: "deposit",
		ReserveA: proto.Uint64(leg.GetReserveIn() / 3), ReserveB: proto.Uint64(leg.GetReserveOut() / 2),
	}
	if c.GetAdded() {
		c.LpMint, c.LpAmount = hash("shares of " + string(leg.GetPool()))[:32], proto.Uint64(h.n)
		c.ReserveA, c.ReserveB = proto.Uint64(leg.GetReserveIn()*2), proto.Uint64(leg.GetReserveOut()*2)
	}
	return c
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
	for _, change := range source.changes {
		c := proto.CloneOf(change)
		c.Position, c.BlockTime, c.Signature = position(c.GetPosition()), at.Unix(), signature
		c.MintA, c.MintB, c.Pool = other(c.GetMintA(), variant), other(c.GetMintB(), variant), other(c.GetPool(), variant)
		messages = append(messages, c)
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
	if text := base58.Encode(key); variant == 0 || oracle.Anchor(text) {
		return key
	}
	return hash(fmt.Sprint(string(key), variant))
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
