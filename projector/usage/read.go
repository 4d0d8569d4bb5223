package usage

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Bounds of what a row may hold. Names of keys and methods have at most 64 bytes; times are in
// seconds.
const (
	maxText    = 64
	maxNode    = 255
	maxMinute  = 1<<32 - 60 // what ClickHouse's DateTime can hold
	minuteSpan = 60
)

// read decodes a record. An error says why it is not a valid row of usage.
func read(record *kafka.Record) (*eventspb.Usage, error) {
	row := new(eventspb.Usage)
	if err := proto.Unmarshal(record.Value, row); err != nil {
		return nil, fmt.Errorf("decode usage: %w", err)
	}
	for name, text := range map[string]string{"product": row.GetProduct(), "key": row.GetKey(), "method": row.GetMethod()} {
		if text == "" || len(text) > maxText {
			return nil, fmt.Errorf("usage: %s has %d bytes", name, len(text))
		}
	}
	if len(row.GetNode()) > maxNode || row.GetEpoch() == 0 || row.GetSequence() == 0 {
		return nil, errors.New("usage: no process wrote it")
	}
	if m := row.GetMinute(); m <= 0 || m > maxMinute || m%minuteSpan != 0 {
		return nil, fmt.Errorf("usage: %d is no minute", m)
	}
	return row, nil
}
