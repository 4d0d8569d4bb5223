package state

import (
	"strconv"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/solana/unknowns"
)

// unknownSource is the source of what the feed notes as unknown.
const unknownSource = "swap"

// noteFields counts fields of an update that the generated code lacks.
func (f *Feed) noteFields(u *pb.SubscribeUpdate) {
	f.deps.Unknowns.Fields(u.ProtoReflect(), unknowns.Sighting{Source: unknownSource, Slot: f.seen})
	switch m := u.GetUpdateOneof().(type) {
	case *pb.SubscribeUpdate_Account:
		at := unknowns.Sighting{Source: unknownSource, Slot: m.Account.GetSlot()}
		f.deps.Unknowns.Fields(m.Account.ProtoReflect(), at)
		f.deps.Unknowns.Fields(m.Account.GetAccount().ProtoReflect(), at)
	case *pb.SubscribeUpdate_BlockMeta:
		f.deps.Unknowns.Fields(m.BlockMeta.ProtoReflect(), unknowns.Sighting{Source: unknownSource, Slot: m.BlockMeta.GetSlot()})
	case *pb.SubscribeUpdate_Slot:
		f.deps.Unknowns.Fields(m.Slot.ProtoReflect(), unknowns.Sighting{Source: unknownSource, Slot: m.Slot.GetSlot()})
	}
}

// noteStatus counts a slot status that the generated code lacks. It ignores a known status, which
// does not matter to the pools.
func (f *Feed) noteStatus(status pb.SlotStatus, slot uint64) {
	if pb.SlotStatus_name[int32(status)] == "" {
		f.deps.Unknowns.Note(unknowns.SlotStatus, strconv.Itoa(int(status)), unknowns.Sighting{Source: unknownSource, Slot: slot})
	}
}
