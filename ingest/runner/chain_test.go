package runner_test

import (
	"crypto/sha256"
	"fmt"

	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func named(format string, args ...any) pubkey.Key {
	return sha256.Sum256([]byte(fmt.Sprintf(format, args...)))
}

// mintKey is the i-th mint of the test chain.
func mintKey(i int) pubkey.Key { return named("mint %d", i) }

// builder makes transactions of instructions that the decoders read.
type builder struct{ tx chain.Transaction }

func (b *builder) index(key pubkey.Key) int {
	for i := range b.tx.Keys {
		if b.tx.Keys[i] == key {
			return i
		}
	}
	b.tx.Keys = append(b.tx.Keys, key)
	return len(b.tx.Keys) - 1
}

func (b *builder) call(program string, data []byte, accounts ...pubkey.Key) {
	call := chain.Call{ProgramIndex: b.index(pubkey.MustParse(program)), Data: data, StackHeight: 1}
	for _, a := range accounts {
		call.Accounts = append(call.Accounts, byte(b.index(a)))
	}
	b.tx.Instructions = append(b.tx.Instructions, chain.Instruction{Call: call})
}

func (b *builder) initialize(mint pubkey.Key) {
	authority := named("authority")
	b.call(schemas.ProgramToken2022, append(append([]byte{20, 6}, authority[:]...), 0), mint)
}

func (b *builder) mintTo(mint pubkey.Key) {
	b.call(schemas.ProgramToken, []byte{7, 1, 0, 0, 0, 0, 0, 0, 0}, mint, named("account"), named("authority"))
	b.balance(mint)
}

func (b *builder) setAuthority(mint pubkey.Key) {
	b.call(schemas.ProgramToken, []byte{6, 0, 0}, mint, named("authority"))
}

func (b *builder) setURI(mint pubkey.Key, uri string) {
	data := []byte{221, 233, 49, 45, 181, 202, 220, 200, 2, byte(len(uri)), 0, 0, 0}
	b.call(schemas.ProgramToken2022, append(data, uri...), mint, named("authority"))
}

// updateMetadata changes a metadata account without naming its mint.
func (b *builder) updateMetadata(account pubkey.Key) {
	b.call(schemas.ProgramMetaplex, []byte{15, 0, 0, 1, 1, 0}, account, named("authority"))
}

func (b *builder) balance(mint pubkey.Key) {
	b.tx.PostBalances = append(b.tx.PostBalances, chain.TokenBalance{
		AccountIndex: b.index(named("account")), Mint: mint, Decimals: 6, Program: pubkey.MustParse(schemas.ProgramToken),
	})
}

// newBlock is a whole block of the transactions.
func newBlock(slot, parent uint64, transactions ...chain.Transaction) *chain.Block {
	b := &chain.Block{
		Slot: slot, ParentSlot: &parent, Blockhash: named("block %d", slot), BlockTime: 1_700_000_000 + int64(slot), Whole: true,
		Transactions: transactions,
	}
	for i := range b.Transactions {
		b.Transactions[i].Index = i
		b.Transactions[i].Signature = signature(slot, i)
	}
	return b
}

// lone is a single transaction, without a place in its block.
func lone(slot uint64, tx chain.Transaction) *chain.Block {
	tx.Index, tx.Signature = -1, signature(slot, 1000)
	return &chain.Block{Slot: slot, BlockTime: 1_700_000_000, Transactions: []chain.Transaction{tx}}
}

func signature(slot uint64, i int) chain.Signature {
	var s chain.Signature
	a, b := named("signature %d %d", slot, i), named("rest")
	copy(s[:], a[:])
	copy(s[32:], b[:])
	return s
}

func transactionOf(do ...func(*builder)) chain.Transaction {
	b := &builder{}
	for _, one := range do {
		one(b)
	}
	return b.tx
}

// anyTransaction does random things to a few mints.
func anyTransaction(t *rapid.T) chain.Transaction {
	b := &builder{}
	for range rapid.IntRange(0, 3).Draw(t, "instructions") {
		mint := mintKey(rapid.IntRange(0, 6).Draw(t, "mint"))
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0:
			b.initialize(mint)
		case 1:
			b.mintTo(mint)
		case 2:
			b.setAuthority(mint)
		case 3:
			b.setURI(mint, rapid.SampledFrom([]string{"https://a.test/x", " https://b.test/y\x00", "\x00"}).Draw(t, "uri"))
		case 4:
			b.balance(mint)
		case 5:
			b.updateMetadata(mint)
		}
	}
	b.tx.Failed = rapid.IntRange(0, 9).Draw(t, "failed") == 0
	return b.tx
}

// anyChain is a chain of whole blocks with lone transactions in between.
func anyChain(t *rapid.T) []*chain.Block {
	var all []*chain.Block
	slot, parent := uint64(100), uint64(99)
	for range rapid.IntRange(1, 12).Draw(t, "blocks") {
		if rapid.IntRange(0, 3).Draw(t, "lone") == 0 {
			all = append(all, lone(slot+10_000, anyTransaction(t)))
		} else {
			all = append(all, newBlock(slot, parent, rapid.SliceOfN(rapid.Custom(anyTransaction), 0, 4).Draw(t, "transactions")...))
			parent = slot
		}
		slot += uint64(rapid.IntRange(1, 3).Draw(t, "distance"))
	}
	return all
}
