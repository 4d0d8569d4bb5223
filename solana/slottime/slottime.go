// Package slottime says how long a slot takes on the chain as it is.
//
// In: slots with the time of each, as a process sees them, or what a node says of its last minutes.
// Out: the slot time, and how many slots a duration has. Guarantees: pure; the slot time is always
// within Min and Max, whatever comes in. It is Default until there is enough to measure.
package slottime

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// Default is the slot time before anything is measured: the last step of SIMD-0525. Durations
	// that are a slot long, such as the pauses between polls, are made of it.
	Default = 200 * time.Millisecond
	// Min is the least slot time that is believed.
	Min = 100 * time.Millisecond
	// Max is the greatest slot time that is believed. The chain had 400 ms at its beginning.
	Max = time.Second
)

const (
	// stride is the least distance of two points in slots. points is how many points are kept:
	// those of about the last thousand slots.
	stride, points = 16, 64
	// apart is the distance, in points, of the two points whose times are compared. Block times are
	// whole seconds, so two points that are 256 slots apart tell the slot time to within 2 %. A
	// wrong point spoils two of the 48 comparisons, and a halt of the chain 16 of them.
	apart = 16
)

// Slots returns how many whole slots fit into d. slot is the slot time, which is kept within Min
// and Max.
func Slots(d, slot time.Duration) uint64 {
	return uint64(max(d, 0) / bounded(slot))
}

func bounded(slot time.Duration) time.Duration { return min(max(slot, Min), Max) }

// Meter measures the slot time over about the last thousand slots. The zero value is ready. Safe
// for concurrent use.
type Meter struct {
	mu     sync.Mutex
	points []point // in the order in which they came
	slot   time.Duration
}

type point struct {
	slot uint64
	at   time.Time
}

// See adds a slot and its time, which is the block time or the time at which the slot was seen.
// Slots may be skipped, and may come again. Neither the slot nor the time has to be true: the
// measure holds while at most a tenth of the points are wrong.
func (m *Meter) See(slot uint64, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.points); n > 0 && distance(m.points[n-1].slot, slot) < stride {
		return
	}
	if len(m.points) == points {
		m.points = slices.Delete(m.points, 0, 1)
	}
	m.points = append(m.points, point{slot, at})
	if len(m.points) == points {
		m.measure()
	}
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// measure takes the median of the slot times that pairs of points show. If slot and time grow in
// fewer than half of the pairs, it keeps the last measure.
func (m *Meter) measure() {
	var shown []time.Duration
	for i, from := range m.points[:points-apart] {
		to := m.points[i+apart]
		if took := to.at.Sub(from.at); to.slot > from.slot && took > 0 {
			shown = append(shown, took/time.Duration(min(to.slot-from.slot, uint64(took))))
		}
	}
	if len(shown) >= (points-apart)/2 {
		m.slot = bounded(median(shown))
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// SlotTime returns the measured slot time, or Default before there is one.
func (m *Meter) SlotTime() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.slot == 0 {
		return Default
	}
	return m.slot
}

// Slots returns how many slots d has, at the measured slot time.
func (m *Meter) Slots(d time.Duration) uint64 { return Slots(d, m.SlotTime()) }

// RPC calls a node by JSON-RPC, as *solana.Client does.
type RPC interface {
	Call(ctx context.Context, method string, params []any, result any) error
}

// asked is how many samples Ask requests. A node takes one sample a minute.
const asked = 20

// Ask asks a node for the slot time of its last twenty minutes, by getRecentPerformanceSamples. It
// is for those who have seen no slots yet. It returns Default if the node does not say.
func Ask(ctx context.Context, rpc RPC) time.Duration {
	var samples []struct {
		Slots   uint64 `json:"numSlots"`
		Seconds uint64 `json:"samplePeriodSecs"`
	}
	if rpc.Call(ctx, "getRecentPerformanceSamples", []any{asked}, &samples) != nil {
		return Default
	}
	var shown []time.Duration
	for _, s := range samples[:min(len(samples), asked)] {
		if took := time.Duration(min(s.Seconds, 3600)) * time.Second; took > 0 && s.Slots > 0 {
			shown = append(shown, took/time.Duration(min(s.Slots, uint64(took))))
		}
	}
	if len(shown) == 0 {
		return Default
	}
	return bounded(median(shown))
}
