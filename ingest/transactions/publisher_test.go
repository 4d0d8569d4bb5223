package transactions_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	geyserpb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/transactions"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

type producer struct {
	mu      sync.Mutex
	records []kafka.Record
	hold    chan struct{} // closed: writes go on
}

func (p *producer) Produce(ctx context.Context, records ...kafka.Record) error {
	if p.hold != nil {
		select {
		case <-p.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records = append(p.records, records...)
	return nil
}

func marshal(t *testing.T, update *geyserpb.SubscribeUpdate) []byte {
	t.Helper()
	raw, err := proto.Marshal(update)
	require.NoError(t, err)
	return raw
}

func block(slot uint64, signatures ...string) *geyserpb.SubscribeUpdate {
	b := &geyserpb.SubscribeUpdateBlock{Slot: slot}
	for i, signature := range signatures {
		b.Transactions = append(b.Transactions, &geyserpb.SubscribeUpdateTransactionInfo{Signature: []byte(signature), Index: uint64(i)})
	}
	return &geyserpb.SubscribeUpdate{Filters: []string{"f"}, UpdateOneof: &geyserpb.SubscribeUpdate_Block{Block: b}}
}

func TestPassesTransactionsOnAndNothingElse(t *testing.T) {
	out := &producer{}
	synctest.Test(t, func(t *testing.T) {
		p, err := transactions.New(transactions.Deps{Producer: out})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		p.Tap(marshal(t, block(7, "one", "two")))
		p.Tap(marshal(t, &geyserpb.SubscribeUpdate{UpdateOneof: &geyserpb.SubscribeUpdate_Ping{Ping: &geyserpb.SubscribeUpdatePing{}}}))
		p.Tap(marshal(t, &geyserpb.SubscribeUpdate{UpdateOneof: &geyserpb.SubscribeUpdate_Transaction{Transaction: &geyserpb.SubscribeUpdateTransaction{
			Slot: 8, Transaction: &geyserpb.SubscribeUpdateTransactionInfo{Signature: []byte("three")},
		}}}))
		p.Tap([]byte{0xff, 0xff, 0xff})
		p.Tap([]byte{0x2a, 0x01, 0xff}) // says it is a block and is none
		p.Tap(nil)
		synctest.Wait()
		cancel()
		require.NoError(t, <-done)
	})
	var got []string
	for _, record := range out.records {
		require.Equal(t, schemas.TopicTransactions, record.Topic)
		transaction := new(geyserpb.SubscribeUpdateTransaction)
		require.NoError(t, proto.Unmarshal(record.Value, transaction))
		got = append(got, string(transaction.GetTransaction().GetSignature()))
		require.NotZero(t, transaction.GetSlot())
	}
	require.Equal(t, []string{"one", "two", "three"}, got)
}

// While Kafka says nothing, ingest goes on: Tap returns at once, whatever it has to leave out.
func TestNeverHoldsIngestUp(t *testing.T) {
	out := &producer{}
	synctest.Test(t, func(t *testing.T) {
		out.hold = make(chan struct{})
		p, err := transactions.New(transactions.Deps{Producer: out})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		for slot := range uint64(1000) {
			p.Tap(marshal(t, block(slot, "s")))
		}
		close(out.hold)
		synctest.Wait()
		cancel()
		require.NoError(t, <-done)
	})
	require.NotEmpty(t, out.records)
	require.Less(t, len(out.records), 100, "what waits is bounded")
}
