package chain

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"
)

// PastStep is the block time from one slot of the past to the next. The past is a day or less of
// quiet market before the first live slot, so that a new registry has prices of a day ago. Its
// slots follow each other as all slots do: all have a block, and none is skipped.
const PastStep = time.Minute

// maxPast is a day: how far back a live source fills gaps, and what market figures look at.
const maxPast = uint64(24 * time.Hour / PastStep)

// The transactions of a slot of the past: a day of them has fewer than 20,000. pastCreations of
// them at most are creations that Config.Tokens asks for.
const (
	pastTransactions = 13
	pastCreations    = 6
)

// pastTrade is how many times larger trades of the past are: one stands for those of a minute.
const pastTrade = 6

// Live is the first slot after the past.
func (c Config) Live() uint64 { return c.GenesisSlot + c.Past }

// TimeMS is the time of a slot in Unix milliseconds: counted from the last anchor at or before it,
// else from genesis; in the past, counted back from the first live slot.
func (c Config) TimeMS(slot uint64) int64 {
	live := c.Live()
	if slot < live {
		return c.TimeMS(live) - int64(live-slot)*PastStep.Milliseconds()
	}
	from, at := live, c.GenesisTime.Add(time.Duration(c.Past)*PastStep).UnixMilli()
	for _, a := range c.Anchors {
		if a.Slot <= slot {
			from, at = a.Slot, a.TimeMS
		}
	}
	return at + c.SlotTime.Microseconds()*int64(slot-from)/1000
}

// inPast returns whether a slot is before the first live one.
func (g *Generator) inPast(slot uint64) bool { return slot < g.cfg.Live() }

// drift moves the prices that trades of the past revert to. All pools of a token move together, by
// 3 to 15 percent a day: SOL least, as all others are priced by it.
func (g *Generator) drift(slot uint64) {
	for _, p := range g.pools {
		base, sign := p.tokens[1-p.quote].mint, 1.0
		if base == USDCMint { // in SOL
			base, sign = NativeMint, -1
		}
		r := rand.New(rand.NewPCG(g.cfg.Seed^binary.LittleEndian.Uint64(base[:]), slot)) //nolint:gosec // reproducible by design
		step := 0.001 + 0.003*float64(base[8])/255
		if base == NativeMint {
			step = 0.0008
		}
		p.target *= math.Exp(sign * step * r.NormFloat64())
	}
}
