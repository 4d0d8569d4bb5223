package rpc

import (
	"encoding/json"

	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// The real node's bounds: signatures of getSignaturesForAddress, which is also the default, and of
// getSignatureStatuses.
const (
	maxSignatures = 1000
	maxStatuses   = 256
)

func levelName(c ledger.Commitment) string {
	return [...]string{"processed", "confirmed", "finalized"}[c]
}

// getSignaturesForAddress lists the address's transactions, the newest first: those older than
// "before", up to "until", which is not listed.
func getSignaturesForAddress(s *Server, params []json.RawMessage) (any, error) {
	k, err := jsonrpc.KeyArg(params, 0)
	if err != nil {
		return nil, err
	}
	o, err := opts(params, 1)
	if err != nil {
		return nil, err
	}
	c, err := confirmedAtLeast(&o)
	if err != nil {
		return nil, err
	}
	limit := maxSignatures
	if o.Limit != nil {
		limit = *o.Limit
	}
	if limit < 1 || limit > maxSignatures {
		return nil, jsonrpc.InvalidParams("Invalid limit; max 1000")
	}
	type row struct {
		BlockTime int64   `json:"blockTime"`
		Status    string  `json:"confirmationStatus"`
		Err       any     `json:"err"`
		Memo      *string `json:"memo"`
		Signature string  `json:"signature"`
		Slot      uint64  `json:"slot"`
	}
	out := []row{}
	started := o.Before == ""
	s.ledger.History(k, c, func(f ledger.Found) bool {
		sig := f.Tx().Signatures[0].String()
		if sig == o.Until {
			return false
		}
		if !started {
			started = sig == o.Before
			return true
		}
		out = append(out, row{f.Block.Time, levelName(f.Level), encodeErr(f.Tx().Meta.Err), nil, sig, f.Block.Slot})
		return len(out) < limit
	})
	return out, nil
}

func getSignatureStatuses(s *Server, params []json.RawMessage) (any, error) {
	texts, err := jsonrpc.Arg[[]string](params, 0, "signatures")
	if err != nil {
		return nil, err
	}
	if len(texts) > maxStatuses {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Too many inputs provided; max 256"}
	}
	out := make([]any, len(texts))
	tip := s.ledger.Slot(ledger.Processed)
	for i, t := range texts {
		sig, err := parseSignature(t)
		if err != nil {
			return nil, err
		}
		f, ok := s.ledger.Transaction(sig)
		if !ok {
			continue
		}
		st := map[string]any{"slot": f.Block.Slot, "err": encodeErr(f.Tx().Meta.Err), "confirmationStatus": levelName(f.Level),
			"status": encodeMeta(f.Tx()).Status}
		if f.Level < ledger.Finalized {
			st["confirmations"] = tip - f.Block.Slot
		} else {
			st["confirmations"] = nil
		}
		out[i] = st
	}
	return jsonrpc.WithContext(tip, out), nil
}
