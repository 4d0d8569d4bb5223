package segments

import (
	"fmt"
	"strings"
	"time"
)

// Kind is a kind of damage.
type Kind string

// The kinds of damage.
const (
	// KindBatch: the checksum of a record batch does not hold.
	KindBatch Kind = "batch"
	// KindHeader: a batch's header is wrong where the checksum does not cover it. Its records are
	// good.
	KindHeader Kind = "header"
	// KindBit: one bit of a batch is wrong. The checksum shows which.
	KindBit Kind = "bit"
	// KindMissing: records are gone from the middle or the beginning of a partition.
	KindMissing Kind = "missing"
	// KindCut: records are gone from the end of a partition.
	KindCut Kind = "cut"
	// KindTopics: the list of topics cannot be read, or is not what the broker wrote.
	KindTopics Kind = "topics"
	// KindDeleted: a topic with records was deleted.
	KindDeleted Kind = "deleted"
)

// Damage is one damaged place of the log that no crash explains.
type Damage struct {
	Kind Kind `json:"kind"`
	// Topic and Partition say where the damage is. If a file of the whole broker is damaged, Topic
	// is empty and Partition is -1.
	Topic     string `json:"topic,omitempty"`
	Partition int    `json:"partition"`
	// File is relative to the broker's folder. Position is the byte where the damage begins, and
	// Bytes its length.
	File     string `json:"file"`
	Position int64  `json:"position"`
	Bytes    int64  `json:"bytes"`
	// From and To are the offsets of the lost records, both included. To is below From if no record
	// is lost.
	From int64 `json:"from_offset"`
	To   int64 `json:"to_offset"`
	// EndUnknown says that the last lost offset is not known. Then To is an upper bound of it.
	EndUnknown bool `json:"end_unknown,omitempty"`
	// After and Before are the times of the last good record before the lost ones and of the first
	// good record behind them; zero if there is none. If the clock was set back, After may be later
	// than Before.
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before,omitzero"`
	// highest is the highest time of the records before the lost ones.
	highest time.Time
	// What describes the damage in a few words.
	What string `json:"what"`
}

// Records returns how many offsets are lost. If EndUnknown is set, fewer records may have been
// there.
func (d *Damage) Records() int64 { return max(d.To-d.From+1, 0) }

// Loses reports whether records are lost: a repair cannot bring them back.
func (d *Damage) Loses() bool { return d.Records() > 0 }

// String describes the damage in one line.
func (d *Damage) String() string {
	var b strings.Builder
	if d.File != "" {
		fmt.Fprintf(&b, "%s", d.File)
		if d.Kind != KindTopics && d.Bytes > 0 {
			fmt.Fprintf(&b, " at byte %d", d.Position)
		}
		b.WriteString(": ")
	}
	b.WriteString(d.What)
	if d.Loses() {
		fmt.Fprintf(&b, " (%s partition %d, ", d.Topic, d.Partition)
		if d.EndUnknown {
			fmt.Fprintf(&b, "offsets from %d on)", d.From)
		} else {
			fmt.Fprintf(&b, "offsets %d to %d)", d.From, d.To)
		}
	}
	return b.String()
}

// Report is the result of Check.
type Report struct {
	// Damages keep the broker from starting.
	Damages []Damage
	// Notices are no reason not to start: what a crash left, or damage in files that hold nothing
	// of value. Prepare puts both right.
	Notices []string
	// Bytes is how many bytes of segments were read.
	Bytes int64
	// Lost has the records that earlier repairs could not bring back.
	Lost []LostRange

	topics     []Topic
	partitions map[key]*partition
	state      *State
	framed     map[string][]byte // new contents of damaged files of entries, by file name
	drop       []string          // files that must be removed
	trusting   bool              // see CheckOpen
}

// LostRange is a range of lost offsets, both included, for which the log has a marker.
type LostRange struct {
	Topic     string
	Partition int
	From, To  int64
}

// shown is how many damages a summary names.
const shown = 3

// Summary names the first damages in one line.
func (r *Report) Summary() string {
	var parts []string
	for i := range r.Damages[:min(len(r.Damages), shown)] {
		parts = append(parts, r.Damages[i].String())
	}
	if more := len(r.Damages) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}
