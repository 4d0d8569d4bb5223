package rpc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/layout"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// The real node's limits (agave, rpc-client-api and rpc).
const (
	maxMultiple       = 100 // accounts of getMultipleAccounts
	maxAccountFilters = 4   // filters of getProgramAccounts
	maxMemcmp         = 128 // bytes of a memcmp filter
	maxMemcmpText     = 175 // characters of these in base58
	maxBase58Data     = 128 // bytes of data in base58
)

type accountJSON struct {
	Data       any    `json:"data"`
	Executable bool   `json:"executable"`
	Lamports   uint64 `json:"lamports"`
	Owner      string `json:"owner"`
	RentEpoch  uint64 `json:"rentEpoch"`
	Space      int    `json:"space"`
}

// encodeAccount gives an account in the encoding asked for, or in fallback if none is. A missing
// account gives null. space is the length of all the data, even where a slice of it was asked for.
func (s *Server) encodeAccount(a *chain.Account, o *options, fallback string, c ledger.Commitment) (any, error) {
	if a == nil {
		return nil, nil
	}
	data := a.Data
	if d := o.DataSlice; d != nil {
		from := min(d.Offset, uint64(len(data)))
		data = data[from : from+min(d.Length, uint64(len(data))-from)]
	}
	enc := o.Encoding
	if enc == "" {
		enc = fallback
	}
	out := accountJSON{Executable: a.Executable, Lamports: a.Lamports, Owner: a.Owner.String(), RentEpoch: math.MaxUint64, Space: len(a.Data)}
	switch enc {
	case "binary", "base58":
		if len(data) > maxBase58Data {
			return nil, &Error{Code: codeInvalidRequest, Message: "Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding."}
		}
		out.Data = []string{base58.Encode(data), "base58"}
		if enc == "binary" {
			out.Data = base58.Encode(data)
		}
	case "jsonParsed":
		if parsed := s.parse(a, c); parsed != nil {
			out.Data = parsed
			break
		}
		fallthrough // as the real node, where it has no parser
	case "base64":
		out.Data = []string{base64.StdEncoding.EncodeToString(data), "base64"}
	case "base64+zstd":
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		out.Data = []string{base64.StdEncoding.EncodeToString(z.EncodeAll(data, nil)), "base64+zstd"}
	default:
		return nil, invalidParams("unknown variant `%s`, expected one of `binary`, `base58`, `base64`, `jsonParsed`, `base64+zstd`", enc)
	}
	return out, nil
}

func getAccountInfo(s *Server, params []json.RawMessage) (any, error) {
	k, err := keyArg(params, 0)
	if err != nil {
		return nil, err
	}
	o, c, err := s.optsAt(params, 1)
	if err != nil {
		return nil, err
	}
	list, slot := s.ledger.Accounts([]chain.Key{k}, c)
	v, err := s.encodeAccount(list[0], &o, "binary", c)
	if err != nil {
		return nil, err
	}
	return withContext(slot, v), nil
}

func getMultipleAccounts(s *Server, params []json.RawMessage) (any, error) {
	texts, err := arg[[]string](params, 0, "pubkeys")
	if err != nil {
		return nil, err
	}
	if len(texts) > maxMultiple {
		return nil, &Error{Code: codeInvalidParams, Message: fmt.Sprintf("Too many inputs provided; max %d", maxMultiple)}
	}
	keys := make([]chain.Key, len(texts))
	for i, t := range texts {
		if keys[i], err = parseKey(t); err != nil {
			return nil, err
		}
	}
	o, c, err := s.optsAt(params, 1)
	if err != nil {
		return nil, err
	}
	list, slot := s.ledger.Accounts(keys, c)
	out := make([]any, len(list))
	for i, a := range list {
		if out[i], err = s.encodeAccount(a, &o, "base64", c); err != nil {
			return nil, err
		}
	}
	return withContext(slot, out), nil
}

func getBalance(s *Server, params []json.RawMessage) (any, error) {
	a, slot, err := s.readOne(params)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return withContext(slot, 0), nil
	}
	return withContext(slot, a.Lamports), nil
}

// readOne reads the account of params[0] under the options of params[1].
func (s *Server) readOne(params []json.RawMessage) (*chain.Account, uint64, error) {
	k, err := keyArg(params, 0)
	if err != nil {
		return nil, 0, err
	}
	o, err := opts(params, 1)
	if err != nil {
		return nil, 0, err
	}
	c, err := s.at(&o)
	if err != nil {
		return nil, 0, err
	}
	list, slot := s.ledger.Accounts([]chain.Key{k}, c)
	return list[0], slot, nil
}

func getTokenSupply(s *Server, params []json.RawMessage) (any, error) {
	a, slot, err := s.readOne(params)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, &Error{Code: codeInvalidParams, Message: "Invalid param: could not find account"}
	}
	supply, decimals, ok := chain.MintSupply(a)
	if !ok {
		return nil, &Error{Code: codeInvalidParams, Message: "Invalid param: not a Token mint"}
	}
	return withContext(slot, accountAmount(supply, decimals)), nil
}

func getTokenAccountBalance(s *Server, params []json.RawMessage) (any, error) {
	a, slot, err := s.readOne(params)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, &Error{Code: codeInvalidParams, Message: "Invalid param: could not find account"}
	}
	if !chain.IsTokenAccount(a) {
		return nil, &Error{Code: codeInvalidParams, Message: "Invalid param: not a Token account"}
	}
	mint := layout.MintOf(a.Data)
	o, err := opts(params, 1)
	if err != nil {
		return nil, err
	}
	c, err := o.level()
	if err != nil {
		return nil, err
	}
	list, _ := s.ledger.Accounts([]chain.Key{mint}, c)
	decimals := uint8(0)
	if list[0] != nil {
		_, decimals, _ = chain.MintSupply(list[0])
	}
	return withContext(slot, accountAmount(rawAmount(a), decimals)), nil
}

// compiled is one getProgramAccounts filter.
type compiled func(data []byte) bool

// compileFilters checks the filters of getProgramAccounts and makes a test of each.
func compileFilters(list []filter) ([]compiled, error) {
	if len(list) > maxAccountFilters {
		return nil, invalidParams("Too many filters provided; max 4")
	}
	var out []compiled
	for _, f := range list {
		switch {
		case f.DataSize != nil:
			size := *f.DataSize
			out = append(out, func(d []byte) bool { return uint64(len(d)) == size })
		case f.Memcmp != nil:
			want, err := memcmpBytes(f.Memcmp.Bytes, f.Memcmp.Encoding)
			if err != nil {
				return nil, err
			}
			at := f.Memcmp.Offset
			out = append(out, func(d []byte) bool { return at <= uint64(len(d)) && bytes.HasPrefix(d[at:], want) })
		case len(f.TokenAccountState) > 0:
			out = append(out, func(d []byte) bool { return len(d) >= layout.TokenAccountSize && d[layout.AccountStateAt] != 0 })
		default:
			return nil, invalidParams("unknown filter")
		}
	}
	return out, nil
}

// memcmpBytes decodes the bytes of a memcmp filter, base58 unless another encoding is named.
func memcmpBytes(text, encoding string) ([]byte, error) {
	if len(text) > maxMemcmpText {
		return nil, &Error{Code: codeInvalidParams, Message: "Invalid param: encoded data too large"}
	}
	var b []byte
	var err error
	switch encoding {
	case "", "base58":
		b, err = base58.Decode(text)
	case "base64":
		b, err = base64.StdEncoding.DecodeString(text)
	default:
		return nil, invalidParams("unknown memcmp encoding `%s`", encoding)
	}
	if err != nil || len(b) > maxMemcmp {
		return nil, &Error{Code: codeInvalidParams, Message: "Invalid param: memcmp bytes"}
	}
	return b, nil
}

func getProgramAccounts(s *Server, params []json.RawMessage) (any, error) {
	owner, err := keyArg(params, 0)
	if err != nil {
		return nil, err
	}
	o, c, err := s.optsAt(params, 1)
	if err != nil {
		return nil, err
	}
	filters, err := compileFilters(o.Filters)
	if err != nil {
		return nil, err
	}
	list, slot := s.ledger.Program(owner, c, func(_ chain.Key, a *chain.Account) bool {
		for _, f := range filters {
			if !f(a.Data) {
				return false
			}
		}
		return true
	})
	out, err := s.encodeList(list, &o, c)
	if err != nil {
		return nil, err
	}
	if o.WithContext {
		return withContext(slot, out), nil
	}
	return out, nil
}
