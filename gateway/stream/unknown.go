package stream

import (
	"strconv"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/internal/unknowns"
)

// unknownSource is the source of what the stream notes as unknown.
const unknownSource = "stream"

var (
	updateMessage = (&pb.SubscribeUpdate{}).ProtoReflect().Descriptor()
	updateNumbers = unknowns.NumbersOf(updateMessage)
)

// noteField counts a field of an update that has no meaning here and is not known.
func (p *processed) noteField(f *fields) {
	if !updateNumbers.Has(f.number) {
		p.server.deps.Unknowns.Field(string(updateMessage.FullName()), f.number, unknowns.Sighting{Source: unknownSource, Sample: f.bytes})
	}
}

// noteStatus counts a status of a slot that is not known.
func (p *processed) noteStatus(status pb.SlotStatus, slot uint64, update []byte) {
	p.server.deps.Unknowns.Note(unknowns.SlotStatus, strconv.Itoa(int(status)), unknowns.Sighting{Source: unknownSource, Slot: slot, Sample: update})
}
