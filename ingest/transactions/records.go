package transactions

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Block is what the topic gets of one block: the records of its transactions in order, and its end.
type Block struct {
	slot    uint64
	records []kafka.Record
	end     *eventspb.StreamBlock // nil for a lone transaction
	// receivedAt is when the block reached Mintlake.
	receivedAt time.Time
}

// maxRecord bounds a transaction's record to what the topic accepts.
const maxRecord = kafka.DefaultMaxRecordBytes - 1024

// NewBlock encodes a block; nil if the topic gets nothing of it. It includes the transactions that
// touch our programs, or all transactions if all is true, but never votes. Transactions that could
// not be read, cannot be encoded, or are too large for the topic count as left out.
func NewBlock(block *chain.Block, receivedAt time.Time, all bool) *Block {
	b := &Block{slot: block.Slot, receivedAt: receivedAt}
	leftOut := uint32(len(block.Unread))
	var info []byte
	for i := range block.Transactions {
		raw := block.Transactions[i].Raw
		if raw == nil || block.Transactions[i].Vote {
			continue
		}
		var err error
		var value []byte
		if info, err = raw.AppendUpdate(info[:0], all); len(info) > 0 {
			value = updateOf(info, block.Slot)
		}
		switch {
		case err != nil || len(value) > maxRecord:
			leftOut++
		case value != nil:
			b.records = append(b.records, record(schemas.TypeTransaction, block.Slot, value, receivedAt))
		}
	}
	if block.InLedger() {
		b.end = &eventspb.StreamBlock{
			Slot: block.Slot, ParentSlot: block.ParentSlot, Blockhash: bytes.Clone(block.Blockhash[:]), ParentBlockhash: bytes.Clone(block.ParentBlockhash[:]),
			BlockHeight: block.Height, BlockTime: block.BlockTime, Published: uint32(len(b.records)), LeftOut: leftOut, Executed: block.Executed,
		}
	}
	if b.end == nil && len(b.records) == 0 {
		return nil
	}
	return b
}

// Fields of geyser.SubscribeUpdateTransaction.
const (
	fieldTransaction protowire.Number = 1
	fieldSlot        protowire.Number = 2
)

// updateOf encodes a SubscribeUpdateTransaction with the given SubscribeUpdateTransactionInfo.
func updateOf(info []byte, slot uint64) []byte {
	out := make([]byte, 0, len(info)+24)
	out = protowire.AppendBytes(protowire.AppendTag(out, fieldTransaction, protowire.BytesType), info)
	return protowire.AppendVarint(protowire.AppendTag(out, fieldSlot, protowire.VarintType), slot)
}

func record(kind string, slot uint64, value []byte, receivedAt time.Time) kafka.Record {
	return kafka.Record{
		Topic: schemas.TopicTransactions,
		Key:   strconv.AppendUint(nil, slot, 10),
		Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte(kind)},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
			{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, receivedAt.UnixMilli(), 10)},
		},
	}
}

// withEnd returns all records of the block, including its end.
func (b *Block) withEnd() ([]kafka.Record, error) {
	if b.end == nil {
		return b.records, nil
	}
	value, err := proto.Marshal(b.end)
	if err != nil {
		return nil, fmt.Errorf("encode end of slot: %w", err)
	}
	return append(b.records, record(schemas.TypeStreamBlock, b.slot, value, b.receivedAt)), nil
}

// leaveOut removes the transactions from the block. The block's end remains, and says how many
// transactions were left out.
func (b *Block) leaveOut() {
	if b.end != nil {
		b.end.LeftOut += b.end.Published
		b.end.Published = 0
	}
	b.records = nil
}

// addTip adds a HeaderTip to the records. Their slot must be below the tip.
func addTip(records []kafka.Record, tip uint64) {
	header := kafka.Header{Key: schemas.HeaderTip, Value: strconv.AppendUint(nil, tip, 10)}
	for i := range records {
		records[i].Headers = append(records[i].Headers, header)
	}
}

// raise sets the HeaderTip of those records whose schemas.TipOf is below tip.
func raise(records []kafka.Record, tip uint64) {
	for i := range records {
		if r := &records[i]; schemas.TipOf(r.Key, r.Header(schemas.HeaderTip)) < tip {
			r.Headers = slices.DeleteFunc(r.Headers, func(h kafka.Header) bool { return h.Key == schemas.HeaderTip })
			addTip(records[i:i+1], tip)
		}
	}
}

// sizeOf estimates the bytes of records.
func sizeOf(records []kafka.Record) (n int) {
	for i := range records {
		n += len(records[i].Value) + 100 // key and headers
	}
	return n
}
