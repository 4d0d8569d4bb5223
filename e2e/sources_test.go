package e2e

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/kafka/kafkatest"
)

// kafkaFlags puts Apache Kafka in the embedded broker's place when the tests run against it; every call is a broker without topics.
func kafkaFlags(t *testing.T) []string {
	t.Helper()
	if !kafkatest.Apache(t) {
		return nil
	}
	return []string{"--kafka-brokers", strings.Join(kafkatest.Start(t), ",")}
}

// demoSlots is how long the demo chain's recording is: some seconds of ingestion.
const demoSlots = 1500

var writeDemoBlocks sync.Once

// demoBlocks is a folder with blocks of the demo chain, made once.
func demoBlocks(t *testing.T) string {
	t.Helper()
	writeDemoBlocks.Do(func() {
		const first = 400_000_000
		_, err := demo.WriteBlocks(demoFolder, demo.Config{Seed: 7, TPS: 250, Tokens: 500, StartSlot: first}, first, first+demoSlots-1)
		require.NoError(t, err)
	})
	return demoFolder
}
