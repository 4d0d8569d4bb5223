package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"reflect"
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
	want := up.dumpWhole()
	require.NotEmpty(t, want["token_events"])
	require.NotEmpty(t, want["daily_volumes"])
	tables := up.tableUUIDs()
	require.Zero(t, up.stop(), up.log())

	seed := damageSeed()
	t.Logf("MINTLAKE_TEST_SEED=%d", seed)
	var mu sync.Mutex
	ends := map[string]int{}
	t.Run("damages", func(all *testing.T) {
		for n := first; n < last; n++ {
			allowed := anyFile
			if n%4 == 3 {
				allowed = oneOfFew
			}
			act, err := damage.Random(rand.New(rand.NewPCG(seed, uint64(n))), whole, allowed)
			require.NoError(all, err)
			all.Run(fmt.Sprintf("%03d", n), func(one *testing.T) {
				one.Parallel()
				began, run := time.Now(), damageRun{want: want, names: act.Names(tables), act: act, dir: one.TempDir(), end: "FAILED"}
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					ends[run.end]++
					t.Logf("damage %d of %d to %d: %s: %s, %.0f s %s", n, first, last-1, act, run.end, time.Since(began).Seconds(), run.line)
				}()
				require.NoError(one, os.CopyFS(run.dir, os.DirFS(whole)))
				require.NoError(one, act.Do(run.dir))
				run.start(one, sources)
				require.NoError(one, os.RemoveAll(run.dir)) // not only when all are done
			})
		}
	})
	t.Logf("%d damages, ends: %v", last-first, ends)
}

// oneOfFew allows the files that say what all the others are. By chance alone they would hardly be
// drawn.
func oneOfFew(file string) bool {
	return !strings.Contains(file, "/store/") && !strings.Contains(file, "/partitions/") && !strings.HasPrefix(file, "stream-spill")
}

func anyFile(string) bool { return true }

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

// damageRun is the start of a system over a damaged folder, and how that ended.
type damageRun struct {
	act   damage.Act
	names []string
	// dir is left out of what is told: its name has the test's, and that speaks of damage.
	dir  string
	want map[string][]string
	// end says in words how it ended, line is what told of the damage.
	end, line string
}

// told notes an end if the text names the damage.
func (r *damageRun) told(end, text string) bool {
	line, ok := damage.Told(strings.ReplaceAll(text, r.dir, ""), r.names)
	if ok {
		r.end, r.line = end, line
	}
	return ok
}

// mustTell fails the test unless the text names the damage.
func (r *damageRun) mustTell(t testing.TB, end, text string) {
	t.Helper()
	require.True(t, r.told(end, text), "after %q the message names nothing that is damaged:\n%s", r.act, text)
}

// start starts the system and waits for the end. What ends otherwise fails the test. `mintlake
// verify` is asked where nothing else tells: it takes as long as all the rest.
func (r *damageRun) start(t *testing.T, sources []string) {
	t.Helper()
	up := begin(t, r.dir, sources...)
	select {
	case <-up.up:
	case <-up.exited:
		r.mustTell(t, "refused", up.log())
		return
	case <-time.After(hang):
		t.Fatalf("neither up nor an error:\n%s", up.log())
	}
	r.look(up)
	if !exited(up) {
		require.Zero(t, up.stop(), up.log())
	}
}

// look compares the rows, and where they differ asks who tells of it.
func (r *damageRun) look(up *instance) {
	up.t.Helper()
	if !r.awaitDone(up) {
		return
	}
	failed := up.unreadable(r.want)
	var got map[string][]string
	if failed == "" {
		up.refused = &strings.Builder{} // an index may be damaged that only some questions read
		if got = up.dumpWhole(); reflect.DeepEqual(r.want, got) {
			r.end = "equal"
			return
		}
		failed, up.refused = up.refused.String(), nil
	}
	for deadline := time.Now().Add(damageSeen); time.Now().Before(deadline); time.Sleep(time.Second) {
		if r.told("told", up.log()+up.damageTold()) || r.told("told by a query", failed) {
			return
		}
	}
	report := up.verify()
	if r.told("told by verify", report) {
		return
	}
	requireEqualDumps(up.t, r.want, got)
	up.t.Fatalf("rows differ and nothing names what is damaged\n%s\n%s\n%s\n%s", failed, report, up.damageTold(), up.log())
}

// damageSeen is how long a running node may take to see what is damaged: it looks at its tables
// every ten seconds. damagePatience is how long one that told of damage has to be done even so.
const damageSeen, damagePatience = 40 * time.Second, 30 * time.Second

// awaitDone waits until everything is visible. It returns false when the node ends before, or says
// that it is damaged and gets no further.
func (r *damageRun) awaitDone(up *instance) bool {
	up.t.Helper()
	for began := time.Now(); time.Since(began) < hang; time.Sleep(200 * time.Millisecond) {
		if exited(up) {
			r.mustTell(up.t, "ended", up.log())
			return false
		}
		var s status
		code, body := fetch(up.addresses["api"] + "/status")
		if code == 0 || json.Unmarshal(body, &s) != nil {
			continue // it may have ended
		}
		require.Equal(up.t, http.StatusOK, code, string(body))
		if s.Source.Done && s.Pipeline.LagRecords != nil && *s.Pipeline.LagRecords == 0 && s.Root.Hash != nil && s.Root.Slot >= s.Source.Slot {
			return true
		}
		if time.Since(began) > damagePatience && r.told("told, not done", up.damageTold()+up.log()) {
			return false
		}
	}
	r.mustTell(up.t, "told, never done", up.log()+up.damageTold())
	return false
}

// dumpWhole is dump with what only some questions and the fold read.
func (i *instance) dumpWhole() map[string][]string {
	i.t.Helper()
	tables := i.dump()
	for _, view := range []string{"created_mints", "pool_minutes", "token_fact_history"} {
		tables[view] = i.query("SELECT * FROM mintlake." + view + " ORDER BY ALL FORMAT TSV")
	}
	for _, table := range []string{"token_facts_raw", "last_trades_raw", "pool_reserves_raw"} {
		tables[table] = i.query("SELECT * FROM mintlake." + table + " FINAL ORDER BY ALL FORMAT TSV")
	}
	return tables
}

// tableUUIDs are the names of the tables by UUID, which their folders are called by.
func (i *instance) tableUUIDs() map[string]string {
	i.t.Helper()
	tables := map[string]string{}
	for _, row := range i.query("SELECT toString(uuid), name FROM system.tables WHERE database = 'mintlake' FORMAT TSV") {
		uuid, name, _ := strings.Cut(row, "\t")
		tables[uuid] = name
	}
	require.NotEmpty(i.t, tables)
	return tables
}

// unreadable is what ClickHouse answers for what dumpWhole reads, where it cannot read it whole: a
// line for each.
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
			failed.WriteString(strings.ReplaceAll(string(body), "\n", " ") + "\n")
		}
	}
	return failed.String()
}

// damageTold is what /status lists of damage, a line for each.
func (i *instance) damageTold() string {
	response, err := http.Get(i.addresses["api"] + "/status")
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var listed struct {
		Reasons    []string `json:"reasons"`
		ClickHouse struct {
			DamagedParts []struct{ Table, Part, Damage string } `json:"damaged_parts"`
		} `json:"clickhouse"`
	}
	require.NoError(i.t, json.NewDecoder(response.Body).Decode(&listed))
	var told strings.Builder
	for _, reason := range listed.Reasons {
		told.WriteString("/status: " + reason + "\n")
	}
	for _, part := range listed.ClickHouse.DamagedParts {
		fmt.Fprintf(&told, "/status: damaged part %s of %s: %s\n", part.Part, part.Table, part.Damage)
	}
	return told.String()
}

// verify is the report of `mintlake verify` on the running node.
func (i *instance) verify() string {
	command := exec.Command(binary, "verify", "--kafka-brokers", i.addresses["kafka"], "--clickhouse-dsn", i.addresses["clickhouse"])
	out, _ := command.CombinedOutput() // a difference is an exit code
	return string(out)
}
