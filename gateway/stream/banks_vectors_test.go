package stream

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/testkit"
)

// believer is a client at processed: it adds the transactions that it is told, and drops all that
// it was told of a slot with each death of the slot. That is what docs/gateway-reference.md tells
// clients.
type believer struct {
	slots map[uint64]map[string]bool
	// hashes are the told blocks. deaths are the deaths in their order, as "slot bank reason".
	hashes map[uint64]string
	deaths []string
	// void are slots that died and of which nothing was told since.
	void map[uint64]bool
	// wrong are breaches of the contract.
	wrong []string
}

func newBeliever() *believer {
	return &believer{slots: map[uint64]map[string]bool{}, hashes: map[uint64]string{}, void: map[uint64]bool{}}
}

func (c *believer) transaction(slot uint64, key string) {
	if c.slots[slot] == nil {
		c.slots[slot] = map[string]bool{}
	}
	if c.slots[slot][key] {
		c.wrong = append(c.wrong, fmt.Sprintf("%d: %s was told twice", slot, key))
	}
	c.slots[slot][key] = true
	delete(c.void, slot)
}

func (c *believer) block(slot uint64, hash string) {
	if c.hashes[slot] != "" {
		c.wrong = append(c.wrong, fmt.Sprintf("%d: a second block, without a withdrawal of the first", slot))
	}
	c.hashes[slot] = hash
	delete(c.void, slot)
}

func (c *believer) dead(slot, bank uint64, why string) {
	if c.void[slot] {
		c.wrong = append(c.wrong, fmt.Sprintf("%d: died twice", slot))
	}
	c.deaths = append(c.deaths, fmt.Sprintf("%d %d %s", slot, bank, why))
	c.void[slot] = true
	delete(c.slots, slot)
	delete(c.hashes, slot)
}

// learn takes an update of a gRPC stream.
func (c *believer) learn(u *pb.SubscribeUpdate) {
	switch x := u.GetTransaction(); {
	case x != nil:
		c.transaction(x.Slot, placeOf(x))
	case u.GetBlockMeta() != nil:
		c.block(u.GetBlockMeta().Slot, u.GetBlockMeta().Blockhash)
	case u.GetSlot().GetStatus() == pb.SlotStatus_SLOT_CREATED_BANK:
		delete(c.void, u.GetSlot().Slot)
	case u.GetSlot().GetStatus() == pb.SlotStatus_SLOT_DEAD && !strings.HasPrefix(u.GetSlot().GetDeadError(), "gap: "):
		c.dead(u.GetSlot().Slot, u.GetSlot().GetBankId(), u.GetSlot().GetDeadError())
	}
}

func placeOf(x *pb.SubscribeUpdateTransaction) string {
	return fmt.Sprintf("%s/%d", base58.Encode(x.Transaction.Signature), x.Transaction.Index)
}

// sequence is one of the shared sequences of updates with several banks.
type sequence struct {
	Notes []struct{ ReconnectBeforeUpdate int }
	// Updates are counted only: their binary form is read.
	Updates []struct{ Levels []string }
	Expect  struct {
		Ledger map[uint64]struct{ Status, Blockhash string }
		// Processed is what a client at processed learns, in this order.
		Processed []expected
	}
}

type expected struct {
	Slot, Bank                 uint64
	Processed, Withdrawn, Dead bool
	Blockhash                  string
}

func readSequence(t *testing.T, name string) (s sequence) {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, "data/chain-2026/geyser/"+name+".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &s))
	return s
}

// readUpdates reads a file of updates, each behind its length.
func readUpdates(t *testing.T, name string) (list []*pb.SubscribeUpdate) {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, "data/chain-2026/geyser/"+name+".bin"))
	require.NoError(t, err)
	for len(raw) > 0 {
		n := binary.BigEndian.Uint32(raw)
		u := &pb.SubscribeUpdate{}
		require.NoError(t, proto.Unmarshal(raw[4:4+n], u))
		list, raw = append(list, u), raw[4+n:]
	}
	return list
}

// withdrawals are what the banks of each sequence that do not win are told as.
var withdrawals = map[string][]string{
	"bank-ids-after-reconnect":  nil,
	"cleared-bank":              {"1004 41 " + whyReplaced, "1003 33 " + deadFork},
	"dead-then-confirmed":       {"1001 0 error: InvalidBlock(TooFewTicks)"},
	"descendants-cleared":       {"1002 32 " + whyOrphan, "1001 31 " + whyReplaced},
	"final-before-next":         nil,
	"no-bank-ids":               {"1001 0 " + whyReplaced},
	"out-of-order":              nil,
	"same-signature-both-banks": {"1001 31 " + whyReplaced},
	"slots-200ms":               nil,
	"two-banks-second-wins":     {"1001 31 " + whyReplaced},
}

// closingSlot is a slot after all sequences. Its first shred is the last thing that is told.
const closingSlot = 9_999

// TestSequencesOfBanks: over gRPC and WebSocket, a client that believes what it is told ends with
// the blocks and the transactions that are confirmed, and learns of each withdrawal once, before
// the second bank. bank_id is the node's.
func TestSequencesOfBanks(t *testing.T) {
	for name, deaths := range withdrawals {
		t.Run(name, func(t *testing.T) {
			in := readSequence(t, name)
			f, n := startProcessed(t, newMemoryLog(0), Config{})
			stream := f.subscribeFrom(t, t.Context(), allProcessed())
			conn := f.dial(t)
			require.Contains(t, f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"commitment":"processed","transactionDetails":"signatures"}]}`), `"result":1`)
			require.Contains(t, f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":"slotsUpdatesSubscribe"}`), `"result":2`)
			f.listeners(t, 2)
			go play(t, n, in, readUpdates(t, name+".processed"))

			client := newBeliever()
			banks := map[string]uint64{} // of each told block
			at := 0
			for {
				u, err := stream.Recv()
				require.NoError(t, err)
				if u.GetSlot().GetSlot() == closingSlot {
					break
				}
				client.learn(u)
				if meta := u.GetBlockMeta(); meta != nil {
					banks[meta.Blockhash] = meta.BankId
				}
				if at < len(in.Expect.Processed) && in.Expect.Processed[at].isToldBy(u) {
					at++
				}
			}
			require.Len(t, in.Expect.Processed, at, "what is expected comes, in this order")
			require.Empty(t, client.wrong)
			require.Equal(t, deaths, client.deaths)

			confirmed := confirmedBy(t, name)
			require.Equal(t, confirmed.slots, client.slots)
			hashes := map[uint64]string{}
			for slot, line := range in.Expect.Ledger {
				if line.Status == "ingested" {
					hashes[slot] = line.Blockhash
				}
			}
			require.Equal(t, hashes, client.hashes)
			if name == "bank-ids-after-reconnect" {
				require.EqualValues(t, 31, banks[hashes[1003]])
			}

			web := newBeliever()
			for web.hear(t, f, conn) {
			}
			require.Empty(t, web.wrong)
			require.Equal(t, confirmed.slots, web.slots)
			require.Len(t, web.deaths, len(deaths))
			for i, death := range deaths {
				require.Equal(t, strings.Fields(death)[0], strings.Fields(web.deaths[i])[0])
			}
		})
	}
	files, err := os.ReadDir(testkit.Shared(t, "data/chain-2026/geyser"))
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	require.Equal(t, names, slices.Sorted(maps.Keys(withdrawals)))
}

// isToldBy returns whether an update says what is expected.
func (want expected) isToldBy(u *pb.SubscribeUpdate) bool {
	meta, slot := u.GetBlockMeta(), u.GetSlot()
	dead := slot.GetStatus() == pb.SlotStatus_SLOT_DEAD && slot.GetSlot() == want.Slot
	switch {
	case want.Processed && want.Blockhash != "":
		return meta.GetBankId() == want.Bank && meta.GetBlockhash() == want.Blockhash
	case want.Processed:
		return slot != nil && slot.Status == pb.SlotStatus_SLOT_PROCESSED && slot.Slot == want.Slot && slot.GetBankId() == want.Bank
	case want.Withdrawn:
		return dead && slot.GetBankId() == want.Bank && strings.HasPrefix(slot.GetDeadError(), withdrawn)
	}
	return want.Dead && dead && slot.BankId == nil
}

// confirmedBy is a client that knows what is confirmed.
func confirmedBy(t *testing.T, name string) *believer {
	t.Helper()
	confirmed := newBeliever()
	for _, u := range readUpdates(t, name+".confirmed") {
		for _, info := range u.GetBlock().GetTransactions() {
			x := &pb.SubscribeUpdateTransaction{Slot: u.GetBlock().Slot, Transaction: info}
			// It may be repeated after a reconnect.
			if key := placeOf(x); !confirmed.slots[x.Slot][key] {
				confirmed.transaction(x.Slot, key)
			}
		}
	}
	return confirmed
}

// play sends the updates of a sequence, over a new connection where it says so.
func play(t *testing.T, n *node, in sequence, list []*pb.SubscribeUpdate) {
	s := n.session(t)
	for i, all := range in.Updates {
		for _, note := range in.Notes {
			if note.ReconnectBeforeUpdate == i && i > 0 {
				s.ends(codes.Unavailable)
				s = n.session(t)
			}
		}
		if slices.Contains(all.Levels, "processed") {
			s.out <- list[0]
			list = list[1:]
		}
	}
	s.say(fmt.Sprintf("shred %d", closingSlot))
}

// hear takes a message of a WebSocket. It returns false after the first shred of closingSlot.
func (c *believer) hear(t *testing.T, f *fixture, conn *websocket.Conn) bool {
	t.Helper()
	_, message, err := conn.Read(f.context(t))
	require.NoError(t, err)
	var in struct {
		Params struct {
			Result struct {
				Signature, Type, Err   string
				Slot, TransactionIndex uint64
			}
		}
	}
	require.NoError(t, json.Unmarshal(message, &in), string(message))
	switch r := in.Params.Result; {
	case r.Slot == closingSlot:
		return false
	case r.Signature != "":
		c.transaction(r.Slot, fmt.Sprintf("%s/%d", r.Signature, r.TransactionIndex))
	case r.Type == "createdBank":
		delete(c.void, r.Slot)
	case r.Type == "dead":
		c.dead(r.Slot, 0, r.Err)
	}
	return true
}
