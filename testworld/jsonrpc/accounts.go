package jsonrpc

import (
	"encoding/json"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// accountOptions are what MultipleAccounts and ProgramAccounts read of a call's options.
type accountOptions struct {
	Encoding    string     `json:"encoding"`
	DataSlice   *DataSlice `json:"dataSlice"`
	Filters     []Filter   `json:"filters"`
	WithContext bool       `json:"withContext"`
}

func optionsArg(params []json.RawMessage, i int) (accountOptions, error) {
	o, err := Arg[accountOptions](params, i, "options")
	if err == nil && o.Encoding != "base64" {
		err = InvalidParams("encoding %q: only base64 is offered", o.Encoding)
	}
	return o, err
}

// MultipleAccounts is getMultipleAccounts over what read returns: a slot, and for each key its
// account or nil. part is the part of the data that the client asks for.
func MultipleAccounts(read func(keys []pubkey.Key, part *DataSlice) (slot uint64, accounts []*Account)) Method {
	return func(params []json.RawMessage) (any, error) {
		texts, err := Arg[[]string](params, 0, "pubkeys")
		if err != nil {
			return nil, err
		}
		keys := make([]pubkey.Key, len(texts))
		for i, text := range texts {
			if keys[i], err = ParseKey(text); err != nil {
				return nil, err
			}
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
