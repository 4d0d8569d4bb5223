package bounds

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

var begin = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// clock is a machine's clock, which may be wrong.
type clock struct {
	true  time.Time
	wrong time.Duration
}

func (c *clock) now() time.Time { return c.true.Add(c.wrong) }

func boundsAt(t require.TestingT, c *clock) *Bounds {
	b, err := New(Deps{Clock: c.now})
	require.NoError(t, err)
	return b
}

func mainnet(t require.TestingT) pubkey.Key {
	key, err := pubkey.Parse("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d")
	require.NoError(t, err)
	return key
}

func parentOf(slot uint64) *uint64 { return &slot }

// ring lets b see blocks of a chain that is at slot now.
func ring(t *testing.T, b *Bounds, slot uint64, now time.Time) {
	t.Helper()
	for i := range uint64(lastBlocks) {
		at := slot - lastBlocks + 1 + i
		require.NoError(t, b.Block(at, parentOf(at-1), now.Add(-time.Duration(lastBlocks-i)*200*time.Millisecond).Unix()))
	}
}

func TestASlotThatNoChainCanHaveReached(t *testing.T) {
	c := &clock{true: begin}
	b := boundsAt(t, c)
	var none *Bounds
	for _, slot := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63, 1 << 62, 1 << 53, 1 << 40, 3_000_000_000} {
		require.ErrorIs(t, b.Slot(slot), ErrImpossible, "%d", slot)
		require.ErrorIs(t, none.Slot(slot), ErrImpossible, "%d", slot)
		require.ErrorIs(t, b.Read("liar", slot), ErrImpossible, "%d", slot)
		require.ErrorIs(t, none.Read("liar", slot), ErrImpossible, "%d", slot)
		require.ErrorIs(t, b.Block(slot, nil, 0), ErrImpossible, "%d", slot)
	}
	for _, slot := range []uint64{0, 1, 432_000, 459_652_999, 475_000_000, 900_000_000} {
		require.NoError(t, b.Slot(slot), "%d", slot)
		require.NoError(t, none.Slot(slot), "%d", slot)
	}
	b.Identity(mainnet(t))
	require.NoError(t, b.Slot(475_600_000), "at 214 ms")
	require.NoError(t, b.Slot(490_000_000), "at 120 ms")
	require.ErrorIs(t, b.Slot(600_000_000), ErrImpossible)
	c.true = time.Unix(0, 0)
	require.NoError(t, b.Slot(475_600_000), "the machine has no clock")
}

func TestBlocksThatCannotBe(t *testing.T) {
	c := &clock{true: begin}
	b := boundsAt(t, c)
	const slot = 470_000_000
	now := begin.Unix()
	ring(t, b, slot-1, begin)
	for name, claim := range map[string]struct {
		slot, parent uint64
		at           int64
	}{
		"parent is the block": {slot, slot, now}, "parent above": {slot, slot + 1, now}, "parent far above": {slot, math.MaxUint64, now},
		"parent 0": {slot, 0, now}, "parent 1": {slot, 1, now}, "parent far below": {slot, slot - 2_000_000, now},
		"in 2100": {slot, slot - 1, 4_102_444_800}, "tomorrow": {slot, slot - 1, now + 86_400}, "no time": {slot, slot - 1, math.MaxInt64},
		"before 1970": {slot, slot - 1, -1}, "lowest": {slot, slot - 1, math.MinInt64}, "in 1970": {slot, slot - 1, 1}, "in 2019": {slot, slot - 1, 1_560_000_000},
		"milliseconds": {slot, slot - 1, now * 1000}, "backwards by a day": {slot, slot - 1, now - 86_400}, "in 2021": {slot, slot - 1, 1_620_000_000},
		"slot a million above": {slot + 1_000_000, slot + 999_999, now}, "slot a million below": {slot - 1_000_000, slot - 1_000_001, now},
		"slot of another world": {1_900_000_000, 1_899_999_999, now}, "slot 5": {5, 4, now},
	} {
		require.ErrorIs(t, b.Block(claim.slot, &claim.parent, claim.at), ErrImpossible, name)
		ring(t, b, slot-1, begin) // what was refused does not stay in the majority
	}
	require.NoError(t, b.Block(slot, parentOf(slot-1), now))
	require.NoError(t, b.Block(slot+1, nil, 0), "neither parent nor time is told")
	require.NoError(t, b.Block(slot-5_000_000, parentOf(slot-5_000_001), now-5_000_000*2/5), "an old block")
	require.NoError(t, boundsAt(t, c).Block(0, parentOf(0), 0), "the first block of a chain names itself")
}

// A chain whose slots are faster than bounds allow, such as a test validator that is warped, is
// believed as soon as most of the last blocks agree.
func TestMostBlocksAreBelieved(t *testing.T) {
	b := boundsAt(t, &clock{true: begin})
	ring(t, b, 1_000, begin)
	refused := 0
	for slot := uint64(300_000_000); slot < 300_000_050; slot++ {
		if b.Block(slot, parentOf(slot-1), begin.Unix()) != nil {
			refused++
		}
	}
	require.LessOrEqual(t, refused, lastBlocks/2+1)
	require.NoError(t, b.Read("a", 300_000_100))
}

func TestAnUpstreamIsHeldAgainstBlocks(t *testing.T) {
	c := &clock{true: begin}
	b := boundsAt(t, c)
	const head = 470_000_000
	require.NoError(t, b.Read("a", head+10_000_000), "nothing is known yet")
	ring(t, b, head, begin)
	require.NoError(t, b.Read("a", head+loose/2))
	require.NoError(t, b.Read("a", head-5_000_000), "behind is no lie")
	for _, slot := range []uint64{head + 10_000, head + 1_000_000, head * 2} {
		require.ErrorIs(t, b.Read("a", slot), ErrImpossible, "%d", slot)
	}
	require.NoError(t, b.Read("b", head))
	require.ErrorIs(t, b.Read("b", head+loose/2), ErrImpossible, "no more than the block does, it did so itself a moment ago")
	c.true = c.true.Add(5 * time.Hour)
	require.NoError(t, b.Read("a", head+5*3600*5), "the source stands still, the chain does not")
	require.ErrorIs(t, b.Read("a", head+5*3600*20), ErrImpossible)
}

func TestAnUpstreamIsHeldAgainstOthers(t *testing.T) {
	c := &clock{true: begin}
	b := boundsAt(t, c)
	const head = 470_000_000
	require.NoError(t, b.Read("a", head))
	require.NoError(t, b.Read("b", head-3))
	require.NoError(t, b.Read("liar", head+1))
	require.ErrorIs(t, b.Read("liar", head+1_000), ErrImpossible)
	require.NoError(t, b.Read("a", head+5), "what was refused counts for nothing")
	require.True(t, b.Behind("liar", head-1_000))
	require.False(t, b.Behind("liar", head-20))
	c.true = c.true.Add(10 * time.Second)
	require.NoError(t, b.Read("liar", head+50), "the chain went on")
	c.true = c.true.Add(2 * time.Minute)
	require.NoError(t, b.Read("a", head+1_000), "nobody has said anything lately")
}

// An honest chain is never refused: whatever its slot time, with a clock that is minutes wrong,
// with stops of the chain or of the source, with nodes that lag, and with an old ledger at the
// start.
func TestAnHonestChainIsNeverRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		c := &clock{true: begin, wrong: time.Duration(rapid.IntRange(-900, 900).Draw(t, "clock is wrong by")) * time.Second}
		known := rapid.Bool().Draw(t, "mainnet")
		slot := uint64(460_000_000)
		if !known {
			slot = rapid.Uint64Range(1, 600_000_000).Draw(t, "slot")
		}
		fresh := func() *Bounds {
			b := boundsAt(t, c)
			if known {
				b.Identity(mainnet(t))
			}
			return b
		}
		b := fresh()
		blockTime := begin.Unix()
		slotTime := 400 * time.Millisecond
		block := func() { // each slot may be skipped
			parent := slot
			for slot, c.true = slot+1, c.true.Add(slotTime); rng.IntN(20) == 0; slot, c.true = slot+1, c.true.Add(slotTime) {
			}
			blockTime = max(blockTime, c.true.Add(time.Duration(rng.IntN(3000)-1500)*time.Millisecond).Unix())
			require.NoError(t, b.Block(slot, &parent, blockTime))
		}
		for range rapid.IntRange(1, 8).Draw(t, "phases") {
			switch rapid.IntRange(0, 5).Draw(t, "what happens") {
			case 0:
				slotTime = time.Duration(rapid.SampledFrom([]int{400, 350, 300, 250, 214, 200, 150, 110}).Draw(t, "ms")) * time.Millisecond
			case 1: // the chain stands still
				c.true = c.true.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "hours")) * time.Hour)
			case 2: // the source stands still, the chain does not; then it catches up
				missed := uint64(rapid.IntRange(1, 400_000).Draw(t, "missed"))
				slot, c.true = slot+missed, c.true.Add(time.Duration(missed)*slotTime)
			case 3: // a start with the ledger's last block, hours later
				last, lastTime := slot, blockTime
				missed := uint64(rapid.IntRange(1, 400_000).Draw(t, "missed"))
				slot, c.true = slot+missed, c.true.Add(time.Duration(missed)*slotTime)
				b = fresh()
				require.NoError(t, b.Block(last, nil, lastTime))
			case 4: // a backfill of old blocks
				for i := range uint64(40) {
					old := slot - min(slot, 300_000) + i
					at := blockTime - int64(time.Duration(slot-old)*slotTime/time.Second)
					if known || at > began.Unix() {
						require.NoError(t, b.Block(old, nil, at))
					}
				}
			}
			for range 60 {
				block()
				for i, name := range []string{"a", "b", "c"}[:1+rng.IntN(3)] {
					require.NoError(t, b.Read(name, slot-min(slot, uint64(rng.IntN(1+60*i)))), name)
				}
			}
		}
	})
}

func TestRefusalsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	b, err := New(Deps{Registerer: registry})
	require.NoError(t, err)
	require.Error(t, b.Slot(math.MaxUint64))
	require.Error(t, b.Block(10, parentOf(11), 0))
	require.Error(t, b.Block(10, parentOf(9), 4_102_444_800))
	for _, claim := range []string{claimSlot, claimParent, claimTime} {
		require.InDelta(t, 1, testutil.ToFloat64(b.refused.WithLabelValues(claim)), 0, claim)
	}
}
