package snapshot_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// table is what token_facts_raw holds of messages that came in any order: of each register and item
// the last fact, also those that are dead because of another. It is a Source.
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

// TestExportOfATableThatKeepsWhatIsDead: the table keeps changes of supply that a later read
// covers, and facts of a mint that was closed. Whatever the messages were, what is exported and
// imported is the registry.
func TestExportOfATableThatKeepsWhatIsDead(t *testing.T) {
	dead := 0
	for seed := range 60 {
		rows, want := tableOf(registrytest.Messages(60).Example(seed))
		if len(rows) == 0 {
			continue
		}
		living, err := want.Count(t.Context())
		require.NoError(t, err)
		dead += len(rows) - int(living)

		folder := filepath.Join(t.TempDir(), "s")
		manifest := export(t, folder, nil, rows)
		require.Equal(t, living, manifest.Counts.Facts, "what is dead is left out")
		require.Equal(t, rootOf(want), manifest.Root.Hash)
		out := newLog()
		_, err = importInto(t, folder, filepath.Join(t.TempDir(), "i"), snapshot.Trust{Insecure: true}, out)
		require.NoError(t, err)
		for mint, state := range want {
			require.Equal(t, len(state.Facts()) > 0, out.states[mint] != nil, mint)
			if out.states[mint] != nil {
				require.Equal(t, state, out.states[mint])
			}
		}
		require.Equal(t, rootOf(want), rootOf(out.states))
	}
	require.Greater(t, dead, 20, "the messages make facts that are dead")
}

// failing is a source that ends with an error in the middle.
type failing struct{ table }

var errAway = errors.New("the server is away")

func (f failing) Facts(ctx context.Context, each func(registry.Fact) error) error {
	return errors.Join(f.table[:len(f.table)/2].Facts(ctx, each), errAway)
}

// unsorted tells a fact twice.
type unsorted struct{ table }

func (u unsorted) Facts(ctx context.Context, each func(registry.Fact) error) error {
	return append(u.table[:1:1], u.table...).Facts(ctx, each)
}

func TestAnExportThatFailsLeavesNothing(t *testing.T) {
	rows, _ := tableOf(registrytest.Messages(60).Example(1))
	for name, c := range map[string]struct {
		source snapshot.Source
		want   string
	}{
		"source fails":       {failing{rows}, errAway.Error()},
		"a fact comes twice": {unsorted{rows}, "comes twice"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			folder := filepath.Join(parent, "new")
			exporter, err := snapshot.NewExporter(snapshot.ExportConfig{Folder: folder, FileRows: 1}, c.source)
			require.NoError(t, err)
			_, err = exporter.Run(t.Context())
			require.ErrorContains(t, err, c.want)
			require.NoDirExists(t, folder)

			require.NoError(t, os.Mkdir(folder, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "README"), []byte("mine"), 0o600))
			_, err = exporter.Run(t.Context())
			require.ErrorContains(t, err, c.want)
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, entries, 1, "what others put there stays, nothing else does")
		})
	}
}

// TestExportAfterAKilledOne: what a killed export left behind neither stops the next one nor gets
// into its snapshot. Files that look like parts of a snapshot but are not ours to remove are named
// before anything is read.
func TestExportAfterAKilledOne(t *testing.T) {
	folder := t.TempDir()
	left := filepath.Join(folder, ".export-unfinished")
	require.NoError(t, os.Mkdir(left, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(left, "facts-0099.parquet"), []byte("half"), 0o600))
	manifest := export(t, folder, nil, sample(1))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, len(manifest.Files)+1)

	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "tokens.parquet"), []byte("half"), 0o600))
	exporter, err := snapshot.NewExporter(snapshot.ExportConfig{Folder: other}, sample(1))
	require.NoError(t, err)
	_, err = exporter.Run(t.Context())
	require.ErrorContains(t, err, "tokens.parquet")
	require.ErrorContains(t, err, "name another folder")
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
	exporter, err := snapshot.NewExporter(snapshot.ExportConfig{Folder: folder, Key: key, CreatedAt: time.Unix(1_700_000_000, 0), FileRows: 3000}, source)
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

func rootOf(s states) root.Sum {
	replay := root.NewReplay(root.EverySlot)
	for _, state := range s {
		replay.Apply(state.Facts())
	}
	return replay.Root().Hash
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

func insert(t *testing.T, conn driver.Conn, want states) {
	t.Helper()
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO mintlake.token_facts_raw (mint, register, item, fact)")
	require.NoError(t, err)
	require.NoError(t, want.Facts(t.Context(), func(fact registry.Fact) error {
		return batch.Append(fact.Mint.String(), uint8(fact.Register), fact.Item, []any{fact.Position.BigInt(), fact.Value})
	}))
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

func TestWhatIsNotAsSignedIsRefused(t *testing.T) {
	public, private := newKey(t)
	stranger, _ := newKey(t)
	trust := snapshot.Trust{Keys: []ed25519.PublicKey{public}}
	edit := func(name string, change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			path := filepath.Join(folder, name)
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, change(raw), 0o600))
		}
	}
	flip := func(raw []byte) []byte { raw[len(raw)/2] ^= 1; return raw }
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, folder string) { require.NoError(t, os.Remove(filepath.Join(folder, name))) }
	}
	for name, c := range map[string]struct {
		change func(*testing.T, string)
		trust  snapshot.Trust
		want   error
	}{
		"a stranger's":       {func(*testing.T, string) {}, snapshot.Trust{Keys: []ed25519.PublicKey{stranger}}, snapshot.ErrSignature},
		"no signature":       {remove(snapshot.SignatureName), trust, snapshot.ErrSignature},
		"signature broken":   {edit(snapshot.SignatureName, flip), trust, snapshot.ErrSignature},
		"manifest changed":   {edit(snapshot.ManifestName, flip), trust, snapshot.ErrSignature},
		"no manifest":        {remove(snapshot.ManifestName), trust, snapshot.ErrManifest},
		"fact changed":       {edit("facts-0000.parquet", flip), trust, snapshot.ErrContent},
		"fact changed later": {edit("facts-0001.parquet", flip), trust, snapshot.ErrContent},
		"tokens changed":     {edit("tokens.parquet", flip), trust, snapshot.ErrContent},
		"file longer":        {edit("facts-0000.parquet", func(raw []byte) []byte { return append(raw, 0) }), trust, snapshot.ErrContent},
		"file missing":       {remove("facts-0000.parquet"), trust, snapshot.ErrContent},
		"another root, unsigned": {edit(snapshot.ManifestName, func(raw []byte) []byte {
			var m map[string]any
			_ = json.Unmarshal(raw, &m)
			m["root"].(map[string]any)["hash"] = root.Sum{1}.String()
			raw, _ = json.Marshal(m)
			return raw
		}), snapshot.Trust{Insecure: true}, snapshot.ErrContent},
		"a path, unsigned": {edit(snapshot.ManifestName, func(raw []byte) []byte {
			return bytes.Replace(raw, []byte("facts-0000.parquet"), []byte("../0000.parquet"), 1)
		}), snapshot.Trust{Insecure: true}, snapshot.ErrManifest},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "s")
			export(t, folder, private, sample(1000))
			c.change(t, folder)
			out := newLog()
			_, err := importInto(t, folder, filepath.Join(t.TempDir(), "i"), c.trust, out)
			require.ErrorIs(t, err, c.want)
			require.Zero(t, out.records, "nothing is written before all is verified")
		})
	}
	_, err := snapshot.NewImporter(snapshot.ImportConfig{Folder: "x", StateFile: "y"}, newLog())
	require.ErrorContains(t, err, "--trust")
}

func TestExportRefusesAFolderWithASnapshot(t *testing.T) {
	folder := t.TempDir()
	export(t, folder, nil, sample(1))
	exporter, err := snapshot.NewExporter(snapshot.ExportConfig{Folder: folder}, sample(1))
	require.NoError(t, err)
	_, err = exporter.Run(t.Context())
	require.ErrorContains(t, err, "another one")
}

func FuzzParseManifest(f *testing.F) {
	folder := f.TempDir()
	export(f, folder, nil, sample(1))
	raw, err := os.ReadFile(filepath.Join(folder, snapshot.ManifestName))
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte(`{"format":1,"files":[{"name":"../x.parquet"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		manifest, err := snapshot.ParseManifest(raw)
		if err != nil {
			require.ErrorIs(t, err, snapshot.ErrManifest)
			return
		}
		for _, file := range manifest.Files {
			require.Equal(t, file.Name, filepath.Base(file.Name))
			require.True(t, strings.HasSuffix(file.Name, ".parquet"))
		}
	})
}
