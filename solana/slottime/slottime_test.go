package slottime

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

var begin = time.Unix(1_790_000_000, 0)

// chain gives a meter the slots of a made-up chain.
type chain struct {
	slot  uint64
	at    time.Time
	skips float64
	// clock makes the time that is told of a slot's true time.
	clock func(at time.Time) time.Time
	rng   *rand.Rand
}

func newChain(seed uint64) *chain {
	seconds := func(at time.Time) time.Time { return at.Truncate(time.Second) } // as blocks have it
	return &chain{slot: 420_000_000, at: begin, clock: seconds, rng: rand.New(rand.NewPCG(seed, 1))}
}

func (c *chain) run(m *Meter, slots int, slotTime time.Duration) {
	for range slots {
		c.slot++
		c.at = c.at.Add(slotTime)
		if c.rng.Float64() >= c.skips {
			m.See(c.slot, c.clock(c.at))
		}
	}
}

func requireNear(t *testing.T, want, got time.Duration) {
	t.Helper()
	require.InEpsilon(t, float64(want), float64(got), 0.03, "%s, want %s", got, want)
}

func TestADayAsTheChainHasIt(t *testing.T) {
	for slotTime, halfADay := range map[time.Duration]uint64{200 * time.Millisecond: 216_000, 400 * time.Millisecond: 108_000} {
		require.Equal(t, halfADay, Slots(12*time.Hour, slotTime))
		var m Meter
		require.EqualValues(t, 216_000, m.Slots(12*time.Hour), "nothing is measured yet")
		c := newChain(1)
		c.clock = func(at time.Time) time.Time { return at }
		c.run(&m, 1_100, slotTime)
		require.Equal(t, slotTime, m.SlotTime())
		require.Equal(t, halfADay, m.Slots(12*time.Hour))
	}
	require.Zero(t, Slots(-time.Hour, Default))
	require.EqualValues(t, 3600, Slots(time.Hour, time.Hour), "a slot time that cannot be is bounded")
	require.EqualValues(t, 36_000, Slots(time.Hour, 0))
}

// Whole seconds, a tenth of the slots skipped, and a change that the chain makes from one slot to
// the next.
func TestSlotTimeFollowsTheChain(t *testing.T) {
	for _, slotTime := range []time.Duration{150 * time.Millisecond, 200 * time.Millisecond, 250 * time.Millisecond, 400 * time.Millisecond} {
		var m Meter
		c := newChain(2)
		c.skips = 0.1
		c.run(&m, 900, slotTime)
		require.Equal(t, Default, m.SlotTime(), "too little was seen")
		c.run(&m, 400, slotTime)
		requireNear(t, slotTime, m.SlotTime())
		c.run(&m, 1_300, 150*time.Millisecond)
		requireNear(t, 150*time.Millisecond, m.SlotTime())
		c.slot += 4 * 500 // leaders of 500 windows are away
		c.at = c.at.Add(4 * 500 * 150 * time.Millisecond)
		c.run(&m, 100, 150*time.Millisecond)
		requireNear(t, 150*time.Millisecond, m.SlotTime())
		c.at = c.at.Add(5 * time.Hour) // the chain stands still
		for range 20 {
			c.run(&m, 100, 150*time.Millisecond)
			requireNear(t, 150*time.Millisecond, m.SlotTime())
		}
	}
}

// A tenth of the points may say anything: slots and times of another world, or none.
func TestLiesDoNotMoveTheSlotTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Meter
		slotTime := time.Duration(rapid.Int64Range(120, 600).Draw(t, "ms")) * time.Millisecond
		c := newChain(rapid.Uint64().Draw(t, "seed"))
		c.skips = 0.05
		every := rapid.IntRange(400, 500).Draw(t, "every") // a lie is two points: there and back
		for range 2_400 / every {
			c.run(&m, every, slotTime)
			slot := rapid.OneOf(rapid.Just(uint64(math.MaxUint64-1)), rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "slot")
			at := rapid.OneOf(rapid.Just(int64(math.MaxInt64)), rapid.Just(int64(math.MinInt64)), rapid.Int64()).Draw(t, "at")
			m.See(slot, time.Unix(at, 0))
			m.See(c.slot+stride, time.Unix(at, 0)) // the slot may be true and its clock wrong
		}
		c.run(&m, every, slotTime)
		if got := m.SlotTime(); math.Abs(float64(got-slotTime)) > 0.03*float64(slotTime) {
			t.Fatalf("%s, want %s", got, slotTime)
		}
	})
}

// Whatever comes, the slot time has bounds; slots that stand still or go back measure nothing.
func TestSlotTimeIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Meter
		step := rapid.Uint64Range(0, 1<<62).Draw(t, "step")
		gap := time.Duration(rapid.Int64().Draw(t, "gap"))
		at, slot := begin, rapid.Uint64().Draw(t, "slot")
		for range 200 {
			slot, at = slot+step, at.Add(gap)
			m.See(slot, at)
		}
		if got := m.SlotTime(); got < Min || got > Max {
			t.Fatalf("%s", got)
		}
	})
	var m Meter
	newChain(3).run(&m, 2_000, 50*time.Millisecond)
	require.Equal(t, Min, m.SlotTime())
	back := newChain(4)
	for range 500 {
		m.See(back.slot, begin)
		back.slot -= stride
	}
	require.Equal(t, Min, m.SlotTime(), "what goes back says nothing")
}

type node string

func (n node) Call(_ context.Context, _ string, _ []any, result any) error {
	if n == "" {
		return errors.New("method not found")
	}
	return json.Unmarshal([]byte(n), result)
}

func TestAsk(t *testing.T) {
	for answer, want := range map[node]time.Duration{
		"": Default, "[]": Default, "{}": Default, `[{"numSlots":0,"samplePeriodSecs":60},{"numSlots":7,"samplePeriodSecs":0}]`: Default,
		`[{"slot":9,"numSlots":150,"samplePeriodSecs":60}]`: 400 * time.Millisecond,
		`[{"numSlots":298,"samplePeriodSecs":60},{"numSlots":300,"samplePeriodSecs":60},{"numSlots":18446744073709551615,"samplePeriodSecs":60}]`: 200 * time.Millisecond,
		`[{"numSlots":1,"samplePeriodSecs":18446744073709551615}]`:                                                                                Max,
		`[{"numSlots":18446744073709551615,"samplePeriodSecs":1}]`:                                                                                Min,
	} {
		require.Equal(t, want, Ask(t.Context(), answer), answer)
	}
}
