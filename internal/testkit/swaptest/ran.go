package swaptest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/layout"
)

// Ran is a transaction that swapped on a CPMM pool.
type Ran struct {
	Pool PoolKeys
	// Side is the side of the pool whose token is sold. In has reached the vault of that side, and
	// Out has left the other vault.
	Side    int
	In, Out uint64
	// Beside are other instructions of the transaction, before the swap.
	Beside []venue.Instruction
	Failed bool
}

// user makes all swaps.
var user = Named("user")

// UserAccount is the user's account for a mint.
func UserAccount(mint Key) Key { return Named("user's " + mint.String()) }

// Instruction returns the swap's instruction: swap_base_input.
func (r Ran) Instruction() venue.Instruction {
	data := layout.CPMMSwap(false, r.In, 1)
	k, to := r.Pool, 1-r.Side
	return venue.Instruction{Program: CPMMProgram, Data: data, Accounts: []venue.Meta{
		{Key: user, Signer: true, Writable: true}, {Key: Named("authority")}, {Key: k.Config}, {Key: k.Pool, Writable: true},
		{Key: UserAccount(k.Mints[r.Side]), Writable: true}, {Key: UserAccount(k.Mints[to]), Writable: true},
		{Key: k.Vaults[r.Side], Writable: true}, {Key: k.Vaults[to], Writable: true}, {Key: TokenProgram}, {Key: TokenProgram},
		{Key: k.Mints[r.Side]}, {Key: k.Mints[to]}, {Key: k.Observation, Writable: true},
	}}
}

// Run changes the pool's vaults as a swap does, and remembers its transaction, in a slot of its
// own. The user's accounts do not change. It returns the transaction in the form of getTransaction
// with base64.
func (c *Chain) Run(r Ran) json.RawMessage {
	var list []solana.Instruction
	for _, i := range append(slices.Clone(r.Beside), r.Instruction()) {
		metas := solana.AccountMetaSlice{}
		for _, m := range i.Accounts {
			metas = append(metas, &solana.AccountMeta{PublicKey: solana.PublicKey(m.Key), IsSigner: m.Signer, IsWritable: m.Writable})
		}
		list = append(list, solana.NewInstruction(solana.PublicKey(i.Program), metas, i.Data))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slot++
	c.ran++
	tx, err := solana.NewTransaction(list, solana.Hash(Named("blockhash")), solana.TransactionPayer(solana.PublicKey(user)))
	if err != nil {
		panic(err) // a mistake of the test
	}
	tx.Signatures = []solana.Signature{{byte(c.ran), byte(c.ran >> 8), 1}}
	keys := tx.Message.AccountKeys
	before := c.balances(keys)
	if !r.Failed {
		c.move(r.Pool.Vaults[r.Side], int64(r.In))
		c.move(r.Pool.Vaults[1-r.Side], -int64(r.Out))
	}
	return c.remember(tx, before, 1_700_000_000, r.Failed, []any{map[string]any{"index": len(r.Beside), "instructions": []any{map[string]any{
		"programIdIndex": slices.Index(keys, solana.PublicKey(TokenProgram)), "stackHeight": 2, "data": "3",
		"accounts": []int{slices.Index(keys, solana.PublicKey(r.Pool.Vaults[0])), slices.Index(keys, solana.PublicKey(r.Pool.Vaults[1]))},
	}}}})
}

// Execute records a transaction that a program ran outside the chain. It sets the accounts to what
// the transaction left, and remembers the transaction, in a slot of its own. after has all accounts
// of the transaction, nil for an account that is gone. inner is innerInstructions as getTransaction
// has them.
func (c *Chain) Execute(wire []byte, unixTime int64, failed bool, after map[Key]*rpc.Account, inner []any) {
	tx, err := solana.TransactionFromBytes(wire)
	if err != nil {
		panic(err) // a mistake of the test
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slot++
	c.ran++
	tx.Signatures[0] = solana.Signature{byte(c.ran), byte(c.ran >> 8), 1}
	before := c.balances(slices.Concat(c.keysOf(tx)...))
	for key, account := range after {
		switch {
		case account == nil:
			delete(c.accounts, key)
		case len(account.Data) > 0 || account.Owner == (Key{}): // else a program, which stays
			c.accounts[key] = account
		}
	}
	c.remember(tx, before, unixTime, failed, inner)
}

// remember keeps a transaction in the form of getTransaction with base64, and returns that form.
// before has the balances before the transaction.
func (c *Chain) remember(tx *solana.Transaction, before balances, unixTime int64, failed bool, inner []any) json.RawMessage {
	wire, err := tx.MarshalBinary()
	if err != nil {
		panic(err) // a mistake of the test
	}
	parts := c.keysOf(tx)
	keys := slices.Concat(parts...)
	after := c.balances(keys)
	meta := map[string]any{
		"err": nil, "preBalances": before.lamports, "postBalances": after.lamports, "preTokenBalances": before.tokens, "postTokenBalances": after.tokens,
		"innerInstructions": inner, "loadedAddresses": map[string]any{"writable": base58s(parts[1]), "readonly": base58s(parts[2])},
	}
	if failed {
		meta["err"] = "AccountInUse"
	}
	raw, err := json.Marshal(map[string]any{
		"slot": c.slot, "blockTime": unixTime, "transaction": []string{base64.StdEncoding.EncodeToString(wire), "base64"}, "meta": meta,
	})
	if err != nil {
		panic(err)
	}
	if c.version1 {
		raw = AsVersion1(raw)
	}
	signature := tx.Signatures[0].String()
	c.transactions[signature] = raw
	for _, key := range keys {
		entry := map[string]any{"signature": signature, "slot": c.slot, "err": meta["err"]}
		c.signatures[Key(key)] = slices.Insert(c.signatures[Key(key)], 0, entry)
	}
	return raw
}

// move adds delta to a token account's amount. It makes a new account, because callers may still
// hold the old one.
func (c *Chain) move(key Key, delta int64) {
	account := *c.accounts[key]
	account.Data = slices.Clone(account.Data)
	layout.SetAmount(account.Data, uint64(int64(layout.Amount(account.Data))+delta))
	c.accounts[key] = &account
}

type balances struct {
	lamports []uint64
	tokens   []any
}

func (c *Chain) balances(keys []solana.PublicKey) (b balances) {
	b.tokens = []any{}
	for i, key := range keys {
		account := c.accounts[Key(key)]
		if account == nil {
			b.lamports = append(b.lamports, 0)
			continue
		}
		b.lamports = append(b.lamports, account.Lamports)
		if (account.Owner == TokenProgram || account.Owner == Token2022Program) && layout.IsTokenAccount(account.Data) {
			b.tokens = append(b.tokens, map[string]any{"accountIndex": i, "mint": layout.MintOf(account.Data).String(),
				"uiTokenAmount": map[string]any{"amount": fmt.Sprint(layout.Amount(account.Data))}})
		}
	}
	return b
}

// Deploy adds a program of the upgradeable loader, deployed in that slot.
func (c *Chain) Deploy(program Key, slot uint64, code []byte) {
	loader := Key(solana.BPFLoaderUpgradeableProgramID)
	address, err := venue.Derive(loader, program[:])
	if err != nil {
		panic(err)
	}
	c.Set(program, loader, layout.UpgradeableProgram(address))
	c.Set(address, loader, layout.ProgramData(slot, code))
}
