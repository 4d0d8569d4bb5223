package txerror

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
)

// errUnknown means that this version does not know the transaction's error. errForm means that the
// JSON does not have the form of a transaction's error.
var (
	errUnknown = errors.New("unknown transaction error")
	errForm    = errors.New("no name of a transaction error, nor an object with one")
)

// maxUnknown bounds the JSON of an error that is not known, in bytes.
const maxUnknown = 4 << 10

// Bincode is the inverse of JSON: it returns the bincode of a TransactionError that a node sent as
// JSON. If this version does not know the error's name, the result is unknownName followed by the
// JSON. It returns an error for JSON that is no TransactionError, and for an unknown one of more
// than maxUnknown bytes.
func Bincode(text []byte) ([]byte, error) {
	out, err := known(text)
	if errors.Is(err, errUnknown) && len(text) <= maxUnknown {
		return append(binary.LittleEndian.AppendUint32(nil, unknownName), text...), nil
	}
	return out, err
}

// known returns the bincode of an error that this version knows.
func known(text []byte) ([]byte, error) {
	name, carried, err := variant(text)
	if err != nil {
		return nil, err
	}
	if name == "bincode" { // JSON writes an unknown error in this form
		var encoded string
		if err := json.Unmarshal(carried, &encoded); err != nil {
			return nil, errForm
		}
		return base64.StdEncoding.DecodeString(encoded)
	}
	out, err := appendVariant(nil, transactionErrors, name)
	if err != nil {
		return nil, err
	}
	switch name {
	case "InstructionError":
		return appendInstructionError(out, carried)
	case "DuplicateInstruction":
		return appendByte(out, carried)
	case "InsufficientFundsForRent", "ProgramExecutionTemporarilyRestricted":
		var of struct {
			Index *json.RawMessage `json:"account_index"`
		}
		if json.Unmarshal(carried, &of) != nil || of.Index == nil {
			return nil, errUnknown
		}
		return appendByte(out, *of.Index)
	}
	return out, nil
}

// variant splits "Name" or {"Name": carried} into its parts.
func variant(text []byte) (name string, carried json.RawMessage, err error) {
	if json.Unmarshal(text, &name) == nil && name != "" {
		return name, nil, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil || len(object) != 1 {
		return "", nil, errForm
	}
	for name, carried = range object {
		break // the only member
	}
	return name, carried, nil
}

func appendVariant(out []byte, names []string, name string) ([]byte, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return nil, errUnknown
	}
	return binary.LittleEndian.AppendUint32(out, uint32(i)), nil
}

func appendByte(out []byte, text json.RawMessage) ([]byte, error) {
	var n uint8
	if json.Unmarshal(text, &n) != nil {
		return nil, errUnknown
	}
	return append(out, n), nil
}

// appendInstructionError appends [index, error] as bincode: a byte, the variant, and the variant's
// data.
func appendInstructionError(out []byte, text json.RawMessage) ([]byte, error) {
	var pair []json.RawMessage
	if json.Unmarshal(text, &pair) != nil || len(pair) != 2 {
		return nil, errUnknown
	}
	out, err := appendByte(out, pair[0])
	if err != nil {
		return nil, err
	}
	name, carried, err := variant(pair[1])
	if err != nil {
		return nil, err
	}
	if out, err = appendVariant(out, instructionErrors, name); err != nil {
		return nil, err
	}
	switch name {
	case "Custom":
		var code uint32
		if json.Unmarshal(carried, &code) != nil {
			return nil, errUnknown
		}
		out = binary.LittleEndian.AppendUint32(out, code)
	case "BorshIoError":
		var text string
		if carried == nil || json.Unmarshal(carried, &text) != nil {
			return out, nil // since agave 3 a BorshIoError has no text
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(len(text)))
		out = append(out, text...)
	}
	return out, nil
}
