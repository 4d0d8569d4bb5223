package validator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/bulk"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

// log is a producer that folds what it is given, as the registry does.
type log struct {
	mu      sync.Mutex
	states  map[pubkey.Key]*registry.State
	records int
	fail    func(records int) error
	failed  int
	// held are the amounts of token accounts by mint, whole the mints that were read as a whole.
	held  map[[2]pubkey.Key]uint64
	whole map[pubkey.Key]bool
	// all means that all accounts of all mints were read.
	all bool
	// told is the record about the snapshot.
	told *eventspb.ValidatorSnapshot
}

func newLog() *log {
	return &log{states: map[pubkey.Key]*registry.State{}, held: map[[2]pubkey.Key]uint64{}, whole: map[pubkey.Key]bool{}}
}

// hold takes a record of balances.
func (l *log) hold(record *kafka.Record) error {
	message := new(eventspb.BalanceChanges)
	if err := proto.Unmarshal(record.Value, message); err != nil {
		return err
	}
	mint := pubkey.Key(message.GetMint())
	if !message.GetIsRead() || string(record.Key) != mint.String() || l.whole[mint] {
		return fmt.Errorf("balances of %s: no read, or behind its end", mint)
	}
	for _, change := range message.GetChanges() {
		l.held[[2]pubkey.Key{mint, pubkey.Key(change.GetAccount())}] += change.GetAfter().GetAmount()
	}
	if message.GetIsAll() {
		l.all = mint.IsZero()
		return nil
	}
	l.whole[mint] = message.GetIsWhole()
	return nil
}

func (l *log) Produce(_ context.Context, records ...kafka.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		if err := l.fail(l.records); err != nil {
			return err
		}
	}
	for _, record := range records {
		if record.Topic == schemas.TopicIdentity {
			l.told = new(eventspb.ValidatorSnapshot)
			return proto.Unmarshal(record.Value, l.told)
		}
		if record.Topic == schemas.TopicBalances {
			if err := l.hold(&record); err != nil {
				return err
			}
			continue
		}
		enrichment := new(eventspb.Enrichment)
		if err := proto.Unmarshal(record.Value, enrichment); err != nil {
			return err
		}
		if enrichment.GetUpstream() != validator.Upstream {
			return fmt.Errorf("upstream %q", enrichment.GetUpstream())
		}
		apply(l.states, enrichment)
		l.records++
	}
	return nil
}

func apply(states map[pubkey.Key]*registry.State, enrichment *eventspb.Enrichment) {
	for _, fact := range registry.FactsOfEnrichment(enrichment) {
		if states[fact.Mint] == nil {
			states[fact.Mint] = new(registry.State)
		}
		states[fact.Mint].Apply(fact)
	}
}

// world is a made-up cluster and its snapshot's slot.
type world struct {
	snapshotfile.World
	slot uint64
}

func newWorld(mints, others int) *world {
	const slot = 400_000_123
	return &world{World: snapshotfile.World{Chain: bulk.NewChain(mints, slot), Others: others, PerStorage: 300}, slot: slot}
}

// want is what the registry must hold: what a bootstrap over RPC reads, without what was closed.
func (w *world) want(t testing.TB) (states map[pubkey.Key]*registry.State, records int) {
	numbers := map[pubkey.Key]int{}
	for n := range w.Chain.Mints {
		address, _, _ := w.Chain.MintAccount(n)
		numbers[address] = n
	}
	states = map[pubkey.Key]*registry.State{}
	require.NoError(t, w.Chain.Enrichments(func(e *eventspb.Enrichment) {
		n := numbers[pubkey.Key(e.GetMint())]
		if e.GetMetaplexAccount() != nil {
			n++ // as World has it
		}
		if !w.Closed(n) {
			apply(states, e)
			records++
		}
	}))
	return states, records
}

// full is the whole world in one archive.
func (w *world) full(release int) *snapshotfile.Snapshot {
	return &snapshotfile.Snapshot{Release: release, Slot: w.slot, Storages: w.Storages(w.slot), Lattice: w.Sum()}
}

// pair is the world in a full archive and an incremental one.
func (w *world) pair(release int) (full, incremental *snapshotfile.Snapshot) {
	storages := w.Storages(w.slot)
	cut := len(storages) * 2 / 3
	base := storages[cut-1].Slot + 1
	full = &snapshotfile.Snapshot{Release: release, Slot: base, Storages: storages[:cut], Lattice: snapshotfile.Sum(storages[:cut]...)}
	return full, &snapshotfile.Snapshot{Release: release, Slot: w.slot, Base: base, Storages: storages[cut:], Lattice: snapshotfile.Sum(storages...)}
}

// write writes an archive under its own name.
func write(t testing.TB, s *snapshotfile.Snapshot, codec string) string {
	path := filepath.Join(t.TempDir(), s.Name(codec))
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, s.Write(file, codec))
	require.NoError(t, file.Close())
	return path
}

// run loads a snapshot with short blocks, so that parts of the spill have several.
func run(t testing.TB, cfg validator.Config, out *log) (validator.Summary, error) {
	t.Helper()
	if cfg.Folder == "" {
		cfg.Folder = t.TempDir()
	}
	loader, err := validator.New(cfg, validator.Deps{Producer: out})
	require.NoError(t, err)
	loader.Tune(2, time.Hour)
	return loader.Run(t.Context())
}

// TestWhatASnapshotSays: the facts of all releases and compressions, full and as a pair, are those
// of a bootstrap over RPC.
func TestWhatASnapshotSays(t *testing.T) {
	w := newWorld(700, 2800)
	want, records := w.want(t)
	require.Equal(t, *snapshotfile.Sum(w.Storages(w.slot)...), *w.Sum(), "the generator's two ways to sum agree")
	for _, release := range []int{snapshotfile.Agave2, snapshotfile.Agave3, snapshotfile.Agave4} {
		for _, codec := range []string{"zst", "lz4"} {
			t.Run(fmt.Sprint(release, " ", codec), func(t *testing.T) {
				t.Parallel()
				out := newLog()
				cfg := validator.Config{Full: write(t, w.full(release), codec)}
				summary, err := run(t, cfg, out)
				require.NoError(t, err)
				require.Equal(t, want, out.states)
				require.Equal(t, validator.CheckConsistent, summary.Check)
				require.EqualValues(t, records, out.records)
				require.EqualValues(t, records, summary.Records)
				require.Equal(t, w.slot, summary.Slot)
				require.Positive(t, summary.Replaced)

				full, incremental := w.pair(release)
				out = newLog()
				cfg = validator.Config{Full: write(t, full, codec), Incremental: write(t, incremental, codec)}
				second, err := run(t, cfg, out)
				require.NoError(t, err)
				require.Equal(t, want, out.states)
				require.Equal(t, summary.Accounts, second.Accounts)
				require.Equal(t, summary.Versions, second.Versions)
			})
		}
	}
}

// TestWhatIsCheckedAndWhatIsNot: a second source's hash makes a snapshot verified; without hashes
// it is read, and that is remembered.
func TestWhatIsCheckedAndWhatIsNot(t *testing.T) {
	w := newWorld(60, 120)
	snapshot := w.full(snapshotfile.Agave4)
	path := write(t, snapshot, "zst")
	want, _ := w.want(t)

	hash := pubkey.Key(snapshot.BankHash()).String()
	summary, err := run(t, validator.Config{Full: path, ExpectHash: hash}, newLog())
	require.NoError(t, err)
	require.Equal(t, validator.CheckVerified, summary.Check)
	require.Equal(t, hash, summary.BankHash)

	out := newLog()
	other := pubkey.Key{7}.String()
	_, err = run(t, validator.Config{Full: path, ExpectHash: other}, out)
	require.ErrorContains(t, err, "--expect-hash says "+other)
	require.Zero(t, out.records)

	out = newLog()
	summary, err = run(t, validator.Config{Full: path, SkipHash: true}, out)
	require.NoError(t, err)
	require.Equal(t, validator.CheckSkipped, summary.Check)
	require.Equal(t, want, out.states)
	require.Equal(t, "skipped", out.told.GetCheck(), "the log remembers it")
	require.Equal(t, hash, text([32]byte(out.told.GetBankHash())))

	_, err = validator.New(validator.Config{Full: path, Folder: "x", SkipHash: true, ExpectHash: hash}, validator.Deps{Producer: out})
	require.ErrorContains(t, err, "would prove nothing")

	snapshot.Lattice = nil
	old := write(t, snapshot, "zst")
	_, err = run(t, validator.Config{Full: old}, newLog())
	require.ErrorContains(t, err, "no lattice hash (it is from before SIMD-0215)")
}

// TestKillsCostLittle: a run that is stopped at any storage, and at any batch of the log, goes on
// where it was, and the log holds the same.
func TestKillsCostLittle(t *testing.T) {
	w := newWorld(3000, 6000)
	full, incremental := w.pair(snapshotfile.Agave3)
	want, _ := w.want(t)
	cfg := validator.Config{Full: write(t, full, "zst"), Incremental: write(t, incremental, "zst"), Folder: t.TempDir()}
	out := newLog()
	read := []int64{}
	for attempt := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		loader, err := validator.New(cfg, validator.Deps{Producer: out, Extract: stopAfter(attempt*1500+400, cancel)})
		require.NoError(t, err)
		loader.Tune(4, time.Nanosecond)
		_, err = loader.Run(ctx)
		read = append(read, loader.Progress().Items)
		cancel()
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Greater(t, len(read), 2, "some runs were stopped")
	require.Equal(t, want, out.states)
	total := int64(0)
	for _, n := range read {
		total += n
	}
	require.Less(t, total, int64(len(read))*9000, "what was noted is not looked at again: %v", read)
	_, err := run(t, cfg, newLog())
	require.ErrorIs(t, err, validator.ErrComplete)
}

// TestProgressOfAnEarlierVersion: what an earlier version has finished is complete; what it has
// begun is refused by name, as its spill has another form.
func TestProgressOfAnEarlierVersion(t *testing.T) {
	w := newWorld(30, 60)
	cfg := validator.Config{Full: write(t, w.full(snapshotfile.Agave4), "zst"), Folder: t.TempDir()}
	_, err := run(t, cfg, newLog())
	require.NoError(t, err)
	path := filepath.Join(cfg.Folder, "progress.json")
	saved, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(saved), `"format":2`)
	earlier := strings.Replace(string(saved), `"format":2`, `"format":1`, 1)
	require.NoError(t, os.WriteFile(path, []byte(earlier), 0o600))
	_, err = run(t, cfg, newLog())
	require.ErrorIs(t, err, validator.ErrComplete)

	begun := strings.Replace(earlier, `"phase":"done"`, `"phase":"read"`, 1)
	require.NoError(t, os.WriteFile(path, []byte(begun), 0o600))
	_, err = run(t, cfg, newLog())
	require.ErrorContains(t, err, "is of format 1, this binary writes 2: begin anew with --restart")
}
