package holdings

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	store "github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/lattice"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

// TestWorldsFromAValidatorsSnapshot: a node that was off for a while, and reads a validator's
// snapshot of a later slot, has what the runtime has. Accounts that it knew are closed by then, and
// others have another owner.
func TestWorldsFromAValidatorsSnapshot(t *testing.T) {
	seed := testkit.Seed(t)
	for round := range testkit.Rounds(1, 12) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := newWorld(t, rand.New(rand.NewPCG(seed, uint64(2000+round))))
			facts, gap := &records{}, &records{}
			w.follow(facts, 100)
			w.follow(gap, 40) // the node was off
			begin := w.slot + 1
			w.follow(facts, 5)
			t.Run("read", func(t *testing.T) { w.readSnapshot(t, facts) })
			w.follow(facts, 60)
			w.compare(w.stored(facts, begin, worldStart), false)
		})
	}
}

// readSnapshot reads the runtime's accounts as `mintlake bootstrap validator-snapshot` does, into a
// log that has facts.
func (w *world) readSnapshot(t *testing.T, facts *records) {
	storage := snapshotfile.Storage{Slot: w.slot, ID: 1, Accounts: func(yield func(*lattice.Account) bool) {
		for _, key := range slices.SortedFunc(maps.Keys(w.held), pubkey.Compare) {
			a := w.held[key]
			if a != nil && a.Lamports > 0 && !yield(&lattice.Account{Address: key, Owner: a.Owner, Lamports: a.Lamports, Data: a.Data}) {
				return
			}
		}
	}}
	archive := &snapshotfile.Snapshot{
		Release: snapshotfile.Agave4, Slot: w.slot, Storages: []snapshotfile.Storage{storage}, Lattice: snapshotfile.Sum(storage),
	}
	path := filepath.Join(t.TempDir(), archive.Name("zst"))
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, archive.Write(file, "zst"))
	require.NoError(t, file.Close())

	conn, _ := chtest.Migrated(t)
	tables := &tablesOf{accounts.NewTables(conn, schema.Database), store.NewClickHouse(conn, schema.Database), facts, 0}
	loader, err := validator.New(validator.Config{Full: path, Folder: t.TempDir()},
		validator.Deps{Producer: (*balancesOf)(facts), Follow: func(pubkey.Key) bool { return true }, All: true, Tables: tables})
	require.NoError(t, err)
	summary, err := loader.Run(t.Context())
	require.NoError(t, err)
	t.Logf("%d accounts at slot %d, %d ended", summary.Holdings, summary.Slot, summary.Closed)
	require.NotZero(t, summary.Closed)
}

// balancesOf is a log that keeps balances only.
type balancesOf records

// Produce implements kafka.RecordProducer.
func (b *balancesOf) Produce(_ context.Context, list ...kafka.Record) error {
	b.all = append(b.all, slices.DeleteFunc(slices.Clone(list), func(r kafka.Record) bool { return r.Topic != schemas.TopicBalances })...)
	return nil
}

// tablesOf are tables that store facts when they catch up. done is how many are stored.
type tablesOf struct {
	*accounts.Tables
	store *store.ClickHouse
	facts *records
	done  int
}

// CatchUp implements validator.Tables.
func (t *tablesOf) CatchUp(ctx context.Context, _ func(int64)) error {
	batch := store.NewBatch()
	for ; t.done < len(t.facts.all); t.done++ {
		if err := batch.Add(&t.facts.all[t.done]); err != nil {
			return err
		}
	}
	return t.store.Insert(ctx, batch)
}
