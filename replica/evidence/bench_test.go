package evidence

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
)

// corpusRows makes rows as they are asked for: what they weigh is not the evidence's.
type corpusRows struct{ corpus *registrytest.Corpus }

func (r corpusRows) Token(id uint32) *registry.Token {
	token := r.corpus.Token(int(id))
	return token.Registry()
}
func (corpusRows) Extensions(uint32) []string { return nil }
func (corpusRows) Thin(uint32) bool           { return false }

func filled(t testing.TB, tokens int) (*Index, corpusRows) {
	t.Helper()
	rows := corpusRows{registrytest.NewCorpus(1, nil)}
	x, err := New(rows)
	require.NoError(t, err)
	changes := make([]replica.Change, 0, 5_000)
	for id := range tokens {
		token := rows.Token(uint32(id))
		changes = append(changes, replica.Change{Row: replica.Row{ID: uint32(id), Mint: token.Mint, Token: token}})
		if len(changes) == cap(changes) {
			x.Fill(changes)
			changes = changes[:0]
		}
	}
	x.Fill(changes)
	x.Filled()
	return x, rows
}

// TestMemory: two million tokens take less than 120 MiB; here a tenth of them in a tenth of that.
func TestMemory(t *testing.T) {
	const tokens = 200_000
	before := heap()
	x, _ := filled(t, tokens)
	perToken := float64(heap()-before) / tokens
	t.Logf("%.1f bytes a token", perToken)
	require.Less(t, perToken, 62.9)
	runtime.KeepAlive(x)
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestReadersAndTheWriter: the race detector watches.
func TestReadersAndTheWriter(t *testing.T) {
	const tokens = 2_000
	x, rows := filled(t, tokens)
	var wait sync.WaitGroup
	for reader := range 4 {
		wait.Go(func() {
			for i := range 2_000 {
				id := uint32(i+reader) % tokens
				e := x.Of(id, rows.Token(id))
				if e.Skeleton != "" && (e.RankByVolume < 1 || e.RankByVolume > e.Sharing || e.RankByAge > e.Sharing) {
					t.Errorf("impossible: %+v", e)
				}
			}
		})
	}
	for i := range 2_000 {
		token := rows.Token(uint32(i))
		token.Symbol = "MOVED"
		x.Apply([]replica.Change{{Row: replica.Row{ID: uint32(i), Mint: token.Mint, Token: token}}})
	}
	wait.Wait()
}

func BenchmarkOf(b *testing.B) {
	x, rows := filled(b, 200_000)
	tokens := make([]*registry.Token, 1_000)
	for i := range tokens {
		tokens[i] = rows.Token(uint32(i))
	}
	for i := 0; b.Loop(); i++ {
		x.Of(uint32(i%len(tokens)), tokens[i%len(tokens)])
	}
}

// BenchmarkTwoMillion prints the time and the memory of mainnet's size.
func BenchmarkTwoMillion(b *testing.B) {
	before := heap()
	for b.Loop() {
		x, _ := filled(b, 2_000_000)
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
		runtime.KeepAlive(x)
	}
}
