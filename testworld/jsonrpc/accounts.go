package jsonrpc

import (
	"encoding/json"
	"math"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// AccountOptions are what a call may set about the accounts that it reads.
type AccountOptions struct {
	Encoding    string     `json:"encoding"`
	DataSlice   *DataSlice `json:"dataSlice"`
	Filters     []Filter   `json:"filters"`
	WithContext bool       `json:"withContext"`
}

func optionsArg(params []json.RawMessage, i int) (AccountOptions, error) {
	o, err := Arg[AccountOptions](params, i, "options")
	if err == nil && o.Encoding != "base64" {
		err = InvalidParams("encoding %q: only base64 is offered", o.Encoding)
	}
	return o, err
}

// MultipleAccounts is getMultipleAccounts over what read returns: a slot, and for each key its
// account or nil. part is the part of the data that the client asks for.
func MultipleAccounts(read func(keys []pubkey.Key, part *DataSlice) (slot uint64, accounts []*Account)) Method {
	return func(params []json.RawMessage) (any, error) {
		keys, err := KeysArg(params, 0, "pubkeys", math.MaxInt)
		if err != nil {
			return nil, err
		}
		o, err := optionsArg(params, 1)
		if err != nil {
			return nil, err
		}
		slot, accounts := read(keys, o.DataSlice)
		return WithContext(slot, accounts), nil
	}
}

// ProgramAccounts is getProgramAccounts over what read returns: a slot, and the program's accounts
// whose data matches.
func ProgramAccounts(read func(program pubkey.Key, matches func(data []byte) bool, part *DataSlice) (slot uint64, accounts []Keyed)) Method {
	return func(params []json.RawMessage) (any, error) {
		program, err := KeyArg(params, 0)
		if err != nil {
			return nil, err
		}
		o, err := optionsArg(params, 1)
		if err != nil {
			return nil, err
		}
		matches, err := Filters(o.Filters)
		if err != nil {
			return nil, err
		}
		slot, accounts := read(program, matches, o.DataSlice)
		if o.WithContext {
			return WithContext(slot, accounts), nil
		}
		return accounts, nil
	}
}
