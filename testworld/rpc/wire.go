package rpc

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// The most characters of a transaction's texts (agave, MAX_BASE58_SIZE and MAX_BASE64_SIZE, and the
// latter of 4,096 bytes).
const (
	maxBase58   = 1683
	maxBase64   = 1644
	maxBase64V1 = 5464
)

// What messages of errors call what they could not read: Rust's names of the types.
const (
	nameTransaction = "solana_transaction::versioned::VersionedTransaction"
	nameMessage     = "solana_message::versions::VersionedMessage"
)

// maxAccounts is how many accounts one byte can number.
const maxAccounts = 256

// invalid is an error of parameters in the real node's words, which jsonrpc.InvalidParams would put
// a text before.
func invalid(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// decodeWire decodes the text of a transaction or a message: base58 unless the encoding says
// base64. Only a base64 text whose first byte is that of version 1 or above may be as long as these
// are.
func decodeWire(text, encoding, name string) (wire []byte, err error) {
	most, size := maxBase64, txwire.V0.MaxBytes()
	switch encoding {
	case "", "base58":
		// The decoder is quadratic, so the bound comes first.
		if len(text) > maxBase58 {
			return nil, invalid("base58 encoded %s too large: %d bytes (max: encoded/raw %d/%d)", name, len(text), maxBase58, size)
		}
		wire, err = base58.Decode(text)
	case "base64":
		if head, err := base64.StdEncoding.DecodeString(text[:min(len(text), 4)]); err == nil && len(head) > 0 && head[0] >= 0x81 {
			most, size = maxBase64V1, txwire.V1.MaxBytes()
		}
		if len(text) > most {
			return nil, invalid("base64 encoded %s too large: %d bytes (max: encoded/raw %d/%d)", name, len(text), most, size)
		}
		wire, err = base64.StdEncoding.DecodeString(text)
	default:
		return nil, invalid("unsupported encoding: %s. Supported encodings: base58, base64", encoding)
	}
	switch {
	case err != nil:
		return nil, invalid("invalid %s encoding: %v", cmp.Or(encoding, "base58"), err)
	case len(wire) > size:
		return nil, invalid("decoded %s too large: %d bytes (max: %d bytes)", name, len(wire), size)
	}
	return wire, nil
}

// decodeTransaction decodes the text of sendTransaction and simulateTransaction.
func decodeTransaction(text, encoding string) (*txwire.Transaction, error) {
	wire, err := decodeWire(text, encoding, nameTransaction)
	if err != nil {
		return nil, err
	}
	tx := new(txwire.Transaction)
	if err := tx.Parse(wire); err != nil {
		return nil, invalid("failed to deserialize %s: %v", nameTransaction, err)
	}
	if err := tx.CheckLimits(len(wire)); err != nil {
		return nil, invalid("invalid transaction: Transaction failed to sanitize accounts offsets correctly")
	}
	return tx, nil
}

// decodeMessage decodes the text of getFeeForMessage: a transaction without its signatures.
func decodeMessage(text string) (*txwire.Transaction, error) {
	wire, err := decodeWire(text, "base64", nameMessage)
	if err != nil {
		return nil, err
	}
	tx := new(txwire.Transaction)
	if err := tx.Parse(unsigned(wire)); err != nil {
		return nil, invalid("failed to deserialize %s: %v", nameMessage, err)
	}
	return tx, nil
}

// unsigned puts empty signatures where the transaction of a message has them.
func unsigned(message []byte) []byte {
	if len(message) < 2 {
		return nil
	}
	switch first := message[0]; {
	case first >= 0x81:
		return append(bytes.Clone(message), make([]byte, txwire.SignatureSize*int(message[1]))...)
	case first == 0x80:
		return append(append([]byte{message[1]}, make([]byte, txwire.SignatureSize*int(message[1]))...), message...)
	default:
		return append(append([]byte{first}, make([]byte, txwire.SignatureSize*int(first))...), message...)
	}
}

// toChain resolves a transaction's lookup tables at the tip.
func (s *Server) toChain(tx *txwire.Transaction) (*chain.Tx, error) {
	out := &chain.Tx{Message: chain.MessageOf(tx)}
	for _, signature := range tx.Signatures {
		out.Signatures = append(out.Signatures, chain.Signature(signature))
	}
	m := &out.Message
	for i := range m.Lookups {
		l := &m.Lookups[i]
		list, slot := s.ledger.Accounts([]chain.Key{l.Table}, ledger.Processed)
		w, r, err := chain.ResolveLookup(list[0], slot, l.Writable, l.Readonly)
		if err != nil {
			return nil, invalid("invalid transaction: %v", err)
		}
		m.LoadedWritable, m.LoadedReadonly = append(m.LoadedWritable, w...), append(m.LoadedReadonly, r...)
	}
	if len(m.AccountKeys()) > maxAccounts {
		return nil, invalid("invalid transaction: too many accounts")
	}
	return out, nil
}

// verified returns whether the signatures are those of the transaction's signers.
func verified(tx *chain.Tx) bool {
	for i := range tx.Signatures {
		if !ed25519.Verify(tx.Message.Keys[i][:], tx.MessageBytes(), tx.Signatures[i][:]) {
			return false
		}
	}
	return true
}
