package rpc

import (
	"encoding/json"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

func getSlot(s *Server, params []json.RawMessage) (any, error) {
	_, c, err := s.optsAt(params, 0)
	if err != nil {
		return nil, err
	}
	return s.ledger.Slot(c), nil
}

func getBlockHeight(s *Server, params []json.RawMessage) (any, error) {
	_, c, err := s.optsAt(params, 0)
	if err != nil {
		return nil, err
	}
	if b := s.ledger.Tip(c); b != nil {
		return b.Height, nil
	}
	return uint64(0), nil
}

func getVersion(*Server, []json.RawMessage) (any, error) {
	return map[string]any{"solana-core": jsonrpc.SolanaVersion, "feature-set": uint32(3294202862)}, nil
}

func getHealth(*Server, []json.RawMessage) (any, error) { return "ok", nil }

func getGenesisHash(s *Server, _ []json.RawMessage) (any, error) { return s.genesis.String(), nil }

func getIdentity(s *Server, _ []json.RawMessage) (any, error) {
	return map[string]string{"identity": s.genesis.String()}, nil
}

func getEpochInfo(s *Server, params []json.RawMessage) (any, error) {
	_, c, err := s.optsAt(params, 0)
	if err != nil {
		return nil, err
	}
	slot, height := s.ledger.Slot(c), uint64(0)
	if b := s.ledger.Tip(c); b != nil {
		height = b.Height
	}
	return map[string]any{"absoluteSlot": slot, "blockHeight": height, "epoch": slot / chain.SlotsPerEpoch, "slotIndex": slot % chain.SlotsPerEpoch,
		"slotsInEpoch": chain.SlotsPerEpoch, "transactionCount": s.ledger.TransactionCount(c)}, nil
}

func getTransactionCount(s *Server, params []json.RawMessage) (any, error) {
	_, c, err := s.optsAt(params, 0)
	if err != nil {
		return nil, err
	}
	return s.ledger.TransactionCount(c), nil
}

func getLatestBlockhash(s *Server, params []json.RawMessage) (any, error) {
	_, c, err := s.optsAt(params, 0)
	if err != nil {
		return nil, err
	}
	b := s.ledger.Tip(c)
	if b == nil {
		// the first seconds: nothing is finalized yet, and a client must be able to start
		if b = s.ledger.Tip(0); b == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "Blockhash not available yet"}
		}
	}
	return jsonrpc.WithContext(b.Slot, map[string]any{"blockhash": b.Hash.String(), "lastValidBlockHeight": b.Height + 150}), nil
}

func isBlockhashValid(s *Server, params []json.RawMessage) (any, error) {
	text, err := jsonrpc.Arg[string](params, 0, "blockhash")
	if err != nil {
		return nil, err
	}
	_, c, err := s.optsAt(params, 1)
	if err != nil {
		return nil, err
	}
	if len(text) > 44 {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: WrongSize"}
	}
	h, err := pubkey.Parse(text)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: Invalid"}
	}
	return jsonrpc.WithContext(s.ledger.Slot(c), s.ledger.BlockhashValid(h, c)), nil
}

func getMinimumBalance(_ *Server, params []json.RawMessage) (any, error) {
	n, err := jsonrpc.Arg[uint64](params, 0, "length")
	if err != nil {
		return nil, err
	}
	if n > 10<<20 {
		return nil, jsonrpc.InvalidParams("length %d is more than an account can hold", n)
	}
	return chain.RentExempt(int(n)), nil
}
