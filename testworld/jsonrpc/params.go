package jsonrpc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/layout"
)

// Arg reads the parameter at index i. The name is for the error message.
func Arg[T any](params []json.RawMessage, i int, name string) (v T, err error) {
	if i >= len(params) {
		return v, InvalidParams("missing parameter %d (%s)", i+1, name)
	}
	if err := json.Unmarshal(params[i], &v); err != nil {
		return v, InvalidParams("%s: %v", name, err)
	}
	return v, nil
}

// KeyArg reads the address at index i.
func KeyArg(params []json.RawMessage, i int) (pubkey.Key, error) {
	text, err := Arg[string](params, i, "pubkey")
	if err != nil {
		return pubkey.Key{}, err
	}
	return ParseKey(text)
}

// KeysArg reads the list of at most most addresses at index i. The name is for the error message.
func KeysArg(params []json.RawMessage, i int, name string, most int) ([]pubkey.Key, error) {
	texts, err := Arg[[]string](params, i, name)
	if err != nil {
		return nil, err
	}
	if len(texts) > most {
		return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("Too many inputs provided; max %d", most)}
	}
	keys := make([]pubkey.Key, len(texts))
	for i, text := range texts {
		if keys[i], err = ParseKey(text); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// ParseKey reads an address. The error is that of the real node.
func ParseKey(text string) (pubkey.Key, error) {
	if len(text) > pubkey.MaxText {
		return pubkey.Key{}, &Error{Code: CodeInvalidParams, Message: "Invalid param: WrongSize"}
	}
	k, err := pubkey.Parse(text)
	if err != nil {
		return pubkey.Key{}, &Error{Code: CodeInvalidParams, Message: "Invalid param: Invalid"}
	}
	return k, nil
}

// Contextual is a result with the slot at which it was read.
type Contextual struct {
	Context Context `json:"context"`
	Value   any     `json:"value"`
}

// Context says when a result was read, and by which version.
type Context struct {
	APIVersion string `json:"apiVersion"`
	Slot       uint64 `json:"slot"`
}

// SolanaVersion is the version that the nodes claim to be.
const SolanaVersion = "4.3.2"

// WithContext returns a result that was read at a slot.
func WithContext(slot uint64, value any) Contextual {
	return Contextual{Context: Context{APIVersion: SolanaVersion, Slot: slot}, Value: value}
}

// DataSlice is the part of an account's data that a client asks for.
type DataSlice struct {
	Offset uint64 `json:"offset"`
	Length uint64 `json:"length"`
}

// Of returns the part; what lies beyond the end is left out. A nil slice is the whole.
func (d *DataSlice) Of(data []byte) []byte {
	if d == nil {
		return data
	}
	from := min(d.Offset, uint64(len(data)))
	return data[from : from+min(d.Length, uint64(len(data))-from)]
}

// Account is an account as methods answer with it.
type Account struct {
	Data       any    `json:"data"`
	Executable bool   `json:"executable"`
	Lamports   uint64 `json:"lamports"`
	Owner      string `json:"owner"`
	RentEpoch  uint64 `json:"rentEpoch"`
	Space      int    `json:"space"`
}

// AccountOf returns an account with the given part of its data in base64.
func AccountOf(owner pubkey.Key, lamports uint64, data []byte, part *DataSlice) *Account {
	return &Account{Data: Base64(part.Of(data)), Lamports: lamports, Owner: owner.String(), RentEpoch: math.MaxUint64, Space: len(data)}
}

// Keyed is an account in a list, with its address.
type Keyed struct {
	Account *Account `json:"account"`
	Pubkey  string   `json:"pubkey"`
}

// Base64 returns data as methods write it.
func Base64(data []byte) []string {
	return []string{base64.StdEncoding.EncodeToString(data), "base64"}
}

// The real node's limits of filters (agave, rpc-client-api and rpc).
const (
	maxFilters    = 4   // of getProgramAccounts
	maxMemcmp     = 128 // bytes of a memcmp filter
	maxMemcmpText = 175 // characters of these in base58
)

// Filter is one filter of getProgramAccounts.
type Filter struct {
	DataSize          *uint64         `json:"dataSize"`
	Memcmp            *Memcmp         `json:"memcmp"`
	TokenAccountState json.RawMessage `json:"tokenAccountState"`
}

// Memcmp compares the bytes at an offset.
type Memcmp struct {
	Offset   uint64 `json:"offset"`
	Bytes    string `json:"bytes"`
	Encoding string `json:"encoding"`
}

// Filters checks the filters of getProgramAccounts. matches returns whether an account's data meets
// all of them.
func Filters(list []Filter) (matches func(data []byte) bool, err error) {
	if len(list) > maxFilters {
		return nil, InvalidParams("Too many filters provided; max 4")
	}
	tests := make([]func([]byte) bool, len(list))
	for i, f := range list {
		if tests[i], err = f.test(); err != nil {
			return nil, err
		}
	}
	return func(data []byte) bool {
		for _, test := range tests {
			if !test(data) {
				return false
			}
		}
		return true
	}, nil
}

func (f Filter) test() (func([]byte) bool, error) {
	switch {
	case f.DataSize != nil:
		return func(d []byte) bool { return uint64(len(d)) == *f.DataSize }, nil
	case f.Memcmp != nil:
		want, err := f.Memcmp.Value()
		if err != nil {
			return nil, err
		}
		at := f.Memcmp.Offset
		return func(d []byte) bool { return at <= uint64(len(d)) && bytes.HasPrefix(d[at:], want) }, nil
	case len(f.TokenAccountState) > 0:
		return func(d []byte) bool { return len(d) >= layout.TokenAccountSize && d[layout.AccountStateAt] != 0 }, nil
	}
	return nil, InvalidParams("unknown filter")
}

// Value decodes the bytes to compare, which are base58 unless another encoding is named.
func (m *Memcmp) Value() ([]byte, error) {
	if len(m.Bytes) > maxMemcmpText {
		return nil, &Error{Code: CodeInvalidParams, Message: "Invalid param: encoded data too large"}
	}
	var b []byte
	var err error
	switch m.Encoding {
	case "", "base58":
		b, err = base58.Decode(m.Bytes)
	case "base64":
		b, err = base64.StdEncoding.DecodeString(m.Bytes)
	default:
		return nil, InvalidParams("unknown memcmp encoding `%s`", m.Encoding)
	}
	if err != nil || len(b) > maxMemcmp {
		return nil, &Error{Code: CodeInvalidParams, Message: "Invalid param: memcmp bytes"}
	}
	return b, nil
}
