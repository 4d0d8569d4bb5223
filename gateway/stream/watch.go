package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// watch is a subscription to certain notes. It is never changed; only its gate opens.
type watch struct {
	kind watchKind
	// name is the filter's over gRPC and the subscription's number over WebSocket.
	name string
	// at is the level that the client asks for. The blocks_meta of a slot comes when the slot
	// reaches this level. A slot's status of this level comes after the slot's transactions.
	at level
	// single is set if only the slot status of this level is reported. interim is set if the
	// statuses before processed are reported, too.
	single, interim bool
	// final is set if the client asks for finalized slots on a stream that has no others: then
	// SLOT_FINALIZED is the status of its level, which is levelLog.
	final bool
	// ordered is set if the client may get transactions, too: then the end of a slot comes after
	// its transactions.
	ordered bool
	gate    *gate
}

type watchKind uint8

const (
	// watchSlots wants ends, finalized slots and dead slots, as far as single allows.
	watchSlots watchKind = iota
	// watchMeta wants ends, with all details of the block.
	watchMeta
	// watchGaps wants gaps.
	watchGaps
	// watchRoots wants finalized slots.
	watchRoots
	// watchStatus wants to know when the stream stalls and when it resumes.
	watchStatus
	// watchUpdates wants what slotsUpdatesSubscribe reports over WebSocket: interim statuses,
	// confirmed, finalized and dead slots.
	watchUpdates
)

// gapsFilter is the name of a slots filter that reports gaps only.
const gapsFilter = "mintlake.gaps"

// statusFilter is the name of a slots filter that reports only when the stream stalls and resumes.
const statusFilter = "mintlake.status"

// maxNotes bounds the notes that may wait for a client in its queue of notes.
const maxNotes = 1024

// ofProcessed returns whether the watch is for what the node of Config.Processed sends. That node
// has gaps and stalls of its own; all other watches are for the log.
func (w *watch) ofProcessed() bool { return w.at == levelProcessed }

// wants returns whether the watch is for this note.
func (w *watch) wants(n *note) bool {
	sameSource := w.ofProcessed() == (n.at == levelProcessed)
	switch w.kind {
	case watchSlots, watchUpdates:
		return w.wantsSlot(n)
	case watchMeta:
		switch w.at {
		case levelLog:
			return n.kind == noteEnd
		case levelProcessed:
			return n.kind == noteProcessed && n.end.GetBlockhash() != nil
		case levelFinal: // see finalEnds
		}
		return false
	case watchGaps:
		return n.kind == noteGap && sameSource && (w.at == levelFinal || !n.finalOnly)
	case watchRoots:
		return n.kind == noteFinalized
	case watchStatus:
		return n.ofStall() && sameSource
	}
	return false
}

// wantsSlot is wants for the statuses of slots. A watch at levelProcessed gets no note of the log
// about a dead slot: banks makes a note of its own of it, so that each death is told once.
func (w *watch) wantsSlot(n *note) bool {
	switch n.kind {
	case noteEnd:
		return !w.single || w.at == levelLog && !w.final
	case noteFinalized:
		return !w.single || w.at == levelFinal || w.final
	case noteProcessed:
		return w.at == levelProcessed && w.kind == watchSlots
	case noteInterim:
		return w.at == levelProcessed && w.interim
	case noteDead:
		return !w.single && w.ofProcessed() == (n.at == levelProcessed)
	case noteGap, noteStalled, noteResumed:
	}
	return false
}

// waitsBehind returns whether the note must come after the transactions that the client gets.
func (w *watch) waitsBehind(n *note) bool {
	switch n.kind {
	case noteGap:
		return w.ordered
	case noteEnd:
		return w.ordered && w.at == levelLog
	case noteFinalized:
		return w.ordered && (w.at == levelFinal || w.final)
	case noteProcessed, noteInterim:
		return w.ordered
	case noteDead:
		// A withdrawal comes after the transactions that it takes back, and before those that
		// replace them.
		return w.ordered && w.at == levelProcessed
	case noteStalled, noteResumed:
	}
	return false
}

// finalEnds returns the ends of the slots that n finalizes, if w is for the blocks_meta of
// finalized slots.
func (w *watch) finalEnds(n *note) (ends []*note) {
	if w.kind != watchMeta || w.at != levelFinal {
		return nil
	}
	for _, slot := range n.final {
		if slot.end != nil {
			ends = append(ends, slot.end)
		}
	}
	return ends
}

// watchesOf reads the filters for slots, then those for blocks_meta, each sorted by name.
func watchesOf(in *pb.SubscribeRequest, at level, most int) (list []*watch, err error) {
	ordered := len(in.Transactions)+len(in.TransactionsStatus) > 0
	if len(in.Slots)+len(in.BlocksMeta) > most {
		return nil, fmt.Errorf("slots, blocks_meta: at most %d filters", most)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Slots)) {
		f := in.Slots[name]
		if f.GetInterslotUpdates() && at != levelProcessed {
			return nil, errors.New("slots: interslot_updates: this stream has confirmed, finalized and dead slots only; those before come with the commitment processed, where its operator has it")
		}
		w := &watch{kind: watchSlots, name: name, ordered: ordered, at: at, single: f.GetFilterByCommitment(), interim: f.GetInterslotUpdates()}
		switch name {
		case gapsFilter:
			w.kind = watchGaps
		case statusFilter:
			w.kind = watchStatus
		}
		list = append(list, w)
	}
	for _, name := range slices.Sorted(maps.Keys(in.BlocksMeta)) {
		list = append(list, &watch{kind: watchMeta, name: name, ordered: ordered, at: at})
	}
	for _, w := range list {
		if len(w.name) > maxFilterName {
			return nil, fmt.Errorf("filter %.20q…: a name has at most %d bytes", w.name, maxFilterName)
		}
	}
	return list, nil
}

// slotUpdate returns the note as a gRPC update. Yellowstone has no updates for gaps and stalls.
// They are reported as dead slots with the reason in dead_error: a gap as its last slot, with its
// first slot as the parent. The end of a stall is reported as a confirmed slot.
func (d delivery) slotUpdate() *pb.SubscribeUpdate {
	n := d.note
	out := &pb.SubscribeUpdate{Filters: []string{d.watch.name}, CreatedAt: timestamppb.New(time.Now())}
	if d.watch.kind == watchMeta {
		out.UpdateOneof = &pb.SubscribeUpdate_BlockMeta{BlockMeta: metaUpdate(n)}
		return out
	}
	slot := &pb.SubscribeUpdateSlot{Slot: n.slot}
	if n.bank != 0 {
		slot.BankId = &n.bank
	}
	switch n.kind {
	case noteEnd:
		slot.Status, slot.Parent = pb.SlotStatus_SLOT_CONFIRMED, n.end.ParentSlot
	case noteFinalized:
		slot.Status = pb.SlotStatus_SLOT_FINALIZED
	case noteProcessed:
		slot.Status, slot.Parent = pb.SlotStatus_SLOT_PROCESSED, n.end.ParentSlot
	case noteInterim:
		slot.Status, slot.Parent = n.interim, n.end.ParentSlot
	case noteDead:
		slot.Status, slot.DeadError = pb.SlotStatus_SLOT_DEAD, &n.why
	case noteGap:
		text := fmt.Sprintf("gap: transactions of slots %d to %d are missing", n.first, n.slot)
		slot.Status, slot.Parent, slot.DeadError = pb.SlotStatus_SLOT_DEAD, &n.first, &text
	case noteStalled:
		text := "stalled: " + n.why
		slot.Status, slot.DeadError = pb.SlotStatus_SLOT_DEAD, &text
	case noteResumed:
		slot.Status = pb.SlotStatus_SLOT_CONFIRMED
	}
	out.UpdateOneof = &pb.SubscribeUpdate_Slot{Slot: slot}
	return out
}

func metaUpdate(n *note) *pb.SubscribeUpdateBlockMeta {
	meta := &pb.SubscribeUpdateBlockMeta{
		Slot: n.slot, Blockhash: base58.Encode(n.end.GetBlockhash()), ParentSlot: n.end.GetParentSlot(),
		ParentBlockhash: base58.Encode(n.end.GetParentBlockhash()), ExecutedTransactionCount: n.end.GetExecuted(),
		BankId: n.bank,
	}
	if at := n.end.GetBlockTime(); at != 0 {
		meta.BlockTime = &pb.UnixTimestamp{Timestamp: at}
	}
	if n.end.BlockHeight != nil {
		meta.BlockHeight = &pb.BlockHeight{BlockHeight: n.end.GetBlockHeight()}
	}
	return meta
}

// statusResult reports to a WebSocket that the stream stalled or resumed.
type statusResult struct {
	Status string `json:"status"` // stalled or resumed
	// Slot is the highest slot seen.
	Slot   uint64 `json:"slot"`
	Reason string `json:"reason,omitempty"`
}

func statusOf(n *note) statusResult {
	if n.kind == noteStalled {
		return statusResult{"stalled", n.slot, n.why}
	}
	return statusResult{"resumed", n.slot, ""}
}

// updateResult reports to a WebSocket what a node says about a slot, in the shape of Agave's
// slotsUpdatesNotification.
type updateResult struct {
	Type      string `json:"type"`
	Slot      uint64 `json:"slot"`
	Timestamp int64  `json:"timestamp"` // milliseconds since 1970
	// Parent is set for createdBank, Err for dead.
	Parent *uint64 `json:"parent,omitempty"`
	Err    string  `json:"err,omitempty"`
}

func updateOf(n *note, now time.Time) updateResult {
	out := updateResult{Slot: n.slot, Timestamp: now.UnixMilli()}
	switch n.kind {
	case noteEnd:
		out.Type = "optimisticConfirmation"
	case noteFinalized:
		out.Type = "root"
	case noteDead:
		out.Type, out.Err = "dead", n.why
	case noteInterim:
		switch n.interim { //nolint:exhaustive // the others are no interim statuses
		case pb.SlotStatus_SLOT_FIRST_SHRED_RECEIVED:
			out.Type = "firstShredReceived"
		case pb.SlotStatus_SLOT_COMPLETED:
			out.Type = "completed"
		case pb.SlotStatus_SLOT_CREATED_BANK:
			out.Type, out.Parent = "createdBank", n.end.ParentSlot
		}
	case noteGap, noteStalled, noteResumed, noteProcessed: // watchUpdates wants none of these
	}
	return out
}

// notification returns the note as a whole WebSocket message. root is the highest finalized slot.
func (d delivery) notification(root uint64) ([]byte, error) {
	n := d.note
	var method string
	var result any
	switch d.watch.kind {
	case watchSlots:
		parent := n.slot - min(n.slot, 1)
		if n.end.ParentSlot != nil {
			parent = n.end.GetParentSlot()
		}
		method, result = "slotNotification", map[string]uint64{"slot": n.slot, "parent": parent, "root": root}
	case watchRoots:
		method, result = "rootNotification", n.slot
	case watchGaps:
		method, result = "gapNotification", map[string]uint64{"firstSlot": n.first, "lastSlot": n.slot}
	case watchStatus:
		method, result = "statusNotification", statusOf(n)
	case watchUpdates:
		method, result = "slotsUpdatesNotification", updateOf(n, time.Now())
	case watchMeta: // over gRPC only
	}
	id, err := strconv.ParseUint(d.watch.name, 10, 64)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": map[string]any{"subscription": id, "result": result}})
}
