package replica_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
)

// BenchmarkLoad folds 100,000 tokens from the topics and reports what the copy weighs.
func BenchmarkLoad(b *testing.B) {
	log := apitest.NewLog()
	for i := range 100_000 {
		log.Token(i, uint64(i), fmt.Sprintf("SYM%d", i), fmt.Sprintf("Token number %d", i), time.Now())
	}
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n := start(b, b.Context(), log, nil)
		require.Eventually(b, n.Ready, time.Minute, time.Millisecond)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/100_000, "bytes/token")
		n.stop()
	}
}
