package factrecord

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// MaxRanges is how many ranges of slots one retraction may have. For more ranges Retract makes
// several retractions.
const MaxRanges = 1000

// SetUpstream sets in each fact the host of the upstream that it was read from. It is never the
// URL: a path or a query may have a key.
func SetUpstream(facts []*eventspb.Enrichment, host string) {
	for _, fact := range facts {
		fact.Upstream = host
	}
}

// Ranges returns the slots as ranges, ascending and as few as possible. Slots may come in any order
// and more than once.
func Ranges(slots []uint64) []*eventspb.SlotRange {
	sorted := slices.Compact(slices.Sorted(slices.Values(slots)))
	var ranges []*eventspb.SlotRange
	for _, slot := range sorted {
		if last := len(ranges) - 1; last >= 0 && ranges[last].GetTo()+1 == slot {
			ranges[last].To = slot
			continue
		}
		ranges = append(ranges, &eventspb.SlotRange{From: slot, To: slot})
	}
	return ranges
}

// Decision is why and when facts are taken back.
type Decision struct {
	At time.Time
	// Events takes back facts that came with blocks too, not only facts that were read.
	Events bool
	// Reason is for people.
	Reason string
}

// Retract returns the retractions of a mint's facts at the slots of ranges, each of at most
// MaxRanges ranges. The mint should be read anew when they are written: see Reread.
func (d Decision) Retract(mint pubkey.Key, ranges []*eventspb.SlotRange) []*eventspb.Enrichment {
	var retractions []*eventspb.Enrichment
	for part := range slices.Chunk(ranges, MaxRanges) {
		retractions = append(retractions, &eventspb.Enrichment{Mint: mint.Bytes(), Fact: &eventspb.Enrichment_Retraction{Retraction: &eventspb.Retraction{
			Version: uint64(max(d.At.UnixMilli(), 0)), Slots: part, Events: d.Events, Reason: d.Reason,
		}}})
	}
	return retractions
}

// Reread returns the record of a request to read a mint anew, even if it was read before. The read
// must be at slot or later. 0 allows any slot. A slot that the chain has not reached makes the
// request fail.
func Reread(mint pubkey.Key, slot uint64, at time.Time) (kafka.Record, error) {
	value, err := proto.Marshal(&eventspb.EnrichmentRequest{Mint: mint.Bytes(), Reason: eventspb.RequestReason_REQUEST_REASON_RETRACTED, Slot: slot})
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode enrichment request: %w", err)
	}
	return kafka.Record{
		Topic: schemas.TopicEnrichmentRequests, Key: mint.Append(nil), Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte("enrichment_request")},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
			{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, at.UnixMilli(), 10)},
		},
	}, nil
}

// Balances makes the record of token accounts of a mint that were read at a slot. The mint must
// have 32 bytes.
func Balances(read *eventspb.BalanceChanges) (kafka.Record, error) {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(read)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode balances: %w", err)
	}
	return recordOf(schemas.TopicBalances, schemas.TypeBalances, read.GetMint(), schemas.EndOfSlot(read.GetSlot()), value), nil
}

func recordOf(topic, kind string, mint []byte, position schemas.Position, value []byte) kafka.Record {
	return kafka.Record{
		Topic: topic, Key: pubkey.Key(mint).Append(nil), Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte(kind)},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
			{Key: schemas.HeaderPosition, Value: fmt.Appendf(nil, "%016x%016x", position.Slot, position.Order)},
		},
	}
}
