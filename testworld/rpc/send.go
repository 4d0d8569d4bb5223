package rpc

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/ledger"
)

const (
	// packetSize is the most bytes of a serialized transaction (solana-packet, PACKET_DATA_SIZE).
	packetSize = 1232
	// The most characters of its texts (agave, MAX_BASE58_SIZE and MAX_BASE64_SIZE).
	maxBase58 = 1683
	maxBase64 = 1644
	// maxAccounts is how many accounts one byte can number.
	maxAccounts = 256
	// lamportsPerSignature is Solana's base fee.
	lamportsPerSignature = 5000
)

// decodeTransaction decodes the text of sendTransaction: base58 unless the options say base64. It
// also returns the bytes.
func decodeTransaction(text, encoding string) (*solana.Transaction, []byte, error) {
	var wire []byte
	var err error
	switch encoding {
	case "", "base58":
		// The decoder is quadratic, so the bound comes first.
		if len(text) > maxBase58 {
			return nil, nil, jsonrpc.InvalidParams("base58 encoded transaction too large: %d bytes (max: encoded/raw 1683/1232)", len(text))
		}
		wire, err = base58.Decode(text)
	case "base64":
		if len(text) > maxBase64 {
			return nil, nil, jsonrpc.InvalidParams("base64 encoded transaction too large: %d bytes (max: encoded/raw 1644/1232)", len(text))
		}
		wire, err = base64.StdEncoding.DecodeString(text)
	default:
		return nil, nil, jsonrpc.InvalidParams("unsupported encoding: %s. Supported encodings: base58, base64", encoding)
	}
	if err != nil {
		return nil, nil, jsonrpc.InvalidParams("invalid encoding: %v", err)
	}
	if len(wire) > packetSize {
		return nil, nil, jsonrpc.InvalidParams("decoded transaction too large: %d bytes (max: %d bytes)", len(wire), packetSize)
	}
	tx, err := solana.TransactionFromBytes(wire)
	if err != nil {
		return nil, nil, jsonrpc.InvalidParams("failed to deserialize transaction: %v", err)
	}
	return tx, wire, nil
}

// toChain checks a decoded transaction's structure and resolves its lookup tables at the tip.
func (s *Server) toChain(tx *solana.Transaction) (*chain.Tx, error) {
	m := &tx.Message
	h := m.Header
	n := len(m.AccountKeys)
	switch {
	case h.NumRequiredSignatures == 0, int(h.NumRequiredSignatures) != len(tx.Signatures), int(h.NumRequiredSignatures) > n,
		h.NumReadonlySignedAccounts >= h.NumRequiredSignatures, int(h.NumReadonlyUnsignedAccounts) > n-int(h.NumRequiredSignatures):
		return nil, jsonrpc.InvalidParams("invalid transaction: Transaction failed to sanitize accounts offsets correctly")
	}
	out := &chain.Tx{Signatures: tx.Signatures}
	out.Message = chain.Message{Versioned: m.IsVersioned(), Header: [3]uint8{h.NumRequiredSignatures, h.NumReadonlySignedAccounts, h.NumReadonlyUnsignedAccounts},
		Keys: keysOf(m.AccountKeys), Blockhash: chain.Hash(m.RecentBlockhash)}
	for _, l := range m.AddressTableLookups {
		list, slot := s.ledger.Accounts([]chain.Key{chain.Key(l.AccountKey)}, ledger.Processed)
		w, r, err := chain.ResolveLookup(list[0], slot, l.WritableIndexes, l.ReadonlyIndexes)
		if err != nil {
			return nil, jsonrpc.InvalidParams("invalid transaction: %v", err)
		}
		out.Message.Lookups = append(out.Message.Lookups, chain.Lookup{Table: chain.Key(l.AccountKey), Writable: l.WritableIndexes, Readonly: l.ReadonlyIndexes})
		out.Message.LoadedWritable = append(out.Message.LoadedWritable, w...)
		out.Message.LoadedReadonly = append(out.Message.LoadedReadonly, r...)
	}
	total := n + len(out.Message.LoadedWritable) + len(out.Message.LoadedReadonly)
	if total > maxAccounts {
		return nil, jsonrpc.InvalidParams("invalid transaction: too many accounts")
	}
	for _, ix := range m.Instructions {
		c := chain.CompiledInstruction{Program: uint8(ix.ProgramIDIndex), Data: ix.Data, Accounts: make([]byte, len(ix.Accounts))}
		if int(ix.ProgramIDIndex) >= n || ix.ProgramIDIndex == 0 {
			return nil, jsonrpc.InvalidParams("invalid transaction: Transaction failed to sanitize accounts offsets correctly")
		}
		for i, a := range ix.Accounts {
			if int(a) >= total {
				return nil, jsonrpc.InvalidParams("invalid transaction: Transaction failed to sanitize accounts offsets correctly")
			}
			c.Accounts[i] = byte(a)
		}
		out.Message.Instructions = append(out.Message.Instructions, c)
	}
	return out, nil
}

func keysOf(list []solana.PublicKey) []chain.Key {
	out := make([]chain.Key, len(list))
	for i, k := range list {
		out[i] = chain.Key(k)
	}
	return out
}

// sendTransaction checks a transaction as a real node's preflight does, and queues it for the next
// slot. With skipPreflight it is not simulated.
func sendTransaction(s *Server, params []json.RawMessage) (any, error) {
	text, err := jsonrpc.Arg[string](params, 0, "transaction")
	if err != nil {
		return nil, err
	}
	o, err := opts(params, 1)
	if err != nil {
		return nil, err
	}
	raw, _, err := decodeTransaction(text, o.Encoding)
	if err != nil {
		return nil, err
	}
	tx, err := s.toChain(raw)
	if err != nil {
		return nil, err
	}
	if err := raw.VerifySignatures(); err != nil {
		return nil, &jsonrpc.Error{Code: codeSignatureFailure, Message: "Transaction signature verification failure"}
	}
	if _, dup := s.ledger.Transaction(tx.Signatures[0]); dup {
		return nil, preflight("This transaction has already been processed", "AlreadyProcessed", nil)
	}
	if !s.ledger.BlockhashValid(tx.Message.Blockhash, ledger.Processed) {
		return nil, preflight("Blockhash not found", "BlockhashNotFound", nil)
	}
	if !o.SkipPreflight {
		sim := &chain.Tx{Signatures: tx.Signatures, Message: tx.Message}
		if err := s.submit.Simulate(sim); err != nil {
			return nil, preflight("Attempt to debit an account but found no record of a prior credit.", "AccountNotFound", nil)
		}
		if sim.Meta.Err != nil {
			text := sim.Meta.Err.Text()
			if sim.Meta.Err.Kind != chain.ErrRent {
				text = fmt.Sprintf("Error processing Instruction %d: %s", sim.Meta.Err.Index, text)
			}
			return nil, preflight(text, encodeErr(sim.Meta.Err), sim)
		}
	}
	if err := s.submit.Submit(tx); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
	}
	return tx.Signatures[0].String(), nil
}

func preflight(message string, detail any, sim *chain.Tx) *jsonrpc.Error {
	data := map[string]any{"accounts": nil, "err": detail, "innerInstructions": nil, "logs": []string{}, "returnData": nil, "unitsConsumed": 0}
	if sim != nil {
		data["logs"], data["unitsConsumed"] = sim.Meta.Logs, sim.Meta.ComputeUnits
	}
	return &jsonrpc.Error{Code: codePreflight, Message: "Transaction simulation failed: " + message, Data: data}
}

// simulateTransaction runs a transaction without effect. What makes it fail is part of the result,
// except that it is malformed or, with sigVerify, has a wrong signature: these are errors of the
// call.
func simulateTransaction(s *Server, params []json.RawMessage) (any, error) {
	text, err := jsonrpc.Arg[string](params, 0, "transaction")
	if err != nil {
		return nil, err
	}
	o, err := opts(params, 1)
	if err != nil {
		return nil, err
	}
	raw, _, err := decodeTransaction(text, o.Encoding)
	if err != nil {
		return nil, err
	}
	tx, err := s.toChain(raw)
	if err != nil {
		return nil, err
	}
	if o.SigVerify && raw.VerifySignatures() != nil {
		return nil, &jsonrpc.Error{Code: codeSignatureFailure, Message: "Transaction signature verification failure"}
	}
	slot := s.ledger.Slot(ledger.Processed)
	value := map[string]any{"accounts": nil, "err": nil, "logs": []string{}, "unitsConsumed": 0, "returnData": nil, "innerInstructions": nil, "replacementBlockhash": nil}
	switch err := s.submit.Simulate(tx); {
	case !o.ReplaceRecentBlockhash && !s.ledger.BlockhashValid(tx.Message.Blockhash, ledger.Processed):
		value["err"] = "BlockhashNotFound"
	case err != nil:
		value["err"] = "AccountNotFound"
	default:
		value["err"], value["logs"], value["unitsConsumed"] = encodeErr(tx.Meta.Err), tx.Meta.Logs, tx.Meta.ComputeUnits
		if r := encodeMeta(tx).ReturnData; r != nil {
			value["returnData"] = r
		}
	}
	return jsonrpc.WithContext(slot, value), nil
}

func getFeeForMessage(s *Server, params []json.RawMessage) (any, error) {
	text, err := jsonrpc.Arg[string](params, 0, "message")
	if err != nil {
		return nil, err
	}
	if len(text) > maxBase64 {
		return nil, jsonrpc.InvalidParams("message too large")
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, jsonrpc.InvalidParams("invalid base64 encoding: %v", err)
	}
	var m solana.Message
	if err := m.UnmarshalBase64(base64.StdEncoding.EncodeToString(b)); err != nil {
		return nil, jsonrpc.InvalidParams("failed to deserialize message: %v", err)
	}
	return jsonrpc.WithContext(s.ledger.Slot(ledger.Processed), lamportsPerSignature*uint64(m.Header.NumRequiredSignatures)), nil
}
