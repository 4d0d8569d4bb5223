package rpc

import (
	"encoding/json"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// options is the union of the configuration objects that the methods take.
type options struct {
	jsonrpc.AccountOptions
	Commitment                     string  `json:"commitment"`
	MinContextSlot                 *uint64 `json:"minContextSlot"`
	TransactionDetails             string  `json:"transactionDetails"`
	Rewards                        *bool   `json:"rewards"`
	MaxSupportedTransactionVersion *uint8  `json:"maxSupportedTransactionVersion"`
	Limit                          *int    `json:"limit"`
	PaginationKey                  *string `json:"paginationKey"`
	Before                         string  `json:"before"`
	Until                          string  `json:"until"`
	SearchTransactionHistory       bool    `json:"searchTransactionHistory"`
	SkipPreflight                  bool    `json:"skipPreflight"`
	PreflightCommitment            string  `json:"preflightCommitment"`
	SigVerify                      bool    `json:"sigVerify"`
	ReplaceRecentBlockhash         bool    `json:"replaceRecentBlockhash"`
}

// opts decodes params[i], an object or absent or null.
func opts(params []json.RawMessage, i int) (o options, err error) {
	if i >= len(params) || string(params[i]) == "null" {
		return o, nil
	}
	if err := json.Unmarshal(params[i], &o); err != nil {
		return o, jsonrpc.InvalidParams("%v", err)
	}
	return o, nil
}

// level reads the commitment, with the older names that real nodes took; finalized if none is
// named.
func (o *options) level() (ledger.Commitment, error) {
	switch o.Commitment {
	case "", "finalized", "max", "root":
		return ledger.Finalized, nil
	case "confirmed", "single", "singleGossip":
		return ledger.Confirmed, nil
	case "processed", "recent":
		return ledger.Processed, nil
	}
	return 0, jsonrpc.InvalidParams("unknown variant `%s`, expected one of `processed`, `confirmed`, `finalized`", o.Commitment)
}

// at returns the commitment that a method reads at. It refuses if that commitment has not reached
// minContextSlot.
func (s *Server) at(o *options) (ledger.Commitment, error) {
	c, err := o.level()
	if err != nil {
		return 0, err
	}
	if have := s.ledger.Slot(c); o.MinContextSlot != nil && have < *o.MinContextSlot {
		return 0, &jsonrpc.Error{Code: codeMinContextSlot, Message: "Minimum context slot has not been reached", Data: map[string]uint64{"contextSlot": have}}
	}
	return c, nil
}

// optsAt reads the options at index i and the commitment that they ask for.
func (s *Server) optsAt(params []json.RawMessage, i int) (o options, c ledger.Commitment, err error) {
	if o, err = opts(params, i); err != nil {
		return o, 0, err
	}
	c, err = s.at(&o)
	return o, c, err
}

func parseSignature(text string) (chain.Signature, error) {
	if len(text) > 88 {
		return chain.Signature{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: WrongSize"}
	}
	sig, err := solana.SignatureFromBase58(text)
	if err != nil {
		return chain.Signature{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid param: Invalid"}
	}
	return sig, nil
}
