package rpc

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/testworld/chain"
)

// ask calls a method. The result is decoded into out, if that is not nil.
func ask(t *testing.T, s *Server, out any, method string, params ...any) *struct {
	Code    int
	Message string
	Data    map[string]any
} {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(t, err)
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
			Data    map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(s.Handle(body), &answer))
	if answer.Error == nil && out != nil {
		require.NoError(t, json.Unmarshal(answer.Result, out))
	}
	return answer.Error
}

// with are options of getBlock and getTransaction; no maxSupportedTransactionVersion for -1.
func with(encoding string, most int, more ...any) object {
	o := object{"commitment": "confirmed", "encoding": encoding}
	if most >= 0 {
		o["maxSupportedTransactionVersion"] = most
	}
	for i := 0; i < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
	}
	return o
}

// object is a JSON object, of which the tests name every member.
type object = map[string]any

// listed is the part of a block that has its transactions.
type listed struct {
	Transactions []object
}

func members(o any) (names []string) {
	for name := range o.(object) {
		names = append(names, name)
	}
	return names
}

// TestForms: each encoding of getBlock has the members that a node gives, and tells the same.
func TestForms(t *testing.T) {
	s, b := testServer(t)
	s.ledger.Settle()
	var wire, plain, parsed, accounts listed
	require.Nil(t, ask(t, s, &wire, "getBlock", b.Slot, with("base64", 1)))
	require.Nil(t, ask(t, s, &plain, "getBlock", b.Slot, with("json", 1)))
	require.Nil(t, ask(t, s, &parsed, "getBlock", b.Slot, with("jsonParsed", 1)))
	require.Nil(t, ask(t, s, &accounts, "getBlock", b.Slot, with("base64", 1, "transactionDetails", "accounts")))
	meta := []string{"err", "status", "fee", "preBalances", "postBalances", "innerInstructions", "logMessages", "preTokenBalances", "postTokenBalances", "rewards", "computeUnitsConsumed", "costUnits"}
	versions := map[txwire.Version]int{}
	for i, tx := range b.Txs {
		v := tx.Message.Version
		versions[v]++
		var version any = float64(v)
		if v == txwire.Legacy {
			version = "legacy"
		}
		for _, form := range []listed{wire, plain, parsed, accounts} {
			require.ElementsMatch(t, []string{"transaction", "meta", "version"}, members(form.Transactions[i]))
			require.Equal(t, version, form.Transactions[i]["version"])
		}
		raw, err := base64.StdEncoding.DecodeString(wire.Transactions[i]["transaction"].([]any)[0].(string))
		require.NoError(t, err)
		require.Equal(t, tx.Wire(), raw)

		message := plain.Transactions[i]["transaction"].(object)["message"].(object)
		want, wantParsed := []string{"header", "accountKeys", "recentBlockhash", "instructions"}, []string{"accountKeys", "recentBlockhash", "instructions"}
		switch v {
		case txwire.Legacy:
		case txwire.V0:
			want, wantParsed = append(want, "addressTableLookups"), append(wantParsed, "addressTableLookups")
		case txwire.V1:
			want, wantParsed = append(want, "transactionConfig"), append(wantParsed, "transactionConfig")
			require.ElementsMatch(t, []string{"priorityFee", "computeUnitLimit", "loadedAccountsDataSizeLimit", "heapSize"}, members(message["transactionConfig"]))
			require.Equal(t, message["transactionConfig"], parsed.Transactions[i]["transaction"].(object)["message"].(object)["transactionConfig"])
		}
		require.ElementsMatch(t, want, members(message))
		require.ElementsMatch(t, append([]string{"loadedAddresses"}, meta...), members(without(plain.Transactions[i]["meta"], "returnData")))

		message = parsed.Transactions[i]["transaction"].(object)["message"].(object)
		require.ElementsMatch(t, wantParsed, members(message))
		require.ElementsMatch(t, meta, members(without(parsed.Transactions[i]["meta"], "returnData")))
		require.Equal(t, message["accountKeys"], accounts.Transactions[i]["transaction"].(object)["accountKeys"])
		require.Len(t, message["accountKeys"], len(tx.Message.AccountKeys()))
		requireInstructions(t, tx, message["instructions"].([]any))
		require.ElementsMatch(t, []string{"signatures", "accountKeys"}, members(accounts.Transactions[i]["transaction"]))
		require.ElementsMatch(t, []string{"err", "status", "fee", "preBalances", "postBalances", "preTokenBalances", "postTokenBalances", "rewards"}, members(accounts.Transactions[i]["meta"]))
	}
	for _, v := range []txwire.Version{txwire.Legacy, txwire.V0, txwire.V1} {
		require.Positive(t, versions[v], "version %s", v)
	}
}

func without(o any, name string) object {
	out := o.(object)
	delete(out, name)
	return out
}

// requireInstructions: an instruction is parsed, or has its accounts and data.
func requireInstructions(t *testing.T, tx *chain.Tx, list []any) {
	t.Helper()
	keys := tx.Message.AccountKeys()
	require.Len(t, list, len(tx.Message.Instructions))
	for i, one := range list {
		ix := one.(object)
		require.Equal(t, keys[tx.Message.Instructions[i].Program].String(), ix["programId"])
		require.EqualValues(t, 1, ix["stackHeight"])
		switch keys[tx.Message.Instructions[i].Program] {
		case chain.SystemProgram, chain.AssociatedProgram, chain.MemoProgram:
			require.ElementsMatch(t, []string{"parsed", "program", "programId", "stackHeight"}, members(ix))
		}
		if _, ok := ix["parsed"]; !ok {
			require.ElementsMatch(t, []string{"accounts", "data", "programId", "stackHeight"}, members(ix))
			require.Len(t, ix["accounts"], len(tx.Message.Instructions[i].Accounts))
			require.Equal(t, base58.Encode(tx.Message.Instructions[i].Data), ix["data"])
		}
	}
}

// TestVersionsThatTheClientReads: a block with a higher version is refused as a whole, unless no
// transactions are wanted. A client that does not say gets no version.
func TestVersionsThatTheClientReads(t *testing.T) {
	s, b := testServer(t)
	s.ledger.Settle()
	e := ask(t, s, nil, "getBlock", b.Slot, with("base64", 0))
	require.Equal(t, -32015, e.Code)
	require.Equal(t, `Transaction version (1) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 1`, e.Message)
	require.Equal(t, -32015, ask(t, s, nil, "getBlock", b.Slot, with("base64", -1)).Code)
	require.Nil(t, ask(t, s, nil, "getBlock", b.Slot, with("base64", 255)))
	for _, details := range []string{"signatures", "none"} {
		require.Nil(t, ask(t, s, nil, "getBlock", b.Slot, with("json", -1, "transactionDetails", details)))
	}
	for _, encoding := range []string{"base58", "binary"} {
		e := ask(t, s, nil, "getBlock", b.Slot, with(encoding, 1))
		require.Equal(t, -32602, e.Code)
		require.Equal(t, "base58 encoding is not supported with maxSupportedTransactionVersion >= 1", e.Message)
		require.Equal(t, -32602, ask(t, s, nil, "getTransaction", b.Txs[0].Signatures[0].String(), with(encoding, 1)).Code)
	}
	seen := map[txwire.Version]bool{}
	for i, tx := range b.Txs {
		v := tx.Message.Version
		signature := tx.Signatures[0].String()
		for most := -1; most <= 1; most++ {
			var got object
			e := ask(t, s, &got, "getTransaction", signature, with("base64", most))
			if most < int(v) {
				require.Equal(t, -32015, e.Code)
				continue
			}
			require.Nil(t, e)
			names := []string{"slot", "blockTime", "transactionIndex", "transaction", "meta"}
			if most >= 0 {
				names = append(names, "version")
			}
			require.ElementsMatch(t, names, members(got))
			require.EqualValues(t, i, got["transactionIndex"])
		}
		seen[v] = true
	}
	require.Len(t, seen, 3)
}

// TestFutureVersion: with Deps.Future, the block is refused until the client asks for the version
// above all known ones.
func TestFutureVersion(t *testing.T) {
	s, b := testServer(t)
	s.ledger.Settle()
	s.future = func(slot uint64) bool { return slot == b.Slot }
	e := ask(t, s, nil, "getBlock", b.Slot, with("base64", 1))
	require.Equal(t, -32015, e.Code)
	require.Contains(t, e.Message, "Transaction version (2) is not supported")
	require.Contains(t, e.Message, `"maxSupportedTransactionVersion": 2`)
	require.Nil(t, ask(t, s, nil, "getBlock", b.Slot, with("base64", 2)))
	require.Nil(t, ask(t, s, nil, "getBlock", b.Slot, with("base64", 1, "transactionDetails", "none")))
	require.Nil(t, ask(t, s, nil, "getBlock", b.Slot-1, with("base64", 1)))
}

// TestLimitsOfTexts: what is too long is refused before it is decoded. Only a base64 text that
// begins as version 1 does may have 4,096 bytes.
func TestLimitsOfTexts(t *testing.T) {
	s, _ := testServer(t)
	text := func(first byte, n int) string {
		return base64.StdEncoding.EncodeToString(append([]byte{first}, make([]byte, n-1)...))
	}
	for _, c := range []struct {
		text, encoding, want string
	}{
		{text(0x81, 4097), "base64", "decoded solana_transaction::versioned::VersionedTransaction too large: 4097 bytes (max: 4096 bytes)"},
		{text(0x81, 4096) + "AAAA", "base64", "base64 encoded solana_transaction::versioned::VersionedTransaction too large: 5468 bytes (max: encoded/raw 5464/4096)"},
		{text(0x81, 4096), "base64", "failed to deserialize solana_transaction::versioned::VersionedTransaction: "},
		{text(1, 1234), "base64", "base64 encoded solana_transaction::versioned::VersionedTransaction too large: 1648 bytes (max: encoded/raw 1644/1232)"},
		{text(1, 1233), "base64", "decoded solana_transaction::versioned::VersionedTransaction too large: 1233 bytes (max: 1232 bytes)"},
		{text(1, 1232), "base64", "failed to deserialize"},
		{base58.Encode(append([]byte{0x81}, make([]byte, 1232)...)), "base58", "base58 encoded solana_transaction::versioned::VersionedTransaction too large"},
		{base58.Encode(append([]byte{0x81}, make([]byte, 600)...)), "base58", "failed to deserialize"},
		{"AAAA", "hex", "unsupported encoding: hex. Supported encodings: base58, base64"},
		{"!", "base64", "invalid base64 encoding"},
	} {
		for _, method := range []string{"sendTransaction", "simulateTransaction"} {
			e := ask(t, s, nil, method, c.text, object{"encoding": c.encoding})
			require.NotNil(t, e)
			require.Equal(t, -32602, e.Code)
			require.Contains(t, e.Message, c.want)
		}
	}
}

// TestFeeForMessage: of every version, the fee is what the transaction paid.
func TestFeeForMessage(t *testing.T) {
	s, b := testServer(t)
	seen := map[txwire.Version]bool{}
	for _, tx := range b.Txs {
		var got struct{ Value *uint64 }
		require.Nil(t, ask(t, s, &got, "getFeeForMessage", base64.StdEncoding.EncodeToString(tx.MessageBytes()), object{"commitment": "processed"}))
		require.NotNil(t, got.Value)
		require.Equal(t, tx.Meta.Fee, *got.Value)
		seen[tx.Message.Version] = true
	}
	require.Len(t, seen, 3)
	m := b.Txs[0].Message
	m.Blockhash = chain.Hash{1}
	var got struct{ Value *uint64 }
	require.Nil(t, ask(t, s, &got, "getFeeForMessage", base64.StdEncoding.EncodeToString(m.Serialize()), object{"commitment": "processed"}))
	require.Nil(t, got.Value, "an unknown blockhash")
	require.Equal(t, -32602, ask(t, s, nil, "getFeeForMessage", "gQ==").Code)
}

// TestCluster: what the node says of its cluster fits the chain.
func TestCluster(t *testing.T) {
	s, b := testServer(t)
	s.ledger.Settle()
	var schedule, info, votes, cert object
	require.Nil(t, ask(t, s, &schedule, "getEpochSchedule"))
	require.Nil(t, ask(t, s, &info, "getEpochInfo"))
	require.EqualValues(t, 432_000, schedule["slotsPerEpoch"])
	require.Equal(t, schedule["slotsPerEpoch"], info["slotsInEpoch"])
	require.EqualValues(t, b.Slot%432_000, info["slotIndex"])
	require.Nil(t, ask(t, s, &votes, "getVoteAccounts"))
	require.Len(t, votes["current"], 21)
	require.Empty(t, votes["delinquent"])
	leaders := map[string]bool{}
	for _, v := range votes["current"].([]any) {
		leaders[v.(object)["nodePubkey"].(string)] = true
	}
	require.True(t, leaders[b.Leader.String()])
	require.Nil(t, ask(t, s, &cert, "getAgGenesisCert"))
	require.EqualValues(t, 999, cert["block"].(object)["slot"])
	require.Len(t, cert["block"].(object)["blockId"], 32)
	require.Len(t, cert["signature"].(object)["signature"], 192)
	s.chain.Votes = true
	cert = nil
	require.Nil(t, ask(t, s, &cert, "getAgGenesisCert"))
	require.Nil(t, cert)
	var rent uint64
	require.Nil(t, ask(t, s, &rent, "getMinimumBalanceForRentExemption", 165))
	require.EqualValues(t, 1_488_440, rent)
	var account struct{ Value struct{ Data []string } }
	require.Nil(t, ask(t, s, &account, "getAccountInfo", chain.RentSysvar.String(), object{"encoding": "base64"}))
	data, err := base64.StdEncoding.DecodeString(account.Value.Data[0])
	require.NoError(t, err)
	require.Equal(t, []byte{0xd8, 0x13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 50}, data, "5,080 lamports, threshold 1.0")
}
