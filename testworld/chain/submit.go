package chain

import (
	"errors"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Text is the error as a node words it in a simulation failure.
func (e *TxError) Text() string {
	switch e.Kind { //nolint:exhaustive // all others are of instructions
	case ErrRent:
		return "Transaction results in an account (" + utoa(uint64(e.Index)) + ") with insufficient funds for rent"
	case ErrLoadedSize:
		return "Transaction exceeded max loaded accounts data size cap"
	}
	return (&programError{kind: e.Kind, custom: e.Custom}).Error()
}

// ResolveLookup reads addresses out of a lookup table account for a transaction that lands behind
// slot. An absent or deactivated table is an error, and so is an index beyond its end. Entries that
// were added in that slot or later do not count yet.
func ResolveLookup(table *Account, slot uint64, writable, readonly []byte) (w, r []Key, err error) {
	var addresses []Key
	ok := table != nil && table.Owner == LookupTableProgram
	if ok {
		addresses, ok = layout.LookupAddresses(table.Data, slot)
	}
	if !ok {
		return nil, nil, errors.New("Transaction loads an address table account that doesn't exist") //nolint:staticcheck // the node's words
	}
	read := func(list []byte) ([]Key, error) {
		out := make([]Key, len(list))
		for i, at := range list {
			if int(at) >= len(addresses) {
				return nil, errors.New("Transaction address table lookup uses an invalid index") //nolint:staticcheck // the node's words
			}
			out[i] = addresses[at]
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
