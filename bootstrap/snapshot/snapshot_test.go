package snapshot_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap/snapshot"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

type states map[pubkey.Key]*registry.State

func (s states) apply(facts ...registry.Fact) {
	for _, fact := range facts {
		if s[fact.Mint] == nil {
			s[fact.Mint] = new(registry.State)
		}
		s[fact.Mint].Apply(fact)
	}
}

// sample is a registry with every kind of fact that the generator makes, and mints besides.
func sample(mints int) states {
	s := states{}
	for seed := range 30 {
		for _, message := range registrytest.Messages(40).Example(seed) {
			s.apply(message.Facts()...)
		}
	}
	for n := range mints {
		key := make([]byte, 32)
		key[0], key[1], key[2], key[3] = byte(n*37), byte(n), byte(n>>8), 7
		s.apply(registry.FactsOfEnrichment(&eventspb.Enrichment{
			Mint: key, Slot: uint64(n), Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{
				ProgramId: registrytest.Mint(9), Decimals: 6, Supply: 1<<64 - 1 - uint64(n), MintAuthority: key,
			}},
		})...)
	}
	return s
}

func (s states) Count(context.Context) (int64, error) {
	n := 0
	for _, state := range s {
		n += len(state.Facts())
	}
	return int64(n), nil
}

func (s states) Facts(_ context.Context, each func(registry.Fact) error) error {
	for _, mint := range slices.SortedFunc(maps.Keys(s), pubkey.Compare) {
		for _, fact := range s[mint].Facts() {
			if err := each(fact); err != nil {
				return err
			}
		}
	}
	return nil
}

// table is what a source may have of messages that came in any order: of each register and item the
// last fact, also those that are dead because of another. It is a Source.
type table []registry.Fact

// tableOf also returns the states that the messages make.
func tableOf(messages []registrytest.Message) (table, states) {
	want := states{}
	last := map[[3]string]registry.Fact{}
	for _, message := range messages {
		facts := message.Facts()
		want.apply(facts...)
		for _, fact := range facts {
			key := [3]string{fact.Mint.String(), string(rune(fact.Register)), fact.Item}
			held, ok := last[key]
			if c := fact.Position.Compare(held.Position); !ok || c > 0 || c == 0 && fact.Value > held.Value {
				last[key] = fact
			}
		}
	}
	rows := slices.Collect(maps.Values(last))
	slices.SortFunc(rows, func(a, b registry.Fact) int {
		return cmp.Or(pubkey.Compare(a.Mint, b.Mint), cmp.Compare(a.Register, b.Register), strings.Compare(a.Item, b.Item))
	})
	return rows, want
}

func (t table) Count(context.Context) (int64, error) { return int64(len(t)), nil }

func (t table) Facts(_ context.Context, each func(registry.Fact) error) error {
	for _, fact := range t {
		if err := each(fact); err != nil {
			return err
		}
	}
	return nil
}

// log folds the records that an import writes.
type log struct {
	states  states
	records int
	fail    func(records int) error
}

func newLog() *log { return &log{states: states{}} }

func (l *log) Produce(_ context.Context, records ...kafka.Record) error {
	for _, record := range records {
		if l.fail != nil {
			if err := l.fail(l.records); err != nil {
				return err
			}
		}
		enrichment := new(eventspb.Enrichment)
		if err := proto.Unmarshal(record.Value, enrichment); err != nil {
			return err
		}
		facts := registry.FactsOfEnrichment(enrichment)
		if len(facts) == 0 || facts[0].Mint.String() != string(record.Key) {
			return fmt.Errorf("record of %s", record.Key)
		}
		l.states.apply(facts...)
		l.records++
	}
	return nil
}

func export(t testing.TB, folder string, key ed25519.PrivateKey, source snapshot.Source) *snapshot.Manifest {
	t.Helper()
	exporter, err := snapshot.NewExporter(snapshot.ExportConfig{Folder: folder, Key: key, CreatedAt: time.Unix(1_700_000_000, 0)}.WithFileRows(3000), source)
	require.NoError(t, err)
	manifest, err := exporter.Run(t.Context())
	require.NoError(t, err)
	return manifest
}

func newKey(t testing.TB) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key.pem")
	public, err := snapshot.NewKey(path)
	require.NoError(t, err)
	private, err := snapshot.ReadKey(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	_, err = snapshot.NewKey(path)
	require.ErrorIs(t, err, fs.ErrExist, "a key is never written over")
	again, err := snapshot.ParsePublicKey(snapshot.PublicKeyText(public))
	require.NoError(t, err)
	require.Equal(t, public, again)
	return public, private
}

func importInto(t testing.TB, folder, stateFile string, trust snapshot.Trust, out *log) (*snapshot.Manifest, error) {
	t.Helper()
	importer, err := snapshot.NewImporter(snapshot.ImportConfig{Folder: folder, Trust: trust, StateFile: stateFile}, out)
	require.NoError(t, err)
	return importer.Run(t.Context())
}

func rootOf(s states) root.Sum { return wholeRootOf(s).Hash }

func wholeRootOf(s states) root.Root {
	replay := root.NewReplay(root.EverySlot)
	for _, state := range s {
		replay.Apply(state.Facts())
	}
	return replay.Root()
}

func TestExportThenImportGivesTheSameRegistry(t *testing.T) {
	want := sample(5000)
	conn, _ := chtest.Migrated(t)
	insert(t, conn, want)
	insert(t, conn, want) // copies that no merge has removed

	public, private := newKey(t)
	folder := filepath.Join(t.TempDir(), "snapshot")
	manifest := export(t, folder, private, snapshot.NewClickHouse(conn, schema.Database))
	require.EqualValues(t, len(want), manifest.Counts.Mints)
	require.Greater(t, len(manifest.Files), 5)
	require.Equal(t, rootOf(want), manifest.Root.Hash)
	require.Equal(t, wholeRootOf(want).HashV2, *manifest.Root.HashV2)

	out, state := newLog(), filepath.Join(t.TempDir(), "import.json")
	imported, err := importInto(t, folder, state, snapshot.Trust{Keys: []ed25519.PublicKey{public}}, out)
	require.NoError(t, err)
	require.Equal(t, want, out.states)
	require.Equal(t, manifest, imported)

	again := newLog()
	_, err = importInto(t, folder, state, snapshot.Trust{Keys: []ed25519.PublicKey{public}}, again)
	require.NoError(t, err)
	require.Zero(t, again.records, "what is written is not written again")

	memory := export(t, filepath.Join(t.TempDir(), "memory"), private, want)
	require.Equal(t, manifest, memory, "equal registries give equal files, byte for byte")
}

// TestRetractionsTravelWithASnapshot: whoever imports it does not believe the lies either, in
// whatever order they come.
func TestRetractionsTravelWithASnapshot(t *testing.T) {
	for seed := range 20 {
		messages := registrytest.WithRetractions(40).Example(seed)
		want := states(registrytest.Believed(registrytest.FactsOf(messages)))
		folder := filepath.Join(t.TempDir(), "s")
		manifest := export(t, folder, nil, want)
		require.Equal(t, rootOf(want), manifest.Root.Hash)
		out := newLog()
		_, err := importInto(t, folder, filepath.Join(t.TempDir(), "i"), snapshot.Trust{Insecure: true}, out)
		require.NoError(t, err)
		require.Equal(t, want, out.states)
		out.states.apply(registrytest.FactsOf(messages)...)
		require.Equal(t, want, out.states)
	}
}

func insert(t *testing.T, conn driver.Conn, want states) {
	t.Helper()
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO mintlake.tokens_raw (mint, facts, row_version)")
	require.NoError(t, err)
	for mint, state := range want {
		facts := [][]any{}
		for _, fact := range state.Facts() {
			facts = append(facts, []any{uint8(fact.Register), fact.Item, fact.Position.BigInt(), fact.Value})
		}
		require.NoError(t, batch.Append(mint.String(), facts, big.NewInt(1)))
	}
	require.NoError(t, batch.Send())
}

func TestTokensFileIsTheRegistryForAnalysts(t *testing.T) {
	s := sample(100)
	folder := t.TempDir()
	export(t, filepath.Join(folder, "s"), nil, s)
	raw, err := os.ReadFile(filepath.Join(folder, "s", "tokens.parquet"))
	require.NoError(t, err)
	type pair struct {
		Key   string `parquet:"key"`
		Value string `parquet:"value"`
	}
	type row struct {
		Mint       string   `parquet:"mint"`
		Symbol     string   `parquet:"symbol"`
		Supply     *string  `parquet:"supply,optional"`
		Extensions []pair   `parquet:"extensions,list"`
		Tags       []string `parquet:"tags,list"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	var want []row
	for _, mint := range slices.SortedFunc(maps.Keys(s), pubkey.Compare) {
		if token, member := s[mint].Token(mint); member {
			var extensions []pair
			for _, key := range slices.Sorted(maps.Keys(token.Extensions)) {
				extensions = append(extensions, pair{key, token.Extensions[key]})
			}
			want = append(want, row{token.Mint.String(), token.Symbol, token.Supply, extensions, token.Tags})
		}
	}
	require.Len(t, rows, len(want))
	for i := range rows {
		if len(rows[i].Extensions) == 0 {
			rows[i].Extensions = nil
		}
		if len(rows[i].Tags) == 0 {
			rows[i].Tags = nil
		}
	}
	require.Equal(t, want, rows)
}

func TestImportGoesOnWhereItFailed(t *testing.T) {
	want := sample(30_000)
	folder := filepath.Join(t.TempDir(), "s")
	export(t, folder, nil, want)
	out, state := newLog(), filepath.Join(t.TempDir(), "import.json")
	full := errors.New("disk full")
	for limit := 500; ; limit += 5000 {
		out.fail = func(records int) error {
			if records >= limit {
				return full
			}
			return nil
		}
		_, err := importInto(t, folder, state, snapshot.Trust{Insecure: true}, out)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, full)
	}
	require.Equal(t, want, out.states)
}

func TestLongHistoriesTakeSeveralRecords(t *testing.T) {
	s := states{}
	for n := range 2500 {
		s.apply(registry.Fact{Mint: pubkey.Key(registrytest.Mint(1)), Register: registry.RegisterSupplyDelta, Item: fmt.Sprintf("%032x", n), Value: "1"})
	}
	folder := filepath.Join(t.TempDir(), "s")
	export(t, folder, nil, s)
	out := newLog()
	_, err := importInto(t, folder, filepath.Join(t.TempDir(), "i"), snapshot.Trust{Insecure: true}, out)
	require.NoError(t, err)
	require.Equal(t, 3, out.records)
	require.Equal(t, s, out.states)
}

// TestWrittenIsOfTheSnapshot: what an import of another snapshot has written is not of this one.
func TestWrittenIsOfTheSnapshot(t *testing.T) {
	state := filepath.Join(t.TempDir(), "import.json")
	written := func(folder string) int64 {
		importer, err := snapshot.NewImporter(snapshot.ImportConfig{Folder: folder, Trust: snapshot.Trust{Insecure: true}, StateFile: state}, newLog())
		require.NoError(t, err)
		count, err := importer.Written()
		require.NoError(t, err)
		return count
	}
	first, second := filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), "s")
	export(t, first, nil, sample(10))
	export(t, second, nil, sample(11))
	require.Zero(t, written(first))
	_, err := importInto(t, first, state, snapshot.Trust{Insecure: true}, newLog())
	require.NoError(t, err)
	require.Positive(t, written(first))
	require.Zero(t, written(second))
}

// TestImportIntoAnotherLogIsRefused: progress says what is in one Kafka, not in the next. A file of
// earlier versions names no log.
func TestImportIntoAnotherLogIsRefused(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "s")
	export(t, folder, nil, sample(10))
	cfg := snapshot.ImportConfig{Folder: folder, Trust: snapshot.Trust{Insecure: true}, StateFile: filepath.Join(t.TempDir(), "import.json")}
	into := func(name string) error {
		cfg.Log = name
		importer, err := snapshot.NewImporter(cfg, newLog())
		require.NoError(t, err)
		_, err = importer.Run(t.Context())
		return err
	}
	require.NoError(t, into(""))
	require.NoError(t, into("staging"))
	require.NoError(t, into("staging"))
	require.ErrorContains(t, into("production"), `the Kafka cluster "staging", and this one is "production": begin anew with --restart`)
}
