package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// record is all that a run has shown.
type record struct {
	samples  []sample
	requests requests
	// slowest has for each of samples the slowest of the latest Kafka requests, in seconds.
	slowest []float64
	mu      sync.Mutex // guards requests
}

// follow samples a node for the whole duration. It is an error if the node ends before.
func follow(ctx context.Context, o *options, n *node) (*record, error) {
	run := &record{}
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	asking := run.askKafka(ctx, n)
	defer func() { <-asking }()
	defer cancel()
	began, told, dumped := time.Now(), time.Now(), time.Time{}
	ticker := time.NewTicker(o.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return run, nil
			}
			return nil, ctx.Err()
		case <-n.ended:
			return nil, errors.New("mintlake ended, see mintlake.log in " + o.out)
		case <-ticker.C:
		}
		s := n.look(ctx, time.Since(began))
		if ctx.Err() != nil {
			continue
		}
		run.samples = append(run.samples, s)
		run.slowest = append(run.slowest, run.slowestLately())
		if room, length := o.rules.standing(run.samples); length >= o.rules.stall && time.Since(dumped) > 5*time.Minute {
			dumped = time.Now()
			name := filepath.Join(o.out, fmt.Sprintf("stall-%s-%d.txt", room, int(s.at.Seconds())))
			fmt.Printf("%s: %s stands still for %s: %s\n", s.at.Round(time.Second), room, length.Round(time.Second), name)
			n.dump(ctx, name)
		}
		if time.Since(told) >= time.Minute {
			told = time.Now()
			fmt.Printf("%s: %s\n", s.at.Round(time.Second), &s)
		}
	}
}

// askKafka measures Kafka requests until ctx ends, while follow takes samples. The channel is
// closed when it has ended.
func (r *record) askKafka(ctx context.Context, n *node) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a, err := newAsker(n.kafka)
		if err != nil {
			return
		}
		defer a.close()
		for ctx.Err() == nil {
			var round requests
			a.ask(ctx, &round)
			r.mu.Lock()
			for _, name := range round.names {
				for _, took := range round.times[name] {
					r.requests.add(name, took)
				}
			}
			r.requests.failed += round.failed
			r.mu.Unlock()
		}
	}()
	return done
}

// slowestLately returns the time of the slowest among the last six requests of each kind, in
// seconds. Six are about those of the last second.
func (r *record) slowestLately() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	slowest := time.Duration(0)
	for _, times := range r.requests.times {
		slowest = max(slowest, slices.Max(times[max(0, len(times)-6):]))
	}
	return slowest.Seconds()
}

// String returns the sample as one line.
func (s *sample) String() string {
	if !s.known {
		return "no answer"
	}
	lags := "lag unknown"
	if s.lags != nil {
		lags = fmt.Sprintf("lag projector %.0f swaps %.0f enrich %.0f api %.0f", s.lags["projector"], s.lags["swaps"], s.lags["enrich"], s.lags["api"])
	}
	return fmt.Sprintf("%s, %.0f legs, memory %.0f + %.0f MB, %.0f + %.0f descriptors, %.0f goroutines, %.0f restarts",
		lags, s.done["swaps"], s.nodeMemory/1e6, s.engineMemory/1e6,
		s.descriptors, s.engineDescriptors, s.goroutines, s.restarts)
}

// writeCSV keeps the samples for other tools.
func (r *record) writeCSV(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(file)
	lags, rooms := []string{"projector", "swaps", "enrich", "api"}, []string{}
	for _, p := range progress {
		rooms = append(rooms, p.room)
	}
	header := []string{"seconds", "known"}
	for _, name := range lags {
		header = append(header, "lag_"+name)
	}
	for _, name := range rooms {
		header = append(header, "done_"+name)
	}
	_ = w.Write(append(header, "node_bytes", "engine_bytes", "node_fds", "engine_fds", "goroutines", "restarts", "oldest_query_s", "kafka_slowest_s"))
	for i := range r.samples {
		s := &r.samples[i]
		figures := []float64{s.at.Seconds(), map[bool]float64{true: 1}[s.known]}
		for _, name := range lags {
			figures = append(figures, s.lags[name])
		}
		for _, name := range rooms {
			figures = append(figures, s.done[name])
		}
		figures = append(figures, s.nodeMemory, s.engineMemory, s.descriptors, s.engineDescriptors, s.goroutines, s.restarts, s.oldestQuery, r.slowest[i])
		row := make([]string, len(figures))
		for j, figure := range figures {
			row[j] = strconv.FormatFloat(figure, 'f', -1, 64)
		}
		_ = w.Write(row)
	}
	w.Flush()
	return errors.Join(w.Error(), file.Close())
}

// series returns one figure of the samples (y) and their times in minutes (x). It skips a sample
// for which of returns NaN.
func (r *record) series(of func(*sample) float64) (x, y []float64) {
	for i := range r.samples {
		if s := &r.samples[i]; s.known {
			if figure := of(s); !math.IsNaN(figure) {
				x, y = append(x, s.at.Minutes()), append(y, figure)
			}
		}
	}
	return x, y
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
