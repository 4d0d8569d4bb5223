package stream

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/mr-tron/base58"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/internal/jsonappend"
	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/solana/txerror"
	"github.com/mintlake/mintlake/solana/txwire"
)

// encodeWireShape returns the JSON of a transaction in the encodings of its wire format, which are
// what most clients ask for, or with the details signatures or none. It reads the encoded message
// in place: to decode it and to call encoding/json takes eight times as long, which was a third of
// the server's work for a block. A test compares the bytes with encoding/json's.
func (t *transaction) encodeWireShape(s shape) ([]byte, error) {
	parts := t.split()
	buffer := socket.NewFrames()
	defer buffer.Release()
	w := jsonWriter{out: buffer.Bytes, err: parts.err}
	w.raw("{")
	if s.details != "none" {
		w.raw(`"signature":`)
		w.base58(t.signature[:])
		w.raw(",")
	}
	w.number(`"slot":`, t.slot)
	w.number(`,"transactionIndex":`, parts.index)
	switch s.details {
	case unsupported.details: // as RpcBlockUpdateError, which nodes send in blockSubscribe
		w.raw(`,"err":{"UnsupportedTransactionVersion":` + t.version.String() + "}")
	case "full":
		w.raw(`,"transaction":{"transaction":["`)
		version := w.wire(parts.tx, s.encoding)
		w.raw(`","`)
		w.raw(s.encoding)
		w.raw(`"],"meta":`)
		if parts.meta == nil {
			w.raw("null")
		} else {
			w.meta(parts.meta)
		}
		w.raw(`,"version":`)
		w.raw(version)
		w.raw("}")
	}
	w.raw("}")
	buffer.Bytes = w.out
	if w.err != nil {
		return nil, w.err
	}
	return bytes.Clone(w.out), nil
}

// jsonWriter appends JSON to out. err is errMalformed after a part could not be read; what is in
// out then has no meaning.
type jsonWriter struct {
	out []byte
	err error
}

func (w *jsonWriter) raw(text string) { w.out = append(w.out, text...) }

// number appends a key and a number. key includes the punctuation around it.
func (w *jsonWriter) number(key string, n uint64) {
	w.out = strconv.AppendUint(append(w.out, key...), n, 10)
}

// base58 appends bytes as a text. base58 needs no escapes.
func (w *jsonWriter) base58(raw []byte) {
	w.out = append(append(append(w.out, '"'), base58.Encode(raw)...), '"')
}

// text appends the text of a protobuf field, which must be UTF-8.
func (w *jsonWriter) text(raw []byte) {
	if !utf8.Valid(raw) {
		w.err = errMalformed
	}
	w.out = jsonappend.String(w.out, raw)
}

// textOf appends a key and the text of a protobuf field.
func (w *jsonWriter) textOf(key string, raw []byte) {
	w.out = append(w.out, key...)
	w.text(raw)
}

// list appends a key and an array. item appends each element, from a field of message with that
// number.
func (w *jsonWriter) list(key string, message []byte, number protowire.Number, item func(*jsonWriter, []byte)) {
	w.out = append(append(w.out, key...), '[')
	f, more := protofields.Fields{Rest: message}, false
	for f.Next() {
		if !f.IsBytes(number) {
			continue
		}
		if more {
			w.out = append(w.out, ',')
		}
		item(w, f.Bytes)
		more = true
	}
	w.err = cmp.Or(w.err, f.Err)
	w.out = append(w.out, ']')
}

// numbers appends a key and an array of the integers in a repeated field of message. The field may
// be packed, with several integers in one field, or not.
func (w *jsonWriter) numbers(key string, message []byte, number protowire.Number) {
	w.out = append(append(w.out, key...), '[')
	begin := len(w.out)
	one := func(n uint64) {
		if len(w.out) > begin {
			w.out = append(w.out, ',')
		}
		w.out = strconv.AppendUint(w.out, n, 10)
	}
	f := protofields.Fields{Rest: message}
	for f.Next() {
		switch {
		case f.IsVarint(number):
			one(f.Value)
		case f.IsBytes(number):
			for packed := f.Bytes; len(packed) > 0; {
				n, size := protowire.ConsumeVarint(packed)
				if size < 0 {
					w.err = errMalformed
					break
				}
				one(n)
				packed = packed[size:]
			}
		}
	}
	w.err = cmp.Or(w.err, f.Err)
	w.out = append(w.out, ']')
}

// packer returns the zstd encoder, which is made on first use. Goroutines may share it.
var packer = sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil) })

// wire appends the wire format of a Transaction in an encoding, and returns its version in JSON.
func (w *jsonWriter) wire(tx []byte, encoding string) (version string) {
	buffer := socket.NewFrames()
	defer buffer.Release()
	wire, v, err := appendWire(buffer.Bytes, tx)
	buffer.Bytes, w.err = wire, cmp.Or(w.err, err)
	switch encoding {
	case "base58":
		w.out = append(w.out, base58.Encode(wire)...)
	case "base64+zstd":
		pack, err := packer()
		if err != nil {
			w.err = err
			break
		}
		w.out = base64.StdEncoding.AppendEncode(w.out, pack.EncodeAll(wire, nil))
	default:
		w.out = base64.StdEncoding.AppendEncode(w.out, wire)
	}
	if v == txwire.Legacy {
		return `"legacy"`
	}
	return v.String()
}

// meta appends a TransactionStatusMeta.
func (w *jsonWriter) meta(meta []byte) {
	var failure, returned []byte
	var fee, units, cost uint64
	var hasUnits, hasCost, innerNone, logsNone bool
	// lists has, for each field number, the part of meta from the first field with that number to
	// the last. Encoders write the fields of a list together, so this part is short and meta is
	// read only once.
	var lists [fieldMetaReadonly + 1]span
	f := protofields.Fields{Rest: meta}
	for at := 0; f.Next(); at = len(meta) - len(f.Rest) {
		if int(f.Number) < len(lists) {
			lists[f.Number].add(at, len(meta)-len(f.Rest))
		}
		switch {
		case f.IsBytes(fieldMetaErr):
			f.Keep(&failure)
		case f.IsVarint(fieldMetaFee):
			fee = f.Value
		case f.IsVarint(fieldMetaInnerNone):
			innerNone = f.Value != 0
		case f.IsVarint(fieldMetaLogsNone):
			logsNone = f.Value != 0
		case f.IsBytes(fieldMetaReturn):
			f.Keep(&returned)
		case f.IsVarint(fieldMetaUnits):
			units, hasUnits = f.Value, true
		case f.IsVarint(fieldMetaCost):
			cost, hasCost = f.Value, true
		}
	}
	w.err = cmp.Or(w.err, f.Err)
	w.failure(failure)
	w.number(`,"fee":`, fee)
	w.numbers(`,"preBalances":`, lists[fieldMetaPreBalances].of(meta), fieldMetaPreBalances)
	w.numbers(`,"postBalances":`, lists[fieldMetaPostBalances].of(meta), fieldMetaPostBalances)
	w.listUnless(innerNone, `,"innerInstructions":`, lists[fieldMetaInner].of(meta), fieldMetaInner, (*jsonWriter).inner)
	w.listUnless(logsNone, `,"logMessages":`, lists[fieldMetaLogs].of(meta), fieldMetaLogs, (*jsonWriter).text)
	w.list(`,"preTokenBalances":`, lists[fieldMetaPreTokens].of(meta), fieldMetaPreTokens, (*jsonWriter).balance)
	w.list(`,"postTokenBalances":`, lists[fieldMetaPostTokens].of(meta), fieldMetaPostTokens, (*jsonWriter).balance)
	w.list(`,"rewards":null,"loadedAddresses":{"writable":`, lists[fieldMetaWritable].of(meta), fieldMetaWritable, (*jsonWriter).base58)
	w.list(`,"readonly":`, lists[fieldMetaReadonly].of(meta), fieldMetaReadonly, (*jsonWriter).base58)
	w.raw("}")
	if returned != nil {
		w.returned(returned)
	}
	if hasUnits {
		w.number(`,"computeUnitsConsumed":`, units)
	}
	if hasCost {
		w.number(`,"costUnits":`, cost)
	}
	w.raw("}")
}

// span is a part of a message: the bytes from begin to end.
type span struct{ begin, end int }

// add makes the span contain another one, which lies behind it.
func (s *span) add(begin, end int) {
	if s.end == 0 {
		s.begin = begin
	}
	s.end = end
}

func (s span) of(message []byte) []byte { return message[s.begin:s.end] }

// listUnless appends a key and null if none is set, because the node did not record the list.
// Otherwise it is list.
func (w *jsonWriter) listUnless(none bool, key string, message []byte, number protowire.Number, item func(*jsonWriter, []byte)) {
	if none {
		w.out = append(append(w.out, key...), "null"...)
		return
	}
	w.list(key, message, number, item)
}

// failure appends the first members of a meta: err, which is a TransactionError or null, and
// status, which is the same as a Result: {"Err":…} or {"Ok":null}.
func (w *jsonWriter) failure(message []byte) {
	if message == nil {
		w.raw(`{"err":null,"status":{"Ok":null}`)
		return
	}
	var bincode []byte
	f := protofields.Fields{Rest: message}
	for f.Next() {
		if f.IsBytes(fieldErrorErr) {
			bincode = f.Bytes
		}
	}
	text, err := json.Marshal(txerror.JSON(bincode))
	w.err = cmp.Or(w.err, f.Err, err)
	w.out = append(append(w.out, `{"err":`...), text...)
	w.out = append(append(append(w.out, `,"status":{"Err":`...), text...), '}')
}

// inner appends an InnerInstructions.
func (w *jsonWriter) inner(message []byte) {
	var index uint64
	f := protofields.Fields{Rest: message}
	for f.Next() {
		if f.IsVarint(fieldInnerIndex) {
			index = uint64(uint32(f.Value))
		}
	}
	w.number(`{"index":`, index)
	w.list(`,"instructions":`, message, fieldInnerInstructions, (*jsonWriter).innerInstruction)
	w.raw("}")
}

// innerInstruction appends an InnerInstruction.
func (w *jsonWriter) innerInstruction(message []byte) {
	ix := readInstruction(message)
	w.err = cmp.Or(w.err, ix.err)
	w.number(`{"programIdIndex":`, uint64(ix.program))
	w.raw(`,"accounts":[`)
	for i, account := range ix.accounts {
		if i > 0 {
			w.raw(",")
		}
		w.out = strconv.AppendUint(w.out, uint64(account), 10)
	}
	w.raw(`],"data":`)
	w.base58(ix.data)
	if ix.hasHeight {
		w.number(`,"stackHeight":`, uint64(ix.height))
	} else {
		w.raw(`,"stackHeight":null`)
	}
	w.raw("}")
}

// balance appends a TokenBalance.
func (w *jsonWriter) balance(message []byte) {
	var index uint64
	var mint, owner, program, amount []byte
	f := protofields.Fields{Rest: message}
	for f.Next() {
		switch {
		case f.IsVarint(fieldBalanceAccount):
			index = uint64(uint32(f.Value))
		case f.IsBytes(fieldBalanceMint):
			mint = f.Bytes
		case f.IsBytes(fieldBalanceAmount):
			f.Keep(&amount)
		case f.IsBytes(fieldBalanceOwner):
			owner = f.Bytes
		case f.IsBytes(fieldBalanceProgram):
			program = f.Bytes
		}
	}
	w.err = cmp.Or(w.err, f.Err)
	w.number(`{"accountIndex":`, index)
	w.textOf(`,"mint":`, mint)
	if len(owner) > 0 {
		w.textOf(`,"owner":`, owner)
	}
	if len(program) > 0 {
		w.textOf(`,"programId":`, program)
	}
	w.amount(amount)
	w.raw("}")
}

// amount appends a key and a UiTokenAmount.
func (w *jsonWriter) amount(message []byte) {
	var value float64
	var decimals uint64
	var amount, text []byte
	f := protofields.Fields{Rest: message}
	for f.Next() {
		switch {
		case f.IsFixed64(fieldAmountUI):
			value = math.Float64frombits(f.Value)
		case f.IsVarint(fieldAmountDecimals):
			decimals = uint64(uint32(f.Value))
		case f.IsBytes(fieldAmountAmount):
			amount = f.Bytes
		case f.IsBytes(fieldAmountText):
			text = f.Bytes
		}
	}
	w.err = cmp.Or(w.err, f.Err)
	w.textOf(`,"uiTokenAmount":{"amount":`, amount)
	w.number(`,"decimals":`, decimals)
	w.raw(`,"uiAmount":`)
	if value == 0 { // as nodes answer
		w.raw("null")
	} else {
		w.out = jsonappend.Float(w.out, &value)
	}
	w.textOf(`,"uiAmountString":`, text)
	w.raw("}")
}

// returned appends a key and a ReturnData.
func (w *jsonWriter) returned(message []byte) {
	var program, data []byte
	f := protofields.Fields{Rest: message}
	for f.Next() {
		switch {
		case f.IsBytes(fieldReturnProgram):
			program = f.Bytes
		case f.IsBytes(fieldReturnData):
			data = f.Bytes
		}
	}
	w.err = cmp.Or(w.err, f.Err)
	w.raw(`,"returnData":{"programId":`)
	w.base58(program)
	w.raw(`,"data":["`)
	w.out = base64.StdEncoding.AppendEncode(w.out, data)
	w.raw(`","base64"]}`)
}
