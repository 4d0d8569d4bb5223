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

// watch is a wish for notes. It is never changed, but for its gate.
type watch struct {
	kind watchKind
	// name is the filter's over gRPC and the subscription's number over WebSocket.
	name string
	// level is the only commitment that is told of slots; all when it is empty.
	level string
	// ordered says that the client gets transactions, too: the end of a slot comes behind them.
	ordered bool
	// final says that the client asks for finalized: blocks_meta comes with that, and the finalized
	// status of a slot behind its transactions.
	final bool
	gate  *gate
}

type watchKind uint8

const (
	// watchSlots is told ends, finalized and dead slots.
	watchSlots watchKind = iota
	// watchMeta is told ends, with all that they say.
	watchMeta
	// watchGaps is told gaps.
	watchGaps
	// watchRoots is told finalized slots.
	watchRoots
	// watchStatus is told when the stream stalls, and when it resumes.
	watchStatus
)

// gapsFilter is the name of a slots filter that is told gaps and nothing else.
const gapsFilter = "mintlake.gaps"

// statusFilter is the name of a slots filter that is told when the stream stalls and resumes.
const statusFilter = "mintlake.status"

// notesBehind is how many notes a client may be behind.
const notesBehind = 1024

func (w *watch) wants(n *note) bool {
	switch w.kind {
	case watchSlots:
		switch n.kind {
		case noteEnd:
			return w.level == "" || w.level == "confirmed"
		case noteFinalized:
			return w.level == "" || w.level == "finalized"
		case noteDead:
			return w.level == ""
		case noteGap, noteStalled, noteResumed:
		}
		return false
	case watchMeta:
		return n.kind == noteEnd && !w.final
	case watchGaps:
		return n.kind == noteGap && (w.final || !n.late)
	case watchRoots:
		return n.kind == noteFinalized
	case watchStatus:
		return !n.ofLog()
	}
	return false
}

// waitsBehind says that a note belongs behind the transactions that the client gets, too.
func (w *watch) waitsBehind(n *note) bool {
	switch n.kind {
	case noteGap:
		return w.ordered
	case noteEnd:
		return w.ordered && !w.final
	case noteFinalized:
		return w.ordered && w.final
	case noteDead, noteStalled, noteResumed:
	}
	return false
}

// finalEnds are the ends of slots that are finalized with n, for a watch of blocks_meta.
func (w *watch) finalEnds(n *note) (ends []*note) {
	if w.kind != watchMeta || !w.final {
		return nil
	}
	for _, slot := range n.final {
		if slot.end != nil {
			ends = append(ends, slot.end)
		}
	}
	return ends
}

// watchesOf reads the filters for slots and blocks_meta, in the order of their names.
func watchesOf(in *pb.SubscribeRequest, final bool, most int) (list []*watch, err error) {
	ordered := len(in.Transactions)+len(in.TransactionsStatus) > 0
	if len(in.Slots)+len(in.BlocksMeta) > most {
		return nil, fmt.Errorf("slots, blocks_meta: at most %d filters", most)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Slots)) {
		f := in.Slots[name]
		if f.GetInterslotUpdates() {
			return nil, errors.New("slots: interslot_updates: this stream has confirmed, finalized and dead slots only")
		}
		w := &watch{kind: watchSlots, name: name, ordered: ordered, final: final}
		if f.GetFilterByCommitment() {
			w.level = "confirmed"
			if final {
				w.level = "finalized"
			}
		}
		switch name {
		case gapsFilter:
			w.kind = watchGaps
		case statusFilter:
			w.kind = watchStatus
		}
		list = append(list, w)
	}
	for _, name := range slices.Sorted(maps.Keys(in.BlocksMeta)) {
		list = append(list, &watch{kind: watchMeta, name: name, ordered: ordered, final: final})
	}
	for _, w := range list {
		if len(w.name) > maxFilterName {
			return nil, fmt.Errorf("filter %.20q…: a name has at most %d bytes", w.name, maxFilterName)
		}
	}
	return list, nil
}

// slotUpdate is the note for gRPC.
func (d delivery) slotUpdate() *pb.SubscribeUpdate {
	n := d.note
	out := &pb.SubscribeUpdate{Filters: []string{d.watch.name}, CreatedAt: timestamppb.New(time.Now())}
	if d.watch.kind == watchMeta {
		out.UpdateOneof = &pb.SubscribeUpdate_BlockMeta{BlockMeta: metaUpdate(n)}
		return out
	}
	slot := &pb.SubscribeUpdateSlot{Slot: n.slot}
	switch n.kind {
	case noteEnd:
		slot.Status, slot.Parent = pb.SlotStatus_SLOT_CONFIRMED, n.end.ParentSlot
	case noteFinalized:
		slot.Status = pb.SlotStatus_SLOT_FINALIZED
	case noteDead:
		slot.Status = pb.SlotStatus_SLOT_DEAD
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
	}
	if at := n.end.GetBlockTime(); at != 0 {
		meta.BlockTime = &pb.UnixTimestamp{Timestamp: at}
	}
	if n.end.BlockHeight != nil {
		meta.BlockHeight = &pb.BlockHeight{BlockHeight: n.end.GetBlockHeight()}
	}
	return meta
}

// statusResult is what WebSockets are told of the stream.
type statusResult struct {
	Status string `json:"status"` // stalled or resumed
	// Slot is the highest seen.
	Slot   uint64 `json:"slot"`
	Reason string `json:"reason,omitempty"`
}

func statusOf(n *note) statusResult {
	if n.kind == noteStalled {
		return statusResult{"stalled", n.slot, n.why}
	}
	return statusResult{"resumed", n.slot, ""}
}

// notification is the note for WebSockets: a whole message.
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
	case watchMeta: // over gRPC only
	}
	id, err := strconv.ParseUint(d.watch.name, 10, 64)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": map[string]any{"subscription": id, "result": result}})
}
