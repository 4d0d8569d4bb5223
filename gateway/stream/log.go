package stream

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// note is what the log tells besides transactions. Shared by all subscribers and never changed.
type note struct {
	offset int64
	slot   uint64
	kind   noteKind
	// end is set for noteEnd. first is set for noteGap: slots first..slot are missing.
	end   *eventspb.StreamBlock
	first uint64
	// final are the slots that are finalized with this note. late is set for a noteGap that is only
	// for those who want finalized transactions.
	final []*finalSlot
	late  bool
	// why is set for noteStalled.
	why string
}

type noteKind uint8

const (
	// noteEnd is the end of a slot: all of its transactions came before.
	noteEnd noteKind = iota
	noteFinalized
	noteDead
	noteGap
	// noteStalled and noteResumed are not of the log: slot is the highest seen.
	noteStalled
	noteResumed
)

// ofLog says that the note has an offset.
func (n *note) ofLog() bool { return n.kind != noteStalled && n.kind != noteResumed }

// logItem is one thing that the log tells: a transaction or a note.
type logItem struct {
	tx   *transaction
	note *note
}

// logReader turns records into what they tell. It leaves out what came before, and sees where
// something is missing. It is for one goroutine.
type logReader struct {
	repeats *repeats
	metrics *metrics
	// ended is the highest slot up to which ends were read; 0 when that is not known.
	ended uint64
	// finals is nil when nobody wants to know what is finalized.
	finals *finals
	// items is used anew by each call.
	items []logItem
}

func newLogReader(m *metrics) *logReader { return &logReader{repeats: newRepeats(), metrics: m} }

// read returns what the record tells, in order. The result is good until the next call. A record
// that is not understood tells nothing, and is an error.
func (l *logReader) read(r kafka.Record) ([]logItem, error) {
	l.items = l.items[:0]
	var err error
	switch typeOf(r) {
	case schemas.TypeTransaction:
		err = l.transaction(r)
	case schemas.TypeStreamBlock:
		err = l.end(r)
	case schemas.TypeStreamStatus:
		err = l.status(r)
	default:
		err = errMalformed
	}
	return l.items, err
}

func (l *logReader) transaction(r kafka.Record) error {
	t, err := parseRecord(r)
	if err != nil {
		return err
	}
	if l.repeats.add(t.slot, t.signature) {
		l.metrics.repeated.Inc()
		return nil
	}
	l.items = append(l.items, logItem{tx: t})
	if l.finals != nil {
		if slot, lost := l.finals.hold(t); lost {
			l.note(&note{offset: r.Offset, kind: noteGap, first: slot, slot: slot, late: true})
		}
	}
	return nil
}

// end reads the end of a slot. A gap before it is seen by its parent: that must be a slot that
// ended here, too.
func (l *logReader) end(r kafka.Record) error {
	end := &eventspb.StreamBlock{}
	if err := proto.Unmarshal(r.Value, end); err != nil {
		return fmt.Errorf("end of slot: %w", err)
	}
	slot := end.GetSlot()
	if l.ended > 0 && end.ParentSlot != nil && slot > l.ended && end.GetParentSlot() > l.ended {
		l.note(&note{offset: r.Offset, kind: noteGap, first: l.ended + 1, slot: end.GetParentSlot()})
	}
	if end.GetLeftOut() > 0 {
		l.note(&note{offset: r.Offset, kind: noteGap, first: slot, slot: slot})
	}
	l.ended = max(l.ended, slot)
	n := &note{offset: r.Offset, kind: noteEnd, slot: slot, end: end}
	if l.finals != nil {
		l.finals.ended(n)
	}
	l.note(n)
	return nil
}

func (l *logReader) status(r kafka.Record) error {
	status := &eventspb.StreamStatus{}
	if err := proto.Unmarshal(r.Value, status); err != nil {
		return fmt.Errorf("status of a slot: %w", err)
	}
	switch status.GetStatus() {
	case eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_FINALIZED:
		n := &note{offset: r.Offset, kind: noteFinalized, slot: status.GetSlot()}
		if l.finals != nil {
			l.finals.finalized(n)
		}
		l.note(n)
	case eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_DEAD:
		if l.finals != nil {
			l.finals.forget(status.GetSlot())
		}
		l.note(&note{offset: r.Offset, kind: noteDead, slot: status.GetSlot()})
	case eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_UNSPECIFIED: // a newer writer's
	}
	return nil
}

func (l *logReader) note(n *note) { l.items = append(l.items, logItem{note: n}) }

// tipOf is the highest slot of the log up to the record, which is one of its own: 0 when the record
// is not of this topic's kind.
func tipOf(r kafka.Record) uint64 {
	text := string(r.Key)
	for _, h := range r.Headers {
		if h.Key == schemas.HeaderTip {
			text = string(h.Value)
		}
	}
	tip, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return tip
}

// typeOf is the record's kind.
func typeOf(r kafka.Record) string {
	for _, h := range r.Headers {
		if h.Key == schemas.HeaderType {
			return string(h.Value)
		}
	}
	return ""
}
