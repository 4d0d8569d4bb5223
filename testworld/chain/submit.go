package chain

import (
	"encoding/binary"
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

// ResolveLookup reads addresses out of a lookup table account for a transaction that lands behind
// slot. An absent or deactivated table is an error, and so is an index beyond its end. Entries that
// were added in that slot or later do not count yet.
func ResolveLookup(table *Account, slot uint64, writable, readonly []byte) (w, r []Key, err error) {
	const header, deactivation, extended, extendedStart = 56, 4, 12, 20
	if table == nil || table.Owner != LookupTableProgram || len(table.Data) < header || binary.LittleEndian.Uint64(table.Data[deactivation:]) != ^uint64(0) {
		return nil, nil, errors.New("Transaction loads an address table account that doesn't exist") //nolint:staticcheck // the node's words
	}
	end := len(table.Data)
	if slot <= binary.LittleEndian.Uint64(table.Data[extended:]) {
		end = min(end, header+32*int(table.Data[extendedStart]))
	}
	read := func(list []byte) ([]Key, error) {
		out := make([]Key, len(list))
		for i, at := range list {
			from := header + 32*int(at)
			if from+32 > end {
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
