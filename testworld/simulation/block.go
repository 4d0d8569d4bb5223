package simulation

import (
	"maps"
	"math/rand/v2"
	"sync"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/geyser"
	"github.com/mintlake/mintlake/testworld/layout"
	"github.com/mintlake/mintlake/testworld/rpc"
)

// Block is one block of the cluster, on the chain or on a losing fork.
type Block struct {
	chain.Block
	// states are the mints' accounts after the block.
	states map[pubkey.Key]layout.Mint
	// made are the transactions before they were executed.
	made []chain.Unexecuted
	// Bank is the id of the bank in which the provider replayed the block; 0 if it tells none.
	Bank uint64
	// The forms of the block, each made when it is first asked for.
	update, full, header func() []byte
	accounts             func() [][]byte
}

// minter makes blocks.
type minter struct {
	rng   *rand.Rand
	votes bool
	made  map[pubkey.Key]bool
}

func newMinter(rng *rand.Rand, votes bool) *minter {
	return &minter{rng: rng, votes: votes, made: map[pubkey.Key]bool{}}
}

func newBlock(of chain.Block, states map[pubkey.Key]layout.Mint) *Block {
	b := &Block{Block: of, states: states}
	b.update, b.accounts = sync.OnceValue(b.encodeUpdate), sync.OnceValue(b.encodeAccounts)
	b.full = sync.OnceValue(func() []byte { return must(rpc.Encode(&b.Block)) })
	b.header = sync.OnceValue(func() []byte { return must(rpc.EncodeHeader(&b.Block)) })
	return b
}

// block makes a block of up to three token transactions, each after a vote if the chain has votes.
// salt is chain, lost or dead: it makes the hashes of blocks of one slot differ.
func (m *minter) block(slot uint64, parent *Block, salt string) *Block {
	b := newBlock(chain.Block{Slot: slot, Parent: parent.Slot, Height: slot, Hash: chain.MadeUp(salt, slot), ParentHash: parent.Hash,
		Time: 1_700_000_000 + int64(slot-firstSlot)/2}, maps.Clone(parent.states))
	for i := range m.rng.IntN(4) {
		if m.votes {
			b.Txs = append(b.Txs, vote(slot, salt, byte(i)).Tx(parent.Hash))
		}
		b.add(*m.token(slot, salt, byte(i)), parent.Hash)
	}
	return b
}

// add executes a transaction in the block.
func (b *Block) add(t chain.Unexecuted, blockhash chain.Hash) {
	b.made = append(b.made, t)
	run(&t, b.states)
	b.Txs = append(b.Txs, t.Tx(blockhash))
}

// shareOfV1 of 256 transactions are of version 1: 40 %.
const shareOfV1 = 102

func signature(slot uint64, salt string, i byte) (s chain.Signature) {
	a, b := chain.MadeUp(salt+"sig", slot, i), chain.MadeUp(salt+"nature", slot, i)
	copy(s[:32], a[:])
	copy(s[32:], b[:])
	return s
}

func vote(slot uint64, salt string, i byte) *chain.Unexecuted {
	return &chain.Unexecuted{Signature: signature(slot, salt+"vote", i), Vote: true,
		Keys:  [4]pubkey.Key{chain.MadeUp("voter", 1), chain.MadeUp("voter", 2), chain.MadeUp("voter", 3), chain.VoteProgram},
		Calls: []chain.CompiledInstruction{chain.TokenCall([]byte{12, 0, 0, 0}, 1, 0)}}
}

// token makes a transaction about one of few mints, so that missing or misplaced blocks change the
// fold.
func (m *minter) token(slot uint64, salt string, i byte) *chain.Unexecuted {
	mint := mintKey(m.rng.Uint64N(mints))
	decimals := mint[0] % 10
	t := &chain.Unexecuted{Signature: signature(slot, salt, i), Failed: m.rng.IntN(10) == 0}
	t.V1 = t.Signature[0] < shareOfV1
	inner := m.rng.IntN(3) == 0
	t.Keys = [4]pubkey.Key{chain.MadeUp("authority", 1), chain.MadeUp("account", m.rng.Uint64N(5)), mint, chain.TokenProgram}
	balance := true
	if !m.made[mint] && m.rng.IntN(3) == 0 && salt == "chain" {
		m.made[mint] = true
		t.Failed, balance = false, false
		authority := t.Keys[chain.PlaceAuthority]
		// Enough for every later burn: the program burns no more than there is.
		t.Calls = append(t.Calls, chain.TokenCall(layout.InitializeMint2(decimals, authority, &authority), chain.PlaceMint), chain.MintToCall(1<<30))
	}
	for range m.rng.IntN(3) {
		amount := m.rng.Uint64N(1000) + 1
		switch m.rng.IntN(4) {
		case 0:
			t.Calls = append(t.Calls, chain.TokenCall(layout.Burn(amount), chain.PlaceAccount, chain.PlaceMint, chain.PlaceAuthority))
		case 1:
			next := chain.MadeUp("next authority", amount)
			t.Calls = append(t.Calls, chain.TokenCall(layout.SetAuthority(byte(amount%2), &next), chain.PlaceMint, chain.PlaceAuthority))
		default:
			t.Calls = append(t.Calls, chain.MintToCall(amount+1<<20))
		}
	}
	if len(t.Calls) == 0 { // a transfer: only balances show the mint
		t.Calls = append(t.Calls, chain.TokenCall(layout.Transfer(1), chain.PlaceAccount, chain.PlaceAccount, chain.PlaceAuthority))
	}
	if last := len(t.Calls) - 1; inner && last > 0 {
		t.Inner, t.Calls = &t.Calls[last], t.Calls[:last]
	}
	if balance {
		t.Balance = &chain.TokenBalance{Index: chain.PlaceAccount, Mint: mint, Program: chain.TokenProgram, Amount: 12, Decimals: decimals}
	}
	return t
}

// Update returns the block as Geyser streams it to a subscriber of the token programs: without
// votes. All callers get the same bytes, so none may change them.
func (b *Block) Update() []byte { return b.update() }

func (b *Block) encodeUpdate() []byte {
	block := geyser.Update(&b.Block, func(tx *chain.Tx) bool { return !tx.Vote })
	block.BankId = b.Bank
	return marshal(&pb.SubscribeUpdate{Filters: []string{"mintlake"}, UpdateOneof: &pb.SubscribeUpdate_Block{Block: block}})
}

func marshal(m proto.Message) []byte { return must(proto.Marshal(m)) }

// JSON returns the block as a result of getBlock in base64, including votes. If header is true, it
// has no transactions. All callers get the same bytes, so none may change them.
func (b *Block) JSON(header bool) []byte {
	if header {
		return b.header()
	}
	return b.full()
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err) // our own values
	}
	return data
}
