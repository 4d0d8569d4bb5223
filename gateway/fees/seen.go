package fees

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
)

const (
	// lookback is how many slots count, about a minute.
	lookback = 150
	// maxEntries bounds what is remembered: 64 MB. A minute of mainnet has a third of that.
	maxEntries = 4 << 20
)

// computeBudget is the address of the Compute Budget program.
var computeBudget = func() [32]byte {
	key, err := base58.Decode("ComputeBudget111111111111111111111111111111")
	if err != nil {
		panic(err)
	}
	return [32]byte(key)
}()

// setComputeUnitPrice is that program's instruction: its number, and 8 bytes of micro-lamports.
const setComputeUnitPrice = 3

// entry says that a transaction wrote to an account, given by its hash, and what it paid for a
// compute unit. Account 0 stands for any.
type entry struct{ account, price uint64 }

// slotFees are the entries of one slot; sorted until one is added.
type slotFees struct {
	entries []entry
	sorted  bool
}

// seen is what transactions of the last slots paid.
type seen struct {
	seed maphash.Seed
	most int // entries

	mu     sync.Mutex
	newest uint64
	slots  map[uint64]*slotFees
	count  int
}

func newSeen() seen {
	return seen{seed: maphash.MakeSeed(), most: maxEntries, slots: map[uint64]*slotFees{}}
}

// hash is a number for an address. With a seed of its own nobody can choose addresses that share
// one.
func (s *seen) hash(account []byte) uint64 { return max(maphash.Bytes(s.seed, account), 1) }

// Take notes what a record's transaction paid. Records that are none are left out.
func (s *Server) Take(r kafka.Record) {
	var update pb.SubscribeUpdateTransaction
	if proto.Unmarshal(r.Value, &update) != nil {
		return
	}
	info := update.GetTransaction()
	message := info.GetTransaction().GetMessage()
	if message == nil || info.GetIsVote() {
		return
	}
	s.seen.add(update.GetSlot(), priceOf(message), writableOf(message, info.GetMeta()))
}

// priceOf is the price of a compute unit that a transaction offers, in micro-lamports.
func priceOf(message *pb.Message) uint64 {
	for _, ix := range message.GetInstructions() {
		program := int(ix.GetProgramIdIndex())
		if program < len(message.GetAccountKeys()) && string(message.GetAccountKeys()[program]) == string(computeBudget[:]) &&
			len(ix.GetData()) == 9 && ix.GetData()[0] == setComputeUnitPrice {
			return binary.LittleEndian.Uint64(ix.GetData()[1:])
		}
	}
	return 0
}

// writableOf are the accounts that a transaction may write to, those of lookup tables included.
func writableOf(message *pb.Message, meta *pb.TransactionStatusMeta) [][]byte {
	keys, header := message.GetAccountKeys(), message.GetHeader()
	signed := min(int(header.GetNumRequiredSignatures()), len(keys))
	writableSigned := max(signed-int(header.GetNumReadonlySignedAccounts()), 0)
	writableUnsigned := max(len(keys)-int(header.GetNumReadonlyUnsignedAccounts()), signed)
	return slices.Concat(keys[:writableSigned], keys[signed:writableUnsigned], meta.GetLoadedWritableAddresses())
}

// add notes a transaction, and forgets slots that are too old or too much.
func (s *seen) add(slot, price uint64, accounts [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot+lookback <= s.newest {
		return
	}
	s.newest = max(s.newest, slot)
	fees := s.slots[slot]
	if fees == nil {
		fees = &slotFees{}
		s.slots[slot] = fees
		s.forget(s.newest + 1 - min(lookback, s.newest+1))
	}
	fees.sorted = false
	fees.entries = append(fees.entries, entry{0, price})
	for _, account := range accounts {
		fees.entries = append(fees.entries, entry{s.hash(account), price})
	}
	s.count += 1 + len(accounts)
	for s.count > s.most && len(s.slots) > 1 {
		oldest := s.newest
		for slot := range s.slots {
			oldest = min(oldest, slot)
		}
		s.forget(oldest + 1)
	}
}

// forget drops the slots below least.
func (s *seen) forget(least uint64) {
	for slot, fees := range s.slots {
		if slot < least {
			s.count -= len(fees.entries)
			delete(s.slots, slot)
		}
	}
}

// prices are, for each account that enough transactions wrote to, what they paid, sorted; the
// others are uncovered. Without accounts they are those of all transactions.
func (s *seen) prices(accounts []string, slots uint64) (lists [][]uint64, uncovered []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(accounts) == 0 {
		if all := s.pricesOf(0, slots); len(all) >= coveredBy {
			lists = append(lists, all)
		}
		return lists, nil
	}
	for _, account := range accounts {
		key, err := base58.Decode(account)
		if err != nil {
			continue // the call was checked
		}
		found := s.pricesOf(s.hash(key), slots)
		if len(found) < coveredBy {
			uncovered = append(uncovered, account)
			continue
		}
		lists = append(lists, found)
	}
	return lists, uncovered
}

func (s *seen) pricesOf(account, slots uint64) []uint64 {
	var found []uint64
	for slot, fees := range s.slots {
		if slot+slots <= s.newest {
			continue
		}
		if !fees.sorted {
			slices.SortFunc(fees.entries, func(a, b entry) int { return cmp.Compare(a.account, b.account) })
			fees.sorted = true
		}
		i, _ := slices.BinarySearchFunc(fees.entries, account, func(e entry, account uint64) int { return cmp.Compare(e.account, account) })
		for ; i < len(fees.entries) && fees.entries[i].account == account; i++ {
			found = append(found, fees.entries[i].price)
		}
	}
	slices.Sort(found)
	return found
}
