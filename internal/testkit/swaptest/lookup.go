package swaptest

import (
	"encoding/binary"
	"math"

	"github.com/gagliardetto/solana-go"
)

// tableHeader is how many bytes a lookup table has before its entries.
const tableHeader = 56

// LookupTable returns the data of an active address lookup table. All entries but the first old
// ones were added in the slot extended.
func LookupTable(extended uint64, old byte, entries ...Key) []byte {
	data := make([]byte, tableHeader, tableHeader+32*len(entries))
	data[0], data[20] = 1, old
	binary.LittleEndian.PutUint64(data[4:], math.MaxUint64)
	binary.LittleEndian.PutUint64(data[12:], extended)
	for _, key := range entries {
		data = append(data, key[:]...)
	}
	return data
}

// keysOf returns the accounts of a transaction in the runtime's order: those in its message, those
// that it loads from lookup tables to write them, those that it loads to read them.
func (c *Chain) keysOf(tx *solana.Transaction) [][]solana.PublicKey {
	parts := [][]solana.PublicKey{tx.Message.AccountKeys, {}, {}}
	for _, l := range tx.Message.AddressTableLookups {
		data := c.accounts[Key(l.AccountKey)].Data
		for to, indexes := range [][]uint8{1: l.WritableIndexes, 2: l.ReadonlyIndexes} {
			for _, i := range indexes {
				parts[to] = append(parts[to], solana.PublicKeyFromBytes(data[tableHeader+32*int(i):][:32]))
			}
		}
	}
	return parts
}

func base58s(keys []solana.PublicKey) []string {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = key.String()
	}
	return list
}
