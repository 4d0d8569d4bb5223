package jsonrpc

import (
	"encoding/base64"
	"encoding/json"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/solana/txwire"
)

// maxBase64 and maxBase58 bound a transaction's text in characters, as nodes do (solana-rpc 4.5,
// rpc.rs, decode_and_deserialize). They stand for 4,096 bytes in base64, the bound of version 1,
// and 1,232 bytes in base58, whatever the version. The time to decode base58 grows with the square
// of the length.
const (
	maxBase64 = 5464
	maxBase58 = 1683
)

// signedTransaction is the transaction of a sendTransaction.
type signedTransaction struct {
	// text is the transaction, encoded as encoding says: base64 or base58.
	text, encoding string
	// signature is the first signature, in base58.
	signature string
}

// readTransaction reads the transaction in sendTransaction's params; nil if no node would take it.
//
// This decides only what the gateway does itself: send it again, and name its signature. The call
// goes upstream whatever readTransaction returns: nodes may raise their limits (SIMD-0596 allows 96
// addresses) before txwire.CheckLimits does.
func readTransaction(params json.RawMessage) *signedTransaction {
	var list []json.RawMessage
	t := &signedTransaction{}
	if json.Unmarshal(params, &list) != nil || len(list) == 0 || json.Unmarshal(list[0], &t.text) != nil {
		return nil
	}
	var options struct {
		Encoding string `json:"encoding"`
	}
	if len(list) > 1 && json.Unmarshal(list[1], &options) != nil {
		return nil
	}
	var raw []byte
	var err error
	switch t.encoding = options.Encoding; {
	case t.encoding == "base64" && len(t.text) <= maxBase64:
		raw, err = base64.StdEncoding.DecodeString(t.text)
	case (t.encoding == "base58" || t.encoding == "") && len(t.text) <= maxBase58:
		t.encoding = "base58" // sendTransaction's default
		if raw, err = base58.Decode(t.text); len(raw) > txwire.V0.MaxBytes() {
			return nil
		}
	default:
		return nil
	}
	var parsed txwire.Transaction
	if err != nil || parsed.Parse(raw) != nil || parsed.CheckLimits(len(raw)) != nil {
		return nil
	}
	// Parse refuses a transaction without a signature.
	t.signature = base58.Encode(parsed.Signatures[0])
	return t
}

// signatureOf returns the first signature of the transaction in sendTransaction's params, in
// base58; empty if it cannot be read.
func signatureOf(params json.RawMessage) string {
	if t := readTransaction(params); t != nil {
		return t.signature
	}
	return ""
}

// again returns the params with which the transaction is sent again: without preflight, because it
// was sent before, and without retries by the node.
func (t *signedTransaction) again() (json.RawMessage, error) {
	return json.Marshal([]any{t.text, map[string]any{"encoding": t.encoding, "skipPreflight": true, "maxRetries": 0}})
}
