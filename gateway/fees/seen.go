package fees

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

const (
	// lookback is how many slots count, as in a node: about half a minute.
	lookback = 150
	// maxEntries bounds the entries that are remembered: 64 MB. Half a minute of mainnet takes
	// a sixth of that.
	maxEntries = 4 << 20
	// freshFor is how long the prices are used after the last new slot. No new slot comes while
	// nobody asks, because the topic is not read then, and none comes while ingest stands still.
	freshFor = 15 * time.Second
)

// computeBudget is the address of the Compute Budget program.
var computeBudget = pubkey.MustParse("ComputeBudget111111111111111111111111111111")

// setComputeUnitPrice is the first byte of the Compute Budget instruction that sets the price. The
// price follows, 8 bytes in micro-lamports.
const setComputeUnitPrice = 3

// entry says that a transaction wrote to an account, and at which price for a compute unit. account
// is the hash of its address. Each transaction also has an entry with account 0, for questions
// about no account in particular.
type entry struct{ account, price uint64 }

// slotFees are the entries of one slot. sorted says that they are sorted by account.
type slotFees struct {
	entries []entry
	sorted  bool
}

// seen has the prices that transactions of the last slots offered.
type seen struct {
	seed maphash.Seed
	most int // bound of count

	mu     sync.Mutex
	newest uint64 // the highest slot
	// at is when newest last rose.
	at    time.Time
	slots map[uint64]*slotFees
	count int // entries in all slots
}

func newSeen() seen {
	return seen{seed: maphash.MakeSeed(), most: maxEntries, slots: map[uint64]*slotFees{}}
}

// hash returns a number above 0 for an address. The seed is secret, so nobody can choose addresses
// with equal hashes.
func (s *seen) hash(account []byte) uint64 { return max(maphash.Bytes(s.seed, account), 1) }

// Take adds the compute unit price that a transaction offers, for all accounts that it may write
// to. It ignores votes, and Kafka records that are not transactions.
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

// priceOf returns the price of a compute unit that a transaction offers, in micro-lamports; 0 if it
// sets none. A transaction of version 1 has the price in its config, and its Compute Budget
// instructions set nothing.
func priceOf(message *pb.Message) uint64 {
	if yellowstone.VersionOf(message) == txwire.V1 {
		return yellowstone.ConfigOf(message).UnitPrice()
	}
	for _, ix := range message.GetInstructions() {
		program := int(ix.GetProgramIdIndex())
		if program < len(message.GetAccountKeys()) && string(message.GetAccountKeys()[program]) == string(computeBudget[:]) &&
			len(ix.GetData()) == 9 && ix.GetData()[0] == setComputeUnitPrice {
			return binary.LittleEndian.Uint64(ix.GetData()[1:])
		}
	}
	return 0
}

// writableOf returns the accounts that a transaction may write to, those from lookup tables
// included.
func writableOf(message *pb.Message, meta *pb.TransactionStatusMeta) [][]byte {
	keys, header := message.GetAccountKeys(), message.GetHeader()
	signed := min(int(header.GetNumRequiredSignatures()), len(keys))
	writableSigned := max(signed-int(header.GetNumReadonlySignedAccounts()), 0)
	writableUnsigned := max(len(keys)-int(header.GetNumReadonlyUnsignedAccounts()), signed)
	return slices.Concat(keys[:writableSigned], keys[signed:writableUnsigned], meta.GetLoadedWritableAddresses())
}

// add records a transaction, unless its slot is too old. It forgets slots that have become too old
// and, if there are too many entries, the oldest slots.
func (s *seen) add(slot, price uint64, accounts [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot+lookback <= s.newest {
		return
	}
	if slot > s.newest {
		s.newest, s.at = slot, time.Now()
	}
	fees := s.slots[slot]
	if fees == nil {
		fees = &slotFees{}
		s.slots[slot] = fees
		// Slots up to newest - lookback are too old. min keeps the difference from going below 0.
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

// prices returns, for each account that enough transactions wrote to, the sorted prices of these
// transactions. The other accounts are uncovered. Without accounts it returns one list, the prices
// of all transactions, if there are enough. slots is how many of the latest slots count. If no new
// slot came within freshFor, nothing is covered.
func (s *seen) prices(accounts []pubkey.Key, slots uint64) (lists [][]uint64, uncovered []pubkey.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) > freshFor {
		return nil, accounts
	}
	if len(accounts) == 0 {
		if all := s.pricesOf(0, slots); len(all) >= leastTransactions {
			lists = append(lists, all)
		}
		return lists, nil
	}
	for _, account := range accounts {
		found := s.pricesOf(s.hash(account[:]), slots)
		if len(found) < leastTransactions {
			uncovered = append(uncovered, account)
			continue
		}
		lists = append(lists, found)
	}
	return lists, uncovered
}

// pricesOf returns the sorted prices of one account in the latest slots. account is the hash of its
// address, slots the number of these slots. The caller holds the lock.
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
