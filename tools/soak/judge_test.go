package main

import (
	"math"
	"testing"
	"time"
)

// made returns a run of ten minutes, a sample a second, as change leaves it.
func made(change func(i int, s *sample)) []sample {
	samples := make([]sample, 600)
	for i := range samples {
		samples[i] = sample{
			at: time.Duration(i) * time.Second, known: true, lags: map[string]float64{"projector": 100, "swaps": 100, "enrich": 0, "api": 0},
			done:       map[string]float64{"ingest": float64(i), "projector": float64(100 * i), "swaps": float64(200 * i)},
			nodeMemory: 500e6, engineMemory: 900e6, descriptors: 100, engineDescriptors: 300, goroutines: 150,
		}
		change(i, &samples[i])
	}
	return samples
}

func TestJudge(t *testing.T) {
	r := rules{stall: 10 * time.Second, lag: 10_000, lagReturns: time.Minute, warmUp: 30 * time.Second}
	for _, test := range []struct {
		name   string
		change func(i int, s *sample)
		faults int
	}{
		{"steady", func(int, *sample) {}, 0},
		{"a stall of swaps", func(i int, s *sample) { s.done["swaps"] = float64(max(i, 300) - max(0, min(i-300, 12))) }, 1},
		{"nothing to do is no stall", func(_ int, s *sample) { s.done["swaps"], s.lags["swaps"] = 7, 0 }, 0},
		{"a short pause", func(i int, s *sample) { s.done["swaps"] = float64(200 * (i - max(0, min(i-300, 8)))) }, 0},
		{"nobody answers", func(i int, s *sample) { s.known = i < 300 || i > 315 }, 1},
		{"a lag that returns", func(i int, s *sample) { s.lags["swaps"] = map[bool]float64{true: 50_000}[i > 300 && i < 340] }, 0},
		{"a lag that stays", func(i int, s *sample) { s.lags["swaps"] = 1 + map[bool]float64{true: 50_000}[i > 300] }, 1},
		{"a leak", func(i int, s *sample) { s.nodeMemory += 1e6 * float64(i) }, 1},
		{"a cache that fills", func(i int, s *sample) { s.nodeMemory += 1e6 * float64(min(i, 350)) }, 0},
		{"goroutines that stay", func(i int, s *sample) { s.goroutines += float64(i) }, 1},
		{"the engine leaks", func(i int, s *sample) { s.engineMemory += 1e6 * float64(i) }, 1},
		{"descriptors that stay", func(i int, s *sample) { s.descriptors += float64(i) }, 1},
		{"descriptors that stay in the engine", func(i int, s *sample) { s.engineDescriptors += float64(i) }, 1},
		{"growth that slows down", func(i int, s *sample) { s.nodeMemory += 400e6 * (1 - math.Exp(-float64(i)/100)) }, 0},
		{"a stall that is still on at the end", func(i int, s *sample) { s.done["projector"] = float64(100 * min(i, 585)) }, 1},
		{"two faults", func(i int, s *sample) {
			s.goroutines, s.nodeMemory = s.goroutines+float64(i), s.nodeMemory+1e6*float64(i)
		}, 2},
		{"the start is not judged", func(i int, s *sample) { s.known = i > 25 }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := r.judge(made(test.change))
			count := 0
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				count = len(joined.Unwrap())
			}
			if count != test.faults {
				t.Fatalf("%d faults instead of %d: %v", count, test.faults, err)
			}
		})
	}
	if r.judge(made(func(int, *sample) {})[:20]) == nil {
		t.Fatal("a run that ends before its warm-up was judged")
	}
}
