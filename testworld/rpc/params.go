package rpc

import (
	"encoding/json"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// options is the union of the configuration objects that the methods take.
type options struct {
	Commitment                     string     `json:"commitment"`
	Encoding                       string     `json:"encoding"`
	DataSlice                      *dataSlice `json:"dataSlice"`
	MinContextSlot                 *uint64    `json:"minContextSlot"`
	TransactionDetails             string     `json:"transactionDetails"`
	Rewards                        *bool      `json:"rewards"`
	MaxSupportedTransactionVersion *uint8     `json:"maxSupportedTransactionVersion"`
	Filters                        []filter   `json:"filters"`
	WithContext                    bool       `json:"withContext"`
	Limit                          *int       `json:"limit"`
	Before                         string     `json:"before"`
	Until                          string     `json:"until"`
	SearchTransactionHistory       bool       `json:"searchTransactionHistory"`
	SkipPreflight                  bool       `json:"skipPreflight"`
	PreflightCommitment            string     `json:"preflightCommitment"`
	SigVerify                      bool       `json:"sigVerify"`
	ReplaceRecentBlockhash         bool       `json:"replaceRecentBlockhash"`
}

type dataSlice struct {
	Offset uint64 `json:"offset"`
	Length uint64 `json:"length"`
}

type filter struct {
	DataSize *uint64 `json:"dataSize"`
	Memcmp   *struct {
		Offset   uint64 `json:"offset"`
		Bytes    string `json:"bytes"`
		Encoding string `json:"encoding"`
	} `json:"memcmp"`
	TokenAccountState json.RawMessage `json:"tokenAccountState"`
}

// opts decodes params[i], an object or absent or null.
func opts(params []json.RawMessage, i int) (o options, err error) {
	if i >= len(params) || string(params[i]) == "null" {
		return o, nil
	}
	if err := json.Unmarshal(params[i], &o); err != nil {
		return o, invalidParams("%v", err)
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
	return 0, invalidParams("unknown variant `%s`, expected one of `processed`, `confirmed`, `finalized`", o.Commitment)
}

// at returns the commitment that a method reads at. It refuses if that commitment has not reached
// minContextSlot.
func (s *Server) at(o *options) (ledger.Commitment, error) {
	c, err := o.level()
	if err != nil {
		return 0, err
	}
	if have := s.ledger.Slot(c); o.MinContextSlot != nil && have < *o.MinContextSlot {
		return 0, &Error{Code: codeMinContextSlot, Message: "Minimum context slot has not been reached", Data: map[string]uint64{"contextSlot": have}}
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

// arg reads the parameter at index i. The name is for the error message.
func arg[T any](params []json.RawMessage, i int, name string) (v T, err error) {
	if i >= len(params) {
		return v, invalidParams("missing parameter %d (%s)", i+1, name)
	}
	if err := json.Unmarshal(params[i], &v); err != nil {
		return v, invalidParams("%s: %v", name, err)
	}
	return v, nil
}

func keyArg(params []json.RawMessage, i int) (chain.Key, error) {
	text, err := arg[string](params, i, "pubkey")
	if err != nil {
		return chain.Key{}, err
	}
	return parseKey(text)
}

func parseKey(text string) (chain.Key, error) {
	if len(text) > 44 {
		return chain.Key{}, &Error{Code: codeInvalidParams, Message: "Invalid param: WrongSize"}
	}
	k, err := pubkey.Parse(text)
	if err != nil {
		return chain.Key{}, &Error{Code: codeInvalidParams, Message: "Invalid param: Invalid"}
	}
	return k, nil
}

func parseSignature(text string) (chain.Signature, error) {
	if len(text) > 88 {
		return chain.Signature{}, &Error{Code: codeInvalidParams, Message: "Invalid param: WrongSize"}
	}
	sig, err := solana.SignatureFromBase58(text)
	if err != nil {
		return chain.Signature{}, &Error{Code: codeInvalidParams, Message: "Invalid param: Invalid"}
	}
	return sig, nil
}

type contextual struct {
	Context rpcContext `json:"context"`
	Value   any        `json:"value"`
}

type rpcContext struct {
	APIVersion string `json:"apiVersion"`
	Slot       uint64 `json:"slot"`
}

// solanaVersion is the version that the node claims to be.
const solanaVersion = "3.0.0"

func withContext(slot uint64, v any) contextual {
	return contextual{Context: rpcContext{APIVersion: solanaVersion, Slot: slot}, Value: v}
}
