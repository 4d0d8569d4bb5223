package rpc

import (
	"encoding/json"
	"fmt"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// signatureFailure is TransactionError's name of a wrong signature.
const signatureFailure = "SignatureFailure"

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
	raw, err := decodeTransaction(text, o.Encoding)
	if err != nil {
		return nil, err
	}
	tx, err := s.toChain(raw)
	if err != nil {
		return nil, err
	}
	if !verified(tx) {
		if o.SkipPreflight {
			return tx.Signatures[0].String(), nil // it is sent on, and dropped
		}
		return nil, preflight("Transaction did not pass signature verification", signatureFailure, nil)
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
			if sim.Meta.Err.OfInstruction() {
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
		data["logs"], data["unitsConsumed"] = logs(sim), sim.Meta.ComputeUnits
	}
	return &jsonrpc.Error{Code: codePreflight, Message: "Transaction simulation failed: " + message, Data: data}
}

// simulateTransaction runs a transaction without effect. What makes it fail is part of the result,
// except that it is malformed: that is an error of the call.
func simulateTransaction(s *Server, params []json.RawMessage) (any, error) {
	text, err := jsonrpc.Arg[string](params, 0, "transaction")
	if err != nil {
		return nil, err
	}
	o, err := opts(params, 1)
	if err != nil {
		return nil, err
	}
	raw, err := decodeTransaction(text, o.Encoding)
	if err != nil {
		return nil, err
	}
	tx, err := s.toChain(raw)
	if err != nil {
		return nil, err
	}
	slot := s.ledger.Slot(ledger.Processed)
	value := map[string]any{"accounts": nil, "err": nil, "logs": []string{}, "unitsConsumed": 0, "returnData": nil, "innerInstructions": nil, "replacementBlockhash": nil,
		"fee": nil, "preBalances": nil, "postBalances": nil, "preTokenBalances": nil, "postTokenBalances": nil, "loadedAddresses": nil, "loadedAccountsDataSize": 0}
	switch err := s.submit.Simulate(tx); {
	case o.SigVerify && !verified(tx):
		value["err"] = signatureFailure
	case !o.ReplaceRecentBlockhash && !s.ledger.BlockhashValid(tx.Message.Blockhash, ledger.Processed):
		value["err"] = "BlockhashNotFound"
	case err != nil:
		value["err"] = "AccountNotFound"
	default:
		meta := encodeMeta(tx)
		value["err"], value["logs"], value["unitsConsumed"] = meta.Err, logs(tx), meta.ComputeUnits
		value["fee"], value["preBalances"], value["postBalances"] = meta.Fee, meta.PreBalances, meta.PostBalances
		value["preTokenBalances"], value["postTokenBalances"] = meta.PreTokens, meta.PostTokens
		value["loadedAddresses"], value["loadedAccountsDataSize"] = meta.Loaded, tx.Meta.Loaded
		if meta.ReturnData != nil {
			value["returnData"] = meta.ReturnData
		}
	}
	return jsonrpc.WithContext(slot, value), nil
}

// logs are the log lines of a simulated transaction; a list even where no program ran.
func logs(tx *chain.Tx) []string {
	if tx.Meta.Logs == nil {
		return []string{}
	}
	return tx.Meta.Logs
}

// getFeeForMessage returns what a message would cost in lamports; null if its blockhash is not
// valid.
func getFeeForMessage(s *Server, params []json.RawMessage) (any, error) {
	text, err := jsonrpc.Arg[string](params, 0, "message")
	if err != nil {
		return nil, err
	}
	_, c, err := s.optsAt(params, 1)
	if err != nil {
		return nil, err
	}
	raw, err := decodeMessage(text)
	if err != nil {
		return nil, err
	}
	m := chain.MessageOf(raw)
	if !s.ledger.BlockhashValid(m.Blockhash, c) {
		return jsonrpc.WithContext(s.ledger.Slot(c), nil), nil
	}
	return jsonrpc.WithContext(s.ledger.Slot(c), m.Fee()), nil
}
