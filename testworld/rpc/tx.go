package rpc

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

// detailsAccounts is the value of transactionDetails that asks for accounts and balances only.
const detailsAccounts = "accounts"

type txJSON struct {
	Meta *metaJSON
	// Short is set in place of Meta for detailsAccounts.
	Short       *shortMeta
	Transaction any
	// Version is not set if the client did not say which it supports.
	Version any
	// Place is set by getTransaction.
	Place *placeJSON
}

// placeJSON is where a transaction is.
type placeJSON struct {
	Slot      uint64 `json:"slot"`
	BlockTime int64  `json:"blockTime"`
	Index     int    `json:"transactionIndex"`
}

// MarshalJSON writes the transaction as nodes do.
func (t *txJSON) MarshalJSON() ([]byte, error) {
	out := struct {
		*placeJSON
		Meta        any `json:"meta"`
		Transaction any `json:"transaction"`
		Version     any `json:"version,omitempty"`
	}{t.Place, t.Meta, t.Transaction, t.Version}
	if t.Short != nil {
		out.Meta = t.Short
	}
	return json.Marshal(out)
}

// shortMeta is the meta with detailsAccounts.
type shortMeta struct {
	Err          any           `json:"err"`
	Fee          uint64        `json:"fee"`
	PostBalances []uint64      `json:"postBalances"`
	PostTokens   []balanceJSON `json:"postTokenBalances"`
	PreBalances  []uint64      `json:"preBalances"`
	PreTokens    []balanceJSON `json:"preTokenBalances"`
	Rewards      []rewardJSON  `json:"rewards,omitzero"`
	Status       any           `json:"status"`
}

type metaJSON struct {
	ComputeUnits uint64        `json:"computeUnitsConsumed"`
	CostUnits    uint64        `json:"costUnits"`
	Err          any           `json:"err"`
	Fee          uint64        `json:"fee"`
	Inner        []innerJSON   `json:"innerInstructions"`
	Loaded       *loadedJSON   `json:"loadedAddresses,omitempty"`
	Logs         []string      `json:"logMessages"`
	PostBalances []uint64      `json:"postBalances"`
	PostTokens   []balanceJSON `json:"postTokenBalances"`
	PreBalances  []uint64      `json:"preBalances"`
	PreTokens    []balanceJSON `json:"preTokenBalances"`
	ReturnData   *returnJSON   `json:"returnData,omitempty"`
	Rewards      []rewardJSON  `json:"rewards"`
	Status       any           `json:"status"`
}

type innerJSON struct {
	Index        uint8 `json:"index"`
	Instructions []any `json:"instructions"`
}

type ixJSON struct {
	Accounts    []int  `json:"accounts"`
	Data        string `json:"data"`
	Program     uint8  `json:"programIdIndex"`
	StackHeight *int   `json:"stackHeight"`
}

type loadedJSON struct {
	Readonly []string `json:"readonly"`
	Writable []string `json:"writable"`
}

type balanceJSON struct {
	Index   uint8      `json:"accountIndex"`
	Mint    string     `json:"mint"`
	Owner   string     `json:"owner"`
	Program string     `json:"programId"`
	Amount  amountJSON `json:"uiTokenAmount"`
}

type amountJSON struct {
	Amount   string   `json:"amount"`
	Decimals uint8    `json:"decimals"`
	UI       *float64 `json:"uiAmount"`
	UIString string   `json:"uiAmountString"`
}

type returnJSON struct {
	Data    [2]string `json:"data"`
	Program string    `json:"programId"`
}

func tokenAmount(n uint64, decimals uint8) amountJSON {
	out := amountJSON{Amount: strconv.FormatUint(n, 10), Decimals: decimals, UIString: chain.UIAmount(n, decimals)}
	if f := chain.UIFloat(n, decimals); n != 0 {
		out.UI = &f
	}
	return out
}

// unsupported is the error for a transaction of a version that the client does not read.
func unsupported(v uint8) *jsonrpc.Error {
	return &jsonrpc.Error{Code: codeUnsupportedVersion, Message: fmt.Sprintf("Transaction version (%d) is not supported by the requesting client. "+
		"Please try the request again with the following configuration parameter: \"maxSupportedTransactionVersion\": %d", v, v)}
}

// checkEncoding refuses base58 to a client that reads version 1: most of these would be too long.
func (o *options) checkEncoding() error {
	if most := o.MaxSupportedTransactionVersion; most != nil && *most >= uint8(txwire.V1) && (o.Encoding == "base58" || o.Encoding == "binary") {
		return invalid("base58 encoding is not supported with maxSupportedTransactionVersion >= 1")
	}
	return nil
}

// checkVersion refuses a transaction of a version above maxSupportedTransactionVersion. Without
// that, only legacy ones are supported.
func (o *options) checkVersion(v txwire.Version) error {
	most := txwire.Legacy
	if m := o.MaxSupportedTransactionVersion; m != nil {
		most = txwire.Version(min(*m, math.MaxInt8))
	}
	if v > most {
		return unsupported(uint8(v))
	}
	return nil
}

// encodeTx encodes a transaction as the options ask.
func encodeTx(tx *chain.Tx, o *options) (*txJSON, error) {
	if err := o.checkVersion(tx.Message.Version); err != nil {
		return nil, err
	}
	out := &txJSON{Meta: encodeMeta(tx)}
	switch v := tx.Message.Version; {
	case o.MaxSupportedTransactionVersion == nil:
		out.Meta.Loaded = nil
	case v == txwire.Legacy:
		out.Version = v.String()
	default:
		out.Version = v
	}
	rewards := o.Rewards == nil || *o.Rewards
	if !rewards {
		out.Meta.Rewards = nil
	}
	if o.TransactionDetails == detailsAccounts {
		out.Transaction = map[string]any{"signatures": signatures(tx), "accountKeys": parsedKeys(tx)}
		short := &shortMeta{Err: out.Meta.Err, Fee: out.Meta.Fee, PostBalances: out.Meta.PostBalances, PostTokens: out.Meta.PostTokens,
			PreBalances: out.Meta.PreBalances, PreTokens: out.Meta.PreTokens, Status: out.Meta.Status}
		if rewards {
			short.Rewards = []rewardJSON{}
		}
		out.Short, out.Meta = short, nil
		return out, nil
	}
	switch o.Encoding {
	case "base64":
		out.Transaction = jsonrpc.Base64(tx.Wire())
	case "base58":
		out.Transaction = []string{base58.Encode(tx.Wire()), "base58"}
	case "binary":
		out.Transaction = base58.Encode(tx.Wire())
	case "", "json":
		out.Transaction = encodeMessage(tx)
	case "jsonParsed":
		out.Transaction = parseMessage(tx)
		out.Meta.Inner, out.Meta.Loaded = parseInner(tx), nil
	default:
		return nil, jsonrpc.InvalidParams("unknown variant `%s`, expected one of `base64`, `base58`, `json`, `jsonParsed`", o.Encoding)
	}
	return out, nil
}

// encodeErr gives a transaction's error in the form of Solana's TransactionError.
func encodeErr(e *chain.TxError) any {
	if e == nil {
		return nil
	}
	switch {
	case e.Kind == chain.ErrRent:
		return map[string]any{e.Kind.Name(): map[string]uint8{"account_index": e.Index}}
	case !e.OfInstruction():
		return e.Kind.Name()
	}
	var detail any = e.Kind.Name()
	if e.Kind == chain.ErrCustom {
		detail = map[string]uint32{"Custom": e.Custom}
	}
	return map[string]any{"InstructionError": []any{e.Index, detail}}
}

// otherCost is a plausible cost of signatures, write locks and data. The chain does not count them.
const otherCost = 1500

func encodeMeta(tx *chain.Tx) *metaJSON {
	m := &tx.Meta
	out := &metaJSON{ComputeUnits: m.ComputeUnits, CostUnits: m.ComputeUnits + otherCost, Err: encodeErr(m.Err), Fee: m.Fee, Inner: []innerJSON{}, Logs: m.Logs,
		PreBalances: m.Pre, PostBalances: m.Post, PreTokens: encodeBalances(m.PreTokens), PostTokens: encodeBalances(m.PostTokens), Rewards: []rewardJSON{},
		Loaded: &loadedJSON{Readonly: keyStrings(tx.Message.LoadedReadonly), Writable: keyStrings(tx.Message.LoadedWritable)}}
	if m.Err != nil {
		out.Status = map[string]any{"Err": out.Err}
	} else {
		out.Status = map[string]any{"Ok": nil}
	}
	if m.ReturnData != nil {
		out.ReturnData = &returnJSON{Program: m.ReturnProgram.String(), Data: [2]string{base64.StdEncoding.EncodeToString(m.ReturnData), "base64"}}
	}
	for i := range m.Inner {
		in := innerJSON{Index: m.Inner[i].Index, Instructions: []any{}}
		for j := range m.Inner[i].Instructions {
			ix := &m.Inner[i].Instructions[j]
			h := int(ix.StackHeight)
			in.Instructions = append(in.Instructions, encodeIx(&ix.CompiledInstruction, &h))
		}
		out.Inner = append(out.Inner, in)
	}
	return out
}

func encodeBalances(list []chain.TokenBalance) []balanceJSON {
	out := make([]balanceJSON, len(list))
	for i, b := range list {
		out[i] = balanceJSON{Index: b.Index, Mint: b.Mint.String(), Owner: b.Owner.String(), Program: b.Program.String(), Amount: tokenAmount(b.Amount, b.Decimals)}
	}
	return out
}

func keyStrings(keys []chain.Key) []string {
	out := make([]string, len(keys))
	for i := range keys {
		out[i] = keys[i].String()
	}
	return out
}

func encodeIx(ix *chain.CompiledInstruction, height *int) ixJSON {
	accounts := make([]int, len(ix.Accounts))
	for i, a := range ix.Accounts {
		accounts[i] = int(a)
	}
	return ixJSON{Accounts: accounts, Data: base58.Encode(ix.Data), Program: ix.Program, StackHeight: height}
}

func signatures(tx *chain.Tx) []string {
	out := make([]string, len(tx.Signatures))
	for i := range out {
		out[i] = tx.Signatures[i].String()
	}
	return out
}

func encodeMessage(tx *chain.Tx) any {
	m := &tx.Message
	outer := 1
	ixs := make([]ixJSON, len(m.Instructions))
	for i := range ixs {
		ixs[i] = encodeIx(&m.Instructions[i], &outer)
	}
	msg := map[string]any{
		"accountKeys": keyStrings(m.Keys), "recentBlockhash": m.Blockhash.String(), "instructions": ixs,
		"header": map[string]uint8{"numRequiredSignatures": m.Header[0], "numReadonlySignedAccounts": m.Header[1], "numReadonlyUnsignedAccounts": m.Header[2]},
	}
	encodeVersion(m, msg)
	return map[string]any{"signatures": signatures(tx), "message": msg}
}

// encodeVersion adds what only messages of one version have.
func encodeVersion(m *chain.Message, to map[string]any) {
	switch m.Version {
	case txwire.Legacy:
	case txwire.V0:
		lookups := make([]map[string]any, len(m.Lookups))
		for i := range m.Lookups {
			l := &m.Lookups[i]
			lookups[i] = map[string]any{"accountKey": l.Table.String(), "writableIndexes": ints(l.Writable), "readonlyIndexes": ints(l.Readonly)}
		}
		to["addressTableLookups"] = lookups
	case txwire.V1:
		to["transactionConfig"] = m.Config
	}
}

func ints(b []byte) []int {
	out := make([]int, len(b))
	for i, v := range b {
		out[i] = int(v)
	}
	return out
}

func getTransaction(s *Server, params []json.RawMessage) (any, error) {
	text, err := jsonrpc.Arg[string](params, 0, "signature")
	if err != nil {
		return nil, err
	}
	sig, err := parseSignature(text)
	if err != nil {
		return nil, err
	}
	o, err := blockOptions(params)
	if err != nil {
		return nil, err
	}
	if err := o.checkEncoding(); err != nil {
		return nil, err
	}
	c, err := confirmedAtLeast(&o)
	if err != nil {
		return nil, err
	}
	f, ok := s.ledger.Transaction(sig)
	if !ok || f.Level < c {
		return nil, nil
	}
	o.TransactionDetails, o.Rewards = "", nil // getTransaction has no such options
	t, err := encodeTx(f.Tx(), &o)
	if err != nil {
		return nil, err
	}
	t.Place = &placeJSON{Slot: f.Block.Slot, BlockTime: f.Block.Time, Index: f.Index}
	return t, nil
}
