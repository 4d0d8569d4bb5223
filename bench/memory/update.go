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
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// ticks is how many times a second updates are written: in bursts, as blocks come.
const ticks = 20

// updates returns token events, a list for each tick of a phase. Most are mints and burns, one in
// ten sets a name. All tokens are equally likely, which costs a node more than the real chain,
// where few tokens trade. The events are made before the phase, so that making them takes no core
// from it.
func (b *backends) updates(length time.Duration, corpus *registrytest.Corpus, size, rate int) ([][]kafka.Record, error) {
	random := rand.New(rand.NewPCG(2, b.slot))        //nolint:gosec // a measurement's
	program, _ := base58.Decode(schemas.ProgramToken) // a constant
	made := make([][]kafka.Record, int(length.Seconds()*ticks)+ticks)
	for tick := range made {
		b.slot++
		for i := range rate / ticks {
			token := corpus.Token(random.IntN(size))
			value, err := proto.Marshal(event(random, token.Mint.Bytes(), program, 500_000_000+b.slot, uint32(i), &token))
			if err != nil {
				return nil, fmt.Errorf("encode: %w", err)
			}
			made[tick] = append(made[tick], kafka.Record{Topic: schemas.TopicTokenEvents, Key: []byte(token.Mint.String()), Value: value})
		}
	}
	return made, nil
}

// write produces the updates, tick by tick, until ctx ends.
func (b *backends) write(ctx context.Context, updates [][]kafka.Record) error {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: b.brokers()}, kafka.Deps{})
	if err != nil {
		return err
	}
	defer producer.Close()
	tick := time.NewTicker(time.Second / ticks)
	defer tick.Stop()
	for _, records := range updates {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		received := []kafka.Header{{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, time.Now().UnixMilli(), 10)}}
		for i := range records {
			records[i].Headers = received
		}
		if err := producer.Produce(ctx, records...); err != nil && ctx.Err() == nil {
			return fmt.Errorf("produce: %w", err)
		}
	}
	return nil
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
