package layout

import (
	"encoding/binary"
	"math"
)

// Offsets in an address lookup table (solana-address-lookup-table-interface, state.rs). Addresses
// follow a header of 56 bytes.
const (
	tableHeader        = 56
	tableDeactivatedAt = 4
	tableExtendedAt    = 12
	tableFromAt        = 20
	tableAuthorityAt   = 21
)

// tableInitialized is the state of a table that is in use, in the first four bytes.
const tableInitialized = 1

// LookupTable is an address lookup table that is not deactivated.
type LookupTable struct {
	// Extended is the slot of the last extension. It added the addresses from index From on.
	Extended uint64
	From     byte
	// Authority may extend the table; nil for none.
	Authority *Key
	Addresses []Key
}

// Bytes returns the account's data.
func (t LookupTable) Bytes() []byte {
	d := make([]byte, tableHeader, tableHeader+32*len(t.Addresses))
	d[0] = tableInitialized
	binary.LittleEndian.PutUint64(d[tableDeactivatedAt:], math.MaxUint64) // never
	binary.LittleEndian.PutUint64(d[tableExtendedAt:], t.Extended)
	d[tableFromAt] = t.From
	if t.Authority != nil {
		d[tableAuthorityAt] = 1
		copy(d[tableAuthorityAt+1:], t.Authority[:])
	}
	for _, k := range t.Addresses {
		d = append(d, k[:]...)
	}
	return d
}

// LookupAddresses returns the addresses that a transaction which lands behind slot may load from a
// table. Those that were added in that slot or later do not count yet. ok is false if the data is
// no table, or one that was deactivated.
func LookupAddresses(d []byte, slot uint64) (addresses []Key, ok bool) {
	if len(d) < tableHeader || d[0] != tableInitialized || binary.LittleEndian.Uint64(d[tableDeactivatedAt:]) != math.MaxUint64 {
		return nil, false
	}
	n := (len(d) - tableHeader) / 32
	if slot <= binary.LittleEndian.Uint64(d[tableExtendedAt:]) {
		n = min(n, int(d[tableFromAt]))
	}
	addresses = make([]Key, n)
	for i := range addresses {
		addresses[i] = Key(d[tableHeader+32*i:][:32])
	}
	return addresses, true
}
