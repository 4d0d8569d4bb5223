package segments

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTopicsMayBeListedLate: a slow disk has the list after the tracker expected it. Topics that
// are new are known then; what is said otherwise of known ones is no news but damage.
func TestTopicsMayBeListedLate(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, brokerDir, "partitions"), 0o750))
	list := func(topics ...Topic) {
		raw, err := json.Marshal(topicsDocument{Version: formatVersion, Topics: topics})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(root, brokerDir, topicsFile), raw, 0o600))
	}
	retention := func(ms string) map[string]string { return map[string]string{"retention.ms": ms} }
	keys := Topic{Name: "keys", ID: "a2V5cw==", Partitions: 1, Replicas: 1, Configs: retention("-1")}
	list()
	tracker, err := Track(root, &Report{})
	require.NoError(t, err)
	known := func() []Topic {
		gone, err := tracker.Update()
		require.NoError(t, err)
		require.Empty(t, gone)
		state, err := readState(root)
		require.NoError(t, err)
		return state.Topics
	}
	require.NoError(t, tracker.TopicsChange())
	for range settle + 1 {
		require.Empty(t, known())
	}
	list(keys)
	require.Equal(t, []Topic{keys}, known())

	altered := keys
	altered.Configs = retention("1000")
	list(altered)
	require.Equal(t, []Topic{keys}, known())
}
