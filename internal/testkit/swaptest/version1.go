package swaptest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
)

// SendVersion1 makes the chain remember the transactions that follow as version 1.
func (c *Chain) SendVersion1() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version1 = true
}

// AsVersion1 rewrites an answer of getTransaction with base64 as one of version 1, which does the
// same: the addresses from lookup tables are among its keys, and everything is numbered anew. It
// returns nil if the answer is no older transaction in base64.
func AsVersion1(answer json.RawMessage) json.RawMessage {
	var a map[string]any
	numbers := json.NewDecoder(bytes.NewReader(answer))
	numbers.UseNumber()
	if numbers.Decode(&a) != nil {
		return nil
	}
	text, ok := a["transaction"].([]any)
	meta, has := a["meta"].(map[string]any)
	if !ok || !has || len(text) != 2 || text[1] != "base64" {
		return nil
	}
	wire, err := base64.StdEncoding.DecodeString(text[0].(string))
	var tx txwire.Transaction
	if err != nil || tx.Parse(wire) != nil || tx.Version == txwire.V1 {
		return nil
	}
	moved := merge(&tx, meta)
	zero, limit, loaded := uint64(0), uint32(1_400_000), uint32(64<<20)
	tx.Config = txwire.Config{PriorityFee: &zero, ComputeUnitLimit: &limit, LoadedAccountsDataSizeLimit: &loaded}
	if wire, err = tx.Append(nil); err != nil {
		panic(err) // a mistake of the test
	}
	a["transaction"], a["version"] = []any{base64.StdEncoding.EncodeToString(wire), "base64"}, 1
	renumber(meta, moved)
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return raw
}

// merge turns tx into a transaction of version 1, without its config. moved has the new index of
// each account by its old index.
func merge(tx *txwire.Transaction, meta map[string]any) (moved []byte) {
	loaded := [2]int{}
	var addresses [2][][]byte
	if of, ok := meta["loadedAddresses"].(map[string]any); ok {
		for i, name := range []string{"writable", "readonly"} {
			list, _ := of[name].([]any)
			for _, text := range list {
				key := pubkey.MustParse(text.(string))
				addresses[i] = append(addresses[i], key[:])
			}
			loaded[i] = len(list)
			of[name] = []any{}
		}
	}
	static := len(tx.Keys)
	writable := static - int(tx.Header.ReadonlyOthers)
	for i := range static {
		moved = append(moved, byte(i))
		if i >= writable {
			moved[i] += byte(loaded[0])
		}
	}
	for i := range loaded[0] {
		moved = append(moved, byte(writable+i))
	}
	for i := range loaded[1] {
		moved = append(moved, byte(static+loaded[0]+i))
	}
	tx.Version, tx.Lookups = txwire.V1, nil
	tx.Keys = slices.Concat(tx.Keys[:writable], addresses[0], tx.Keys[writable:], addresses[1])
	tx.Header.ReadonlyOthers += byte(loaded[1])
	for i := range tx.Instructions {
		ix := &tx.Instructions[i]
		ix.Program, ix.Accounts = moved[ix.Program], bytes.Clone(ix.Accounts)
		for j, account := range ix.Accounts {
			ix.Accounts[j] = moved[account]
		}
	}
	return moved
}

// renumber gives the accounts of a transaction's effects their new indexes.
func renumber(meta map[string]any, moved []byte) {
	place := func(n any) any {
		i, err := n.(json.Number).Int64()
		if err != nil {
			panic(err)
		}
		return moved[i]
	}
	for _, name := range []string{"preBalances", "postBalances"} {
		list, _ := meta[name].([]any)
		was := slices.Clone(list)
		for i := range list {
			list[moved[i]] = was[i]
		}
	}
	for _, name := range []string{"preTokenBalances", "postTokenBalances"} {
		list, _ := meta[name].([]any)
		for _, b := range list {
			balance := b.(map[string]any)
			balance["accountIndex"] = place(balance["accountIndex"])
		}
	}
	inner, _ := meta["innerInstructions"].([]any)
	for _, of := range inner {
		for _, one := range of.(map[string]any)["instructions"].([]any) {
			call := one.(map[string]any)
			call["programIdIndex"] = place(call["programIdIndex"])
			accounts, _ := call["accounts"].([]any)
			for i := range accounts {
				accounts[i] = place(accounts[i])
			}
		}
	}
}
