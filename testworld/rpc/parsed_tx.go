package rpc

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/layout"
)

// The shapes of jsonParsed transactions (agave, transaction-status): an account is an object, an
// instruction of a known program has its type and its arguments by name. Known are those that
// wallets and indexers meet most, of the system, token, associated token and memo programs. Any
// other one has its accounts as addresses and its data in base58.

type keyJSON struct {
	Pubkey   string `json:"pubkey"`
	Signer   bool   `json:"signer"`
	Source   string `json:"source"`
	Writable bool   `json:"writable"`
}

type parsedIx struct {
	Parsed      any    `json:"parsed"`
	Program     string `json:"program"`
	ProgramID   string `json:"programId"`
	StackHeight int    `json:"stackHeight"`
}

type partlyParsedIx struct {
	Accounts    []string `json:"accounts"`
	Data        string   `json:"data"`
	ProgramID   string   `json:"programId"`
	StackHeight int      `json:"stackHeight"`
}

func parsedKeys(tx *chain.Tx) []keyJSON {
	m := &tx.Message
	keys := m.AccountKeys()
	out := make([]keyJSON, len(keys))
	for i, k := range keys {
		out[i] = keyJSON{Pubkey: k.String(), Signer: m.IsSigner(i), Source: "transaction", Writable: m.IsWritable(i)}
		if i >= len(m.Keys) {
			out[i].Source = "lookupTable"
		}
	}
	return out
}

func parseMessage(tx *chain.Tx) any {
	m := &tx.Message
	keys := keyStrings(m.AccountKeys())
	ixs := make([]any, len(m.Instructions))
	for i := range ixs {
		ixs[i] = parseIx(keys, &m.Instructions[i], 1)
	}
	msg := map[string]any{"accountKeys": parsedKeys(tx), "recentBlockhash": m.Blockhash.String(), "instructions": ixs}
	encodeVersion(m, msg)
	return map[string]any{"signatures": signatures(tx), "message": msg}
}

func parseInner(tx *chain.Tx) []innerJSON {
	keys := keyStrings(tx.Message.AccountKeys())
	out := []innerJSON{}
	for _, in := range tx.Meta.Inner {
		one := innerJSON{Index: in.Index}
		for i := range in.Instructions {
			ix := &in.Instructions[i]
			one.Instructions = append(one.Instructions, parseIx(keys, &ix.CompiledInstruction, int(ix.StackHeight)))
		}
		out = append(out, one)
	}
	return out
}

func parseIx(keys []string, ix *chain.CompiledInstruction, height int) any {
	accounts := make([]string, len(ix.Accounts))
	for i, at := range ix.Accounts {
		accounts[i] = keys[at]
	}
	program := keys[ix.Program]
	var name string
	var parsed any
	switch program {
	case chain.SystemProgram.String():
		name, parsed = "system", parseSystem(accounts, ix.Data)
	case chain.TokenProgram.String(), chain.Token2022Program.String():
		name, parsed = "spl-token", parseToken(accounts, ix.Data)
	case chain.AssociatedProgram.String():
		name, parsed = "spl-associated-token-account", parseAssociated(accounts, ix.Data)
	case chain.MemoProgram.String():
		if name = "spl-memo"; utf8.Valid(ix.Data) {
			parsed = string(ix.Data)
		}
	}
	if parsed == nil {
		return partlyParsedIx{Accounts: accounts, Data: base58.Encode(ix.Data), ProgramID: program, StackHeight: height}
	}
	return parsedIx{Parsed: parsed, Program: name, ProgramID: program, StackHeight: height}
}

// named is an instruction of that type, with the names of its first accounts; nil if there are
// fewer accounts, or if what was read of its data was not all there.
func named(kind string, accounts []string, r *layout.Reader, info map[string]any, names ...string) any {
	if len(accounts) < len(names) || r.Bad {
		return nil
	}
	for i, name := range names {
		info[name] = accounts[i]
	}
	return map[string]any{"type": kind, "info": info}
}

func parseSystem(accounts []string, data []byte) any {
	if len(data) < 4 {
		return nil
	}
	r := &layout.Reader{Rest: data[4:]}
	switch binary.LittleEndian.Uint32(data) {
	case 0:
		return named("createAccount", accounts, r, map[string]any{"lamports": r.U64(), "space": r.U64(), "owner": r.Key().String()}, "source", "newAccount")
	case 1:
		return named("assign", accounts, r, map[string]any{"owner": r.Key().String()}, "account")
	case 2:
		return named("transfer", accounts, r, map[string]any{"lamports": r.U64()}, "source", "destination")
	case 8:
		return named("allocate", accounts, r, map[string]any{"space": r.U64()}, "account")
	}
	return nil
}

func parseAssociated(accounts []string, data []byte) any {
	kind := "create"
	if len(data) > 0 {
		switch data[0] {
		case 0:
		case 1:
			kind = "createIdempotent"
		default:
			return nil
		}
	}
	return named(kind, accounts, &layout.Reader{}, map[string]any{}, "source", "account", "wallet", "mint", "systemProgram", "tokenProgram")
}

// tokenCalls are instructions of the token programs: their names, and those of their accounts, of
// which the last one is the authority.
var tokenCalls = map[byte]struct {
	kind     string
	accounts []string
}{
	layout.TagTransfer: {"transfer", []string{"source", "destination", "authority"}}, layout.TagApprove: {"approve", []string{"source", "delegate", "owner"}},
	layout.TagRevoke: {"revoke", []string{"source", "owner"}}, layout.TagMintTo: {"mintTo", []string{"mint", "account", "mintAuthority"}},
	layout.TagBurn: {"burn", []string{"account", "mint", "authority"}}, layout.TagCloseAccount: {"closeAccount", []string{"account", "destination", "owner"}},
	layout.TagFreezeAccount:   {"freezeAccount", []string{"account", "mint", "freezeAuthority"}},
	layout.TagThawAccount:     {"thawAccount", []string{"account", "mint", "freezeAuthority"}},
	layout.TagTransferChecked: {"transferChecked", []string{"source", "mint", "destination", "authority"}},
	layout.TagMintToChecked:   {"mintToChecked", []string{"mint", "account", "mintAuthority"}},
	layout.TagBurnChecked:     {"burnChecked", []string{"account", "mint", "authority"}},
	layout.TagSyncNative:      {"syncNative", []string{"account"}}, layout.TagInitializeAccount3: {"initializeAccount3", []string{"account", "mint"}},
	layout.TagInitializeMint: {"initializeMint", []string{"mint", "rentSysvar"}}, layout.TagInitializeMint2: {"initializeMint2", []string{"mint"}},
	layout.TagImmutableOwner: {"initializeImmutableOwner", []string{"account"}}, layout.TagSetAuthority: {"setAuthority", []string{"", "authority"}},
}

func parseToken(accounts []string, data []byte) any {
	if len(data) == 0 {
		return nil
	}
	c, known := tokenCalls[data[0]]
	if !known {
		return nil
	}
	r, info := &layout.Reader{Rest: data[1:]}, map[string]any{}
	names := c.accounts
	switch data[0] {
	case layout.TagTransfer, layout.TagApprove, layout.TagMintTo, layout.TagBurn:
		info["amount"] = decimal(r.U64())
	case layout.TagTransferChecked, layout.TagMintToChecked, layout.TagBurnChecked:
		amount := r.U64()
		info["tokenAmount"] = accountAmount(amount, r.U8())
	case layout.TagInitializeAccount3:
		info["owner"] = r.Key().String()
	case layout.TagInitializeMint, layout.TagInitializeMint2:
		info["decimals"], info["mintAuthority"] = r.U8(), r.Key().String()
		if r.U8() == 1 {
			info["freezeAuthority"] = r.Key().String()
		}
	case layout.TagSetAuthority:
		kinds := []string{"mintTokens", "freezeAccount", "accountOwner", "closeAccount"}
		kind := int(r.U8())
		if kind >= len(kinds) {
			return nil
		}
		owned := "mint"
		if kind > 1 {
			owned = "account"
		}
		names, info["authorityType"], info["newAuthority"] = []string{owned, "authority"}, kinds[kind], nil
		if r.U8() == 1 {
			info["newAuthority"] = r.Key().String()
		}
	}
	return named(c.kind, accounts, r, info, names...)
}
