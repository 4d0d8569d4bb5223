// Package sourcetest has what every source is tested with: a made-up chain in every format, a sink
// and a ledger that remember, and the contract that all sources keep.
//
// In: a way to open a source over a made-up chain. Out: failed tests if the contract is broken.
// Guarantees: the chain is the same in every run.
package sourcetest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
	"testing"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Block is one block of a made-up chain. Its transactions are MintTo instructions of the Token
// program.
type Block struct {
	Slot, Parent      uint64
	Hash, ParentHash  pubkey.Key
	BlockTime         int64
	Transactions      int
	signatures, mints [][]byte
}

// Chain is a made-up chain in slot order.
type Chain []*Block

// NewChain makes n blocks from slot first on. After every third block a slot is skipped, and after
// every seventh three more.
func NewChain(first uint64, n int) Chain {
	c := make(Chain, 0, n)
	slot, parent := first, &Block{Slot: first - 1, Hash: hash(first-1, "block")}
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
	b := &Block{Slot: slot, Parent: parent.Slot, Hash: hash(slot, salt), ParentHash: parent.Hash, BlockTime: 1_700_000_000 + int64(slot)}
	b.Transactions = int(slot%4) + 1
	for i := range b.Transactions {
		sig := hash(slot, salt+"sig", byte(i))
		b.signatures = append(b.signatures, append(slices.Clone(sig[:]), sig[:]...))
		mint := hash(slot, salt+"mint", byte(i))
		b.mints = append(b.mints, mint[:])
	}
	return b
}

func hash(slot uint64, salt string, more ...byte) pubkey.Key {
	return sha256.Sum256(append(binary.BigEndian.AppendUint64([]byte(salt), slot), more...))
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

// keys are authority, token account, mint and program.
func (b *Block) keys(i int) [][]byte {
	account, authority := sha256.Sum256(b.mints[i]), hash(1, "authority")
	program, _ := base58.Decode(schemas.ProgramToken)
	return [][]byte{authority[:], account[:], b.mints[i], program}
}

func mintTo(slot uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{7}, slot) }

func (b *Block) transaction(i int) (*pb.Transaction, *pb.TransactionStatusMeta) {
	return &pb.Transaction{Signatures: [][]byte{b.signatures[i]}, Message: &pb.Message{
			Header:      &pb.MessageHeader{NumRequiredSignatures: 1, NumReadonlyUnsignedAccounts: 1},
			AccountKeys: b.keys(i), RecentBlockhash: b.ParentHash[:],
			Instructions: []*pb.CompiledInstruction{{ProgramIdIndex: 3, Accounts: []byte{2, 1, 0}, Data: mintTo(b.Slot)}},
		}}, &pb.TransactionStatusMeta{Fee: 5000, PostTokenBalances: []*pb.TokenBalance{{AccountIndex: 1, Mint: base58.Encode(b.mints[i]),
			ProgramId: schemas.ProgramToken, UiTokenAmount: &pb.UiTokenAmount{Decimals: 6, Amount: "12"}}}}
}

// Update returns the block as Geyser streams it.
func (b *Block) Update() *pb.SubscribeUpdate {
	out := &pb.SubscribeUpdateBlock{Slot: b.Slot, Blockhash: base58.Encode(b.Hash[:]), ParentSlot: b.Parent,
		ParentBlockhash: base58.Encode(b.ParentHash[:]), BlockTime: &pb.UnixTimestamp{Timestamp: b.BlockTime},
		ExecutedTransactionCount: uint64(b.Transactions)}
	for i := range b.Transactions {
		tx, meta := b.transaction(i)
		out.Transactions = append(out.Transactions, &pb.SubscribeUpdateTransactionInfo{Signature: b.signatures[i], Index: uint64(i), Transaction: tx, Meta: meta})
	}
	return &pb.SubscribeUpdate{Filters: []string{"mintlake"}, UpdateOneof: &pb.SubscribeUpdate_Block{Block: out}}
}

// ConfirmedBlock returns the block as solana.storage.ConfirmedBlock.
func (b *Block) ConfirmedBlock(t testing.TB) []byte {
	t.Helper()
	out := &pb.ConfirmedBlock{PreviousBlockhash: base58.Encode(b.ParentHash[:]), Blockhash: base58.Encode(b.Hash[:]), ParentSlot: b.Parent,
		BlockTime: &pb.UnixTimestamp{Timestamp: b.BlockTime}}
	for i := range b.Transactions {
		tx, meta := b.transaction(i)
		out.Transactions = append(out.Transactions, &pb.ConfirmedTransaction{Transaction: tx, Meta: meta})
	}
	data, err := proto.Marshal(out)
	require.NoError(t, err)
	return data
}

// JSON returns the block as a result of getBlock in base64.
func (b *Block) JSON(t testing.TB) []byte {
	t.Helper()
	list := make([]any, 0, b.Transactions)
	for i := range b.Transactions {
		wire := append([]byte{1}, b.signatures[i]...)
		wire = append(wire, 1, 0, 1, 4) // header: one signer, one read-only program; four keys
		for _, k := range b.keys(i) {
			wire = append(wire, k...)
		}
		// One instruction: its program, its three accounts, the length of its data.
		wire = append(append(wire, b.ParentHash[:]...), 1, 3, 3, 2, 1, 0, 9)
		wire = append(wire, mintTo(b.Slot)...)
		list = append(list, map[string]any{"transaction": []string{base64.StdEncoding.EncodeToString(wire), "base64"}, "version": "legacy", "meta": map[string]any{
			"err": nil, "innerInstructions": []any{}, "logMessages": []string{"Program log: hi"}, "postTokenBalances": []any{map[string]any{"accountIndex": 1,
				"mint": base58.Encode(b.mints[i]), "programId": schemas.ProgramToken, "uiTokenAmount": map[string]any{"amount": "12", "decimals": 6}}}}})
	}
	data, err := json.Marshal(map[string]any{"blockhash": base58.Encode(b.Hash[:]), "previousBlockhash": base58.Encode(b.ParentHash[:]), "parentSlot": b.Parent,
		"blockTime": b.BlockTime, "blockHeight": b.Slot, "transactions": list})
	require.NoError(t, err)
	return data
}
