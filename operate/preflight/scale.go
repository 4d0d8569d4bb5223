package preflight

import (
	"bytes"
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/sizing"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// maxKeys bounds each set of keys. Further keys are not counted.
const maxKeys = 1_000_000

// scale counts the records of the dry run and passes them on. It leaves out records that only a
// first run writes: sightings of mints and pools that existed before.
type scale struct {
	next kafka.RecordProducer

	// quiet and most are the times after which a changed mint is read: see enrich.RereadConfig.
	quiet, most time.Duration

	mu    sync.Mutex
	begun time.Time // of the first record
	units map[sizing.Unit]float64
	// routes counts the routes of aggregators.
	routes float64
	// pools and mints have the pools and mints that traded, each with its minute of the dry run.
	pools, mints map[string]struct{}
	// changed has, by mint, the changes that wait for a read. reads counts the reads that were due.
	changed map[string]change
	reads   float64
	// asked counts the requests that need a read of a mint's accounts. unnamed has the metadata
	// accounts whose mint has to be found first.
	asked   float64
	unnamed map[string]struct{}
	// uris has the documents that events name.
	uris map[string]struct{}
}

// change is the time of the first and the last change of a mint that were not read yet.
type change struct{ first, last time.Time }

func newScale(quiet, most time.Duration) *scale {
	return &scale{quiet: quiet, most: max(most, time.Second), units: map[sizing.Unit]float64{}, pools: map[string]struct{}{}, mints: map[string]struct{}{}, changed: map[string]change{},
		unnamed: map[string]struct{}{}, uris: map[string]struct{}{}}
}

// note adds a key to a set.
func note(set map[string]struct{}, key string) {
	if len(set) < maxKeys && key != "" {
		set[key] = struct{}{}
	}
}

// Produce implements kafka.RecordProducer.
func (s *scale) Produce(ctx context.Context, records ...kafka.Record) error {
	kept := make([]kafka.Record, 0, len(records))
	s.mu.Lock()
	if s.begun.IsZero() {
		s.begun = time.Now()
	}
	for i := range records {
		if s.take(&records[i], time.Now()) {
			kept = append(kept, records[i])
		}
	}
	s.mu.Unlock()
	if len(kept) == 0 {
		return nil
	}
	return s.next.Produce(ctx, kept...)
}

// take counts a record, and reports whether ingest also writes such a record when it has run for
// long.
func (s *scale) take(record *kafka.Record, now time.Time) bool {
	kind := string(record.Header(schemas.HeaderType))
	switch record.Topic {
	case schemas.TopicTransactions:
		if kind == schemas.TypeTransaction {
			s.units[sizing.Transaction]++
		}
	case schemas.TopicSlots:
		if kind == schemas.TypeSlot {
			s.units[sizing.Slot]++
		}
	case schemas.TopicSwaps:
		s.swap(kind, record.Value, now)
	case schemas.TopicPools:
		var pool eventspb.Pool
		if proto.Unmarshal(record.Value, &pool) != nil || !pool.GetCreated() {
			return false
		}
		s.units[sizing.NewPool]++
	case schemas.TopicTokenEvents:
		return s.event(string(record.Key), record.Value, now)
	case schemas.TopicEnrichmentRequests:
		return s.request(record.Value)
	}
	return true
}

// swap counts routes and legs, and notes the pool and the mints of a leg for its minute. A leg has
// two records, of which it counts the one of type SwapLegIn.
func (s *scale) swap(kind string, value []byte, now time.Time) {
	if kind == schemas.TypeRoute {
		s.routes++
	}
	var leg eventspb.SwapLeg
	if kind != schemas.TypeSwapLegIn || proto.Unmarshal(value, &leg) != nil {
		return
	}
	s.units[sizing.Leg]++
	minute := now.Sub(s.begun).Truncate(time.Minute).String()
	note(s.pools, minute+string(leg.GetPool()))
	note(s.mints, minute+string(leg.GetMintIn()))
	note(s.mints, minute+string(leg.GetMintOut()))
}

// event counts a token event. It also simulates the reads of changed mints: a mint is read once it
// has not changed for the time quiet, or when the time most has passed since its first change.
func (s *scale) event(key string, value []byte, now time.Time) bool {
	var event eventspb.TokenEvent
	if proto.Unmarshal(value, &event) != nil {
		return true
	}
	kind := schemas.KindOf(&event)
	if kind == schemas.KindSighting {
		return false
	}
	s.units[sizing.Event]++
	if kind == schemas.KindInitializeMint {
		s.units[sizing.NewMint]++
	}
	// An event may name only the metadata account. Enrichment then finds the mint, and reads the
	// document, too.
	note(s.uris, string(bytes.Trim(event.GetMetadataSet().GetUri(), "\x00 \t\r\n")))
	pending, waits := s.changed[key]
	if waits && (now.Sub(pending.last) >= s.quiet || now.Sub(pending.first) >= s.most) {
		s.reads++
		waits = false
	}
	if !waits {
		pending.first = now
	}
	if pending.last = now; waits || len(s.changed) < maxKeys {
		s.changed[key] = pending
	}
	return true
}

// request counts a request to enrichment. It leaves out a request for a mint that was only sighted,
// because ingest makes one for each mint that it did not see before.
func (s *scale) request(value []byte) bool {
	var request eventspb.EnrichmentRequest
	if proto.Unmarshal(value, &request) != nil || request.GetReason() == eventspb.RequestReason_REQUEST_REASON_SIGHTED {
		return false
	}
	if len(request.GetMint()) == 0 || len(request.GetUri()) == 0 {
		s.asked++ // a later request of a mint is of a later slot, and needs a read of its own
	}
	if len(request.GetMint()) == 0 {
		note(s.unnamed, string(request.GetMetadataAccount()))
	}
	return true
}

// sample returns what was counted up to now.
func (s *scale) sample(now time.Time) *Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	reads := s.reads
	for _, pending := range s.changed {
		if pending.first.Equal(pending.last) || now.Sub(pending.last) >= s.quiet {
			reads++
			continue
		}
		// The mint keeps changing, and is read when the longest wait is over.
		reads += min(1, float64(now.Sub(pending.first))/float64(s.most))
	}
	return &Sample{Units: s.units, Routes: s.routes, PoolMinutes: len(s.pools), MintMinutes: len(s.mints),
		NewMintReads: s.asked, ChangedReads: reads, ResolverReads: float64(len(s.unnamed)), Documents: float64(len(s.uris))}
}
