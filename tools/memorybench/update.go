package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/mr-tron/base58"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry/registrytest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// ticks of a second in which updates are written, as blocks come.
const ticks = 20

// update writes token events at a rate until ctx ends: mostly mints and burns, of all tokens alike, which is worse for a node than the
// few that trade in truth; one in ten names a token anew.
func update(ctx context.Context, b *backends, corpus *registrytest.Corpus, size, rate int) error {
	if rate == 0 {
		return nil
	}
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: b.brokers()}, kafka.Deps{})
	if err != nil {
		return err //nolint:wrapcheck // says kafka
	}
	defer producer.Close()
	random := rand.New(rand.NewPCG(2, uint64(rate)))  //nolint:gosec // a measurement's
	program, _ := base58.Decode(schemas.ProgramToken) // a constant
	tick := time.NewTicker(time.Second / ticks)
	defer tick.Stop()
	for slot := uint64(500_000_000); ; slot++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		received := strconv.AppendInt(nil, time.Now().UnixMilli(), 10)
		records := make([]kafka.Record, 0, rate/ticks)
		for i := range rate / ticks {
			token := corpus.Token(random.IntN(size))
			mint, _ := base58.Decode(token.Mint) // the corpus has no other
			value, err := proto.Marshal(event(random, mint, program, slot, uint32(i), &token))
			if err != nil {
				return fmt.Errorf("encode: %w", err)
			}
			records = append(records, kafka.Record{
				Topic: schemas.TopicTokenEvents, Key: []byte(token.Mint), Value: value, Headers: []kafka.Header{{Key: schemas.HeaderReceivedAt, Value: received}},
			})
		}
		if err := producer.Produce(ctx, records...); err != nil && ctx.Err() == nil {
			return fmt.Errorf("produce: %w", err)
		}
	}
}

func event(random *rand.Rand, mint, program []byte, slot uint64, index uint32, token *registrytest.Token) *eventspb.TokenEvent {
	signature := make([]byte, 64)
	binary.LittleEndian.PutUint64(signature, random.Uint64())
	e := &eventspb.TokenEvent{
		Position:  &eventspb.Position{Slot: slot, TransactionIndex: &index},
		BlockTime: time.Now().Unix(), Signature: signature, ProgramId: program, Mint: mint,
	}
	change := &eventspb.AmountChange{Amount: random.Uint64N(1_000_000), TokenAccount: signature[:32], Authority: signature[32:]}
	switch random.IntN(10) {
	case 0:
		e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{
			MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Name: []byte(token.Name + " " + strconv.Itoa(random.IntN(100))), Symbol: []byte(token.Symbol),
		}}
	case 1, 2, 3, 4:
		e.Payload = &eventspb.TokenEvent_Burn{Burn: change}
	default:
		e.Payload = &eventspb.TokenEvent_MintTo{MintTo: change}
	}
	return e
}
