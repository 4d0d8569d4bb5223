// Package transactions passes the raw transactions of a Geyser stream on to the public stream.
//
// In: messages of the provider as they came. Out: one record of chain.transactions.v1 per
// transaction, a protobuf geyser.SubscribeUpdateTransaction keyed by its signature. Guarantees: it
// never holds ingest up. When Kafka is slower than the chain, whole messages are left out and
// counted: the public stream is live, the registry does not depend on it.
package transactions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus"
	geyserpb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// queueMessages is how many messages may wait. A filtered mainnet block has about a megabyte.
const queueMessages = 64

// Fields of geyser.SubscribeUpdate that carry transactions.
const (
	fieldTransaction = protowire.Number(4)
	fieldBlock       = protowire.Number(5)
)

// Deps are the publisher's collaborators. Producer is required; Logger and Registerer may be nil.
type Deps struct {
	Producer   kafka.RecordProducer
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Publisher passes transactions on.
type Publisher struct {
	deps      Deps
	queue     chan message
	published prometheus.Counter
	dropped   prometheus.Counter
}

type message struct {
	raw        []byte
	receivedAt time.Time
}

// New makes a publisher that does nothing until Run.
func New(deps Deps) (*Publisher, error) {
	if deps.Producer == nil {
		return nil, errors.New("new transaction publisher: no producer")
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Publisher{
		deps: deps, queue: make(chan message, queueMessages),
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_ingest_transactions_published_total", Help: "Transactions passed on to the public stream.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_ingest_transaction_messages_dropped_total", Help: "Messages left out of the public stream because Kafka was slower than the chain.",
		}),
	}
	if deps.Registerer != nil {
		for _, c := range []prometheus.Collector{p.published, p.dropped} {
			if err := deps.Registerer.Register(c); err != nil {
				return nil, fmt.Errorf("new transaction publisher: %w", err)
			}
		}
	}
	return p, nil
}

// Tap takes a geyser.SubscribeUpdate as it came. It copies what it keeps and never blocks.
func (p *Publisher) Tap(raw []byte) {
	if !carriesTransactions(raw) {
		return
	}
	if len(p.queue) == cap(p.queue) { // before the copy, which is what costs
		p.dropped.Inc()
		return
	}
	select {
	case p.queue <- message{bytes.Clone(raw), time.Now()}:
	default:
		p.dropped.Inc()
	}
}

// carriesTransactions looks at the message's outer fields only.
func carriesTransactions(raw []byte) bool {
	for len(raw) > 0 {
		number, wireType, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return false
		}
		if number == fieldTransaction || number == fieldBlock {
			return true
		}
		skip := protowire.ConsumeFieldValue(number, wireType, raw[n:])
		if skip < 0 {
			return false
		}
		raw = raw[n+skip:]
	}
	return false
}

// Run passes transactions on until ctx ends. An error is the producer's.
func (p *Publisher) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-p.queue:
			if err := p.publish(ctx, m); err != nil && ctx.Err() == nil {
				return fmt.Errorf("publish transactions: %w", err)
			}
		}
	}
}

func (p *Publisher) publish(ctx context.Context, m message) error {
	update := new(geyserpb.SubscribeUpdate)
	if err := proto.Unmarshal(m.raw, update); err != nil {
		p.dropped.Inc() // the source counts and reports what it cannot read
		return nil
	}
	var records []kafka.Record
	add := func(transaction *geyserpb.SubscribeUpdateTransaction) {
		if value, err := proto.Marshal(transaction); err == nil {
			records = append(records, record(transaction, value, m.receivedAt))
		}
	}
	if transaction := update.GetTransaction(); transaction.GetTransaction() != nil {
		add(transaction)
	}
	for _, info := range update.GetBlock().GetTransactions() {
		add(&geyserpb.SubscribeUpdateTransaction{Transaction: info, Slot: update.GetBlock().GetSlot()})
	}
	if len(records) == 0 {
		return nil
	}
	if err := p.deps.Producer.Produce(ctx, records...); err != nil {
		return err
	}
	p.published.Add(float64(len(records)))
	return nil
}

func record(transaction *geyserpb.SubscribeUpdateTransaction, value []byte, receivedAt time.Time) kafka.Record {
	return kafka.Record{
		Topic: schemas.TopicTransactions,
		Key:   []byte(base58.Encode(transaction.GetTransaction().GetSignature())),
		Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte("transaction")},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
			{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, receivedAt.UnixMilli(), 10)},
		},
	}
}
