package enrich

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// maxBehind bounds the reads of a mint that are older than its last change. After so many the mint
// is given up: the server is stuck, or serves another chain.
const maxBehind = 5

// Outcomes of a mint's re-read: metric labels.
const (
	rereadRead      = "read"
	rereadAbsent    = "not_a_mint"
	rereadMalformed = "metaplex_malformed"
	rereadBehind    = "rpc_behind"
	rereadRefused   = "rpc_refused"
)

// Reasons why a change leads to no re-read: metric labels.
const (
	rereadOld  = "old"
	rereadFull = "full"
)

// reader reads due mints with at most CallsPerSecond calls a second, one after another. While the
// server is away, it waits longer and longer between two batches.
func (r *Rereader) reader(ctx context.Context) error {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = min(time.Second, r.cfg.maxRetryDelay), r.cfg.maxRetryDelay
	for {
		if err := pause.Await(ctx, r.pace); err != nil {
			return err
		}
		batch := r.dirty.take(r.cfg.batchMints, r.cfg.batchWait, r.now())
		if len(batch) == 0 {
			continue
		}
		for _, d := range batch {
			r.metrics.triggers.WithLabelValues(d.trigger).Inc()
		}
		away, err := r.readBatch(ctx, batch)
		if err != nil {
			return err
		}
		if !away {
			delays.Reset()
			continue
		}
		if err := pause.For(ctx, delays.NextBackOff()); err != nil {
			return err
		}
	}
}

// readBatch reads the batch and makes its facts durable in one call. If the server is away, it puts
// the batch back and returns away. A mint with an account that was cut off is read again alone; if
// that fails, only this mint is put back or dropped. readBatch returns errors of the context and of
// Kafka only.
func (r *Rereader) readBatch(ctx context.Context, batch []*dirtyMint) (away bool, err error) {
	all, err := r.call(ctx, batch, firstRead)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return r.failed(batch, err), nil
	}
	var facts []*eventspb.Enrichment
	var notes []func()
	for i, d := range batch {
		one := all
		one.accounts = all.accounts[2*i : 2*i+2]
		if cutOff(one, one.accounts[0], one.accounts[1]) {
			if err := pause.Await(ctx, r.pace); err != nil {
				return false, err
			}
			one, err = r.call(ctx, batch[i:i+1], wholeRead)
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if err != nil {
				r.failed(batch[i:i+1], err)
				continue
			}
		}
		found, counts := r.findingsOf(d, one)
		if counts {
			notes = append(notes, func() { r.upstreams.note(d.mint, one, found.facts) })
			if !found.notAMint { // else the mint was closed since, and an event says so
				facts = append(facts, found.facts...)
			}
		}
	}
	if err := r.publish(ctx, facts); err != nil {
		return false, err
	}
	for _, note := range notes {
		note()
	}
	return false, nil
}

// findingsOf returns what the read of one mint says; counts is false if the read is older than the
// mint's last change. Then findingsOf puts the mint back, unless this was the last of maxBehind
// reads.
func (r *Rereader) findingsOf(d *dirtyMint, read reading) (found findings, counts bool) {
	outcome := func(outcome string) { r.metrics.mints.WithLabelValues(outcome).Inc() }
	if read.slot < d.slot {
		outcome(rereadBehind)
		if d.behind++; d.behind < maxBehind {
			r.dirty.putBack(d, r.now())
		}
		return found, false
	}
	found = factsOf(d.mint, read.slot, read.accounts[0], read.accounts[1])
	factrecord.SetUpstream(found.facts, read.upstream)
	switch {
	case found.notAMint:
		outcome(rereadAbsent)
	case found.malformed != nil:
		outcome(rereadMalformed)
	default:
		outcome(rereadRead)
	}
	return found, true
}

// failed handles a failed call. If the server is away, it puts the mints back and returns true. If
// the server refuses, it drops the mints: they are read after their next change.
func (r *Rereader) failed(batch []*dirtyMint, err error) (away bool) {
	r.logger.Warn("re-reads of changed mints fail", "mints", len(batch), "err", err)
	for _, d := range batch {
		if solana.Retryable(err) {
			r.dirty.putBack(d, r.now())
		} else {
			r.metrics.mints.WithLabelValues(rereadRefused).Inc()
		}
	}
	return solana.Retryable(err)
}

// call reads the mints and their Metaplex accounts at one slot.
func (r *Rereader) call(ctx context.Context, batch []*dirtyMint, length uint64) (reading, error) {
	keys := make([]pubkey.Key, 0, 2*len(batch))
	for _, d := range batch {
		keys = append(keys, accountsOf(d.mint)...)
	}
	return r.upstreams.readStart(ctx, r.upstreams.order(), keys, readCommitment, length, r.metrics.calls)
}

func (r *Rereader) publish(ctx context.Context, facts []*eventspb.Enrichment) error {
	if len(facts) == 0 {
		return nil
	}
	received := r.now()
	records := make([]kafka.Record, 0, len(facts))
	for _, fact := range facts {
		record, err := factrecord.Record(fact, received)
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	if err := r.producer.Produce(ctx, records...); err != nil {
		return fmt.Errorf("write re-read accounts: %w", err)
	}
	noteExtensions(r.unknowns, facts)
	return nil
}

type rereadMetrics struct {
	calls, mints, triggers, skipped *prometheus.CounterVec
}

func newRereadMetrics(registerer prometheus.Registerer, dirty func() float64) (*rereadMetrics, error) {
	counter := func(name, help, label string, values ...string) *prometheus.CounterVec {
		vector := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_enrich_reread_" + name, Help: help}, []string{label})
		for _, value := range values {
			vector.WithLabelValues(value)
		}
		return vector
	}
	m := &rereadMetrics{
		calls: counter("calls_total", "Calls of getMultipleAccounts for changed mints, by outcome.", "outcome", rpcOK, rpcRetryable, rpcRefused),
		mints: counter("mints_total", "Changed mints read again, by what came of it.", "outcome",
			rereadRead, rereadAbsent, rereadMalformed, rereadBehind, rereadRefused),
		triggers: counter("triggers_total", "Changed mints that became due, by why.", "trigger", dueQuiet, dueMaxWait, dueDeltas),
		skipped:  counter("skipped_total", "Changes that lead to no re-read, by why.", "why", rereadOld, rereadFull),
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_enrich_reread_waiting", Help: "Changed mints that wait for their re-read.",
	}, dirty)
	return m, counters.Register(registerer, m.calls, m.mints, m.triggers, m.skipped, waiting)
}
