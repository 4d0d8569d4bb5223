package status

import (
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Documents is how far the walk over tokens that have a URI and no document is.
type Documents struct {
	// Left is how many of them have not been tried in this walk, and Hosts how many hosts have such
	// tokens.
	Left  uint64 `json:"left"`
	Hosts uint64 `json:"hosts"`
	// PerSecond is how many were answered a second lately.
	PerSecond float64 `json:"per_second"`
	// LeftSeconds is how long it takes until the last host is done; nil if that is not known.
	LeftSeconds *uint64 `json:"left_seconds"`
	AtMS        int64   `json:"recorded_at_ms"`
}

// documentWalk keeps the last record about the walk.
type documentWalk struct{ last atomic.Pointer[Documents] }

func (d *documentWalk) add(record *kafka.Record) {
	told := new(eventspb.DocumentWalk)
	if string(record.Key) != schemas.DocumentWalkKey || proto.Unmarshal(record.Value, told) != nil {
		return
	}
	documents := &Documents{Left: told.GetLeft(), Hosts: told.GetHosts(), PerSecond: told.GetPerSecond(), AtMS: told.GetRecordedAtMs()}
	if seconds := told.GetLeftSeconds(); seconds > 0 || documents.Left == 0 {
		documents.LeftSeconds = &seconds
	}
	d.last.Store(documents)
}
