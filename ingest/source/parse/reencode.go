package parse

import (
	"fmt"
	"slices"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/jsonwalk"
)

// In jsonParsed, a node shows token instructions as {type, info} without their bytes (agave,
// transaction-status/src/parse_token.rs). Decoders read bytes, so the functions below restore them.
// An instruction that is not in the table keeps its program, without accounts and data, alone or as
// a part of a batch: a decoder then counts it as unreadable instead of missing it.

// tokenPrograms are the programs whose instructions nodes parse and Mintlake decodes.
var tokenPrograms = [2]pubkey.Key{pubkey.MustParse(schemas.ProgramToken), pubkey.MustParse(schemas.ProgramToken2022)}

// maxInfo bounds the fields of one parsed instruction.
const maxInfo = 64

// encoder encodes one parsed instruction.
type encoder struct {
	b        *builder
	tx       *chain.Transaction
	info     fields
	accounts []byte
	data     []byte
	err      error
}

// reencode sets the call's accounts and data from the parsed form at r. It leaves the call as it is
// if the program is no token program, or if the type is not in the table.
func (b *builder) reencode(tx *chain.Transaction, call *chain.Call, r *jsonwalk.Reader) error {
	if call.ProgramIndex >= len(tx.Keys) || !slices.Contains(tokenPrograms[:], tx.Keys[call.ProgramIndex]) || r.Peek() != '{' {
		return nil
	}
	e := encoder{b: b, tx: tx}
	known, err := e.instruction(r, false)
	if err != nil {
		return fmt.Errorf("parsed: %w", err)
	}
	if known {
		call.Accounts, call.Data = b.bytes.copyOf(e.accounts), b.bytes.copyOf(e.data)
	}
	return nil
}

// instruction appends the accounts and data of {type, info}. known is false if the type is not in
// the table.
func (e *encoder) instruction(r *jsonwalk.Reader, batched bool) (known bool, err error) {
	f, err := gather(r, "type", "info")
	if err != nil {
		return false, err
	}
	at, info := f["type"], f["info"]
	kind, err := at.String()
	if err != nil {
		return false, err
	}
	name := string(kind)
	if e.info, err = gatherAll(&info); err != nil {
		return false, err
	}
	if name == "batch" && !batched {
		return e.batch()
	}
	s, known := shapes[name]
	if !known {
		return false, nil
	}
	for _, account := range s.accounts {
		e.account(account)
	}
	if s.signer != "" {
		e.signer(s.signer)
	}
	for _, p := range s.data {
		p(e)
	}
	if e.err != nil {
		return false, fmt.Errorf("%s: %w", name, e.err)
	}
	return true, nil
}

// batch encodes p-token's Batch. Its data has for each part the number of accounts, the length of
// the data, and the data. The accounts of all parts follow each other.
func (e *encoder) batch() (known bool, err error) {
	list := e.info["instructions"]
	out := []byte{255}
	var accounts []byte
	err = list.Array(func(int) error {
		part := encoder{b: e.b, tx: e.tx}
		_, err := part.instruction(&list, true)
		if len(part.accounts) > 255 || len(part.data) > 255 || len(accounts) > maxAccounts {
			return malformed("batch part of %d accounts and %d bytes", len(part.accounts), len(part.data))
		}
		out = append(append(out, byte(len(part.accounts)), byte(len(part.data))), part.data...)
		accounts = append(accounts, part.accounts...)
		return err
	})
	e.accounts, e.data = accounts, out
	return true, err
}

func gatherAll(r *jsonwalk.Reader) (fields, error) {
	f := fields{}
	err := r.Object(func(key []byte) error {
		if r.Null() {
			return nil
		}
		if len(f) >= maxInfo {
			return malformed("more than %d fields", maxInfo)
		}
		f[string(key)] = *r
		return r.Skip()
	})
	return f, err
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// text returns field name as a string; false if it is absent.
func (e *encoder) text(name string) ([]byte, bool) {
	at, ok := e.info[name]
	if !ok {
		return nil, false
	}
	s, err := at.String()
	if err != nil {
		e.fail(fmt.Errorf("%s: %w", name, err))
	}
	return s, true
}

// must returns field name as a string, and fails if it is absent.
func (e *encoder) must(name string) []byte {
	s, ok := e.text(name)
	if !ok {
		e.fail(malformed("without %s", name))
	}
	return s
}

// account appends the index of the account in field name.
func (e *encoder) account(name string) {
	s, ok := e.text(name)
	if !ok && name == "mint" { // setAuthority names what it is about
		s, ok = e.text("account")
	}
	if !ok {
		e.fail(malformed("without %s", name))
	}
	if e.err != nil {
		return
	}
	key, err := decodeKey(s)
	if err != nil {
		e.fail(fmt.Errorf("%s: %w", name, err))
		return
	}
	index, err := indexOf(e.tx, key)
	if err != nil {
		e.fail(fmt.Errorf("%s: %w", name, err))
	}
	e.accounts = append(e.accounts, index)
}

// signer appends the account in field name, or in the field's multisig form followed by the
// signers.
func (e *encoder) signer(name string) {
	if _, ok := e.info[name]; ok {
		e.account(name)
		return
	}
	multisig := "multisig" + string(name[0]-'a'+'A') + name[1:]
	if _, ok := e.info[multisig]; !ok {
		multisig = "multisig" + name // agave's transfer fee authority
	}
	e.account(multisig)
	signers, ok := e.info["signers"]
	if !ok || e.err != nil {
		return
	}
	if err := signers.Array(func(i int) error {
		if i >= maxKeys {
			return malformed("more than %d signers", maxKeys)
		}
		index, err := e.b.keyIndex(e.tx, &signers)
		e.accounts = append(e.accounts, index)
		return err
	}); err != nil {
		e.fail(fmt.Errorf("signers: %w", err))
	}
}
