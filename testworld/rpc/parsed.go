package rpc

import (
	"encoding/binary"
	"strconv"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// The shapes of jsonParsed accounts (agave, account-decoder): mints and token accounts of both
// token programs. The node answers base64 where it has no parser, and so does this one for all
// other accounts.

type parsedAccount struct {
	Program string `json:"program"`
	Parsed  any    `json:"parsed"`
	Space   int    `json:"space"`
}

type parsedBody struct {
	Info any    `json:"info"`
	Type string `json:"type"`
}

type parsedMint struct {
	Decimals        uint8   `json:"decimals"`
	Extensions      []any   `json:"extensions,omitempty"`
	FreezeAuthority *string `json:"freezeAuthority"`
	IsInitialized   bool    `json:"isInitialized"`
	MintAuthority   *string `json:"mintAuthority"`
	Supply          string  `json:"supply"`
}

type parsedTokenAccount struct {
	CloseAuthority    *string     `json:"closeAuthority,omitempty"`
	Delegate          *string     `json:"delegate,omitempty"`
	DelegatedAmount   *amountJSON `json:"delegatedAmount,omitempty"`
	Extensions        []any       `json:"extensions,omitempty"`
	IsNative          bool        `json:"isNative"`
	Mint              string      `json:"mint"`
	Owner             string      `json:"owner"`
	RentExemptReserve *amountJSON `json:"rentExemptReserve,omitempty"`
	State             string      `json:"state"`
	TokenAmount       amountJSON  `json:"tokenAmount"`
}

// parse returns the jsonParsed form of a mint or a token account; nil for any other account.
func (s *Server) parse(a *chain.Account, c ledger.Commitment) *parsedAccount {
	out := &parsedAccount{Program: "spl-token", Space: len(a.Data)}
	if a.Owner == chain.Token2022Program {
		out.Program = "spl-token-2022"
	}
	if _, _, ok := chain.MintSupply(a); ok {
		out.Parsed = parsedBody{parseMint(a.Data), "mint"}
		return out
	}
	if !chain.IsTokenAccount(a) {
		return nil
	}
	list, _ := s.ledger.Accounts([]chain.Key{chain.Key(a.Data[:32])}, c)
	if list[0] == nil {
		return nil // without its mint the node does not know the decimals
	}
	_, decimals, ok := chain.MintSupply(list[0])
	if !ok {
		return nil
	}
	out.Parsed = parsedBody{parseTokenAccount(a.Data, decimals), "account"}
	return out
}

func parseMint(d []byte) parsedMint {
	return parsedMint{
		Decimals: d[44], Extensions: parseExtensions(d), FreezeAuthority: text(optionKey(d[46:])), IsInitialized: d[45] == 1,
		MintAuthority: text(optionKey(d)), Supply: decimal(binary.LittleEndian.Uint64(d[36:])),
	}
}

// parseTokenAccount reads a token account, whose mint has the given decimals.
func parseTokenAccount(d []byte, decimals uint8) parsedTokenAccount {
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(d[at:]) }
	amount := func(n uint64) *amountJSON {
		v := accountAmount(n, decimals)
		return &v
	}
	out := parsedTokenAccount{
		CloseAuthority: text(optionKey(d[accountCloseAuthorityAt:])), Delegate: text(optionKey(d[accountDelegateAt:])), Extensions: parseExtensions(d),
		Mint: chain.Key(d[:32]).String(), Owner: chain.Key(d[accountOwnerAt : accountOwnerAt+32]).String(), State: "uninitialized",
		TokenAmount: *amount(u64(accountAmountAt)),
	}
	switch d[accountStateAt] {
	case 1:
		out.State = "initialized"
	case 2:
		out.State = "frozen"
	}
	if out.Delegate != nil {
		out.DelegatedAmount = amount(u64(accountDelegatedAmountAt))
	}
	if binary.LittleEndian.Uint32(d[accountNativeAt:]) != 0 {
		out.IsNative, out.RentExemptReserve = true, amount(u64(accountNativeAt+4))
	}
	return out
}

func text(k *chain.Key) *string {
	if k == nil {
		return nil
	}
	v := k.String()
	return &v
}

// text32 returns an address as extensions store it: 32 zero bytes stand for null.
func text32(d []byte) *string {
	k := chain.Key(d[:32])
	if k == (chain.Key{}) {
		return nil
	}
	return text(&k)
}

// parseExtensions decodes the entries after the account's type byte, each a type, a length and a
// value.
func parseExtensions(d []byte) []any {
	if len(d) <= accountBaseSize+1 {
		return nil
	}
	var out []any
	for rest := d[accountBaseSize+1:]; len(rest) >= 4; {
		kind, n := binary.LittleEndian.Uint16(rest), int(binary.LittleEndian.Uint16(rest[2:]))
		if kind == 0 || len(rest) < 4+n {
			break
		}
		out = append(out, parseExtension(kind, rest[4:4+n]))
		rest = rest[4+n:]
	}
	return out
}

// Token-2022 extension types that the demo chain makes (spl-token-2022, ExtensionType).
const (
	extTransferFeeConfig  = 1
	extTransferFeeAmount  = 2
	extMintCloseAuthority = 3
	extImmutableOwner     = 7
	extMetadataPointer    = 18
	extTokenMetadata      = 19
)

type extension struct {
	Name  string `json:"extension"`
	State any    `json:"state,omitempty"`
}

// parseExtension reads one extension of Token-2022. If its kind is not known or its size is wrong,
// the result is "unparseableExtension".
func parseExtension(kind uint16, d []byte) extension {
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(d[at:]) }
	switch {
	case kind == extImmutableOwner:
		return extension{Name: "immutableOwner"}
	case kind == extMintCloseAuthority && len(d) == 32:
		return extension{"mintCloseAuthority", map[string]any{"closeAuthority": text32(d)}}
	case kind == extMetadataPointer && len(d) == 64:
		return extension{"metadataPointer", map[string]any{"authority": text32(d), "metadataAddress": text32(d[32:])}}
	case kind == extTransferFeeAmount && len(d) == 8:
		return extension{"transferFeeAmount", map[string]any{"withheldAmount": u64(0)}}
	case kind == extTransferFeeConfig && len(d) == 108:
		fee := func(at int) map[string]any {
			return map[string]any{"epoch": u64(at), "maximumFee": u64(at + 8), "transferFeeBasisPoints": binary.LittleEndian.Uint16(d[at+16:])}
		}
		return extension{"transferFeeConfig", map[string]any{"transferFeeConfigAuthority": text32(d), "withdrawWithheldAuthority": text32(d[32:]),
			"withheldAmount": u64(64), "olderTransferFee": fee(72), "newerTransferFee": fee(90)}}
	case kind == extTokenMetadata:
		if state := parseTokenMetadata(d); state != nil {
			return extension{"tokenMetadata", state}
		}
	}
	return extension{Name: "unparseableExtension"}
}

// parseTokenMetadata reads the TokenMetadata extension; nil if it is cut short.
func parseTokenMetadata(d []byte) map[string]any {
	if len(d) < 64 {
		return nil
	}
	rest := d[64:]
	number := func() (int, bool) {
		if len(rest) < 4 {
			return 0, false
		}
		n := binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
		return int(n), true
	}
	word := func() (string, bool) {
		n, ok := number()
		if !ok || n > len(rest) {
			return "", false
		}
		v := string(rest[:n])
		rest = rest[n:]
		return v, true
	}
	out := map[string]any{"updateAuthority": text32(d), "mint": chain.Key(d[32:64]).String()}
	for _, name := range []string{"name", "symbol", "uri"} {
		v, ok := word()
		if !ok {
			return nil
		}
		out[name] = v
	}
	pairs := [][2]string{}
	n, _ := number()
	for range min(n, len(d)) {
		k, ok := word()
		v, ok2 := word()
		if !ok || !ok2 {
			return nil
		}
		pairs = append(pairs, [2]string{k, v})
	}
	out["additionalMetadata"] = pairs
	return out
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
