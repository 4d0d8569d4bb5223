package validator_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/lattice"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

// TestBalancesOfFollowedMints: every token account of these mints that exists, once, and behind
// them that the mint was read as a whole; of other mints nothing. A run that is stopped in the
// middle goes on.
func TestBalancesOfFollowedMints(t *testing.T) {
	w := newWorld(60, 9000)
	follow := func(mint pubkey.Key) bool { return mint[0]%2 == 0 }
	newest := map[pubkey.Key]*lattice.Account{}
	for _, storage := range w.Storages(w.slot) {
		for account := range storage.Accounts {
			newest[account.Address] = account
		}
	}
	want, whole := map[[2]pubkey.Key]uint64{}, map[pubkey.Key]bool{}
	for address, account := range newest {
		switch {
		case account.Lamports == 0:
		case len(account.Data) == 165 && follow(pubkey.Key(account.Data)):
			want[[2]pubkey.Key{pubkey.Key(account.Data), address}] = binary.LittleEndian.Uint64(account.Data[64:])
		case (account.Owner == tokenaccount.ProgramToken || account.Owner == tokenaccount.ProgramToken2022) && len(account.Data) != 165 && follow(address):
			whole[address] = true
		}
	}
	require.NotEmpty(t, want)
	require.Less(t, len(want), 9000)

	path := write(t, w.full(snapshotfile.Agave4), "zst")
	cfg := validator.Config{Full: path, Folder: t.TempDir()}
	out := newLog()
	out.fail = func(int) error {
		if len(out.held) > 0 && len(out.whole) > 0 && !t.Failed() && out.records > 0 && out.failed == 0 {
			out.failed++
			return errors.New("disk full")
		}
		return nil
	}
	for {
		loader, err := validator.New(cfg, validator.Deps{Producer: out, Follow: follow})
		require.NoError(t, err)
		loader.Tune(2, time.Hour)
		summary, err := loader.Run(t.Context())
		if err == nil {
			require.EqualValues(t, len(want), summary.Holdings)
			break
		}
		require.ErrorContains(t, err, "disk full")
	}
	require.Equal(t, 1, out.failed)
	require.False(t, out.all, "not all mints were followed")
	for mint, isWhole := range out.whole {
		if !isWhole {
			delete(out.whole, mint) // its mint account was closed
		}
	}
	require.Equal(t, want, out.held)
	require.Equal(t, whole, out.whole)
}

// TestAllAccountsWereRead: with all mints followed, the log says that all accounts of all wallets
// were read.
func TestAllAccountsWereRead(t *testing.T) {
	w := newWorld(10, 300)
	out := newLog()
	loader, err := validator.New(validator.Config{Full: write(t, w.full(snapshotfile.Agave4), "zst"), Folder: t.TempDir()},
		validator.Deps{Producer: out, Follow: func(pubkey.Key) bool { return true }, All: true})
	require.NoError(t, err)
	_, err = loader.Run(t.Context())
	require.NoError(t, err)
	require.True(t, out.all)
}
