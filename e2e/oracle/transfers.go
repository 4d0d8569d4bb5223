package oracle

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Moved is what one instruction of a token program moves, makes or burns.
type Moved struct {
	// Place is the outer instruction, the inner one or -1, and the place in a Batch or -1.
	Place    [3]int
	Kind     string
	From, To pubkey.Key
	Amount   uint64
}

// Movements reads the transfers, mints and burns of a transaction, by loops over its instructions
// and the layouts of the programs' interfaces (spl-token, spl-token-2022 and p-token
// instruction.rs).
func Movements(tx *chain.Transaction) (all []Moved) {
	if tx.Failed || tx.Vote {
		return nil
	}
	for i := range tx.Instructions {
		outer := &tx.Instructions[i]
		all = append(all, movements(tx, &outer.Call, [3]int{i, -1, -1})...)
		for j := range outer.Inner {
			all = append(all, movements(tx, &outer.Inner[j], [3]int{i, j, -1})...)
		}
	}
	return all
}

// batchTag is the number of p-token's Batch: for each part one byte with the number of its
// accounts, one with the length of its data, and the data.
const batchTag = 255

func movements(tx *chain.Transaction, call *chain.Call, place [3]int) (all []Moved) {
	program, ok := tx.Program(call)
	if !ok || program != pubkey.MustParse(schemas.ProgramToken) && program != pubkey.MustParse(schemas.ProgramToken2022) {
		return nil
	}
	if len(call.Data) == 0 || call.Data[0] != batchTag {
		if m, ok := movement(tx, call.Accounts, call.Data); ok {
			m.Place = place
			all = append(all, m)
		}
		return all
	}
	data, accounts := call.Data[1:], call.Accounts
	for part := 0; len(data) >= 2; part++ {
		count, length := int(data[0]), int(data[1])
		if count > len(accounts) || 2+length > len(data) {
			return all
		}
		if m, ok := movement(tx, accounts[:count], data[2:2+length]); ok {
			m.Place = [3]int{place[0], place[1], part}
			all = append(all, m)
		}
		data, accounts = data[2+length:], accounts[count:]
	}
	return all
}

// forms are the instructions by their first byte: what they do, where their amount is, and which
// of their accounts gives and gets; -1 for none.
var forms = map[byte]struct {
	kind               string
	amount, from, toAt int
}{
	3: {"transfer", 1, 0, 1}, 12: {"transfer", 1, 0, 2}, 26: {"transfer", 2, 0, 2},
	7: {"mint", 1, -1, 1}, 14: {"mint", 1, -1, 1}, 8: {"burn", 1, 0, -1}, 15: {"burn", 1, 0, -1},
}

func movement(tx *chain.Transaction, accounts, data []byte) (m Moved, ok bool) {
	if len(data) == 0 {
		return m, false
	}
	form, known := forms[data[0]]
	if !known || len(data) < form.amount+8 || data[0] == 26 && data[1] != 1 {
		return m, false
	}
	key := func(at int) pubkey.Key {
		if at < 0 || at >= len(accounts) || int(accounts[at]) >= len(tx.Keys) {
			return pubkey.Key{}
		}
		return tx.Keys[accounts[at]]
	}
	return Moved{Kind: form.kind, From: key(form.from), To: key(form.toAt), Amount: binary.LittleEndian.Uint64(data[form.amount:])}, true
}

// stateTags are the instructions that change an account's delegate, or whether it is frozen.
var stateTags = map[byte]string{4: "approved", 5: "revoked", 10: "frozen", 11: "thawed", 13: "approved"}

// States reads them, and changes of owners, as text: place, kind, account, delegate, amount.
func States(tx *chain.Transaction) (all []string) {
	if tx.Failed || tx.Vote {
		return nil
	}
	for i := range tx.Instructions {
		outer := &tx.Instructions[i]
		all = append(all, states(tx, &outer.Call, [3]int{i, -1, -1})...)
		for j := range outer.Inner {
			all = append(all, states(tx, &outer.Inner[j], [3]int{i, j, -1})...)
		}
	}
	return all
}

func states(tx *chain.Transaction, call *chain.Call, place [3]int) (all []string) {
	program, ok := tx.Program(call)
	if !ok || program != pubkey.MustParse(schemas.ProgramToken) && program != pubkey.MustParse(schemas.ProgramToken2022) || len(call.Data) == 0 {
		return nil
	}
	if call.Data[0] != batchTag {
		return stateText(tx, call.Accounts, call.Data, place)
	}
	data, accounts := call.Data[1:], call.Accounts
	for part := 0; len(data) >= 2 && int(data[0]) <= len(accounts) && 2+int(data[1]) <= len(data); part++ {
		end := 2 + int(data[1])
		all = append(all, stateText(tx, accounts[:data[0]], data[2:end], [3]int{place[0], place[1], part})...)
		data, accounts = data[end:], accounts[data[0]:]
	}
	return all
}

func stateText(tx *chain.Transaction, accounts, data []byte, place [3]int) []string {
	if len(data) == 0 || len(accounts) == 0 {
		return nil
	}
	kind, delegate, amount := stateTags[data[0]], pubkey.Key{}, uint64(0)
	switch {
	case data[0] == 6 && len(data) > 2 && data[1] == 2 && data[2] == 1:
		kind = "revoked"
	case kind == "approved":
		delegate, amount = tx.Keys[accounts[1]], binary.LittleEndian.Uint64(data[1:])
		if data[0] == 13 {
			delegate = tx.Keys[accounts[2]]
		}
	case kind == "":
		return nil
	}
	return []string{fmt.Sprint(place, kind, tx.Keys[accounts[0]], delegate, amount)}
}
