package stream

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/mr-tron/base58"
)

// parser reads the instructions of a program. parse returns nil for an instruction that is unknown
// or malformed.
type parser struct {
	name  string
	parse func(accounts []string, data []byte) any
}

// parsers are the programs that jsonParsed knows, by address. Names are Agave's.
var parsers = map[string]parser{
	"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA":  {"spl-token", parseToken},
	"TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb":  {"spl-token", parseToken},
	"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL": {"spl-associated-token-account", parseAssociated},
	"11111111111111111111111111111111":             {"system", parseSystem},
	"Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo":  {"spl-memo", parseMemo},
	"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr":  {"spl-memo", parseMemo},
}

func parseMemo(_ []string, data []byte) any {
	if !utf8.Valid(data) {
		return nil
	}
	return string(data)
}

// arguments reads an instruction's data from the start. bad is set if the data are too short or a
// text is not UTF-8. What was read then means nothing.
type arguments struct {
	data []byte
	bad  bool
}

// take returns the next n bytes. If there are fewer, it sets bad and returns zeros, 32 at most, so
// that callers can read a value all the same.
func (a *arguments) take(n uint64) []byte {
	if n > uint64(len(a.data)) {
		a.data, a.bad = nil, true
		return make([]byte, min(n, 32))
	}
	out := a.data[:n]
	a.data = a.data[n:]
	return out
}

func (a *arguments) byte() byte  { return a.take(1)[0] }
func (a *arguments) u64() uint64 { return binary.LittleEndian.Uint64(a.take(8)) }
func (a *arguments) key() string { return base58.Encode(a.take(32)) }

// text reads a string as bincode writes it: a length of eight bytes, then UTF-8.
func (a *arguments) text() string {
	n := a.u64()
	if n > uint64(len(a.data)) {
		a.bad = true
		return ""
	}
	text := a.take(n)
	a.bad = a.bad || !utf8.Valid(text)
	return string(text)
}

// rest reads what is left as text.
func (a *arguments) rest() string {
	text := a.take(uint64(len(a.data)))
	a.bad = a.bad || !utf8.Valid(text)
	return string(text)
}

// optionalKey reads a byte and, if it is not 0, a key; nil if there is no key.
func (a *arguments) optionalKey() any {
	if a.byte() == 0 {
		return nil
	}
	return a.key()
}

// call returns a jsonCall of type kind whose info has the first accounts under names; nil if there
// are fewer accounts than names.
func call(kind string, accounts []string, names ...string) *jsonCall {
	if len(accounts) < len(names) {
		return nil
	}
	c := &jsonCall{kind, make(map[string]any, len(names)+2)}
	for i, name := range names {
		c.Info[name] = accounts[i]
	}
	return c
}

// with adds arguments to c.Info: pairs are name, value, name, value. It returns an untyped nil,
// which parser.parse returns for a malformed instruction, if c is nil or a.bad is set.
func (c *jsonCall) with(a *arguments, pairs ...any) any {
	if c == nil || a.bad {
		return nil
	}
	var name string
	for i, value := range pairs {
		if i%2 == 0 {
			name, _ = value.(string)
			continue
		}
		c.Info[name] = value
	}
	return c
}

// parseAssociated reads the instructions of the Associated Token Account program. Its first version
// had no instruction data.
func parseAssociated(accounts []string, data []byte) any {
	kind := "create"
	if len(data) > 0 {
		switch data[0] {
		case 0:
		case 1:
			kind = "createIdempotent"
		case 2:
			return call("recoverNested", accounts, "nestedSource", "nestedMint", "destination", "nestedOwner", "ownerMint", "wallet", "tokenProgram").with(&arguments{})
		default:
			return nil
		}
	}
	return call(kind, accounts, "source", "account", "wallet", "mint", "systemProgram", "tokenProgram").with(&arguments{})
}

// parseSystem reads SystemInstruction, in bincode.
func parseSystem(accounts []string, data []byte) any {
	a := &arguments{data: data}
	switch binary.LittleEndian.Uint32(a.take(4)) {
	case 0:
		return call("createAccount", accounts, "source", "newAccount").with(a, "lamports", a.u64(), "space", a.u64(), "owner", a.key())
	case 1:
		return call("assign", accounts, "account").with(a, "owner", a.key())
	case 2:
		return call("transfer", accounts, "source", "destination").with(a, "lamports", a.u64())
	case 3:
		return call("createAccountWithSeed", accounts, "source", "newAccount").with(a,
			"base", a.key(), "seed", a.text(), "lamports", a.u64(), "space", a.u64(), "owner", a.key())
	case 4:
		return call("advanceNonce", accounts, "nonceAccount", "recentBlockhashesSysvar", "nonceAuthority").with(a)
	case 5:
		return call("withdrawFromNonce", accounts, "nonceAccount", "destination", "recentBlockhashesSysvar", "rentSysvar", "nonceAuthority").with(a, "lamports", a.u64())
	case 6:
		return call("initializeNonce", accounts, "nonceAccount", "recentBlockhashesSysvar", "rentSysvar").with(a, "nonceAuthority", a.key())
	case 7:
		return call("authorizeNonce", accounts, "nonceAccount", "nonceAuthority").with(a, "newAuthorized", a.key())
	case 8:
		return call("allocate", accounts, "account").with(a, "space", a.u64())
	case 9:
		return call("allocateWithSeed", accounts, "account").with(a, "base", a.key(), "seed", a.text(), "space", a.u64(), "owner", a.key())
	case 10:
		return call("assignWithSeed", accounts, "account").with(a, "base", a.key(), "seed", a.text(), "owner", a.key())
	case 11:
		return call("transferWithSeed", accounts, "source", "sourceBase", "destination").with(a,
			"lamports", a.u64(), "sourceSeed", a.text(), "sourceOwner", a.key())
	case 12:
		return call("upgradeNonce", accounts, "nonceAccount").with(a)
	}
	return nil
}
