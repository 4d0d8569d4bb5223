package logos

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// documentsASecond bounds the requests for documents in a second.
	documentsASecond = 100
	// documentPatience is how long the answer to a request may take. After that the request is made
	// again.
	documentPatience = time.Hour
)

// document is a metadata document that could not be read: its last check.
type document struct {
	scheduled
	mint     pubkey.Key
	uri      string
	slot     uint64
	failures uint32
}

// documents are the documents that could not be read, one of each mint, and a heap of them by the
// time they are due.
type documents struct {
	mu      sync.Mutex
	entries map[pubkey.Key]*document
	heap    dueHeap[*document]
	next    time.Time // when further documents may be requested
}

func newDocuments() *documents { return &documents{entries: map[pubkey.Key]*document{}} }

func (d *documents) size() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.entries)
}

// apply folds a fact. Of checks, the one with the highest slot counts; of checks of one slot, the
// one with the most failures. A document ends the checks up to its slot, and so does a retraction
// of the check's slot: the mint is then read anew.
func (d *documents) apply(enrichment *eventspb.Enrichment) {
	if len(enrichment.GetMint()) != len(pubkey.Key{}) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	mint := pubkey.Key(enrichment.GetMint())
	switch fact := enrichment.GetFact().(type) {
	case *eventspb.Enrichment_Offchain:
		d.end(mint, enrichment.GetSlot())
	case *eventspb.Enrichment_Facts:
		for _, fact := range registry.FactsOfEnrichment(enrichment) {
			if fact.Register == registry.RegisterOffchain && json.Valid([]byte(fact.Value)) {
				d.end(mint, fact.Position.Slot)
			}
		}
	case *eventspb.Enrichment_DocumentCheck:
		d.check(mint, enrichment.GetSlot(), fact.DocumentCheck)
	case *eventspb.Enrichment_Retraction:
		e := d.entries[mint]
		if e != nil && takenBack(registry.RetractedBy(enrichment), e.slot) {
			d.end(mint, e.slot)
		}
	}
}

// end forgets a mint's document if its check is not of a later slot.
func (d *documents) end(mint pubkey.Key, slot uint64) {
	if e := d.entries[mint]; e != nil && slot >= e.slot {
		e.due = time.Time{}
		d.heap.put(e)
		delete(d.entries, mint)
	}
}

func (d *documents) check(mint pubkey.Key, slot uint64, check *eventspb.DocumentCheck) {
	e, uri := d.entries[mint], string(check.GetUri())
	if e == nil {
		e = &document{scheduled: scheduled{place: -1}, mint: mint}
		d.entries[mint] = e
	}
	switch {
	case slot < e.slot || slot == e.slot && uri == e.uri && check.GetFailures() < e.failures:
		return
	case uri == e.uri: // the check may come from a process that did not know of earlier failures
		e.failures = max(e.failures, check.GetFailures())
	default: // another URI starts anew
		e.uri, e.failures = uri, check.GetFailures()
	}
	e.slot, e.due = slot, time.UnixMilli(check.GetNextCheckAtMs())
	d.heap.put(e)
}

// take returns requests for the documents that are due, and how long until it may be called for
// more.
func (d *documents) take(now time.Time) (requests []*eventspb.EnrichmentRequest, left time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if left := d.next.Sub(now); left > 0 {
		return nil, left
	}
	for len(d.heap) > 0 && len(requests) < documentsASecond {
		e := d.heap[0]
		if left := e.due.Sub(now); left > 0 {
			return requests, left
		}
		requests = append(requests, &eventspb.EnrichmentRequest{
			Mint: e.mint[:], Reason: eventspb.RequestReason_REQUEST_REASON_DOCUMENT_RETRY, Slot: e.slot, Uri: []byte(e.uri), Failures: e.failures,
		})
		d.next = now.Add(time.Second)
		e.due = now.Add(documentPatience)
		d.heap.put(e)
	}
	if len(requests) == documentsASecond {
		return requests, time.Second
	}
	return requests, time.Hour
}

// askAgain requests the documents that are due from enrichment. It returns how long until it may be
// called for more.
func (m *Machine) askAgain(ctx context.Context, now time.Time) (time.Duration, error) {
	requests, left := m.documents.take(now)
	records := make([]kafka.Record, len(requests))
	for i, request := range requests {
		value, err := proto.Marshal(request)
		if err != nil {
			return 0, fmt.Errorf("encode request: %w", err)
		}
		records[i] = kafka.Record{
			Topic: schemas.TopicEnrichmentRequests, Key: pubkey.Key(request.GetMint()).Append(nil), Value: value,
			Headers: []kafka.Header{
				{Key: schemas.HeaderType, Value: []byte("enrichment_request")},
				{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
				{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, now.UnixMilli(), 10)},
			},
		}
	}
	if len(records) == 0 {
		return left, nil
	}
	if err := m.deps.Producer.Produce(ctx, records...); err != nil {
		return 0, fmt.Errorf("ask for documents again: %w", err)
	}
	return left, nil
}
