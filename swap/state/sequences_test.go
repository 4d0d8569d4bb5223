package state

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// sequence is a made stream of a few slots, of which some have several banks.
type sequence struct {
	Name  string
	Notes []struct{ ReconnectBeforeUpdate int }
	// Expect says how it ends.
	Expect struct {
		Accounts map[string]struct {
			Amount string
			Slot   uint64
		}
		Ledger                      map[string]struct{ Status string }
		NeverInState, MustReadAgain []string
		AfterSlot1001               struct{ Vault string }
		AfterSlot1004               struct{ Vault string }
	}
	Updates []struct {
		Levels []string
		Update map[string]json.RawMessage
	}
	processed []*pb.SubscribeUpdate
	// confirmed are the token accounts of the chain that is confirmed, as each slot left them.
	confirmed map[uint64]map[venue.Key]uint64
}

func sequences(t *testing.T) (all []*sequence) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(testkit.Shared(t, "data/chain-2026/geyser"), "*.json"))
	require.NoError(t, err)
	require.Len(t, names, 10)
	for _, name := range names {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		s := &sequence{confirmed: map[uint64]map[venue.Key]uint64{}}
		require.NoError(t, json.Unmarshal(raw, s))
		s.processed = updatesOf(t, strings.TrimSuffix(name, ".json")+".processed.bin")
		// Some servers tell accounts at processed only.
		for _, form := range [][]*pb.SubscribeUpdate{updatesOf(t, strings.TrimSuffix(name, ".json")+".confirmed.bin"), s.processed} {
			known := map[uint64]bool{}
			for slot := range s.confirmed {
				known[slot] = true
			}
			for _, u := range form {
				if a := u.GetAccount(); a != nil && !known[a.GetSlot()] {
					if s.confirmed[a.GetSlot()] == nil {
						s.confirmed[a.GetSlot()] = map[venue.Key]uint64{}
					}
					s.confirmed[a.GetSlot()][venue.Key(a.GetAccount().GetPubkey())] = amountOf(a.GetAccount().GetData())
				}
			}
		}
		all = append(all, s)
	}
	return all
}

func updatesOf(t *testing.T, file string) (updates []*pb.SubscribeUpdate) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	for len(raw) > 0 {
		size := binary.BigEndian.Uint32(raw)
		u := &pb.SubscribeUpdate{}
		require.NoError(t, proto.Unmarshal(raw[4:4+size], u))
		updates, raw = append(updates, u), raw[4+size:]
	}
	return updates
}

// amountOf reads the amount of a token account.
func amountOf(data []byte) uint64 { return binary.LittleEndian.Uint64(data[64:]) }

// reconnect returns before which update another connection begins; -1 for none.
func (s *sequence) reconnect() int {
	if len(s.Notes) == 0 {
		return -1
	}
	at := 0
	for _, u := range s.Updates[:s.Notes[0].ReconnectBeforeUpdate] {
		if slices.Contains(u.Levels, "processed") {
			at++
		}
	}
	return at
}

// vaults is a venue whose pools are token accounts: each of a coin with SOL.
type vaults struct {
	twin
	of map[venue.Key]venue.Key // by coin
}

func (vaults) Program() venue.Key { return swaptest.TokenProgram }

func (v vaults) Lookup(a, b venue.Key) (l venue.Lookup) {
	for _, coin := range []venue.Key{a, b} {
		if address, ok := v.of[coin]; ok {
			l.Addresses = append(l.Addresses, address)
		}
	}
	return l
}

func (v vaults) Open(address venue.Key, _ []byte, mints ...venue.Key) (venue.Ref, error) {
	for _, coin := range mints {
		if v.of[coin] == address {
			return &vaultRef{muteRef{address: address, coin: coin}}, nil
		}
	}
	return nil, errNoTwin
}

type vaultRef struct{ muteRef }

func (r *vaultRef) Decode(s venue.State) (venue.Pool, error) {
	account, _ := s.Account(r.address)
	return &twinPool{twinRef: &twinRef{keys: [3]venue.Key{r.address}, mints: r.Mints()}, numbers: [3]uint64{amountOf(account.Data)}}, nil
}

// player feeds a sequence to a state, whose calls it answers with the confirmed chain.
type player struct {
	*Feed
	*sequence
	t      *testing.T
	vaults vaults
	// read are the accounts that were read since the last second bank.
	read map[venue.Key]bool
}

func newPlayer(t *testing.T, s *sequence) *player {
	t.Helper()
	p := &player{sequence: s, t: t, vaults: vaults{of: map[venue.Key]venue.Key{}}, read: map[venue.Key]bool{}}
	for _, u := range s.processed {
		if a := u.GetAccount().GetAccount(); a != nil {
			key := venue.Key(a.GetPubkey())
			p.vaults.of[coinOf(key)] = key
		}
	}
	var err error
	p.Feed, err = New(Config{Endpoint: "http://test:1"}, Deps{RPC: swaptest.New(), Venues: venue.List{p.vaults}})
	require.NoError(t, err)
	for coin := range p.vaults.of {
		ask(p.fold, coin)
	}
	p.fold.Covered(p.fold.Fresh(), 0)
	return p
}

func coinOf(address venue.Key) venue.Key { return swaptest.Named("coin of " + address.String()) }

// answer reads what is wanted, at the last confirmed slot.
func (p *player) answer() {
	p.fold.searched = map[int]uint64{}
	r := p.fold.Wanted(solana.MaxAccountsPerCall, 0, 1)
	if len(r.Keys) == 0 {
		return
	}
	accounts := make([]*solana.Account, len(r.Keys))
	for i, key := range r.Keys {
		p.read[key] = true
		if accounts[i] = mintAccount(); p.vaults.of[coinOf(key)] == key {
			accounts[i] = p.at(key, p.fold.confirmed)
		}
	}
	p.fold.Read(p.fold.confirmed, r.Keys, accounts)
	p.publish()
}

// at returns a token account of the confirmed chain; nil if it does not exist.
func (p *player) at(key venue.Key, slot uint64) *solana.Account {
	for ; slot >= 1000; slot-- {
		if amount, ok := p.confirmed[slot][key]; ok {
			data := binary.LittleEndian.AppendUint64(make([]byte, 64), amount)
			return &solana.Account{Owner: swaptest.TokenProgram, Lamports: 1, Data: data}
		}
	}
	return nil
}

// quoted returns what a quote has of a token account. ok is false if none is made.
func (p *player) quoted(key venue.Key) (amount uint64, exists, ok bool) {
	found, err := p.fold.Snapshot().Pair(coinOf(key), swaptest.WrappedSOL)
	if err != nil || len(found.Pools) == 0 {
		return 0, false, err == nil
	}
	return found.Pools[0].Pool.(*twinPool).numbers[0], true, true
}

// TestSequencesOfBanks: of slots with several banks, the state has what the confirmed one left,
// with bank ids and without. What a bank wrote that is given up leaves the quotes when the next is
// told.
func TestSequencesOfBanks(t *testing.T) {
	for _, ids := range []bool{true, false} {
		for _, s := range sequences(t) {
			t.Run(s.Name+map[bool]string{false: " without ids"}[ids], func(t *testing.T) {
				if !ids {
					for _, u := range s.processed {
						strip(u)
					}
				}
				play(t, s)
			})
		}
	}
}

// strip takes the bank ids out of an update.
func strip(u *pb.SubscribeUpdate) {
	switch m := u.GetUpdateOneof().(type) {
	case *pb.SubscribeUpdate_Account:
		m.Account.BankId = nil
	case *pb.SubscribeUpdate_Slot:
		m.Slot.BankId = nil
	case *pb.SubscribeUpdate_BlockMeta:
		m.BlockMeta.BankId = 0
	}
}

func play(t *testing.T, s *sequence) {
	t.Helper()
	p := newPlayer(t, s)
	after := map[uint64]string{1001: s.Expect.AfterSlot1001.Vault, 1004: s.Expect.AfterSlot1004.Vault}
	created, switched, told := map[uint64]int{}, false, map[uint64]bool{}
	for n, u := range s.processed {
		if n == s.reconnect() {
			p.fold.Disconnected()
			clear(created)
		}
		p.message(u)
		if c := u.GetSlot(); c.GetStatus() == pb.SlotStatus_SLOT_CREATED_BANK {
			if created[c.GetSlot()]++; created[c.GetSlot()] > 1 {
				switched = true
				clear(p.read)
			}
		}
		p.publish()
		require.False(t, p.fold.Broken())
		for range 2 { // before the accounts are read again, and after
			for _, text := range s.Expect.NeverInState {
				_, exists, _ := p.quoted(pubkey.MustParse(text))
				require.False(t, switched && exists, "update %d", n)
			}
			for text := range s.Expect.Accounts {
				amount, exists, _ := p.quoted(pubkey.MustParse(text))
				slot := p.fold.Head()
				if exists && switched {
					want := p.at(pubkey.MustParse(text), slot)
					require.Equal(t, amountOf(want.Data), amount, "update %d, slot %d", n, slot)
				}
				if want := after[slot]; want != "" && switched && exists {
					require.Equal(t, want, strconv.FormatUint(amount, 10))
					told[slot] = true
				}
			}
			p.answer()
		}
	}
	for slot, want := range after {
		require.Equal(t, want != "", told[slot], "slot %d", slot)
	}
	last := uint64(0)
	for text, l := range s.Expect.Ledger {
		if slot, err := strconv.ParseUint(text, 10, 64); err == nil && l.Status == "ingested" {
			last = max(last, slot)
		}
	}
	require.Equal(t, last, p.fold.Head())
	require.Equal(t, last, p.fold.Root(), "it is final")
	require.Zero(t, testutil.ToFloat64(p.metrics.resets))
	require.Equal(t, switched, testutil.ToFloat64(p.metrics.switches) > 0)
	for text, want := range s.Expect.Accounts {
		found, err := p.fold.Snapshot().Pair(coinOf(pubkey.MustParse(text)), swaptest.WrappedSOL)
		require.NoError(t, err)
		require.Equal(t, want.Amount, strconv.FormatUint(found.Pools[0].Pool.(*twinPool).numbers[0], 10))
		require.Equal(t, want.Slot, found.Pools[0].Slot)
	}
	for _, text := range append(s.Expect.NeverInState, s.Expect.MustReadAgain...) {
		_, exists, ok := p.quoted(pubkey.MustParse(text))
		require.True(t, ok)
		require.False(t, exists)
	}
	for _, text := range s.Expect.MustReadAgain {
		require.True(t, p.read[pubkey.MustParse(text)], "it is read again")
	}
}
