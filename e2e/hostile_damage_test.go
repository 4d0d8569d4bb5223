package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/damage"
)

// TestHostileDamage flips, cuts and deletes random places of a data folder. Each start after it ends in one of two ways:
// every row equals that of the undamaged folder, or a message names what is damaged. Never is a difference silent.
//
// MINTLAKE_TEST_SEED repeats a run.
func TestHostileDamage(t *testing.T) {
	sources := []string{"--source", "file:" + demoBlocks(t)}
	whole := t.TempDir()
	up := launch(t, whole, sources...)
	tellOfURLs(t, up.brokers(), []string{"http://127.0.0.1/logo.png"}) // facts that no source can tell again
	up.awaitDone()
	want := up.dump()
	require.NotEmpty(t, want["token_events"])
	require.NotEmpty(t, want["daily_volumes"])
	require.Zero(t, up.stop(), up.log())

	seed := damageSeed()
	t.Logf("MINTLAKE_TEST_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	ends := map[string]int{}
	for n := range most(200, 5) {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
		act, err := damage.Random(random, dir, nil)
		require.NoError(t, err)
		require.NoError(t, act.Do(dir))
		t.Run(fmt.Sprintf("%03d %s", n, act), func(t *testing.T) {
			end := startDamaged(t, dir, sources, want, act)
			t.Log(end)
			ends[end]++
		})
		require.NoError(t, os.RemoveAll(dir))
	}
	t.Logf("ends: %v", ends)
}

func damageSeed() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("MINTLAKE_TEST_SEED"), 10, 64); err == nil {
		return seed
	}
	return uint64(time.Now().UnixNano())
}

// startDamaged starts a system over a damaged folder and says how that ended. What ends otherwise fails the test.
func startDamaged(t *testing.T, dir string, sources []string, want map[string][]string, act damage.Act) string {
	t.Helper()
	up := begin(t, dir, sources...)
	select {
	case <-up.up:
	case <-up.exited:
		requireNamed(t, up.log(), act)
		return "refused"
	case <-time.After(hang):
		t.Fatalf("neither up nor an error:\n%s", up.log())
	}
	told, ok := up.awaitDoneOrTold(act)
	if !ok {
		return told
	}
	report := up.verify()
	if names(up.log()+up.damageTold()+report, act) {
		require.Zero(t, up.stop(), up.log())
		return "told"
	}
	if failed := up.unreadable(want); failed != "" {
		requireNamed(t, failed+up.log(), act)
		require.Zero(t, up.stop(), up.log())
		return "told by a query"
	}
	got := up.dump()
	if !reflect.DeepEqual(want, got) {
		requireEqualDumps(t, want, got)
		t.Fatalf("rows differ and nothing names what is damaged\n%s\n%s\n%s", report, up.damageTold(), up.log())
	}
	require.Zero(t, up.stop(), up.log())
	return "equal"
}

// awaitDoneOrTold waits until everything is visible. It ends early when the node says that it is damaged, or ends.
func (i *instance) awaitDoneOrTold(act damage.Act) (told string, done bool) {
	i.t.Helper()
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if exited(i) {
			requireNamed(i.t, i.log(), act)
			return "ended", false
		}
		response, err := http.Get(i.addresses["api"] + "/status")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		s := i.status()
		if s.Source.Done && s.Pipeline.LagRecords != nil && *s.Pipeline.LagRecords == 0 && s.Root.Hash != nil {
			return "", true
		}
		if names(i.damageTold(), act) {
			return "told before it was done", false
		}
	}
	requireNamed(i.t, i.log()+i.damageTold(), act)
	return "told, never done", false
}

// unreadable is what ClickHouse answers for the views that it cannot read whole.
func (i *instance) unreadable(views map[string][]string) string {
	var failed strings.Builder
	for view := range views {
		if view == "root" {
			continue // the API's
		}
		query := strings.NewReader("SELECT * FROM mintlake." + view + " FORMAT Null")
		response, err := http.Post(i.addresses["clickhouse"]+"/?wait_end_of_query=1", "text/plain", query)
		if err != nil { // the engine's process was replaced: in a large block it looks for the wrong bit for minutes
			failed.WriteString(err.Error() + "\n")
			continue
		}
		body, err := io.ReadAll(response.Body)
		require.NoError(i.t, err)
		require.NoError(i.t, response.Body.Close())
		if response.StatusCode != http.StatusOK {
			failed.Write(body)
		}
	}
	return failed.String()
}

// damageTold is what /status and /readyz say.
func (i *instance) damageTold() string {
	var told strings.Builder
	for _, path := range []string{"/status", "/readyz"} {
		response, err := http.Get(i.addresses["api"] + path)
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		told.Write(body)
	}
	return told.String()
}

// verify is the report of `mintlake verify` on the running node.
func (i *instance) verify() string {
	command := exec.Command(binary, "verify", "--kafka-brokers", i.addresses["kafka"], "--clickhouse-dsn", i.addresses["clickhouse"])
	out, _ := command.CombinedOutput() // a difference is an exit code
	return string(out)
}

var damageWords = regexp.MustCompile(`(?i)damaged|corrupt|checksum|broken part|detached|missing|cannot be read|truncated|not ours|differs`)

// requireNamed fails unless the text says that something is damaged, and what.
func requireNamed(t testing.TB, text string, act damage.Act) {
	t.Helper()
	require.True(t, names(text, act), "after %q the message names nothing that is damaged:\n%s", act, text)
}

// names says whether a line speaks of damage and names the file, its folder, or what it holds: the table or the topic.
func names(text string, act damage.Act) bool {
	topic := filepath.Base(filepath.Dir(act.File))
	for line := range bytes.Lines([]byte(text)) {
		if !damageWords.Match(line) {
			continue
		}
		for _, name := range []string{act.File, filepath.Base(act.File), topic, "mintlake."} {
			if strings.Contains(string(line), name) {
				return true
			}
		}
	}
	return false
}
