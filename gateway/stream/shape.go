package stream

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// shape is the JSON form in which a WebSocket subscription wants transactions.
type shape struct{ encoding, details string }

// Encodings and details as nodes name them; the first is the default.
var (
	encodings   = []string{"base64", "base58", "base64+zstd", "json", "jsonParsed"}
	detailTexts = []string{"full", "signatures", "accounts", "none"}
)

// unsupported is the shape of a transaction whose version is above the highest that the client
// reads.
var unsupported = shape{details: "unsupported"}

// errBase58 is what nodes of Agave 4.3 answer, whatever the details (rpc.rs): a transaction of
// version 1 may be too long for base58.
var errBase58 = errors.New("base58 encoding is not supported with maxSupportedTransactionVersion >= 1")

// highest returns the highest version of a transaction that a subscription wants to see.
func (o wsOptions) highest() uint8 {
	if o.MaxVersion == nil {
		return uint8(txwire.V0)
	}
	return *o.MaxVersion
}

// shapeOf returns the shape in which the filter's subscriber gets t. As at nodes, the details
// signatures and none show transactions of all versions.
func (f *filter) shapeOf(t *transaction) shape {
	if int(t.version) > int(f.highest) && (f.shape.details == "full" || f.shape.details == "accounts") {
		return unsupported
	}
	return f.shape
}

// readShape reads and checks the encoding and the details that a subscription asks for.
func readShape(o wsOptions) (shape, error) {
	s := shape{encodings[0], detailTexts[0]}
	if o.Encoding != "" {
		s.encoding = o.Encoding
	}
	if o.TransactionDetails != "" {
		s.details = o.TransactionDetails
	}
	switch {
	case !slices.Contains(encodings, s.encoding):
		return s, fmt.Errorf("encoding: must be one of %s", strings.Join(encodings, ", "))
	case !slices.Contains(detailTexts, s.details):
		return s, fmt.Errorf("transactionDetails: must be one of %s", strings.Join(detailTexts, ", "))
	case s.encoding == "base58" && o.highest() > uint8(txwire.V0):
		return s, errBase58
	case o.ShowRewards:
		return s, fmt.Errorf("showRewards: this stream has no rewards")
	}
	if s.details != detailTexts[0] {
		s.encoding = encodings[0] // the encoding has no effect, so all encodings share one shape
	}
	return s, nil
}

// encoded is a transaction's JSON in one shape.
type encoded struct {
	shape shape
	json  []byte
	err   error
}

// notification returns the transaction's JSON for WebSockets. It is made once for each shape, for
// all subscribers.
func (t *transaction) notification(s shape) ([]byte, error) {
	t.shapes.Lock()
	defer t.shapes.Unlock()
	for _, done := range t.shapes.made { // most transactions have one shape
		if done.shape == s {
			return done.json, done.err
		}
	}
	done := encoded{shape: s}
	if s.ofFields() {
		done.json, done.err = t.encodeFields(s)
	} else {
		done.json, done.err = t.encodeWireShape(s)
	}
	t.shapes.made = append(t.shapes.made, done)
	return done.json, done.err
}

type jsonNotification struct {
	Signature        string           `json:"signature"`
	Slot             uint64           `json:"slot"`
	TransactionIndex uint64           `json:"transactionIndex"`
	Transaction      *jsonTransaction `json:"transaction"`
}

type jsonTransaction struct {
	// Transaction is a jsonPlain, jsonParsed or jsonAccounts.
	Transaction any `json:"transaction"`
	// Meta is a *jsonMeta or, for accounts alone, a *jsonBriefMeta.
	Meta any `json:"meta"`
	// Version is "legacy" or a number.
	Version any `json:"version"`
}

// ofFields returns whether the JSON shows what is in the transaction field by field, rather than
// its wire format or nothing of it.
func (s shape) ofFields() bool {
	return s.details == "accounts" || s.details == "full" && (s.encoding == "json" || s.encoding == "jsonParsed")
}

// encodeFields returns the JSON in a shape for which ofFields is true. A transaction that the wire
// format cannot express is an error here, too, as in the shapes that show the wire format.
func (t *transaction) encodeFields(s shape) ([]byte, error) {
	parts := t.split()
	buffer := socket.NewFrames()
	defer buffer.Release()
	wire, _, err := appendWire(buffer.Bytes, parts.tx)
	buffer.Bytes = wire
	if err = cmp.Or(parts.err, err); err != nil {
		return nil, err
	}
	m, err := t.message()
	if err != nil {
		return nil, err
	}
	return json.Marshal(jsonNotification{base58.Encode(t.signature[:]), t.slot, parts.index, transactionOf(m.GetTransaction(), s)})
}

func transactionOf(info *pb.SubscribeUpdateTransactionInfo, s shape) *jsonTransaction {
	tx, meta := info.GetTransaction(), info.GetMeta()
	version := yellowstone.VersionOf(tx.GetMessage())
	out := &jsonTransaction{Version: int(version)}
	if version == txwire.Legacy {
		out.Version = version.String()
	}
	switch {
	case s.details == "accounts":
		out.Transaction = jsonAccounts{keysOf(tx.GetMessage(), meta), texts(tx.GetSignatures())}
		if meta != nil {
			out.Meta = briefMeta(meta)
		}
		return out
	case s.encoding == "json":
		out.Transaction = plainTransaction(tx)
	default:
		out.Transaction = parsedTransaction(tx, meta)
	}
	if meta == nil {
		return out
	}
	full := metaOf(meta)
	if s.encoding == "jsonParsed" {
		full.Loaded = nil
		full.InnerInstructions = parsedInner(tx.GetMessage(), meta)
	}
	out.Meta = full
	return out
}

// jsonAccounts is a transaction with transactionDetails "accounts".
type jsonAccounts struct {
	AccountKeys []jsonKey `json:"accountKeys"`
	Signatures  []string  `json:"signatures"`
}

// jsonBriefMeta is the metadata of a transaction with transactionDetails "accounts": it lacks logs,
// inner instructions and return data.
type jsonBriefMeta struct {
	Err               any                `json:"err"`
	Status            any                `json:"status"`
	Fee               uint64             `json:"fee"`
	PreBalances       []uint64           `json:"preBalances"`
	PostBalances      []uint64           `json:"postBalances"`
	PreTokenBalances  []jsonTokenBalance `json:"preTokenBalances"`
	PostTokenBalances []jsonTokenBalance `json:"postTokenBalances"`
}

func briefMeta(in *pb.TransactionStatusMeta) *jsonBriefMeta {
	m := metaOf(in)
	return &jsonBriefMeta{m.Err, m.Status, m.Fee, m.PreBalances, m.PostBalances, m.PreTokenBalances, m.PostTokenBalances}
}

// jsonPlain is a transaction with encoding json.
type jsonPlain struct {
	Signatures []string         `json:"signatures"`
	Message    jsonPlainMessage `json:"message"`
}

type jsonPlainMessage struct {
	Header       jsonHeader        `json:"header"`
	AccountKeys  []string          `json:"accountKeys"`
	Blockhash    string            `json:"recentBlockhash"`
	Instructions []jsonInstruction `json:"instructions"`
	Lookups      *[]jsonLookup     `json:"addressTableLookups,omitempty"` // of version 0
	Config       *txwire.Config    `json:"transactionConfig,omitempty"`   // of version 1
}

type jsonHeader struct {
	Signatures       uint32 `json:"numRequiredSignatures"`
	ReadonlySigned   uint32 `json:"numReadonlySignedAccounts"`
	ReadonlyUnsigned uint32 `json:"numReadonlyUnsignedAccounts"`
}

type jsonLookup struct {
	AccountKey string `json:"accountKey"`
	Writable   []int  `json:"writableIndexes"`
	Readonly   []int  `json:"readonlyIndexes"`
}

func plainTransaction(tx *pb.Transaction) jsonPlain {
	m := tx.GetMessage()
	h := m.GetHeader()
	out := jsonPlain{texts(tx.GetSignatures()), jsonPlainMessage{
		Header:      jsonHeader{h.NumRequiredSignatures, h.NumReadonlySignedAccounts, h.NumReadonlyUnsignedAccounts},
		AccountKeys: texts(m.GetAccountKeys()), Blockhash: base58.Encode(m.GetRecentBlockhash()),
		Instructions: make([]jsonInstruction, 0, len(m.GetInstructions())), Lookups: lookupsOf(m), Config: configOf(m),
	}}
	for _, ix := range m.GetInstructions() {
		out.Message.Instructions = append(out.Message.Instructions, jsonInstruction{ix.GetProgramIdIndex(), numbers(ix.GetAccounts()), base58.Encode(ix.GetData()), &outerHeight})
	}
	return out
}

// outerHeight is the stackHeight of an instruction that no other instruction calls, as nodes of
// Agave 4 report it (transaction-status 4.3.0).
var outerHeight uint32 = 1

// configOf returns the config of a version-1 message; nil for other versions.
func configOf(m *pb.Message) *txwire.Config {
	if m.GetConfig() == nil {
		return nil
	}
	config := yellowstone.ConfigOf(m)
	return &config
}

func lookupsOf(m *pb.Message) *[]jsonLookup {
	if yellowstone.VersionOf(m) != txwire.V0 {
		return nil
	}
	list := make([]jsonLookup, 0, len(m.GetAddressTableLookups()))
	for _, l := range m.GetAddressTableLookups() {
		list = append(list, jsonLookup{base58.Encode(l.GetAccountKey()), numbers(l.GetWritableIndexes()), numbers(l.GetReadonlyIndexes())})
	}
	return &list
}

// numbers converts bytes to integers, because encoding/json encodes []byte as base64 and []int as a
// list of numbers.
func numbers(list []byte) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}
