package chain

import (
	"encoding/binary"
	"math"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Account is one account's state. It is immutable once a block has published it: a change makes a
// new Account.
type Account struct {
	Lamports   uint64
	Owner      Key
	Data       []byte
	Executable bool
}

// Write is the state in which a transaction left an account. Account is nil if the account has
// ceased to exist.
type Write struct {
	Key     Key
	Account *Account
}

// The rent: lamports that a byte costs once, in an account that has accountOverhead bytes besides
// its data (SIMD-0437, its second step; solana-rent 4.5.0).
const (
	rentPerByte     = 5080
	accountOverhead = 128
)

// RentExempt is the lamports that keep an account of size data bytes alive.
func RentExempt(size int) uint64 { return uint64(size+accountOverhead) * rentPerByte }

// rentSysvar is the data of the rent sysvar: lamports a byte, the threshold, which is 1.0 since
// SIMD-0194, and the percentage that is burned.
func rentSysvar() []byte {
	d := binary.LittleEndian.AppendUint64(nil, rentPerByte)
	return append(binary.LittleEndian.AppendUint64(d, math.Float64bits(1)), 50)
}

// state has the accounts at the tip, and a journal to undo the writes of a dead fork.
type state struct {
	accounts map[Key]*Account
	journal  []Write
	record   bool
}

func newState() *state { return &state{accounts: make(map[Key]*Account, 1<<12)} }

func (s *state) get(k Key) *Account { return s.accounts[k] }

func (s *state) set(k Key, a *Account) {
	if s.record {
		s.journal = append(s.journal, Write{Key: k, Account: s.accounts[k]})
	}
	if a == nil {
		delete(s.accounts, k)
		return
	}
	s.accounts[k] = a
}

// begin starts a journal; rollback undoes every write since.
func (s *state) begin() { s.record, s.journal = true, s.journal[:0] }

func (s *state) rollback() {
	s.record = false
	for i := len(s.journal) - 1; i >= 0; i-- {
		s.set(s.journal[i].Key, s.journal[i].Account)
	}
	s.journal = s.journal[:0]
}

// IsTokenAccount returns whether a is an initialized token account of either token program.
func IsTokenAccount(a *Account) bool {
	return (a.Owner == TokenProgram || a.Owner == Token2022Program) && layout.IsTokenAccount(a.Data)
}

// MintSupply is the supply and decimals of an initialized mint of either token program.
func MintSupply(a *Account) (supply uint64, decimals uint8, ok bool) {
	if a.Owner != TokenProgram && a.Owner != Token2022Program || !layout.IsMint(a.Data) {
		return 0, 0, false
	}
	return layout.Supply(a.Data), a.Data[layout.MintDecimalsAt], true
}
