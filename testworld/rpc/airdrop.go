package rpc

import (
	"encoding/json"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// maxAirdrop is the most lamports that one requestAirdrop gives: 1,000 SOL.
const maxAirdrop = 1_000_000_000_000

// requestAirdrop sends lamports from the chain's treasury, in a transaction of the next block.
func requestAirdrop(s *Server, params []json.RawMessage) (any, error) {
	to, err := jsonrpc.KeyArg(params, 0)
	if err != nil {
		return nil, err
	}
	lamports, err := jsonrpc.Arg[uint64](params, 1, "lamports")
	if err != nil {
		return nil, err
	}
	if lamports == 0 || lamports > maxAirdrop {
		return nil, jsonrpc.InvalidParams("lamports %d: an airdrop is 1 to at most %d", lamports, uint64(maxAirdrop))
	}
	if o, err := opts(params, 2); err != nil {
		return nil, err
	} else if _, err := o.level(); err != nil {
		return nil, err
	}
	tx, err := s.submit.Airdrop(to, lamports)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	sim := &chain.Tx{Signatures: tx.Signatures, Message: tx.Message}
	if err := s.submit.Simulate(sim); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	if sim.Meta.Err != nil { // too little to keep a new account alive
		return nil, preflight(sim.Meta.Err.Text(), encodeErr(sim.Meta.Err), sim)
	}
	if err := s.submit.Submit(tx); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	return tx.Signatures[0].String(), nil
}

// getSupply sums the lamports of all accounts. All of them count as circulating.
func getSupply(s *Server, params []json.RawMessage) (any, error) {
	_, c, err := s.optsAt(params, 0)
	if err != nil {
		return nil, err
	}
	total, slot := s.ledger.Lamports(c)
	return jsonrpc.WithContext(slot, map[string]any{"total": total, "circulating": total, "nonCirculating": 0, "nonCirculatingAccounts": []string{}}), nil
}

// The real node's bounds of getRecentPrioritizationFees: accounts asked about, and blocks looked
// at.
const (
	maxFeeAccounts = 128
	feeBlocks      = 150
)

// getRecentPrioritizationFees returns for each recent block the lowest price per compute unit, in
// micro-lamports, at which a transaction landed. Votes do not count. If accounts are named, only
// transactions that write one of them count.
func getRecentPrioritizationFees(s *Server, params []json.RawMessage) (any, error) {
	var accounts []chain.Key
	if len(params) > 0 && string(params[0]) != "null" {
		var err error
		if accounts, err = jsonrpc.KeysArg(params, 0, "addresses", maxFeeAccounts); err != nil {
			return nil, err
		}
	}
	type row struct {
		Slot uint64 `json:"slot"`
		Fee  uint64 `json:"prioritizationFee"`
	}
	out := []row{}
	for _, b := range s.ledger.Recent(feeBlocks, ledger.Processed) {
		out = append(out, row{b.Slot, lowestPrice(b, accounts)})
	}
	return out, nil
}

// lowestPrice returns the lowest price per compute unit in a block; 0 if no transaction counts.
// Votes do not count. If accounts are given, only transactions that write one of them count.
func lowestPrice(b *chain.Block, accounts []chain.Key) uint64 {
	lowest, any := uint64(0), false
	for _, tx := range b.Txs {
		if tx.Vote || len(accounts) > 0 && !writesOne(tx, accounts) {
			continue
		}
		if price := tx.Message.ComputePrice(); !any || price < lowest {
			lowest, any = price, true
		}
	}
	return lowest
}

func writesOne(tx *chain.Tx, accounts []chain.Key) bool {
	for _, k := range accounts {
		if tx.Message.Writes(k) {
			return true
		}
	}
	return false
}
