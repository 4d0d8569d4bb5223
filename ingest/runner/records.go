package runner

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/mr-tron/base58"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Values of schemas.HeaderType that package schemas does not have.
const (
	typeTokenEvent        = "token_event."
	typeEnrichmentRequest = "enrichment_request"
)

// deadLetterSource is this room's name in dead letters.
const deadLetterSource = "ingest"

// marshal encodes deterministically, so that a fact has the same bytes in every run.
var marshal = proto.MarshalOptions{Deterministic: true}

// headers returns the headers that every record has. position may be nil.
func headers(kind string, receivedAt time.Time, position *schemas.Position) []kafka.Header {
	all := []kafka.Header{
		{Key: schemas.HeaderType, Value: []byte(kind)},
		{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
		receivedAtHeader(receivedAt),
	}
	if position != nil {
		all = append(all, kafka.Header{Key: schemas.HeaderPosition, Value: positionText(*position)})
	}
	return all
}

func receivedAtHeader(at time.Time) kafka.Header {
	return kafka.Header{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, at.UnixMilli(), 10)}
}

// positionText returns the position as 32 hexadecimal digits.
func positionText(position schemas.Position) []byte {
	var raw [16]byte
	position.BigInt().FillBytes(raw[:])
	return hex.AppendEncode(nil, raw[:])
}

// eventRecord returns the record of a token event. If the event names no mint, the key is its
// metadata account, or else its program.
func eventRecord(event *eventspb.TokenEvent, receivedAt time.Time) (kafka.Record, error) {
	value, err := marshal.Marshal(event)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode token event: %w", err)
	}
	key := event.GetMint()
	if len(key) == 0 {
		key = event.GetMetadataSet().GetMetadataAccount()
	}
	if len(key) == 0 {
		key = event.GetProgramId()
	}
	position := schemas.PositionOf(event.GetPosition(), event.GetSignature())
	return kafka.Record{
		Topic: schemas.TopicTokenEvents, Key: []byte(base58.Encode(key)), Value: value,
		Headers: headers(typeTokenEvent+string(schemas.KindOf(event)), receivedAt, &position),
	}, nil
}

func requestRecord(request *eventspb.EnrichmentRequest, receivedAt time.Time) (kafka.Record, error) {
	value, err := marshal.Marshal(request)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode enrichment request: %w", err)
	}
	key := request.GetMint()
	if len(key) == 0 {
		key = request.GetMetadataAccount()
	}
	return kafka.Record{
		Topic: schemas.TopicEnrichmentRequests, Key: []byte(base58.Encode(key)), Value: value,
		Headers: headers(typeEnrichmentRequest, receivedAt, nil),
	}, nil
}

// typeEnrichment is the prefix of the type of a fact's record.
const typeEnrichment = "enrichment."

// factRecord returns the record of a fact, in the same form as package enrich writes it.
func factRecord(fact *eventspb.Enrichment, kind string, receivedAt time.Time) (kafka.Record, error) {
	value, err := marshal.Marshal(fact)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode %s fact: %w", kind, err)
	}
	position := schemas.Position{Slot: fact.GetSlot(), Order: fact.GetOrder()}
	return kafka.Record{
		Topic: schemas.TopicEnrichments, Key: []byte(base58.Encode(fact.GetMint())), Value: value,
		Headers: headers(typeEnrichment+kind, receivedAt, &position),
	}, nil
}

func ledgerRecord(slot *eventspb.SlotRecord, receivedAt time.Time) (kafka.Record, error) {
	value, err := marshal.Marshal(slot)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode slot record: %w", err)
	}
	return kafka.Record{
		Topic: schemas.TopicSlots, Key: strconv.AppendUint(nil, slot.GetSlot(), 10), Value: value,
		Headers: headers(schemas.TypeSlot, receivedAt, nil),
	}, nil
}

func ledgerStatus(block *chain.Block) eventspb.SlotStatus {
	if block.Partial() {
		return eventspb.SlotStatus_SLOT_STATUS_PARTIAL
	}
	return eventspb.SlotStatus_SLOT_STATUS_INGESTED
}

// slotRecord returns the slot record of a whole or partial block. Decoding adds the numbers of
// events and legs later.
func slotRecord(block *chain.Block, kind string) *eventspb.SlotRecord {
	record := &eventspb.SlotRecord{
		Slot: block.Slot, Blockhash: bytes.Clone(block.Blockhash[:]), ParentBlockhash: bytes.Clone(block.ParentBlockhash[:]),
		BlockTime: block.BlockTime, Status: ledgerStatus(block),
		Transactions: uint32(len(block.Transactions)), Source: kind,
	}
	if block.ParentSlot != nil {
		parent := *block.ParentSlot
		record.ParentSlot = &parent
	}
	return record
}
