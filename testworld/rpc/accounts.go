package rpc

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sort"

	"github.com/klauspost/compress/zstd"
	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/layout"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// The real node's limits (agave, rpc-client-api and rpc).
const (
	maxMultiple   = 100 // accounts of getMultipleAccounts
	maxBase58Data = 128 // bytes of data in base58
)

// encodeAccount gives an account in the encoding asked for, or in fallback if none is. A missing
// account gives null. space is the length of all the data, even where a slice of it was asked for.
func (s *Server) encodeAccount(a *chain.Account, o *options, fallback string, c ledger.Commitment) (any, error) {
	if a == nil {
		return nil, nil
	}
	data := o.DataSlice.Of(a.Data)
	enc := o.Encoding
	if enc == "" {
		enc = fallback
	}
	out := jsonrpc.AccountOf(a.Owner, a.Lamports, a.Data, o.DataSlice) // in base64
	out.Executable = a.Executable
	switch enc {
	case "binary", "base58":
		if len(data) > maxBase58Data {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding."}
		}
		out.Data = []string{base58.Encode(data), "base58"}
		if enc == "binary" {
			out.Data = base58.Encode(data)
		}
	case "jsonParsed":
		if parsed := s.parse(a, c); parsed != nil {
			out.Data = parsed
		} // else base64, as the real node where it has no parser
	case "base64":
	case "base64+zstd":
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		out.Data = []string{base64.StdEncoding.EncodeToString(z.EncodeAll(data, nil)), "base64+zstd"}
	default:
		return nil, jsonrpc.InvalidParams("unknown variant `%s`, expected one of `binary`, `base58`, `base64`, `jsonParsed`, `base64+zstd`", enc)
	}
	return out, nil
}

func getAccountInfo(s *Server, params []json.RawMessage) (any, error) {
	k, err := jsonrpc.KeyArg(params, 0)
	if err != nil {
		return nil, err
	}
	o, c, err := s.optsAt(params, 1)
	if err != nil {
		return nil, err
	}
	list, slot := s.ledger.Accounts([]chain.Key{k}, c)
	v, err := s.encodeAccount(list[0], &o, "binary", c)
	if err != nil {
		return nil, err
	}
	return jsonrpc.WithContext(slot, v), nil
}

func getMultipleAccounts(s *Server, params []json.RawMessage) (any, error) {
	keys, err := jsonrpc.KeysArg(params, 0, "pubkeys", maxMultiple)
	if err != nil {
		return nil, err
	}
	o, c, err := s.optsAt(params, 1)
	if err != nil {
		return nil, err
	}
	list, slot := s.ledger.Accounts(keys, c)
	out := make([]any, len(list))
	for i, a := range list {
		if out[i], err = s.encodeAccount(a, &o, "base64", c); err != nil {
			return nil, err
		}
	}
	return jsonrpc.WithContext(slot, out), nil
}

func getBalance(s *Server, params []json.RawMessage) (any, error) {
	a, _, slot, err := s.readOne(params)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return jsonrpc.WithContext(slot, 0), nil
	}
	return jsonrpc.WithContext(slot, a.Lamports), nil
}

// readOne reads the account of params[0] under the options of params[1]. It returns the commitment
// and the slot at which it did.
func (s *Server) readOne(params []json.RawMessage) (a *chain.Account, c ledger.Commitment, slot uint64, err error) {
	k, err := jsonrpc.KeyArg(params, 0)
	if err != nil {
		return nil, 0, 0, err
	}
	if _, c, err = s.optsAt(params, 1); err != nil {
		return nil, 0, 0, err
	}
	list, slot := s.ledger.Accounts([]chain.Key{k}, c)
	return list[0], c, slot, nil
}

func getTokenSupply(s *Server, params []json.RawMessage) (any, error) {
	a, _, slot, err := s.readOne(params)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: could not find account"}
	}
	supply, decimals, ok := chain.MintSupply(a)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: not a Token mint"}
	}
	return jsonrpc.WithContext(slot, accountAmount(supply, decimals)), nil
}

func getTokenAccountBalance(s *Server, params []json.RawMessage) (any, error) {
	a, c, slot, err := s.readOne(params)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: could not find account"}
	}
	if !chain.IsTokenAccount(a) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: not a Token account"}
	}
	list, _ := s.ledger.Accounts([]chain.Key{layout.MintOf(a.Data)}, c)
	decimals := uint8(0)
	if list[0] != nil {
		_, decimals, _ = chain.MintSupply(list[0])
	}
	return jsonrpc.WithContext(slot, accountAmount(rawAmount(a), decimals)), nil
}

func getProgramAccounts(s *Server, params []json.RawMessage) (any, error) {
	list, o, c, slot, err := s.program(params)
	if err != nil {
		return nil, err
	}
	out, err := s.encodeList(list, &o, c)
	if err != nil {
		return nil, err
	}
	if o.WithContext {
		return jsonrpc.WithContext(slot, out), nil
	}
	return out, nil
}

// program returns the accounts of the program of params[0] that pass the filters of params[1], in
// the order of their addresses.
func (s *Server) program(params []json.RawMessage) (list []chain.Write, o options, c ledger.Commitment, slot uint64, err error) {
	owner, err := jsonrpc.KeyArg(params, 0)
	if err != nil {
		return nil, o, c, 0, err
	}
	if o, c, err = s.optsAt(params, 1); err != nil {
		return nil, o, c, 0, err
	}
	matches, err := jsonrpc.Filters(o.Filters)
	if err != nil {
		return nil, o, c, 0, err
	}
	list, slot = s.ledger.Program(owner, c, func(_ chain.Key, a *chain.Account) bool { return matches(a.Data) })
	return list, o, c, slot, nil
}

// maxPage bounds a page of getProgramAccountsV2, as providers do.
const maxPage = 10_000

// programPage is a page of getProgramAccountsV2. PaginationKey is the last account's address if
// there are more behind it.
type programPage struct {
	Accounts      []any   `json:"accounts"`
	PaginationKey *string `json:"paginationKey"`
	TotalResults  int     `json:"totalResults"`
}

// getProgramAccountsV2 is what several providers have beside a node's own methods: pages of
// getProgramAccounts.
func getProgramAccountsV2(s *Server, params []json.RawMessage) (any, error) {
	list, o, c, slot, err := s.program(params)
	if err != nil {
		return nil, err
	}
	limit := maxPage
	if o.Limit != nil {
		limit = *o.Limit
	}
	if limit < 1 || limit > maxPage {
		return nil, jsonrpc.InvalidParams("limit %d: want 1 to %d", limit, maxPage)
	}
	page := programPage{TotalResults: len(list)}
	if o.PaginationKey != nil {
		behind, err := jsonrpc.ParseKey(*o.PaginationKey)
		if err != nil {
			return nil, err
		}
		list = list[sort.Search(len(list), func(i int) bool { return string(list[i].Key[:]) > string(behind[:]) }):]
	}
	if limit < len(list) {
		list = list[:limit]
		last := list[limit-1].Key.String()
		page.PaginationKey = &last
	}
	if page.Accounts, err = s.encodeList(list, &o, c); err != nil {
		return nil, err
	}
	if o.WithContext {
		return jsonrpc.WithContext(slot, page), nil
	}
	return page, nil
}
