package stream

import (
	"encoding/binary"
	"hash/maphash"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
)

// repeatsKept is the least number of transactions that are remembered: about 80 seconds of mainnet,
// in 6 MB.
const repeatsKept = 1 << 17

// repeats recognizes transactions that came before. The topic has some of them twice: a provider
// repeats blocks after a reconnect, and two ingest processes write the same ones for a moment when
// one takes over from the other. Only one goroutine may use it.
//
// It keeps hashes in two sets. When young is full, it becomes older, and what was older is dropped.
type repeats struct {
	seed         maphash.Seed
	young, older map[uint64]struct{}
}

func newRepeats() *repeats {
	return &repeats{seed: maphash.MakeSeed(), young: make(map[uint64]struct{})}
}

// add returns whether the transaction came before in this slot, and remembers it. The same
// transaction in another slot, as after a fork, is a new one.
func (r *repeats) add(slot uint64, signature signature) bool { return r.addText(slot, signature[:]) }

// addStatus is add for a status of a slot.
func (r *repeats) addStatus(slot uint64, status pb.SlotStatus) bool {
	return r.addText(slot, []byte{byte(status)})
}

// addText is add for a text of at most the length of a signature.
func (r *repeats) addText(slot uint64, text []byte) bool {
	var place [len(signature{}) + 8]byte
	binary.LittleEndian.PutUint64(place[:], slot)
	hash := maphash.Bytes(r.seed, place[:8+copy(place[8:], text)])
	if _, ok := r.young[hash]; ok {
		return true
	}
	if _, ok := r.older[hash]; ok {
		return true
	}
	if len(r.young) >= repeatsKept {
		r.young, r.older = make(map[uint64]struct{}, repeatsKept), r.young
	}
	r.young[hash] = struct{}{}
	return false
}
