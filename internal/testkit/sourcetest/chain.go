// Package sourcetest has what every source is tested with: a made-up chain in every format, a sink
// and a ledger that remember, and the contract that all sources keep.
//
// In: a way to open a source over a made-up world. Out: failed tests if the contract is broken.
// Guarantees: the chain is the same in every run.
package sourcetest

import (
	"crypto/sha256"
	"slices"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas/pubkey"
	world "github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/geyser"
	"github.com/mintlake/mintlake/testworld/rpc"
)

// Block is one block of a made-up world. Its transactions are MintTo instructions of the Token
// program.
type Block struct {
	Slot, Parent     uint64
	Hash, ParentHash pubkey.Key
	BlockTime        int64
	Transactions     int
	signatures       []world.Signature
	mints            []pubkey.Key
}

// Chain is a made-up chain in slot order.
type Chain []*Block

// NewChain makes n blocks from slot first on. After every third block a slot is skipped, and after
// every seventh three more.
func NewChain(first uint64, n int) Chain {
	c := make(Chain, 0, n)
	slot, parent := first, &Block{Slot: first - 1, Hash: world.MadeUp("block", first-1)}
	for i := range n {
		b := NewBlock(slot, parent, "block")
		c, parent = append(c, b), b
		slot++
		if i%3 == 2 {
			slot++
		}
		if i%7 == 6 {
			slot += 3
		}
	}
	return c
}

// NewBlock makes a child of parent in slot. Another salt gives a block of another fork.
func NewBlock(slot uint64, parent *Block, salt string) *Block {
	b := &Block{Slot: slot, Parent: parent.Slot, Hash: world.MadeUp(salt, slot), ParentHash: parent.Hash, BlockTime: 1_700_000_000 + int64(slot)}
	b.Transactions = int(slot%4) + 1
	for i := range b.Transactions {
		sig := world.MadeUp(salt+"sig", slot, byte(i))
		b.signatures = append(b.signatures, world.Signature(slices.Concat(sig[:], sig[:])))
		b.mints = append(b.mints, world.MadeUp(salt+"mint", slot, byte(i)))
	}
	return b
}

// Skipped returns the slots inside the chain that have no block.
func (c Chain) Skipped() (slots []uint64) {
	for _, b := range c[1:] {
		for s := b.Parent + 1; s < b.Slot; s++ {
			slots = append(slots, s)
		}
	}
	return slots
}

// At returns the block of a slot; nil if there is none.
func (c Chain) At(slot uint64) *Block {
	for _, b := range c {
		if b.Slot == slot {
			return b
		}
	}
	return nil
}

// made returns the block of the test world. Nothing is executed: its transactions only say that
// they minted.
func (b *Block) made() *world.Block {
	out := &world.Block{Slot: b.Slot, Parent: b.Parent, Height: b.Slot, Hash: b.Hash, ParentHash: b.ParentHash, Time: b.BlockTime}
	for i := range b.Transactions {
		mint := b.mints[i]
		u := world.Unexecuted{Signature: b.signatures[i], Keys: [4]world.Key{world.MadeUp("authority", 1), sha256.Sum256(mint[:]), mint, world.TokenProgram},
			Calls: []world.CompiledInstruction{world.MintToCall(b.Slot)}, Wrote: b.mint(i),
			Balance: &world.TokenBalance{Index: world.PlaceAccount, Mint: mint, Program: world.TokenProgram, Amount: 12, Decimals: 6}}
		out.Txs = append(out.Txs, u.Tx(b.ParentHash))
	}
	return out
}

// Update returns the block as Geyser streams it.
func (b *Block) Update() *pb.SubscribeUpdate {
	return &pb.SubscribeUpdate{Filters: []string{"mintlake"}, UpdateOneof: &pb.SubscribeUpdate_Block{Block: geyser.Update(b.made(), nil)}}
}

// ConfirmedBlock returns the block as solana.storage.ConfirmedBlock.
func (b *Block) ConfirmedBlock(t testing.TB) []byte {
	t.Helper()
	data, err := proto.Marshal(geyser.Confirmed(geyser.Update(b.made(), nil)))
	require.NoError(t, err)
	return data
}

// JSON returns the block as a result of getBlock in base64.
func (b *Block) JSON(t testing.TB) []byte {
	t.Helper()
	data, err := rpc.Encode(b.made())
	require.NoError(t, err)
	return data
}
