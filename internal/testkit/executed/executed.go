// Package executed reads files of orders that a venue's program executed, with all accounts as
// bytes. EXECUTED.md beside the files describes them.
package executed

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// File has the orders of one program. Args has an order's arguments, After what the file tells of
// the state after the order.
type File[Args, After any] struct {
	Program  string              `json:"program"`
	Accounts map[string][]byte   `json:"accounts"`
	States   []State             `json:"states"`
	Cases    []Case[Args, After] `json:"cases"`
}

// State has the accounts that an order meets, by their role: their addresses, their owner programs,
// and in Accounts the keys of their data in File.Accounts.
type State struct {
	Clock struct {
		Slot  uint64 `json:"slot,string"`
		Time  int64  `json:"unix_timestamp,string"`
		Epoch uint64 `json:"epoch,string"`
	} `json:"clock"`
	Keys     map[string]string  `json:"keys"`
	Owners   map[string]*string `json:"owners"`
	Accounts map[string]*string `json:"accounts"`
	User     string             `json:"user"`
}

// Case is an order, and what came of it.
type Case[Args, After any] struct {
	ID       int      `json:"id"`
	Tags     []string `json:"tags"`
	State    int      `json:"state"`
	Name     string   `json:"ix"`
	Args     Args     `json:"args"`
	Data     []byte   `json:"ix_data"`
	Accounts []string `json:"ix_accounts"`
	In       uint64   `json:"user_in,string"`
	Out      uint64   `json:"user_out,string"`
	Error    *Failure `json:"error"`
	After    After    `json:"after"`
	Units    uint32   `json:"cu"`
}

// Failure is why the program refused an order.
type Failure struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// Has returns whether a case has a tag.
func (c *Case[Args, After]) Has(tag string) bool {
	for _, t := range c.Tags {
		if t == tag {
			return true
		}
	}
	return false
}

// Roles returns the roles of an instruction's accounts, without their flags.
func (c *Case[Args, After]) Roles() []string {
	roles := make([]string, len(c.Accounts))
	for i, role := range c.Accounts {
		roles[i], _, _ = strings.Cut(role, ":")
	}
	return roles
}

// Read reads a file of the data set. It skips the test where the data are not there.
func Read[Args, After any](t testing.TB, name string) *File[Args, After] {
	t.Helper()
	raw, err := os.Open(testkit.Shared(t, name))
	require.NoError(t, err)
	defer func() { require.NoError(t, raw.Close()) }()
	unpacked, err := gzip.NewReader(raw)
	require.NoError(t, err)
	f := &File[Args, After]{}
	require.NoError(t, json.NewDecoder(unpacked).Decode(f))
	require.NotEmpty(t, f.Cases)
	return f
}

// Held returns the accounts of a state, with the data that change returns for theirs. The account
// of a role without an owner or data does not exist, and is nil.
func (f *File[Args, After]) Held(state int, change func(data []byte) []byte) *venue.Accounts {
	s := f.States[state]
	read := map[venue.Key]*solana.Account{}
	for role, key := range s.Keys {
		var account *solana.Account
		if owner, hash := s.Owners[role], s.Accounts[role]; owner != nil && hash != nil {
			account = &solana.Account{Owner: pubkey.MustParse(*owner), Data: change(f.Accounts[*hash])}
		}
		read[pubkey.MustParse(key)] = account
	}
	return venue.NewAccounts(read)
}

// Clock returns the time of a state.
func (f *File[Args, After]) Clock(state int) venue.Clock {
	c := f.States[state].Clock
	return venue.Clock{Slot: c.Slot, Epoch: c.Epoch, UnixTime: c.Time}
}

// Key returns the address of a role in a state.
func (f *File[Args, After]) Key(t testing.TB, state int, role string) venue.Key {
	t.Helper()
	key, err := pubkey.Parse(f.States[state].Keys[role])
	require.NoError(t, err, "role %s", role)
	return key
}
