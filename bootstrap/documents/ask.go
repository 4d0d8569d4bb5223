package documents

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// askEvery is how often requests are written, at most batch at once.
	askEvery = 250 * time.Millisecond
	batch    = 2000
	// lookEvery is how often the hosts' rates of answers are updated, and saveEvery how often the
	// places of the walk are saved and its progress is told.
	lookEvery = time.Second
	saveEvery = 15 * time.Second
	// recordEvery is how often progress is written to the log, which keeps it for ever.
	recordEvery = 5 * time.Minute
)

// askAll asks for the documents of the tokens that were read, until ctx ends.
func (a *Asker) askAll(ctx context.Context) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	looked, saved := time.Now(), time.Now()
	allowed := 0.0 // how many requests the rate allows now: a token bucket of one second
	defer a.save()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		allowed = min(allowed+float64(a.config.PerMinute)*askEvery.Minutes(), max(float64(a.config.PerMinute)/60, 1))
		var list []Wanted
		a.locked(func(w *walk) { list = w.next(now, min(int(allowed), batch)) })
		allowed -= float64(len(list))
		if err := a.ask(ctx, list); err != nil {
			a.failed(ctx, err)
			a.locked(func(w *walk) { // nobody will answer: the requests were not written
				for i := range list {
					w.answered(list[i].Mint, answerBusy)
				}
			})
		}
		if since := now.Sub(looked); since >= lookEvery {
			a.locked(func(w *walk) { w.look(now, since) })
			looked = now
		}
		if now.Sub(saved) >= saveEvery {
			saved = now
			a.save()
			a.tell(ctx)
		}
	}
}

// tell sets the metrics of the progress and, now and then, writes it to the log. If no request
// waits for enrichment, all are answered, also those that enrichment gave no new answer because of
// an earlier one.
func (a *Asker) tell(ctx context.Context) {
	waiting, err := a.deps.Waiting(ctx)
	var progress Progress
	a.locked(func(w *walk) {
		if err == nil && waiting == 0 {
			w.forget()
		}
		progress = w.progress()
	})
	a.metrics.told(progress)
	now := time.Now()
	if progress.Left > 0 && now.Sub(a.recorded) >= recordEvery || progress.Left == 0 && a.recordedLeft {
		if err := a.record(ctx, progress, now); err != nil {
			a.deps.Logger.Warn("the progress of the walk over documents is not written", "topic", schemas.TopicIdentity, "err", err)
		}
		a.recorded, a.recordedLeft = now, progress.Left > 0
	}
}

// record writes how far the walk is, for GET /status of all nodes.
func (a *Asker) record(ctx context.Context, p Progress, now time.Time) error {
	value, err := proto.Marshal(&eventspb.DocumentWalk{
		Left: uint64(max(p.Left, 0)), Hosts: uint64(p.Hosts), PerSecond: p.PerSecond, LeftSeconds: uint64(p.LeftFor.Seconds()), RecordedAtMs: now.UnixMilli(),
	})
	if err != nil {
		return fmt.Errorf("encode progress: %w", err)
	}
	return a.deps.Producer.Produce(ctx, kafka.Record{
		Topic: schemas.TopicIdentity, Key: []byte(schemas.DocumentWalkKey), Value: value, Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte(schemas.TypeDocumentWalk)}, {Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
		},
	})
}

// ask writes requests.
func (a *Asker) ask(ctx context.Context, list []Wanted) error {
	if len(list) == 0 {
		return nil
	}
	records := make([]kafka.Record, len(list))
	for i := range list {
		w := &list[i]
		value, err := proto.Marshal(&eventspb.EnrichmentRequest{
			Mint: w.Mint[:], Reason: eventspb.RequestReason_REQUEST_REASON_DOCUMENT_WALK, Slot: w.Slot, Uri: []byte(w.URI),
		})
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		records[i] = kafka.Record{
			Topic: schemas.TopicEnrichmentRequests, Key: w.Mint.Append(nil), Value: value,
			Headers: []kafka.Header{
				{Key: schemas.HeaderType, Value: []byte("enrichment_request")},
				{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
			},
		}
	}
	if err := a.deps.Producer.Produce(ctx, records...); err != nil {
		return fmt.Errorf("write requests: %w", err)
	}
	a.metrics.asked.Add(float64(len(list)))
	return nil
}

const (
	followBatch = 5000
	followWait  = 100 * time.Millisecond
)

// follow reads the answers until ctx ends.
func (a *Asker) follow(ctx context.Context) {
	open := func() (kafka.TailReader, error) { return a.deps.OpenTail(ctx) }
	kafka.Follow(ctx, open, followBatch, followWait, func(records []kafka.Record) {
		a.locked(func(w *walk) {
			for i := range records {
				if mint, how, ok := answerOf(&records[i]); ok {
					w.answered(mint, how)
				}
			}
		})
	}, func(err error) {
		a.deps.Logger.Warn("answers to requests for documents are not read, trying again", "topic", schemas.TopicEnrichments, "err", err)
	})
}

// answerOf reads the record of a document, or of a check of one.
func answerOf(record *kafka.Record) (mint pubkey.Key, how answer, ok bool) {
	switch string(record.Header(schemas.HeaderType)) {
	case "enrichment.offchain":
	case "enrichment.document_check":
		how = answerFailed
		fact := &eventspb.Enrichment{}
		if proto.Unmarshal(record.Value, fact) == nil && fact.GetDocumentCheck().GetErrorClass() == "host_busy" {
			how = answerBusy
		}
	default:
		return mint, how, false
	}
	mint, err := pubkey.Parse(string(record.Key))
	return mint, how, err == nil
}
