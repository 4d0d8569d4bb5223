package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// rules are what a run must keep to.
type rules struct {
	// stall is how long a room that has work may stand still.
	stall time.Duration
	// lag is how many records may wait. More may wait only for less than lagReturns.
	lag        float64
	lagReturns time.Duration
	// warmUp is the time at the beginning that is not judged.
	warmUp time.Duration
}

// judge returns all faults of a run, nil when there are none.
func (r *rules) judge(samples []sample) error {
	warm := slices.IndexFunc(samples, func(s sample) bool { return s.at >= r.warmUp })
	if warm < 0 {
		return errors.New("the run is too short to be judged")
	}
	samples = samples[warm:]
	faults := slices.Concat(r.stalls(samples), r.lagsThatStay(samples))
	for _, figure := range growing {
		if fault := r.growth(samples, figure); fault != nil {
			faults = append(faults, fault)
		}
	}
	return errors.Join(faults...)
}

// standing returns the room that has stood still for longest at the last sample, and for how long.
// The room is "nobody" if the node does not answer.
func (r *rules) standing(samples []sample) (room string, length time.Duration) {
	if len(samples) == 0 {
		return "", 0
	}
	last := &samples[len(samples)-1]
	if !last.known {
		return "nobody", last.at - heldSince(samples, func(s *sample) bool { return !s.known })
	}
	for _, p := range progress {
		since := heldSince(samples, func(s *sample) bool {
			return !s.known || s.done[p.room] == last.done[p.room] && (p.lag == "" || s.lags == nil || s.lags[p.lag] > 0)
		})
		if last.at-since > length {
			room, length = p.room, last.at-since
		}
	}
	return room, length
}

// heldSince returns the time of the first sample from which on holds is true up to the last sample.
// If holds is false for the last sample, it returns the time of that sample.
func heldSince(samples []sample, holds func(*sample) bool) time.Duration {
	since := samples[len(samples)-1].at
	for i := len(samples) - 1; i >= 0 && holds(&samples[i]); i-- {
		since = samples[i].at
	}
	return since
}

// stalls finds each time that a room with work stood still, or nobody answered, for too long.
func (r *rules) stalls(samples []sample) (faults []error) {
	for i := range samples {
		// A stall is reported once, at its last sample.
		room, length := r.standing(samples[:i+1])
		if length < r.stall {
			continue
		}
		if i+1 < len(samples) {
			if _, next := r.standing(samples[:i+2]); next > length {
				continue
			}
		}
		faults = append(faults, fmt.Errorf("%s: %s stood still for %s", samples[i].at.Round(time.Second), room, length.Round(time.Second)))
	}
	return faults
}

// lagsThatStay finds lags that were above the bound for longer than they may.
func (r *rules) lagsThatStay(samples []sample) (faults []error) {
	readers := map[string]bool{}
	for i := range samples {
		for reader := range samples[i].lags {
			readers[reader] = true
		}
	}
	for _, reader := range sortedKeys(readers) {
		var since time.Duration
		high, told := false, false
		for i := range samples {
			s := &samples[i]
			if s.lags == nil { // unknown: it may have stayed
				continue
			}
			if s.lags[reader] <= r.lag {
				high, told = false, false
				continue
			}
			if !high {
				high, since = true, s.at
			}
			if !told && s.at-since >= r.lagReturns {
				told = true
				faults = append(faults, fmt.Errorf("%s: the lag of %s does not return: above %.0f records for %s", s.at.Round(time.Second), reader, r.lag, r.lagReturns))
			}
		}
	}
	return faults
}

// figure is something that may grow while a node warms up, and must level off.
type figure struct {
	name string
	of   func(*sample) float64
	// least is the growth from one quarter to the next below which a figure counts as level.
	least float64
}

var growing = []figure{
	{"memory of the node", func(s *sample) float64 { return s.nodeMemory }, 24e6},
	{"memory of the engine", func(s *sample) float64 { return s.engineMemory }, 64e6},
	{"descriptors of the node", func(s *sample) float64 { return s.descriptors }, 16},
	{"descriptors of the engine", func(s *sample) float64 { return s.engineDescriptors }, 32},
	{"goroutines", func(s *sample) float64 { return s.goroutines }, 32},
}

// share is the part of its value by which a figure must grow from one quarter to the next. With
// less growth it counts as level.
const share = 0.05

// growth compares the medians of the run's four quarters. It returns an error if the figure has not
// levelled off. That is so if it grows from each quarter to the next by at least the greater of
// least and share of its value, and the last growth is at least half of the first.
func (r *rules) growth(samples []sample, f figure) error {
	var figures []float64
	for i := range samples {
		if samples[i].known {
			figures = append(figures, f.of(&samples[i]))
		}
	}
	const quarters = 4
	if len(figures) < 10*quarters {
		return nil
	}
	var medians [quarters]float64
	for q := range quarters {
		medians[q] = median(figures[q*len(figures)/quarters : (q+1)*len(figures)/quarters])
	}
	for q := 1; q < quarters; q++ {
		if medians[q]-medians[q-1] < max(f.least, share*medians[q-1]) {
			return nil
		}
	}
	if medians[3]-medians[2] < (medians[1]-medians[0])/2 {
		return nil
	}
	return fmt.Errorf("%s grows without end: medians of the quarters %.0f, %.0f, %.0f, %.0f", f.name, medians[0], medians[1], medians[2], medians[3])
}

func median(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[len(sorted)/2]
}
