package chain

import (
	"errors"
	"fmt"
)

// Text is the error as a node words it in a simulation failure.
func (e *TxError) Text() string {
	if e.Kind == ErrRent {
		return "Transaction results in an account (" + utoa(uint64(e.Index)) + ") with insufficient funds for rent"
	}
	return (&programError{kind: e.Kind, custom: e.Custom}).Error()
}

// ResolveLookup reads addresses out of a lookup table account; an absent table or an index beyond
// its end is an error.
func ResolveLookup(table *Account, writable, readonly []byte) (w, r []Key, err error) {
	const header = 56
	if table == nil || table.Owner != LookupTableProgram || len(table.Data) < header {
		return nil, nil, errors.New("Transaction loads an address table account that doesn't exist") //nolint:staticcheck // the node's words
	}
	read := func(list []byte) ([]Key, error) {
		out := make([]Key, len(list))
		for i, at := range list {
			from := header + 32*int(at)
			if from+32 > len(table.Data) {
				return nil, fmt.Errorf("Transaction address table lookup uses an invalid index") //nolint:staticcheck // the node's words
			}
			copy(out[i][:], table.Data[from:])
		}
		return out, nil
	}
	if w, err = read(writable); err != nil {
		return nil, nil, err
	}
	r, err = read(readonly)
	return w, r, err
}

// Simulate executes tx on the state at the tip and takes its effects back.
func (g *Generator) Simulate(tx *Tx) error {
	g.st.begin()
	defer g.st.rollback()
	return g.x.execute(tx)
}
