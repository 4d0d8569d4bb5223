package validator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

// owned is what an owner has: an account of a mint.
type owned struct{ mint, account, owner pubkey.Key }

// node is a log and tables that are made of it. The tables have a record only after CatchUp.
type node struct {
	*log
	slot   uint64
	waited []string
	// open are amounts by who has them; read are those that the log has from the snapshot and the
	// tables do not have yet, closed those that the log says are closed.
	open   map[owned]uint64
	read   map[owned]bool
	closed map[owned]uint64
	// records are what was written to chain.balances.v1, in words.
	records []string
}

func newNode(slot uint64, open map[owned]uint64) *node {
	return &node{log: newLog(), slot: slot, open: open, read: map[owned]bool{}, closed: map[owned]uint64{}}
}

func (n *node) Produce(ctx context.Context, records ...kafka.Record) error {
	if err := n.log.Produce(ctx, records...); err != nil {
		return err
	}
	for _, record := range records {
		if record.Topic != schemas.TopicBalances {
			continue
		}
		m := new(eventspb.BalanceChanges)
		if err := proto.Unmarshal(record.Value, m); err != nil {
			return err
		}
		if m.GetSlot() != n.slot || !m.GetIsRead() {
			return fmt.Errorf("a record of slot %d", m.GetSlot())
		}
		word := "whole"
		for _, c := range m.GetChanges() {
			at := owned{pubkey.Key(m.GetMint()), pubkey.Key(c.GetAccount()), pubkey.Key{}}
			switch {
			case c.GetAfter() != nil && c.GetPlace() == math.MaxUint64:
				word, at.owner = "held", pubkey.Key(c.GetAfter().GetOwner())
				n.read[at] = true
			case c.GetAfter() == nil && c.GetPlace() == math.MaxUint64-1:
				word = "closed"
				if len(c.GetBefore().GetOwner()) > 0 {
					at.owner = pubkey.Key(c.GetBefore().GetOwner())
				}
				n.closed[at] = c.GetBefore().GetAmount()
			default:
				return fmt.Errorf("a change at place %d", c.GetPlace())
			}
		}
		n.records = append(n.records, word)
	}
	return nil
}

func (n *node) CatchUp(_ context.Context, tell func(int64)) error {
	tell(int64(len(n.records)))
	for at := range n.read {
		delete(n.open, at)
	}
	for at := range n.closed {
		delete(n.open, at)
	}
	n.waited = append(n.waited, append([]string{"nothing"}, n.records...)[len(n.records)])
	return nil
}

func (n *node) OpenBefore(ctx context.Context, slot uint64, see func(mint, account, owner pubkey.Key, amount uint64) error) error {
	if slot != n.slot {
		return fmt.Errorf("slot %d", slot)
	}
	for at, amount := range n.open {
		if err := errors.Join(ctx.Err(), see(at.mint, at.account, at.owner, amount)); err != nil {
			return err
		}
	}
	return nil
}

// held returns what the owners of a world's snapshot have of the mints that are followed.
func (w *world) held(follow func(pubkey.Key) bool) []owned {
	newest := map[pubkey.Key]owned{}
	for _, storage := range w.Storages(w.slot) {
		for a := range storage.Accounts {
			delete(newest, a.Address)
			if len(a.Data) == 165 && follow(pubkey.Key(a.Data)) {
				newest[a.Address] = owned{pubkey.Key(a.Data), a.Address, pubkey.Key(a.Data[32:64])}
			}
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(a, b owned) int { return pubkey.Compare(a.account, b.account) })
}

func load(t *testing.T, cfg validator.Config, deps validator.Deps) (validator.Summary, error) {
	t.Helper()
	loader, err := validator.New(cfg, deps)
	require.NoError(t, err)
	return loader.Run(t.Context())
}

// TestARunThatIsDoneNeedsNoTables: it has nothing to do.
func TestARunThatIsDoneNeedsNoTables(t *testing.T) {
	folder := t.TempDir()
	for phase, want := range map[string]bool{"done": false, "publish": true} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "progress.json"), []byte(`{"format":2,"phase":"`+phase+`","older":true}`), 0o600))
		needs, err := validator.NeedsTables(folder, true)
		require.NoError(t, err)
		require.Equal(t, want, needs, phase)
	}
}

// TestAccountsThatAreGoneAreClosed: an account that the tables have open and the snapshot does not
// is closed, also of a mint that is gone itself; what an old owner has of an account that is
// another's now ends. No mint is whole before that. A run that is stopped in between goes on.
func TestAccountsThatAreGoneAreClosed(t *testing.T) {
	follow := func(mint pubkey.Key) bool { return mint[0]%2 == 0 }
	w := newWorld(60, 3000)
	some := w.held(follow)
	stays, changed := some[0], some[1]
	gone := owned{stays.mint, pubkey.Key{1, 31: 1}, pubkey.Key{2, 31: 1}}
	nobodys := owned{stays.mint, pubkey.Key{3, 31: 1}, pubkey.Key{}}
	ofClosedMint := owned{pubkey.Key{4, 31: 1}, pubkey.Key{5, 31: 1}, pubkey.Key{6, 31: 1}}
	notFollowed := owned{pubkey.Key{7, 31: 1}, pubkey.Key{8, 31: 1}, pubkey.Key{9, 31: 1}}
	before := owned{changed.mint, changed.account, pubkey.Key{2, 31: 1}}
	out := newNode(w.slot, map[owned]uint64{stays: 5, before: 6, gone: 100, nobodys: 7, ofClosedMint: 8, notFollowed: 9})
	fails := 0
	out.fail = func(int) error {
		last := len(out.records) - 1
		if last >= 0 && (fails == 0 && out.records[last] == "held" || fails == 1 && out.records[last] == "closed") {
			fails++
			return errors.New("disk full")
		}
		return nil
	}
	cfg := validator.Config{Full: write(t, w.full(snapshotfile.Agave4), "zst"), Folder: t.TempDir()}
	for want := range 2 {
		_, err := load(t, cfg, validator.Deps{Producer: out, Follow: follow, Tables: out})
		require.ErrorContains(t, err, "disk full")
		require.Equal(t, want+1, fails)
		needs, err := validator.NeedsTables(cfg.Folder, false)
		require.NoError(t, err)
		require.True(t, needs, "a run that goes on needs the tables as before")
	}
	_, err := load(t, cfg, validator.Deps{Producer: out, Follow: follow})
	require.ErrorContains(t, err, "needs the tables")
	summary, err := load(t, cfg, validator.Deps{Producer: out, Follow: follow, Tables: out})
	require.NoError(t, err)
	require.EqualValues(t, 4, summary.Closed)
	require.Equal(t, map[owned]uint64{before: 6, gone: 100, nobodys: 7, ofClosedMint: 8}, out.closed)
	require.Equal(t, []string{"nothing", "held", "held", "closed"}, out.waited)
	require.Equal(t, []string{"held", "closed", "whole"}, slices.Compact(out.records))
}

// TestAFirstFillWaitsForNothing: if the tables have nothing of the mints that are followed from
// before the snapshot, the run does not wait until they have it.
func TestAFirstFillWaitsForNothing(t *testing.T) {
	w := newWorld(20, 600)
	follow := func(mint pubkey.Key) bool { return mint[0] != 7 }
	out := newNode(w.slot, map[owned]uint64{{pubkey.Key{7, 31: 1}, pubkey.Key{8, 31: 1}, pubkey.Key{9, 31: 1}}: 9})
	cfg := validator.Config{Full: write(t, w.full(snapshotfile.Agave4), "zst"), Folder: t.TempDir()}
	summary, err := load(t, cfg, validator.Deps{Producer: out, Follow: follow, All: true, Tables: out})
	require.NoError(t, err)
	require.Zero(t, summary.Closed)
	require.Equal(t, []string{"nothing"}, out.waited)
	require.Equal(t, []string{"held", "whole"}, slices.Compact(out.records))
}

// TestWhichRunNeedsTheTables: one into a log that has balances. The balances that a first fill has
// written itself do not count.
func TestWhichRunNeedsTheTables(t *testing.T) {
	w := newWorld(20, 600)
	cfg := validator.Config{Full: write(t, w.full(snapshotfile.Agave4), "zst"), Folder: t.TempDir()}
	for _, inLog := range []bool{true, false} {
		needs, err := validator.NeedsTables(cfg.Folder, inLog)
		require.NoError(t, err)
		require.Equal(t, inLog, needs)
	}
	out := newNode(w.slot, nil)
	out.fail = func(int) error {
		if len(out.records) > 0 {
			return errors.New("disk full")
		}
		return nil
	}
	_, err := load(t, cfg, validator.Deps{Producer: out, Follow: func(pubkey.Key) bool { return true }})
	require.ErrorContains(t, err, "disk full")
	needs, err := validator.NeedsTables(cfg.Folder, true)
	require.NoError(t, err)
	require.False(t, needs)
}
