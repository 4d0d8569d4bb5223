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
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/damage"
)

// TestHostileDamage flips, cuts and deletes random places of a data folder. Each start after it
// ends in one of two ways: every row equals that of the undamaged folder, or a message names what
// is damaged. Never is a difference silent.
//
// MINTLAKE_TEST_SEED repeats a run, MINTLAKE_TEST_HOSTILE_RANGE=40-80 does the damages 40 to 79 of
// it only. Two run side by side.
func TestHostileDamage(t *testing.T) {
	t.Parallel()
	first, last := damageRange(t)
	sources := []string{"--source", "file:" + demoBlocks(t)}
	whole := t.TempDir()
	up := launch(t, whole, sources...)
	// facts that no source can tell again
	tellOfURLs(t, up.brokers(), []string{"http://127.0.0.1/logo.png"})
	up.awaitDone()
	want := up.dump()
	require.NotEmpty(t, want["token_events"])
	require.NotEmpty(t, want["daily_volumes"])
	require.Zero(t, up.stop(), up.log())

	seed := damageSeed()
	t.Logf("MINTLAKE_TEST_SEED=%d", seed)
	var mu sync.Mutex
	ends := map[string]int{}
	t.Run("damages", func(all *testing.T) {
		for n := first; n < last; n++ {
			act, err := damage.Random(rand.New(rand.NewPCG(seed, uint64(n))), whole, nil)
			require.NoError(all, err)
			all.Run(fmt.Sprintf("%03d", n), func(one *testing.T) {
				one.Parallel()
				began, end := time.Now(), "FAILED"
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					ends[end]++
					t.Logf("damage %d of %d to %d: %s: %s, %.0f s", n, first, last-1, act, end, time.Since(began).Seconds())
				}()
				dir := one.TempDir()
				require.NoError(one, os.CopyFS(dir, os.DirFS(whole)))
				require.NoError(one, act.Do(dir))
				end = startDamaged(one, dir, sources, want, act)
				require.NoError(one, os.RemoveAll(dir)) // not only when all are done
			})
		}
	})
	t.Logf("%d damages, ends: %v", last-first, ends)
}

// damageRange is the numbers of the first damage and of the one behind the last.
func damageRange(t *testing.T) (first, last int) {
	t.Helper()
	text := os.Getenv("MINTLAKE_TEST_HOSTILE_RANGE")
	if text == "" {
		return 0, most(200, 5)
	}
	_, err := fmt.Sscanf(text, "%d-%d", &first, &last)
	require.True(t, err == nil && first >= 0 && first < last, "MINTLAKE_TEST_HOSTILE_RANGE=%s: must be like 40-80", text)
	return first, last
}

// damageSeed is random, but for a range: several runs with ranges make one.
func damageSeed() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("MINTLAKE_TEST_SEED"), 10, 64); err == nil {
		return seed
	}
	if os.Getenv("MINTLAKE_TEST_HOSTILE_RANGE") != "" {
		return 1
	}
	return uint64(time.Now().UnixNano())
}

// startDamaged starts a system over a damaged folder and says how that ended. What ends otherwise
// fails the test. `mintlake verify` is asked where nothing else tells: it takes as long as all the
// rest.
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
	end := up.endOfDamaged(want, act)
	if !exited(up) {
		require.Zero(t, up.stop(), up.log())
	}
	return end
}

func (i *instance) endOfDamaged(want map[string][]string, act damage.Act) string {
	i.t.Helper()
	told, ok := i.awaitDoneOrTold(act)
	if !ok {
		return told
	}
	if names(i.log()+i.damageTold(), act) {
		return "told"
	}
	if failed := i.unreadable(want); failed != "" {
		requireNamed(i.t, failed+i.log()+i.damageTold(), act)
		return "told by a query"
	}
	got := i.dump()
	if reflect.DeepEqual(want, got) {
		return "equal"
	}
	if names(i.log()+i.damageTold(), act) {
		return "told"
	}
	report := i.verify()
	if names(report, act) {
		return "told by verify"
	}
	requireEqualDumps(i.t, want, got)
	i.t.Fatalf("rows differ and nothing names what is damaged\n%s\n%s\n%s", report, i.damageTold(), i.log())
	return ""
}

// awaitDoneOrTold waits until everything is visible. It ends early when the node says that it is
// damaged, or ends.
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
		if names(i.damageTold()+i.log(), act) {
			return "told before it was done", false
		}
	}
	requireNamed(i.t, i.log()+i.damageTold(), act)
	return "told, never done", false
}

// unreadable is what ClickHouse answers for what dump reads, where it cannot read it whole.
func (i *instance) unreadable(views map[string][]string) string {
	var failed strings.Builder
	client := &http.Client{Timeout: time.Minute}
	for view := range views {
		if view == "root" {
			view = "swap_minutes_raw" // the root is the API's
		}
		query := strings.NewReader("SELECT * FROM mintlake." + view + " FORMAT Null")
		response, err := client.Post(i.addresses["clickhouse"]+"/?wait_end_of_query=1", "text/plain", query)
		if err != nil { // in a large block ClickHouse looks for the wrong bit for minutes
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

// names says whether a line speaks of damage and names the file, its folder, or what it holds: the
// table or the topic.
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
