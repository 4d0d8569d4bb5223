package txn

import (
	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/swap/venue"
)

// Table is an address lookup table: a transaction names an address in it by one byte. Immutable.
type Table struct {
	// Address of the table's account.
	Address venue.Key
	// at has the index of each entry.
	at map[venue.Key]uint8
}

// mostEntries is how many entries a table can have: an index is one byte.
const mostEntries = 256

// NewTable makes a table. Every entry must be usable in the next block already. Of an address that
// is in it twice, the first entry counts.
func NewTable(address venue.Key, entries []venue.Key) Table {
	t := Table{address, make(map[venue.Key]uint8, len(entries))}
	for i, key := range entries[:min(len(entries), mostEntries)] {
		if _, twice := t.at[key]; !twice {
			t.at[key] = uint8(i)
		}
	}
	return t
}

// leastEntries is the least number of accounts with which a table makes a message smaller: the
// table takes 34 bytes (its address and two lengths), and saves 31 for each account.
const leastEntries = 2

// lookUp replaces accounts of a message by entries of tables, where that makes it smaller. It
// returns the addresses of the tables that the message then uses.
//
// Accounts that sign, and programs that instructions call, stay in the message: the runtime loads
// neither from a table. It is greedy and deterministic: in each round it takes the table that
// replaces most of the accounts that are left, of equal ones the first.
func lookUp(m *solana.Message, tables []Table) []venue.Key {
	stays := make([]bool, len(m.AccountKeys))
	for i := range int(m.Header.NumRequiredSignatures) {
		stays[i] = true
	}
	for _, in := range m.Instructions {
		stays[in.ProgramIDIndex] = true
	}
	var used []Table
	// of is the place in used of the table that has an account, plus one; 0 if none has.
	of := make([]int, len(m.AccountKeys))
	for {
		var best Table
		most := leastEntries - 1
		for _, t := range tables {
			count := 0
			for i, key := range m.AccountKeys {
				if _, has := t.at[venue.Key(key)]; has && !stays[i] && of[i] == 0 {
					count++
				}
			}
			if count > most {
				best, most = t, count
			}
		}
		if best.at == nil {
			break
		}
		used = append(used, best)
		for i, key := range m.AccountKeys {
			if _, has := best.at[venue.Key(key)]; has && !stays[i] && of[i] == 0 {
				of[i] = len(used)
			}
		}
	}
	if len(used) == 0 {
		return nil
	}
	replace(m, used, of)
	addresses := make([]venue.Key, len(used))
	for i, t := range used {
		addresses[i] = t.Address
	}
	return addresses
}

// replace takes the accounts that tables have out of a message, and renumbers all accounts. of is
// as in lookUp. The runtime numbers accounts in this order: those in the message, those loaded to
// be written table by table, those loaded to be read table by table.
func replace(m *solana.Message, used []Table, of []int) {
	keys, h := m.AccountKeys, m.Header
	readonly := func(i int) bool { return i >= len(keys)-int(h.NumReadonlyUnsignedAccounts) }
	numbers := make([]uint16, len(keys))
	next := uint16(0)
	number := func(i int) {
		numbers[i] = next
		next++
	}
	var static solana.PublicKeySlice
	for i, key := range keys {
		if of[i] == 0 {
			static = append(static, key)
			number(i)
		} else if readonly(i) {
			m.Header.NumReadonlyUnsignedAccounts--
		}
	}
	lookups := make([]solana.MessageAddressTableLookup, len(used))
	for _, reads := range []bool{false, true} {
		for t := range used {
			lookups[t].AccountKey = solana.PublicKey(used[t].Address)
			for i, key := range keys {
				if of[i] != t+1 || readonly(i) != reads {
					continue
				}
				number(i)
				if entry := used[t].at[venue.Key(key)]; reads {
					lookups[t].ReadonlyIndexes = append(lookups[t].ReadonlyIndexes, entry)
				} else {
					lookups[t].WritableIndexes = append(lookups[t].WritableIndexes, entry)
				}
			}
		}
	}
	for i := range m.Instructions {
		in := &m.Instructions[i]
		in.ProgramIDIndex = numbers[in.ProgramIDIndex]
		for j, account := range in.Accounts {
			in.Accounts[j] = numbers[account]
		}
	}
	m.AccountKeys = static
	m.SetAddressTableLookups(lookups)
}
