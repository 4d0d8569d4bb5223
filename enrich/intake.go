package enrich

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// intakeBatch bounds one read of requests in records, intakeWait its wait for more records.
const (
	intakeBatch = 500
	intakeWait  = 5 * time.Millisecond
)

// job is a request on its way through the stages. Only one goroutine at a time uses it.
type job struct {
	record kafka.Record
	entry  *entry
	// mint is zero until the resolver has read it from account.
	mint pubkey.Key
	// account is the Metaplex account of a request that names no mint; else zero.
	account pubkey.Key
	request *eventspb.EnrichmentRequest

	// behindSince is when the RPC server was first found not to have reached the request's slot;
	// zero if it was never found so.
	behindSince time.Time

	// notAMint says that the account read found no mint.
	notAMint bool

	// uri is where the document to fetch is. It was the mint's metadata URI at slot.
	uri  string
	slot uint64
	// attempts counts the attempts to fetch the document; the first was at firstAttempt. worked is
	// how long all attempts took together.
	attempts     int
	firstAttempt time.Time
	worked       time.Duration
	// inside says that the job has a place in the off-chain stage; groups are those of its host,
	// which the place counts for. queued is when the job was first queued for a worker.
	inside bool
	groups []string
	queued time.Time
}

// byAccount reports whether the request names a metadata account and no mint.
func (j *job) byAccount() bool { return !j.account.IsZero() }

// intake reads requests and hands them to the stages, at most maxInFlight at once.
func (e *Enricher) intake(ctx context.Context) error {
	for {
		records, err := e.consumer.FetchBatch(ctx, intakeBatch, intakeWait)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("read enrichment requests: %w", err)
		}
		for i := range records {
			if err := e.jobs.Acquire(ctx, 1); err != nil {
				return err
			}
			e.metrics.inFlight.Inc()
			if err := e.begin(ctx, &records[i]); err != nil {
				return err
			}
		}
	}
}

// begin passes a request to the first stage that it needs. Without upstreams, the stages that read
// accounts are skipped. A request that does not parse, or names a slot that no chain can have
// reached, becomes a dead letter.
func (e *Enricher) begin(ctx context.Context, record *kafka.Record) error {
	j := &job{record: *record, entry: e.tracker.add(record), request: &eventspb.EnrichmentRequest{}}
	if err := proto.Unmarshal(record.Value, j.request); err != nil {
		return e.giveUp(ctx, j, reasonBadRequest, "request does not parse")
	}
	if !j.identify() {
		return e.giveUp(ctx, j, reasonBadRequest, "neither a mint nor a metadata account of 32 bytes")
	}
	if err := e.bounds.Slot(j.request.GetSlot()); err != nil {
		return e.giveUp(ctx, j, reasonBadRequest, err.Error())
	}
	j.uri, j.slot = registry.Text(j.request.GetUri()), j.request.GetSlot()
	e.metrics.request(j.request.GetReason())
	switch {
	case needsNoRead(j):
		e.continueOffchain(j)
	case e.upstreams == nil:
		e.metrics.skipped.WithLabelValues(skipNoUpstream).Inc()
		e.continueOffchain(j)
	case j.byAccount():
		e.resolver.submit(j)
	default:
		e.accounts.submit(j)
	}
	return nil
}

// identify sets the job's mint or its metadata account from the request. If the request has both,
// the mint counts. It returns false if the request names neither correctly.
func (j *job) identify() bool {
	mint, account := j.request.GetMint(), j.request.GetMetadataAccount()
	switch {
	case len(mint) == len(j.mint):
		j.mint = pubkey.Key(mint)
		return true
	case len(mint) == 0 && len(account) == len(j.account):
		j.account = pubkey.Key(account)
		return j.byAccount()
	default:
		return false
	}
}

// needsNoRead reports whether a read of the accounts would only repeat what is known: ingest saw
// the instruction that set the URI, or the URI is known and only its document is missing. A request
// by account needs the read, because an event without a mint tells the registry nothing.
func needsNoRead(j *job) bool {
	reason := j.request.GetReason()
	return !j.byAccount() && j.uri != "" && (reason == eventspb.RequestReason_REQUEST_REASON_METADATA_SET ||
		reason == eventspb.RequestReason_REQUEST_REASON_DOCUMENT_RETRY || reason == eventspb.RequestReason_REQUEST_REASON_DOCUMENT_WALK)
}

// continueOffchain passes the job to the off-chain stage. It ends the job if the URI or the mint is
// unknown, or if no documents are fetched.
func (e *Enricher) continueOffchain(j *job) {
	switch {
	case j.uri == "", j.mint.IsZero():
		e.complete(j)
	case !e.cfg.OffchainEnabled:
		e.metrics.skipped.WithLabelValues(skipOffchainDisabled).Inc()
		e.complete(j)
	default:
		e.offchain.submit(j)
	}
}

// commitEvery calls commit at intervals until it fails or ctx ends.
func commitEvery(ctx context.Context, interval time.Duration, commit func(context.Context) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if err := commit(ctx); err != nil {
			return err
		}
	}
}

// commit commits the offsets of the answered requests of each partition, up to the first unanswered
// request. It must not be called concurrently: commitEvery calls it, and Run after commitEvery has
// ended. Offsets that could not be committed are kept for the next call, because tracker.take
// returns them only once: so if a stop ends a commit, Run's call makes up for it.
func (e *Enricher) commit(ctx context.Context) error {
	for _, record := range e.tracker.take() {
		e.uncommitted[record.TopicPartition()] = record
	}
	if len(e.uncommitted) == 0 {
		return nil
	}
	if err := e.consumer.Commit(ctx, slices.Collect(maps.Values(e.uncommitted))); err != nil {
		return fmt.Errorf("commit enrichment requests: %w", err)
	}
	clear(e.uncommitted)
	return nil
}
