package simulation

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"strconv"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Block is one block of the cluster, on the chain or on a losing fork.
type Block struct {
	Slot, Parent     uint64
	Hash, ParentHash pubkey.Key
	txs              []*tx
	// states are the mints' accounts after the block.
	states map[pubkey.Key]mintState
}

// tx is one transaction with four keys, see keyAuthority and following.
type tx struct {
	signature [64]byte
	vote      bool
	failed    bool
	inner     bool // the last call is an inner one of the first
	keys      [4]pubkey.Key
	calls     []call
	decimals  uint32
	balance   bool
	// account is the mint's account as the transaction left it; nil if it wrote none.
	account []byte
}

type call struct {
	accounts []byte
	data     []byte
}

// Indexes of a transaction's keys.
const (
	keyAuthority = iota
	keyAccount
	keyMint
	keyProgram
)

// minter makes blocks.
type minter struct {
	rng   *rand.Rand
	votes bool
	made  map[pubkey.Key]bool
}

func newMinter(rng *rand.Rand, votes bool) *minter {
	return &minter{rng: rng, votes: votes, made: map[pubkey.Key]bool{}}
}

func key58(text string) (k pubkey.Key) {
	raw, _ := base58.Decode(text)
	copy(k[:], raw)
	return k
}

// block makes a block of up to three token transactions, each after a vote if the chain has votes.
// salt is chain, lost or dead: it makes the hashes of blocks of one slot differ.
func (m *minter) block(slot uint64, parent *Block, salt string) *Block {
	b := &Block{Slot: slot, Parent: parent.Slot, Hash: hash(slot, salt), ParentHash: parent.Hash}
	for i := range m.rng.IntN(4) {
		if m.votes {
			b.txs = append(b.txs, m.vote(slot, salt, byte(i)))
		}
		b.txs = append(b.txs, m.token(slot, salt, byte(i)))
	}
	b.execute(parent)
	return b
}

func signature(slot uint64, salt string, i byte) (s [64]byte) {
	a, b := hash(slot, salt+"sig", i), hash(slot, salt+"nature", i)
	copy(s[:32], a[:])
	copy(s[32:], b[:])
	return s
}

func (m *minter) vote(slot uint64, salt string, i byte) *tx {
	return &tx{signature: signature(slot, salt+"vote", i), vote: true, keys: [4]pubkey.Key{hash(1, "voter"), hash(2, "voter"), hash(3, "voter"),
		key58("Vote111111111111111111111111111111111111111")}, calls: []call{{[]byte{1, 0}, []byte{12, 0, 0, 0}}}}
}

// token makes a transaction about one of few mints, so that missing or misplaced blocks change the
// fold.
func (m *minter) token(slot uint64, salt string, i byte) *tx {
	mint := mintKey(m.rng.Uint64N(mints))
	t := &tx{signature: signature(slot, salt, i), failed: m.rng.IntN(10) == 0, inner: m.rng.IntN(3) == 0, decimals: uint32(mint[0] % 10), balance: true,
		keys: [4]pubkey.Key{hash(1, "authority"), hash(m.rng.Uint64N(5), "account"), mint, key58(schemas.ProgramToken)}}
	if !m.made[mint] && m.rng.IntN(3) == 0 && salt == "chain" {
		m.made[mint] = true
		t.failed, t.balance = false, false
		data := append([]byte{opInitialize, byte(t.decimals)}, t.keys[keyAuthority][:]...)
		data = append(append(data, 1), t.keys[keyAuthority][:]...)
		// Enough for every later burn: the program burns no more than there is.
		t.calls = append(t.calls, call{[]byte{keyMint}, data}, mintTo(1<<30))
	}
	for range m.rng.IntN(3) {
		amount := m.rng.Uint64N(1000) + 1
		switch m.rng.IntN(4) {
		case 0:
			t.calls = append(t.calls, call{[]byte{keyAccount, keyMint, keyAuthority}, binary.LittleEndian.AppendUint64([]byte{opBurn}, amount)})
		case 1:
			next := hash(amount, "next authority")
			t.calls = append(t.calls, call{[]byte{keyMint, keyAuthority}, append([]byte{opSetAuthority, byte(amount % 2), 1}, next[:]...)})
		default:
			t.calls = append(t.calls, mintTo(amount+1<<20))
		}
	}
	if len(t.calls) == 0 { // a transfer: only balances show the mint
		t.calls = append(t.calls, call{[]byte{keyAccount, keyAccount, keyAuthority}, binary.LittleEndian.AppendUint64([]byte{opTransfer}, 1)})
	}
	return t
}

func mintTo(amount uint64) call {
	return call{[]byte{keyMint, keyAccount, keyAuthority}, binary.LittleEndian.AppendUint64([]byte{opMintTo}, amount)}
}

// split returns the outer instructions, and the one that the first of them calls, if t.inner is set
// and there are at least two.
func (t *tx) split() (outer, inner []call) {
	if !t.inner || len(t.calls) < 2 {
		return t.calls, nil
	}
	return t.calls[:len(t.calls)-1], t.calls[len(t.calls)-1:]
}

// Update returns the block as Geyser streams it to a subscriber of the token programs: without
// votes.
func (b *Block) Update() []byte {
	out := &pb.SubscribeUpdateBlock{Slot: b.Slot, Blockhash: base58.Encode(b.Hash[:]), ParentSlot: b.Parent, ParentBlockhash: base58.Encode(b.ParentHash[:]),
		BlockTime: &pb.UnixTimestamp{Timestamp: b.time()}, ExecutedTransactionCount: uint64(len(b.txs))}
	for i, t := range b.txs {
		if !t.vote {
			out.Transactions = append(out.Transactions, t.update(i, b))
		}
	}
	return marshal(&pb.SubscribeUpdate{Filters: []string{"mintlake"}, UpdateOneof: &pb.SubscribeUpdate_Block{Block: out}})
}

func (b *Block) time() int64 { return 1_700_000_000 + int64(b.Slot-firstSlot)/2 }

func marshal(m proto.Message) []byte {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err) // our own values
	}
	return data
}

// update returns the transaction as Geyser streams it. i is its index in the block.
func (t *tx) update(i int, b *Block) *pb.SubscribeUpdateTransactionInfo {
	m := &pb.Message{Header: &pb.MessageHeader{NumRequiredSignatures: 1, NumReadonlyUnsignedAccounts: 1}, RecentBlockhash: b.ParentHash[:]}
	for k := range t.keys {
		m.AccountKeys = append(m.AccountKeys, t.keys[k][:])
	}
	meta := &pb.TransactionStatusMeta{Fee: 5000}
	outer, inner := t.split()
	for _, c := range outer {
		m.Instructions = append(m.Instructions, &pb.CompiledInstruction{ProgramIdIndex: keyProgram, Accounts: c.accounts, Data: c.data})
	}
	for _, c := range inner {
		meta.InnerInstructions = []*pb.InnerInstructions{{Index: 0, Instructions: []*pb.InnerInstruction{
			{ProgramIdIndex: keyProgram, Accounts: c.accounts, Data: c.data, StackHeight: proto.Uint32(2)}}}}
	}
	if t.failed {
		meta.Err = &pb.TransactionError{Err: []byte{8, 0, 0, 0, 3, 25, 0, 0, 0}}
	}
	if t.balance {
		meta.PostTokenBalances = []*pb.TokenBalance{{AccountIndex: keyAccount, Mint: base58.Encode(t.keys[keyMint][:]), ProgramId: schemas.ProgramToken,
			UiTokenAmount: &pb.UiTokenAmount{Decimals: t.decimals, Amount: "12"}}}
	}
	return &pb.SubscribeUpdateTransactionInfo{Signature: t.signature[:], IsVote: t.vote, Index: uint64(i), Meta: meta,
		Transaction: &pb.Transaction{Signatures: [][]byte{t.signature[:]}, Message: m}}
}

// JSON returns the block as a result of getBlock in base64, including votes. If header is true, it
// has no transactions.
func (b *Block) JSON(header bool) []byte {
	doc := map[string]any{"blockhash": base58.Encode(b.Hash[:]), "previousBlockhash": base58.Encode(b.ParentHash[:]), "parentSlot": b.Parent,
		"blockTime": b.time(), "blockHeight": b.Slot}
	if !header {
		list := make([]any, 0, len(b.txs))
		for _, t := range b.txs {
			list = append(list, t.json(b))
		}
		doc["transactions"] = list
	}
	data, err := json.Marshal(doc)
	if err != nil {
		panic(err) // our own values
	}
	return data
}

// json returns the transaction as an entry of getBlock. The wire format is: signatures; a header
// with one signer and one read-only program; keys; blockhash; instructions.
func (t *tx) json(b *Block) any {
	wire := append([]byte{1}, t.signature[:]...)
	wire = append(wire, 1, 0, 1, byte(len(t.keys)))
	for _, k := range t.keys {
		wire = append(wire, k[:]...)
	}
	outer, inner := t.split()
	wire = append(append(wire, b.ParentHash[:]...), byte(len(outer)))
	for _, c := range outer {
		wire = append(append(wire, keyProgram, byte(len(c.accounts))), c.accounts...)
		wire = append(append(wire, byte(len(c.data))), c.data...)
	}
	meta := map[string]any{"err": nil, "innerInstructions": []any{}, "postTokenBalances": []any{}}
	if t.failed {
		meta["err"] = map[string]any{"InstructionError": []any{0, map[string]any{"Custom": 1}}}
	}
	for _, c := range inner {
		accounts := make([]int, len(c.accounts))
		for i, a := range c.accounts {
			accounts[i] = int(a)
		}
		meta["innerInstructions"] = []any{map[string]any{"index": 0, "instructions": []any{map[string]any{
			"programIdIndex": keyProgram, "accounts": accounts, "data": base58.Encode(c.data), "stackHeight": 2}}}}
	}
	if t.balance {
		meta["postTokenBalances"] = []any{map[string]any{"accountIndex": keyAccount, "mint": base58.Encode(t.keys[keyMint][:]),
			"programId": schemas.ProgramToken, "uiTokenAmount": map[string]any{"amount": strconv.Itoa(12), "decimals": t.decimals}}}
	}
	return map[string]any{"transaction": []string{base64.StdEncoding.EncodeToString(wire), "base64"}, "version": "legacy", "meta": meta}
}
