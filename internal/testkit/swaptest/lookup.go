package swaptest

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/testworld/layout"
)

// keysOf returns the accounts of a transaction in the runtime's order: those in its message, those
// that it loads from lookup tables to write them, those that it loads to read them.
func (c *Chain) keysOf(tx *solana.Transaction) [][]solana.PublicKey {
	parts := [][]solana.PublicKey{tx.Message.AccountKeys, {}, {}}
	for _, l := range tx.Message.AddressTableLookups {
		table := c.accounts[Key(l.AccountKey)]
		if table == nil {
			panic(fmt.Sprintf("no lookup table %s", l.AccountKey)) // a mistake of the test
		}
		addresses, ok := layout.LookupAddresses(table.Data, c.slot)
		if !ok {
			panic(fmt.Sprintf("%s is no active lookup table", l.AccountKey))
		}
		for to, indexes := range [][]uint8{1: l.WritableIndexes, 2: l.ReadonlyIndexes} {
			for _, i := range indexes {
				parts[to] = append(parts[to], solana.PublicKey(addresses[i]))
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
