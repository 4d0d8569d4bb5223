package status

import (
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Documents says how far the walk is over the tokens that have a metadata URI but no metadata
// document.
type Documents struct {
	// Left is how many of these tokens have not been tried in this walk, and Hosts how many hosts
	// have such tokens.
	Left  uint64 `json:"left"`
	Hosts uint64 `json:"hosts"`
	// PerSecond is how many tries were answered a second lately.
	PerSecond float64 `json:"per_second"`
	// LeftSeconds is how long it takes at that rate until the last host has been asked for all its
	// documents; nil if that is not known.
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
