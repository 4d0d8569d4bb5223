package rpc

import (
	"encoding/binary"
	"strconv"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/layout"
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
	list, _ := s.ledger.Accounts([]chain.Key{layout.MintOf(a.Data)}, c)
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
		Decimals: d[layout.MintDecimalsAt], Extensions: parseExtensions(d), FreezeAuthority: option(d[layout.MintFreezeAt:]), IsInitialized: d[layout.MintInitializedAt] == 1,
		MintAuthority: option(d), Supply: decimal(layout.Supply(d)),
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
		CloseAuthority: option(d[layout.AccountCloseAuthorityAt:]), Delegate: option(d[layout.AccountDelegateAt:]), Extensions: parseExtensions(d),
		Mint: layout.MintOf(d).String(), Owner: layout.OwnerOf(d).String(), State: "uninitialized",
		TokenAmount: *amount(layout.Amount(d)),
	}
	switch d[layout.AccountStateAt] {
	case layout.StateInitialized:
		out.State = "initialized"
	case layout.StateFrozen:
		out.State = "frozen"
	}
	if out.Delegate != nil {
		out.DelegatedAmount = amount(u64(layout.AccountDelegatedAmountAt))
	}
	if layout.IsNative(d) {
		out.IsNative, out.RentExemptReserve = true, amount(u64(layout.AccountReserveAt))
	}
	return out
}

// option returns an optional address; nil for none.
func option(d []byte) *string {
	k, set := layout.ReadOption(d)
	if !set {
		return nil
	}
	v := k.String()
	return &v
}

// text32 returns an address as extensions store it: 32 zero bytes stand for null.
func text32(d []byte) *string {
	k := chain.Key(d[:32])
	if k.IsZero() {
		return nil
	}
	v := k.String()
	return &v
}

// parseExtensions decodes the entries after the account's type byte.
func parseExtensions(d []byte) []any {
	var out []any
	for e := range layout.Extensions(d) {
		out = append(out, parseExtension(e.Kind, d[e.At:e.At+e.Size]))
	}
	return out
}

type extension struct {
	Name  string `json:"extension"`
	State any    `json:"state,omitempty"`
}

// parseExtension reads one extension of Token-2022. If its kind is not known or its size is wrong,
// the result is "unparseableExtension".
func parseExtension(kind uint16, d []byte) extension {
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(d[at:]) }
	switch {
	case kind == layout.ExtImmutableOwner:
		return extension{Name: "immutableOwner"}
	case kind == layout.ExtMintClose && len(d) == 32:
		return extension{"mintCloseAuthority", map[string]any{"closeAuthority": text32(d)}}
	case kind == layout.ExtMetadataPointer && len(d) == 64:
		return extension{"metadataPointer", map[string]any{"authority": text32(d), "metadataAddress": text32(d[32:])}}
	case kind == layout.ExtTransferFeeAmount && len(d) == 8:
		return extension{"transferFeeAmount", map[string]any{"withheldAmount": u64(0)}}
	case kind == layout.ExtTransferFeeConfig && len(d) == layout.FeeConfigSize:
		fee := func(at int) map[string]any {
			return map[string]any{"epoch": u64(at), "maximumFee": u64(at + 8), "transferFeeBasisPoints": binary.LittleEndian.Uint16(d[at+16:])}
		}
		return extension{"transferFeeConfig", map[string]any{"transferFeeConfigAuthority": text32(d), "withdrawWithheldAuthority": text32(d[32:]),
			"withheldAmount": u64(layout.FeeWithheldAt), "olderTransferFee": fee(layout.FeeOlderAt),
			"newerTransferFee": fee(layout.FeeNewerAt)}}
	case kind == layout.ExtTokenMetadata:
		if state := parseTokenMetadata(d); state != nil {
			return extension{"tokenMetadata", state}
		}
	}
	if e, known := parsePower(kind, d); known {
		return e
	}
	return extension{Name: "unparseableExtension"}
}

// parseTokenMetadata reads the TokenMetadata extension; nil if it is cut short.
func parseTokenMetadata(d []byte) map[string]any {
	m, ok := layout.ReadTokenMetadata(d)
	if !ok {
		return nil
	}
	return map[string]any{"updateAuthority": text32(m.UpdateAuthority[:]), "mint": m.Mint.String(), "name": m.Name, "symbol": m.Symbol, "uri": m.URI,
		"additionalMetadata": append([][2]string{}, m.Extra...)}
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
