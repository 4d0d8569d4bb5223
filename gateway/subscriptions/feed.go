package subscriptions

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/txerror"
)

const (
	// batchRecords and batchWait bound a fetch. A longer wait would only add delay.
	batchRecords = 2048
	batchWait    = 5 * time.Millisecond
	// idleCheck is how often an idle feed checks whether somebody wants it. reopenPause is the
	// pause before a topic is opened again after it failed for good.
	idleCheck   = 50 * time.Millisecond
	reopenPause = time.Second
	// idleAfter is how long a feed stays open that nobody wants.
	idleAfter = 10 * time.Second
)

// The values of the label "from".
const (
	fromIngest   = "ingest"
	fromUpstream = "upstream"
)

// feed reads a topic from its end, as long as somebody wants its records. Mainnet's transactions
// are megabytes a second, which should not be read if nobody wants them.
type feed struct {
	server *Server
	topic  string
	wanted func() bool
	take   func(kafka.Record)
}

// feeds returns the feeds of slots and of transactions.
func (s *Server) feeds() []*feed {
	// Without an upstream that can be asked, what happens before a feed is open would be missed.
	// Then the feeds are always open.
	always := s.deps.RPC == nil
	return []*feed{
		{s, schemas.TopicSlots, func() bool { return always || s.hub.follows() }, s.takeSlot},
		{s, schemas.TopicTransactions, func() bool { return always || s.hub.waiting() > 0 || s.feesWanted() }, func(r kafka.Record) {
			s.takeTransaction(r)
			if s.feesWanted() {
				s.deps.Fees.Take(r)
			}
		}},
	}
}

func (s *Server) feesWanted() bool { return s.deps.Fees != nil && s.deps.Fees.Wanted() }

// run follows the topic whenever somebody wants it, until ctx ends.
func (f *feed) run(ctx context.Context) {
	for ctx.Err() == nil {
		if !f.wanted() {
			_ = pause.For(ctx, idleCheck) // the loop ends with ctx
			continue
		}
		err := f.follow(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		f.server.metrics.feedRestarts.WithLabelValues(f.topic).Inc()
		f.server.deps.Logger.Warn("subscriptions lost a topic, opening it again", "topic", f.topic, "err", err)
		_ = pause.For(ctx, reopenPause) // the loop ends with ctx
	}
}

// follow reads from the topic's end on until nobody has wanted it for a while.
func (f *feed) follow(ctx context.Context) error {
	topics := []string{f.topic}
	at, err := f.server.deps.Offsets.EndOffsets(ctx, topics)
	if err != nil {
		return err
	}
	tailer, err := f.server.deps.OpenTail(topics, maps.Clone(at))
	if err != nil {
		return err
	}
	defer tailer.Close()
	for wantedAt := time.Now(); time.Since(wantedAt) < idleAfter; {
		// The time limit is for a quiet topic: the feed must notice that nobody wants it any more.
		records, err := kafka.FetchWithin(ctx, tailer, batchRecords, batchWait, idleAfter)
		if err != nil {
			return err
		}
		for i := range records {
			f.take(records[i])
		}
		if f.wanted() {
			wantedAt = time.Now()
		}
	}
	return nil
}

// takeSlot notifies of the slot of a block that ingest has read, and of the root, too, if ingest
// reads finalized blocks. It ignores skipped and dead slots, and status reports.
func (s *Server) takeSlot(r kafka.Record) {
	if bytes.Equal(r.Key, []byte(schemas.SourceStatusKey)) {
		return
	}
	var line eventspb.SlotRecord
	if err := proto.Unmarshal(r.Value, &line); err != nil {
		s.metrics.badRecords.WithLabelValues(r.Topic).Inc()
		return
	}
	if line.GetStatus() != eventspb.SlotStatus_SLOT_STATUS_INGESTED {
		return
	}
	parent := line.GetParentSlot()
	if line.ParentSlot == nil && line.GetSlot() > 0 {
		parent = line.GetSlot() - 1
	}
	if s.fed == finalized {
		s.hub.newRoot(line.GetSlot(), fromIngest)
	}
	s.hub.newSlot(line.GetSlot(), parent, fromIngest)
}

// takeTransaction notifies of a transaction that a client waits for. Of any other transaction it
// reads only the signature. Records of other types are ignored.
func (s *Server) takeTransaction(r kafka.Record) {
	if string(r.Header(schemas.HeaderType)) != schemas.TypeTransaction {
		return
	}
	signature := []byte(base58.Encode(signatureIn(r.Value)))
	if !s.hub.watched(signature) {
		return
	}
	var tx pb.SubscribeUpdateTransaction
	if err := proto.Unmarshal(r.Value, &tx); err != nil || tx.GetTransaction().GetMeta() == nil {
		s.metrics.badRecords.WithLabelValues(r.Topic).Inc()
		return
	}
	failure := json.RawMessage("null")
	if e := tx.GetTransaction().GetMeta().GetErr(); e != nil {
		text, err := json.Marshal(txerror.JSON(e.GetErr()))
		if err != nil {
			s.metrics.badRecords.WithLabelValues(r.Topic).Inc()
			return
		}
		failure = text
	}
	s.hub.landed(string(signature), tx.GetSlot(), s.fed, failure, fromIngest)
}

// signatureIn returns the signature in an encoded SubscribeUpdateTransaction, which is field 1 of
// its field 1; nil if there is none.
func signatureIn(update []byte) []byte { return firstBytes(firstBytes(update)) }

// firstBytes returns field 1 of a message; nil if no length-delimited one is there.
func firstBytes(message []byte) []byte {
	f := protofields.Fields{Rest: message}
	for f.Next() {
		if f.IsBytes(1) {
			return f.Bytes
		}
	}
	return nil
}
