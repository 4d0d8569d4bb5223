package e2e

import (
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// kafkaFlags puts Apache Kafka in the embedded broker's place when the tests run against it; every
// call is a broker without topics.
func kafkaFlags(t testing.TB) []string {
	t.Helper()
	if !kafkatest.Apache(t) {
		return nil
	}
	return []string{"--kafka-brokers", strings.Join(kafkatest.Start(t), ",")}
}

// demoSlots is how long the demo chain's recording is: some seconds of ingestion. Benchmarks
// measure over more.
const demoSlots, demoSlotsOfBenchmarks = 500, 1500

var writeDemoBlocks sync.Once

// demoBlocks is a folder with blocks of the demo chain, made once.
func demoBlocks(t testing.TB) string {
	t.Helper()
	slots := demoSlots
	if _, measured := t.(*testing.B); measured {
		slots = demoSlotsOfBenchmarks
	}
	writeDemoBlocks.Do(func() {
		out, err := exec.Command("go", "run", "../tools/demoblocks", "-dir", demoFolder, "-slots", strconv.Itoa(slots)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return demoFolder
}
