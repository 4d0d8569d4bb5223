package rpc

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/layout"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// maxLargest is how many accounts getTokenLargestAccounts lists (agave, NUM_LARGEST_ACCOUNTS).
const maxLargest = 20

// tokenFilter is the second parameter of getTokenAccountsByOwner and getTokenAccountsByDelegate:
// one of the two.
type tokenFilter struct {
	Mint      *string `json:"mint"`
	ProgramID *string `json:"programId"`
}

func getTokenAccountsByOwner(s *Server, params []json.RawMessage) (any, error) {
	return s.tokenAccountsOf(params, func(data []byte, k chain.Key) bool { return layout.OwnerOf(data) == k })
}

func getTokenAccountsByDelegate(s *Server, params []json.RawMessage) (any, error) {
	return s.tokenAccountsOf(params, func(data []byte, k chain.Key) bool {
		delegate, set := layout.ReadOption(data[layout.AccountDelegateAt:])
		return set && delegate == k
	})
}

// tokenAccountsOf lists the token accounts that belong to the key of params[0].
func (s *Server) tokenAccountsOf(params []json.RawMessage, belongs func(data []byte, k chain.Key) bool) (any, error) {
	k, err := jsonrpc.KeyArg(params, 0)
	if err != nil {
		return nil, err
	}
	wanted, err := jsonrpc.Arg[tokenFilter](params, 1, "filter")
	if err != nil {
		return nil, err
	}
	o, c, err := s.optsAt(params, 2)
	if err != nil {
		return nil, err
	}
	program, mint, err := s.resolveFilter(wanted, c)
	if err != nil {
		return nil, err
	}
	list, slot := s.ledger.Program(program, c, func(_ chain.Key, a *chain.Account) bool {
		return chain.IsTokenAccount(a) && (mint == nil || layout.MintOf(a.Data) == *mint) && belongs(a.Data, k)
	})
	out, err := s.encodeList(list, &o, c)
	if err != nil {
		return nil, err
	}
	return jsonrpc.WithContext(slot, out), nil
}

// resolveFilter finds the program whose accounts are meant, and the mint if one is named.
func (s *Server) resolveFilter(f tokenFilter, c ledger.Commitment) (program chain.Key, mint *chain.Key, err error) {
	switch {
	case (f.Mint == nil) == (f.ProgramID == nil):
		return program, nil, jsonrpc.InvalidParams("expected one of `mint`, `programId`")
	case f.ProgramID != nil:
		if program, err = jsonrpc.ParseKey(*f.ProgramID); err == nil && program != chain.TokenProgram && program != chain.Token2022Program {
			err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: unrecognized Token program id"}
		}
		return program, nil, err
	}
	k, err := jsonrpc.ParseKey(*f.Mint)
	if err != nil {
		return program, nil, err
	}
	account, err := s.readMint(k, c)
	if err != nil {
		return program, nil, err
	}
	return account.Owner, &k, nil
}

// readMint reads a mint. Its errors have the words of the real node.
func (s *Server) readMint(k chain.Key, c ledger.Commitment) (*chain.Account, error) {
	list, _ := s.ledger.Accounts([]chain.Key{k}, c)
	if list[0] == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: could not find mint"}
	}
	if _, _, ok := chain.MintSupply(list[0]); !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: not a Token mint"}
	}
	return list[0], nil
}

// encodeList encodes accounts as methods that list accounts do: each as pubkey and account.
func (s *Server) encodeList(list []chain.Write, o *options, c ledger.Commitment) ([]any, error) {
	out := make([]any, len(list))
	for i, w := range list {
		a, err := s.encodeAccount(w.Account, o, "binary", c)
		if err != nil {
			return nil, err
		}
		out[i] = map[string]any{"pubkey": w.Key.String(), "account": a}
	}
	return out, nil
}

func getTokenLargestAccounts(s *Server, params []json.RawMessage) (any, error) {
	mint, err := jsonrpc.KeyArg(params, 0)
	if err != nil {
		return nil, err
	}
	_, c, err := s.optsAt(params, 1)
	if err != nil {
		return nil, err
	}
	account, err := s.readMint(mint, c)
	if err != nil {
		return nil, err
	}
	_, decimals, _ := chain.MintSupply(account)
	list, slot := s.ledger.Program(account.Owner, c, func(_ chain.Key, a *chain.Account) bool {
		return chain.IsTokenAccount(a) && layout.MintOf(a.Data) == mint
	})
	slices.SortStableFunc(list, func(a, b chain.Write) int { return cmp.Compare(rawAmount(b.Account), rawAmount(a.Account)) })
	type row struct {
		Address string `json:"address"`
		amountJSON
	}
	out := []row{}
	for _, w := range list[:min(len(list), maxLargest)] {
		out = append(out, row{w.Key.String(), accountAmount(rawAmount(w.Account), decimals)})
	}
	return jsonrpc.WithContext(slot, out), nil
}

func rawAmount(a *chain.Account) uint64 { return layout.Amount(a.Data) }

// accountAmount is tokenAmount for methods about accounts, which write uiAmount 0 where a
// transaction's balances write null.
func accountAmount(n uint64, decimals uint8) amountJSON {
	out := tokenAmount(n, decimals)
	if out.UI == nil {
		out.UI = new(float64)
	}
	return out
}
