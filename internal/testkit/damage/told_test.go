package damage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const uuid = "90962e8d-c89f-43e0-9cb5-4fbc1f915800"

// TestTold: only a line that speaks of damage and names the very file, or its table or topic, tells
// of it.
func TestTold(t *testing.T) {
	tables := map[string]string{uuid: "swaps_raw"}
	const status = `{"ready":true,"kafka":{"ok":true},"clickhouse":{"ok":true,"damaged_parts":[]},"version":"0.1.0"}`
	for _, c := range []struct {
		file, line string
		told       bool
	}{
		{"MINTLAKE_DATA", status, false},
		{"kafka/LOG_STATE.json", status, false},
		{"kafka/broker/topics.json", status, false},
		{"clickhouse/parts.json", status, false},
		{"clickhouse/lock", "the projector holds a lock; records are missing", false},
		{"clickhouse/engine/status", "GET /status: missing", false},
		{"clickhouse/parts.json", "the manifest of ClickHouse's parts /d/clickhouse/parts.json cannot be read: EOF", true},
		{"kafka/broker/topics.json", "the log is damaged: topics.json: the list of topics is gone", true},
		{"kafka/broker/partitions/chain.swaps.v1-0/0.dat", "partitions/chain.pools.v1-0/0.dat at byte 7: damaged", false},
		{"kafka/broker/partitions/chain.swaps.v1-0/0.dat", "partitions/chain.swaps.v1-0/0.dat at byte 7: damaged", true},
		{"kafka/broker/partitions/chain.swaps.v1-0/0.dat", "records of chain.swaps.v1 are lost", true},
		{"kafka/broker/partitions/chain.swaps.v1-0/0.dat", "joined chain.swaps.v1", false},
		{"clickhouse/engine/store/909/" + uuid + "/all_1_1_0/data.bin", "part all_1_1_0 of mintlake.swaps_raw is broken", true},
		{"clickhouse/engine/store/909/" + uuid + "/all_1_1_0/data.bin", "part all_1_1_0 of mintlake.tokens_raw is broken", false},
		{"clickhouse/engine/store/909/" + uuid + "/all_1_1_0/data.bin", "more_swaps_raw is broken", false},
		{"clickhouse/engine/store/909/" + uuid + "/all_1_1_0/checksums.txt", "read store/909/" + uuid + "/all_1_1_0/checksums.txt", false},
		{"clickhouse/engine/store/909/" + uuid + "/all_1_1_0/checksums.txt", uuid + "/all_1_1_0/checksums.txt is gone", true},
		{"clickhouse/engine/store/920/0000/swaps.sql", "swaps.sql cannot be read", true},
	} {
		_, told := Told("another line\n"+c.line+"\n", Act{File: c.file}.Names(tables))
		require.Equal(t, c.told, told, "%s of %s", c.line, c.file)
	}
}
