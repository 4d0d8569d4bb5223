package runner

import (
	"fmt"
	"time"

	"github.com/mr-tron/base58"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// unknownMint is the key of transfers whose mint the transaction does not tell.
const unknownMint = "unknown"

// addBalances adds the records of the block's balances and transfers, if they are on.
func (r *Runner) addBalances(out *output, j *job) error {
	if r.deps.Balances == nil {
		return nil
	}
	facts := r.deps.Balances.Of(j.block)
	for _, changes := range facts.Balances {
		position := schemas.Position{Slot: changes.GetSlot(), Order: firstPlace(changes)}
		record, err := holdingRecord(changes, schemas.TopicBalances, schemas.TypeBalances, changes.GetMint(), &position, j.receivedAt)
		if err != nil {
			return err
		}
		out.records = append(out.records, record)
	}
	for _, transfers := range facts.Transfers {
		position := schemas.Position{Slot: transfers.GetSlot(), Order: transfers.GetTransfers()[0].GetPlace()}
		record, err := holdingRecord(transfers, schemas.TopicTransfers, schemas.TypeTransfers, transfers.GetMint(), &position, j.receivedAt)
		if err != nil {
			return err
		}
		out.records = append(out.records, record)
	}
	if j.slot != nil {
		j.slot.Balances = r.deps.Balances.Extent()
	}
	r.metrics.holdings(&facts)
	return nil
}

// firstPlace returns the place of a message's first change of a balance or, if it has none, of its
// first change of a state.
func firstPlace(m *eventspb.BalanceChanges) uint64 {
	if len(m.GetChanges()) > 0 {
		return m.GetChanges()[0].GetPlace()
	}
	return m.GetStates()[0].GetPlace()
}

func holdingRecord(m proto.Message, topic, kind string, mint []byte, position *schemas.Position, receivedAt time.Time) (kafka.Record, error) {
	value, err := marshal.Marshal(m)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	key := unknownMint
	if len(mint) > 0 {
		key = base58.Encode(mint)
	}
	return kafka.Record{Topic: topic, Key: []byte(key), Value: value, Headers: headers(kind, receivedAt, position)}, nil
}
