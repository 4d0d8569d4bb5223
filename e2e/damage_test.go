package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/damage"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// logRoot is what `mintlake root` says of a folder on which nothing runs.
func logRoot(t *testing.T, dataDir string) string {
	t.Helper()
	out, err := exec.Command(binary, "root", "--data-dir", dataDir, "--log-level", "error").CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// segmentsOf are the segments of a topic that hold records, relative to the data folder.
func segmentsOf(t *testing.T, dataDir, topic string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dataDir, "kafka", "broker", "partitions", topic+"-*", "*.dat"))
	require.NoError(t, err)
	sort.Strings(names)
	var with []string
	for _, name := range names {
		info, err := os.Stat(name)
		require.NoError(t, err)
		if relative, err := filepath.Rel(dataDir, name); err == nil && info.Size() > 2000 {
			with = append(with, relative)
		}
	}
	require.NotEmpty(t, with)
	return with
}

// fileTimes are the files of the log with size and time.
func fileTimes(t *testing.T, dataDir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(filepath.Join(dataDir, "kafka"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() == "LOCK" || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			found[path] = info.ModTime().String() + " " + info.Mode().String()
		}
		return err
	}))
	return found
}

// TestDamagedLog: a log that is damaged on disk stops the start, with words that say what to do;
// reading commands do not touch it; after the repair the source brings back what was lost, and
// every row and root is what it was.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	if kafkatest.Apache(t) {
		t.Skip("this is about the embedded broker")
	}
	sources, dir := sharedSources(t), t.TempDir()
	up := launch(t, dir, sources...)
	up.awaitDone()
	want := up.dump()
	coverage := up.status().Coverage
	require.Zero(t, up.stop())
	wantRoot := logRoot(t, dir)

	var acts []damage.Act
	for _, topic := range []string{"chain.token-events.v1", "chain.swaps.v1", "chain.pools.v1"} {
		file := segmentsOf(t, dir, topic)[0]
		acts = append(acts, damage.Act{Kind: damage.Zero, File: file, Position: 1000, Bytes: 300})
	}
	acts = append(acts, damage.Act{Kind: damage.Delete, File: segmentsOf(t, dir, "chain.token-events.v1")[1]})
	for _, act := range acts {
		require.NoError(t, act.Do(dir))
	}
	before := fileTimes(t, dir)

	refused := begin(t, dir, sources...)
	select {
	case <-refused.exited:
	case <-time.After(hang):
		t.Fatal("up did not end")
	}
	for _, word := range []string{"the log is damaged", "chain.pools.v1", "mintlake repair --data-dir " + dir} {
		require.Contains(t, refused.log(), word)
	}
	out, err := exec.Command(binary, "root", "--data-dir", dir).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the log is damaged")
	out, err = exec.Command(binary, "repair", "--check", "--data-dir", dir).CombinedOutput()
	require.Error(t, err)
	require.Equal(t, len(acts), strings.Count(string(out), "damage: "), "%s", out)
	require.Equal(t, before, fileTimes(t, dir), "nothing was written")

	out, err = exec.Command(binary, "repair", "--data-dir", dir, "--log-level", "warn").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	require.Contains(t, string(out), "are gaps of the coverage now")
	require.NotEqual(t, wantRoot, logRoot(t, dir), "the records are gone until they are read again")

	// The file of one block is gone: what no source can give again stays a gap, and is named.
	up = launch(t, dir, "--source", "file:"+blocksWithout(t, "332254855.confirmedblock.pb"))
	up.awaitDone()
	until(t, func() bool { return up.hasGapAt(332254855) && !up.hasGapAt(361774429) }, 100*time.Millisecond, "the gap is named, the file of the other is there")
	require.Zero(t, up.stop())

	up = launch(t, dir, sources...)
	up.awaitDone()
	until(t, func() bool { return reflect.DeepEqual(coverage, up.status().Coverage) }, 100*time.Millisecond, "every gap is closed again")
	requireEqualDumps(t, want, up.dump())

	// A topic that is deleted under the running node: it shows at once, and at the next start.
	deleteTopic(t, up.addresses["kafka"], "chain.token-events.v1")
	until(t, func() bool {
		code, body := up.get("/readyz")
		return code == 503 && strings.Contains(string(body), "chain.token-events.v1 is gone")
	}, 100*time.Millisecond)
	_, body := up.get("/status")
	require.Contains(t, string(body), `"ready":false`)
	require.Zero(t, up.stop())
	require.Equal(t, wantRoot, brought(t, dir, sources, want, coverage.Gaps))
}

// blocksWithout is a folder with the recorded blocks but one.
func blocksWithout(t *testing.T, gone string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(testkit.Shared(t, "data/blocks"))))
	require.NoError(t, os.Remove(filepath.Join(folder, gone)))
	return folder
}

// hasGapAt says that /status names the slot as missing.
func (i *instance) hasGapAt(slot uint64) bool {
	i.t.Helper()
	for _, missing := range i.status().Coverage.Gaps {
		if missing.From <= slot && slot <= missing.To {
			return true
		}
	}
	return false
}

// brought repairs a folder whose topic of token events was deleted, lets the source read again, and
// returns the log's root.
func brought(t *testing.T, dir string, sources []string, want map[string][]string, gaps []gap) string {
	t.Helper()
	refused := begin(t, dir, sources...)
	select {
	case <-refused.exited:
	case <-time.After(hang):
		t.Fatal("up did not end")
	}
	require.Contains(t, refused.log(), "topic chain.token-events.v1 was deleted")
	out, err := exec.Command(binary, "repair", "--data-dir", dir, "--log-level", "warn").CombinedOutput()
	require.NoError(t, err, "%s", out)
	up := launch(t, dir, sources...)
	up.awaitDone()
	until(t, func() bool { return reflect.DeepEqual(gaps, up.status().Coverage.Gaps) }, 100*time.Millisecond, "every gap is closed again")
	requireEqualDumps(t, want, up.dump())
	require.Zero(t, up.stop())
	return logRoot(t, dir)
}

func deleteTopic(t *testing.T, addr, topic string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()
	request := kmsg.NewPtrDeleteTopicsRequest()
	named := kmsg.NewDeleteTopicsRequestTopic()
	named.Topic = &topic
	request.Topics, request.TopicNames, request.TimeoutMillis = []kmsg.DeleteTopicsRequestTopic{named}, []string{topic}, 10_000
	response, err := request.RequestWith(t.Context(), client)
	require.NoError(t, err)
	require.Zero(t, response.Topics[0].ErrorCode)
}
