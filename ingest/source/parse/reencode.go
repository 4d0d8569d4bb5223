package parse

import (
	"fmt"
	"slices"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/jsonwalk"
)

// In jsonParsed, a node shows instructions of some programs as {type, info} without their bytes
// (agave, transaction-status/src/parse_*.rs). Decoders read bytes, so the functions below restore
// them. An instruction whose type is not in the tables keeps its program, but gets no accounts and
// no data. This also holds for a part of a batch. A decoder then counts it as unreadable instead of
// missing it.

// tokenPrograms are the token programs.
var tokenPrograms = [2]pubkey.Key{pubkey.MustParse(schemas.ProgramToken), pubkey.MustParse(schemas.ProgramToken2022)}

// lamportPrograms are the other programs that nodes parse and Mintlake reads, with their shapes.
// They change no token. If one of their instructions cannot be restored, only amounts of wrapped
// SOL stay unknown.
var lamportPrograms = map[pubkey.Key]map[string]shape{
	pubkey.MustParse(schemas.ProgramSystem):          systemShapes,
	pubkey.MustParse(schemas.ProgramAssociatedToken): associatedShapes,
}

// maxInfo bounds the fields of one parsed instruction.
const maxInfo = 64

// encoder encodes one parsed instruction.
type encoder struct {
	b        *builder
	shapes   map[string]shape
	tx       *chain.Transaction
	info     fields
	accounts []byte
	data     []byte
	err      error
}

// reencode sets the call's accounts and data from the parsed form at r. It leaves the call as it is
// if there are no shapes of the program, or none of the instruction's type.
func (b *builder) reencode(tx *chain.Transaction, call *chain.Call, r *jsonwalk.Reader) error {
	if call.ProgramIndex >= len(tx.Keys) || r.Peek() != '{' {
		return nil
	}
	program := tx.Keys[call.ProgramIndex]
	others, isOther := lamportPrograms[program]
	if !isOther && !slices.Contains(tokenPrograms[:], program) {
		return nil
	}
	e := encoder{b: b, tx: tx, shapes: shapes}
	if isOther {
		e.shapes = others
	}
	known, err := e.instruction(r, isOther)
	if isOther && err != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("parsed: %w", err)
	}
	if known {
		call.Accounts, call.Data = b.bytes.copyOf(e.accounts), b.bytes.copyOf(e.data)
	}
	return nil
}

// instruction appends the accounts and data of {type, info}. known is false if there is no shape of
// the type. single means that the type batch counts as unknown.
func (e *encoder) instruction(r *jsonwalk.Reader, single bool) (known bool, err error) {
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
	if name == "batch" && !single {
		return e.batch()
	}
	s, known := e.shapes[name]
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
		part := encoder{b: e.b, tx: e.tx, shapes: e.shapes}
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

// gatherAll returns the places of all values of the object at r, except those that are null.
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

// fail keeps the first error.
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
	if !ok && name == "mint" { // setAuthority may be about a token account
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
	e.accountsIn("signers")
}

// accountsIn appends the accounts that field name lists, if it is there.
func (e *encoder) accountsIn(name string) {
	list, ok := e.info[name]
	if !ok || e.err != nil {
		return
	}
	if err := list.Array(func(i int) error {
		if i >= maxKeys {
			return malformed("more than %d accounts", maxKeys)
		}
		index, err := e.b.keyIndex(e.tx, &list)
		e.accounts = append(e.accounts, index)
		return err
	}); err != nil {
		e.fail(fmt.Errorf("%s: %w", name, err))
	}
}
