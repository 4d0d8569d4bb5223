package accounts

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
)

// TestAnUpdateJoinsItsOwnBank: the same transaction is in two banks of slot 7, with other results.
func TestAnUpdateJoinsItsOwnBank(t *testing.T) {
	for name, test := range map[string]struct {
		fill func(b *Buffer)
		// bank is the block's number; want is the data that it gets, empty for none.
		bank uint64
		want string
	}{
		"of the block's bank":                 {func(b *Buffer) { b.say(31, "loser"); b.say(34, "winner") }, 34, "winner"},
		"only of another":                     {func(b *Buffer) { b.say(31, "loser") }, 34, ""},
		"the block has none, the updates one": {func(b *Buffer) { b.say(34, "winner") }, 0, "winner"},
		"the block has none, the updates two": {func(b *Buffer) { b.say(31, "loser"); b.say(34, "winner") }, 0, ""},
		"nobody has one":                      {func(b *Buffer) { b.Created(7, chain.Bank{}); b.say(0, "winner") }, 0, "winner"},
		"nobody has one, and the slot has two banks": {func(b *Buffer) {
			b.Created(7, chain.Bank{})
			b.say(0, "loser")
			b.Created(7, chain.Bank{})
			b.say(0, "winner")
		}, 0, ""},
		"another node's number is the same": {func(b *Buffer) { b.say(34, "loser"); b.NewSession(); b.say(34, "winner") }, 34, "winner"},
		"a server that begins again tells the bank twice": {func(b *Buffer) {
			b.Created(7, chain.Bank{})
			b.NewSession()
			b.Created(7, chain.Bank{})
			b.say(0, "winner")
		}, 0, "winner"},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuffer(nil)
			test.fill(b)
			got := block(7, 1)
			got.Bank = b.Here(test.bank)
			b.Join(got)
			if test.want == "" {
				require.Empty(t, got.Accounts)
				return
			}
			require.Len(t, got.Accounts, 1)
			require.Equal(t, test.want, string(got.Accounts[0].Data))
			require.Empty(t, b.slots)
			require.Zero(t, b.bytes)
		})
	}
}

// say adds an update of transaction 1 in slot 7.
func (b *Buffer) say(bank uint64, data string) {
	one := update('m', 1, data)
	one.Bank = b.Here(bank)
	b.Add(7, &one)
}

// TestAPartialBlockGetsAccounts: of the transactions that could be read.
func TestAPartialBlockGetsAccounts(t *testing.T) {
	b := NewBuffer(nil)
	add(b, 7, update('m', 1, "read"), update('m', 2, "unread"))
	got := block(7, 1)
	got.Whole, got.Unread = false, []chain.Unread{{Index: 1}}
	b.Join(got)
	require.Len(t, got.Accounts, 1)
}
