package stream

import (
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// note is news other than a transaction: about a slot, or about the state of the stream. All
// subscribers share it; it is never changed.
type note struct {
	offset int64
	slot   uint64
	kind   noteKind
	// at is levelProcessed for a note from the source's node, else levelLog.
	at level
	// bank is the id of the bank that a note at levelProcessed is about; 0 if the node tells none.
	bank uint64
	// end is set for noteEnd, noteProcessed and noteInterim. first is set for noteGap: transactions
	// of the slots from first to slot are missing.
	end   *eventspb.StreamBlock
	first uint64
	// final are the slots that are finalized with this note. finalOnly is set for a noteGap that is
	// delivered to the watches at levelFinal and to no others.
	final     []*finalSlot
	finalOnly bool
	// why is set for noteStalled and noteDead.
	why string
	// interim is set for noteInterim.
	interim pb.SlotStatus
}

type noteKind uint8

const (
	// noteEnd is the end of a slot: all of its transactions came before.
	noteEnd noteKind = iota
	noteFinalized
	noteDead
	noteGap
	// noteStalled and noteResumed do not come from the log: their slot is the highest seen.
	noteStalled
	noteResumed
	// noteProcessed is the end of a slot at levelProcessed.
	noteProcessed
	// noteInterim is a status that a slot has before it is processed, at levelProcessed.
	noteInterim
)

// ofLog returns whether the note comes from the log: then it has an offset.
func (n *note) ofLog() bool { return n.at == levelLog && !n.ofStall() }

func (n *note) ofStall() bool { return n.kind == noteStalled || n.kind == noteResumed }

// deadFork is the reason that clients are told for a dead slot of the log. The log does not say
// whether its block was invalid.
const deadFork = "the chain goes on without this block"

// logItem is one item that a record contains: a transaction or a note.
type logItem struct {
	tx   *transaction
	note *note
}

// logRecord is a record of the log, decoded. It is never changed, and all who read it share it.
type logRecord struct {
	offset int64
	// tip is the highest slot in the log up to this record; 0 if that is not known.
	tip uint64
	// One of tx, end and status is set; none if the record is malformed.
	tx     *transaction
	end    *eventspb.StreamBlock
	status *eventspb.StreamStatus
}

// decodeRecord decodes a record. If the record is malformed, it returns an error and a result that
// has only the offset and the tip.
func decodeRecord(r kafka.Record) (*logRecord, error) {
	out := &logRecord{offset: r.Offset, tip: tipOf(&r)}
	var err error
	switch string(r.Header(schemas.HeaderType)) {
	case schemas.TypeTransaction:
		out.tx, err = parseRecord(r)
	case schemas.TypeStreamBlock:
		end := &eventspb.StreamBlock{}
		if err = proto.Unmarshal(r.Value, end); err == nil {
			out.end = end
		}
	case schemas.TypeStreamStatus:
		status := &eventspb.StreamStatus{}
		if err = proto.Unmarshal(r.Value, status); err == nil {
			out.status = status
		}
	default:
		err = errMalformed
	}
	return out, err
}

// size estimates how many bytes of memory the record takes.
func (r *logRecord) size() int {
	if r.tx != nil {
		return r.tx.size()
	}
	return transactionOverhead
}

// logReader makes items of records. It leaves out transactions that came before and notices gaps.
// Only one goroutine may use it.
type logReader struct {
	repeats *repeats
	metrics *metrics
	// ended is the highest slot whose end was read; 0 if that is not known.
	ended uint64
	// torn says that records may be missing before the next one.
	torn bool
	// ahead is the highest finalized slot whose end was not read yet; 0 if there is none. Statuses
	// come before their blocks while ingest waits for a block that is missing.
	ahead uint64
	// final says that the log has finalized blocks only: the end of a slot finalizes it.
	final bool
	// finals holds transactions until they are finalized; nil if nobody wants finalized
	// transactions.
	finals *finals
	// items is reused by each call.
	items []logItem
}

func newLogReader(m *metrics) *logReader { return &logReader{repeats: newRepeats(), metrics: m} }

// read returns the items of a record, in order. The result is valid until the next call. A
// malformed record has no items.
func (l *logReader) read(r *logRecord) []logItem {
	l.items = l.items[:0]
	if l.torn {
		l.torn = false
		l.gap(r)
	}
	switch {
	case r.tx != nil:
		l.transaction(r.tx)
	case r.end != nil:
		l.end(r.offset, r.end)
	case r.status != nil:
		l.status(r.offset, r.status)
	}
	return l.items
}

// gap appends a gap from the last slot that ended up to the record. It includes the record's slot,
// whose beginning may be missing.
func (l *logReader) gap(r *logRecord) {
	gap := &note{offset: r.offset, kind: noteGap, first: l.ended + 1, slot: max(l.ended+1, r.tip)}
	l.ended = gap.slot // so that the next end of a slot does not make the same gap again
	l.note(gap)
}

// transaction appends t to the items, unless it is a repeat. With finals it also holds t until its
// slot is finalized. If finals has no room and loses slots, late gaps follow t.
func (l *logReader) transaction(t *transaction) {
	if l.repeats.add(t.slot, t.signature) {
		l.metrics.repeated.Inc()
		return
	}
	l.items = append(l.items, logItem{tx: t})
	if l.finals == nil {
		return
	}
	// Subscribers that want t now make JSON of it, which should not be held.
	l.lose(t.offset, l.finals.hold(t.withoutCache()))
}

// lose appends a late gap for each slot that finals has lost.
func (l *logReader) lose(offset int64, lost []uint64) {
	for _, slot := range lost {
		l.note(&note{offset: offset, kind: noteGap, first: slot, slot: slot, finalOnly: true})
	}
}

// end reads the end of a slot. If the end of its parent was not read, it appends a gap up to the
// parent first. If the writer left transactions of the slot out, it appends a gap of the slot.
func (l *logReader) end(offset int64, end *eventspb.StreamBlock) {
	slot := end.GetSlot()
	if l.ended > 0 && end.ParentSlot != nil && slot > l.ended && end.GetParentSlot() > l.ended {
		l.note(&note{offset: offset, kind: noteGap, first: l.ended + 1, slot: end.GetParentSlot()})
	}
	if end.GetLeftOut() > 0 {
		l.note(&note{offset: offset, kind: noteGap, first: slot, slot: slot})
	}
	l.ended = max(l.ended, slot)
	n := &note{offset: offset, kind: noteEnd, slot: slot, end: end}
	if l.finals != nil {
		l.lose(offset, l.finals.ended(n))
	}
	l.note(n)
	switch {
	case l.final:
		l.finalized(offset, slot)
	case l.ahead > 0:
		l.finalized(offset, min(slot, l.ahead))
		if slot >= l.ahead {
			l.ahead = 0
		}
	}
}

// finalized notes that a slot is finalized.
func (l *logReader) finalized(offset int64, slot uint64) {
	n := &note{offset: offset, kind: noteFinalized, slot: slot}
	if l.finals != nil {
		if gap := l.finals.finalized(n); gap != nil {
			l.note(gap)
		}
	}
	l.note(n)
}

// status reads that a slot is finalized or dead. Of a finalized slot it tells nothing before the
// slot's end was read: otherwise its transactions would come after that.
func (l *logReader) status(offset int64, status *eventspb.StreamStatus) {
	slot := status.GetSlot()
	switch status.GetStatus() {
	case eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_FINALIZED:
		switch {
		case l.final: // its end has told so
		case l.ended > 0 && slot > l.ended:
			l.ahead = max(l.ahead, slot)
		default:
			l.finalized(offset, slot)
		}
	case eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_DEAD:
		if l.finals != nil {
			l.finals.forget(slot)
		}
		l.note(&note{offset: offset, kind: noteDead, slot: slot, why: deadFork})
	case eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_UNSPECIFIED: // unknown to this version
	}
}

func (l *logReader) note(n *note) { l.items = append(l.items, logItem{note: n}) }

func tipOf(r *kafka.Record) uint64 { return schemas.TipOf(r.Key, r.Header(schemas.HeaderTip)) }
