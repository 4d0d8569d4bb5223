package programs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/unknowntest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// chain has accounts, and counts the calls.
type chain struct {
	mu       sync.Mutex
	accounts map[pubkey.Key]*solana.Account
	calls    int
	err      error
}

func (c *chain) GetMultipleAccounts(_ context.Context, keys []pubkey.Key, opts solana.AccountOptions) (uint64, []*solana.Account, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if len(keys) > solana.MaxAccountsPerCall {
		return 0, nil, errors.New("too many keys")
	}
	accounts := make([]*solana.Account, len(keys))
	for i, key := range keys {
		if a := c.accounts[key]; a != nil {
			part := *a
			if opts.DataSlice != nil {
				part.Data = a.Data[:min(uint64(len(a.Data)), opts.DataSlice.Length)]
			}
			accounts[i] = &part
		}
	}
	return 1000, accounts, c.err
}

func (c *chain) deploy(t *testing.T, program pubkey.Key, slot uint64, code string) {
	t.Helper()
	address, ok := solana.ProgramDataAddress(program)
	require.True(t, ok)
	data := binary.LittleEndian.AppendUint32(nil, 3)
	data = append(binary.LittleEndian.AppendUint64(data, slot), make([]byte, 33)...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accounts[program] = &solana.Account{Owner: solana.LoaderUpgradeable, Data: make([]byte, 36)}
	c.accounts[address] = &solana.Account{Owner: solana.LoaderUpgradeable, Data: append(append(data, code...), make([]byte, 1000*len(code))...)}
}

// change changes the chain under its lock.
func (c *chain) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

func key(n byte) pubkey.Key { return pubkey.Key{n, 1} }

// TestANewBuildIsNoted: with its slots and its hash, once, also if it was deployed while nothing
// ran; not the first look, nor programs without a slot, nor a server that is behind.
func TestANewBuildIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rpc, book, file := &chain{accounts: map[pubkey.Key]*solana.Account{}}, unknowntest.New(t), filepath.Join(t.TempDir(), "programs.json")
		list := []Program{{"native", key(1)}, {"token", key(2)}, {"venue", key(3)}, {"absent", key(4)}}
		rpc.accounts[key(1)] = &solana.Account{Owner: pubkey.MustParse("NativeLoader1111111111111111111111111111111"), Data: []byte("x")}
		rpc.deploy(t, key(2), 100, "first")
		rpc.deploy(t, key(3), 200, "pool")
		run := func() (stop func()) {
			w, err := New(Config{programs: list, File: file}, Deps{RPC: rpc, Unknowns: book})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- w.Run(ctx) }()
			synctest.Wait()
			return func() { cancel(); require.NoError(t, <-done) }
		}
		stop := run()
		time.Sleep(2*time.Hour + time.Minute)
		rpc.change(func() { require.Equal(t, 3, rpc.calls, "one call a look") })
		require.Empty(t, unknowntest.Noted(t, book))

		rpc.deploy(t, key(2), 300, "second, which is longer")
		time.Sleep(time.Hour)
		noted := unknowntest.Noted(t, book)
		require.Len(t, noted, 1)
		require.EqualValues(t, 300, *noted["program_change/token"].LastSlot)
		var c change
		require.NoError(t, json.Unmarshal(noted["program_change/token"].Sample, &c))
		require.Equal(t, change{key(2).String(), 100, 300, solana.ExecutableHash([]byte("second, which is longer"))}, c)

		rpc.change(func() { rpc.err = errors.New("away") })
		rpc.deploy(t, key(3), 400, "pool 2")
		time.Sleep(time.Hour)
		stop()
		rpc.err = nil
		behind := maps.Clone(rpc.accounts)
		stop = run()
		require.Contains(t, unknowntest.Noted(t, book), "program_change/venue")
		rpc.deploy(t, key(3), 500, "pool 3")
		time.Sleep(time.Hour + time.Minute)
		require.Contains(t, unknowntest.Noted(t, book), "program_change/venue")
		rpc.change(func() { rpc.accounts = behind })
		time.Sleep(time.Hour + time.Minute)
		require.Empty(t, unknowntest.Noted(t, book))
		stop()
	})
}

// TestAllDecodedProgramsAreWatched in calls that nodes allow.
func TestAllDecodedProgramsAreWatched(t *testing.T) {
	names := map[string]bool{}
	for _, p := range Decoded() {
		require.False(t, names[p.Name], p.Name)
		names[p.Name] = true
	}
	for _, name := range []string{"spl_token", "token_2022", "metaplex", "raydium_cpmm", "jupiter_v6"} {
		require.True(t, names[name], name)
	}
	rpc, book := &chain{accounts: map[pubkey.Key]*solana.Account{}}, unknowntest.New(t)
	for _, p := range Decoded() {
		rpc.deploy(t, p.Program, 1, p.Name)
	}
	file := filepath.Join(t.TempDir(), "programs.json")
	require.NoError(t, os.WriteFile(file, []byte("garbage"), 0o600))
	w, err := New(Config{File: file}, Deps{RPC: rpc, Unknowns: book})
	require.NoError(t, err)
	w.load()
	require.NoError(t, w.look(t.Context()))
	for _, p := range Decoded() {
		rpc.deploy(t, p.Program, 2, p.Name)
	}
	require.NoError(t, w.look(t.Context()))
	require.Len(t, unknowntest.Noted(t, book), len(Decoded()))
}
