package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
)

// measure starts a node over the size tokens that are loaded, and reports its figures; then it
// starts another one from the checkpoint of the first.
func measure(ctx context.Context, o *options, b *backends, corpus *registrytest.Corpus, size int) error {
	// What was written to ClickHouse is not in the log: an earlier checkpoint would be believed.
	if err := os.RemoveAll(nodeFolder(o)); err != nil {
		return fmt.Errorf("remove the node's folder: %w", err)
	}
	if err := measureFirst(ctx, o, b, corpus, size); err != nil {
		return err
	}
	n, _, err := startReady(ctx, o, b, fmt.Sprintf("%d tokens, from the checkpoint, ", size))
	if err != nil {
		return err
	}
	defer n.stop()
	s, err := n.status()
	if err == nil && !s.Checkpoint.Loaded {
		err = fmt.Errorf("the checkpoint was not loaded: %+v", s.Checkpoint)
	}
	return err
}

// startReady starts a node and reports what it takes until it is ready. begin is when it was
// started.
func startReady(ctx context.Context, o *options, b *backends, of string) (n *node, begin time.Time, err error) {
	begin = time.Now()
	if n, err = startNode(ctx, o, b); err != nil {
		return nil, begin, err
	}
	if err := n.awaitReady(ctx); err != nil {
		n.stop()
		return nil, begin, err
	}
	o.report.Add(report.Figure{Name: of + "ready", Value: time.Since(begin).Seconds(), Unit: "s", Note: fmt.Sprintf("%.1f s of the node's processor time", n.processorTime().Seconds())})
	n.reportMemory(o, of+"resident memory when ready")
	return n, begin, nil
}

// await waits until a part of the node's status is there, and reports how long after the start that
// was. is returns a note about it; empty while it is not there.
func (n *node) await(ctx context.Context, o *options, what string, begin time.Time, is func(s *status) (note string, err error)) error {
	for {
		s, err := n.status()
		if err != nil {
			return err
		}
		note, err := is(&s)
		if err != nil {
			return err
		}
		if note != "" {
			o.report.Add(report.Figure{Name: what, Value: time.Since(begin).Seconds(), Unit: "s", Note: note})
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// rootKnown and checkpointWritten are what await waits for.
func rootKnown(s *status) (note string, err error) {
	if s.Root.Hash == nil {
		return "", nil
	}
	return "after the start", nil
}

func checkpointWritten(s *status) (note string, err error) {
	if failed := s.Checkpoint.Failed; failed != nil {
		return "", fmt.Errorf("the checkpoint was not written: %s", *failed)
	}
	if s.Checkpoint.Bytes == nil {
		return "", nil
	}
	return fmt.Sprintf("after the start; %d MiB", *s.Checkpoint.Bytes>>20), nil
}

// measureFirst measures a node that has no checkpoint.
func measureFirst(ctx context.Context, o *options, b *backends, corpus *registrytest.Corpus, size int) error {
	of := fmt.Sprintf("%d tokens, ", size)
	n, begin, err := startReady(ctx, o, b, of)
	if err != nil {
		return err
	}
	defer n.stop()
	if err := n.await(ctx, o, of+"root known", begin, rootKnown); err != nil {
		return err
	}
	if err := n.await(ctx, o, of+"checkpoint written", begin, checkpointWritten); err != nil {
		return err
	}
	for _, rates := range [][]int{{1_000}, {0, o.rate}} {
		if err := compare(ctx, o, b, n, corpus, size, rates); err != nil {
			return err
		}
	}
	return nil
}

// reportMemory reports the node's resident memory now.
func (n *node) reportMemory(o *options, what string) {
	now, highest := n.memory()
	o.report.Add(report.Figure{Name: what, Value: float64(now), Unit: "MiB", Note: fmt.Sprintf("at most so far %d MiB", highest)})
}

// rounds is in how many parts each rate is measured. The rates take turns, so that other work of
// the machine slows all of them alike.
const rounds = 4

// compare measures a client's requests while updates come at each of rates, in turns. It reports
// the later rates beside the first one.
func compare(ctx context.Context, o *options, b *backends, n *node, corpus *registrytest.Corpus, size int, rates []int) error {
	seen := make([]figures, len(rates))
	for i := range seen {
		seen[i].Took = map[string]times{}
	}
	for range rounds {
		for i, rate := range rates {
			if err := seen[i].phase(ctx, o, b, n, corpus, size, rate); err != nil {
				return err
			}
		}
	}
	for i, rate := range rates {
		f := &seen[i]
		for _, what := range slices.Sorted(maps.Keys(f.Took)) {
			took := f.Took[what]
			figure := report.Figure{
				Name: fmt.Sprintf("%d tokens, %d updates a second, %s, p99", size, rate, what), Value: took.p99(), Unit: "ms",
				Note: fmt.Sprintf("%v of %d; %.2f of a core; %.1f %% of the machine went to others", took.quantiles(), len(took), f.node.Seconds()/o.phase.Seconds(), f.machine.percent()),
			}
			if i > 0 {
				figure.Peer, figure.PeerValue = fmt.Sprintf("%d updates a second", rates[0]), seen[0].Took[what].p99()
			}
			o.report.Add(figure)
		}
	}
	s, err := n.status()
	if err != nil {
		return err
	}
	if s.Freshness.P99 != nil {
		o.report.Add(report.Figure{
			Name: fmt.Sprintf("%d tokens, from receipt to visible, p99", size), Value: float64(*s.Freshness.P99), Unit: "ms",
			Note: fmt.Sprintf("p50 %d ms, of %d records of the last five minutes", *s.Freshness.P50, s.Freshness.Count),
		})
	}
	n.reportMemory(o, fmt.Sprintf("%d tokens, resident memory after up to %d updates a second", size, slices.Max(rates)))
	return nil
}

// phase adds the figures of one round: a client sends requests while rate updates a second come.
func (f *figures) phase(ctx context.Context, o *options, b *backends, n *node, corpus *registrytest.Corpus, size, rate int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	length := o.phase / rounds
	made, err := b.updates(length, corpus, size, rate)
	if err != nil {
		return err
	}
	before, began := n.processorTime(), machineTimeNow()
	written := make(chan error, 1)
	go func() { written <- b.write(ctx, made) }()
	seen, err := startClient(ctx, o, n, size, b.slot, length)
	if err != nil {
		return err
	}
	f.node += n.processorTime() - before
	f.machine.add(began, machineTimeNow())
	for what, took := range seen.Took {
		f.add(what, took...)
	}
	stop()
	return <-written
}
