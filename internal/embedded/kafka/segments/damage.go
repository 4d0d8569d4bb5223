package segments

import (
	"fmt"
	"strings"
	"time"
)

// Kind says what is damaged.
type Kind string

// The kinds of damage.
const (
	// KindBatch: the checksum of a record batch does not hold.
	KindBatch Kind = "batch"
	// KindHeader: a batch's header is wrong where the checksum does not cover it; its records are
	// sound.
	KindHeader Kind = "header"
	// KindBit: one bit of a batch is wrong, and its checksum tells which.
	KindBit Kind = "bit"
	// KindMissing: records are gone from the middle or the beginning of a partition.
	KindMissing Kind = "missing"
	// KindCut: records are gone from the end of a partition.
	KindCut Kind = "cut"
	// KindTopics: the list of topics cannot be read, or is not what was written.
	KindTopics Kind = "topics"
	// KindDeleted: a topic with records was deleted.
	KindDeleted Kind = "deleted"
)

// Damage is one thing that is wrong with the log and that no crash explains.
type Damage struct {
	Kind Kind `json:"kind"`
	// Topic and Partition are empty and -1 where a file of the whole broker is damaged.
	Topic     string `json:"topic,omitempty"`
	Partition int    `json:"partition"`
	// File is relative to the broker's folder; Position is the byte where the damage begins, Bytes
	// how long it is.
	File     string `json:"file"`
	Position int64  `json:"position"`
	Bytes    int64  `json:"bytes"`
	// From and To are the offsets of the records that are lost, both included; To is below From
	// where none is.
	From int64 `json:"from_offset"`
	To   int64 `json:"to_offset"`
	// EndUnknown says that To is not known: it lies high enough to be behind every record that was
	// there.
	EndUnknown bool `json:"end_unknown,omitempty"`
	// After and Before are the times of the sound records around the lost ones; zero where there
	// are none.
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before,omitzero"`
	// What says it in a few words.
	What string `json:"what"`
}

// Records is how many records are lost; offsets, to be exact, where EndUnknown.
func (d *Damage) Records() int64 { return max(d.To-d.From+1, 0) }

// Loses says that repair cannot bring back what is damaged.
func (d *Damage) Loses() bool { return d.Records() > 0 }

// String says in one line what is damaged.
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

// Report is what a check found.
type Report struct {
	// Damages stop the broker's start.
	Damages []Damage
	// Notices are what a crash left, or what holds nothing of its own; the start puts it right by
	// itself.
	Notices []string
	// Bytes of segments that were read.
	Bytes int64
	// Lost are the places of records that earlier repairs could not bring back.
	Lost []LostRange

	topics     []Topic
	partitions map[key]*partition
	state      *State
	framed     map[string][]byte // files of entries that have to be written anew, by name
	drop       []string          // files that are of no use
}

// LostRange is a range of offsets whose records are gone, as a marker in the log says.
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
