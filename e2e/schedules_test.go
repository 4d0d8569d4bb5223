package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/damage"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/testworld/liar"
)

var (
	scheduleSeed   = flag.Uint64("schedules.seed", 0, "seed of TestSchedules; 0: MINTLAKE_TEST_SEED, or another one each time")
	scheduleFirst  = flag.Int("schedules.first", 0, "number of the first schedule of TestSchedules")
	scheduleCount  = flag.Int("schedules.n", 5, "how many schedules TestSchedules runs")
	scheduleFaults = flag.String("schedules.faults", "portable", "faults of TestSchedules: names with commas, portable (each machine can do them at once) or all")
)

// schedule is a workload, and the faults that come during it.
type schedule struct {
	number   int
	workload string
	faults   []scheduledFault
}

// scheduledFault is a fault, when it comes after the one before it, and how long it stays.
type scheduledFault struct {
	after, hold time.Duration
	name        string
	// draw is what else the fault chooses by.
	draw uint64
}

// String is without the fault's own choices: those are logged as they are made.
func (f scheduledFault) String() string {
	return fmt.Sprintf("%s after %s for %s", f.name, f.after.Round(time.Millisecond), f.hold.Round(time.Millisecond))
}

// maxFaults is the most faults of a schedule. faultGap is the longest time between two; with it
// most faults come while the workload is under way. faultHold is the longest that one stays.
const maxFaults, faultGap, faultHold = 4, 6 * time.Second, 5 * time.Second

// drawSchedule gives the same for the same seed, number and faults.
func drawSchedule(seed uint64, number int, allowed []string) *schedule {
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	s := &schedule{number: number, workload: workloadNames[random.IntN(len(workloadNames))]}
	for range 1 + random.IntN(maxFaults) {
		s.faults = append(s.faults, scheduledFault{
			after: time.Duration(random.Int64N(int64(faultGap))), hold: time.Duration(random.Int64N(int64(faultHold))),
			name: allowed[random.IntN(len(allowed))], draw: random.Uint64(),
		})
	}
	return s
}

func (s *schedule) String() string {
	words := []string{s.workload}
	for _, f := range s.faults {
		words = append(words, f.String())
	}
	return strings.Join(words, "; ")
}

// has reports whether the schedule has the fault.
func (s *schedule) has(fault string) bool {
	return slices.ContainsFunc(s.faults, func(f scheduledFault) bool { return f.name == fault })
}

// TestSchedules runs random schedules: a workload, faults, and the moments at which they come.
// After each one the node is ready with nothing left to do, and holds every row of a node that was
// left in peace; or a message names what is damaged. Never is a difference silent.
//
// make test-schedules SEED= N= runs as many as wanted; the gate runs five. As many run at once as
// there are processors.
func TestSchedules(t *testing.T) {
	t.Parallel()
	allowed := allowedFaults(t)
	seed := *scheduleSeed
	if seed == 0 {
		seed = testkit.Seed(t)
	}
	var mu sync.Mutex
	ends := map[string]int{}
	t.Cleanup(func() { t.Logf("%d schedules, ends: %v", *scheduleCount, ends) })
	for number := *scheduleFirst; number < *scheduleFirst+*scheduleCount; number++ {
		t.Run(strconv.Itoa(number), func(t *testing.T) {
			t.Parallel()
			began, run := time.Now(), &scheduleRun{t: t, schedule: drawSchedule(seed, number, allowed), end: "FAILED"}
			defer func() {
				mu.Lock()
				ends[run.end]++
				mu.Unlock()
				t.Logf("schedule %d: %s: %s %s, done %s after the last fault, %s in all", number, run.schedule, run.end, run.line,
					run.took.Round(time.Second), time.Since(began).Round(time.Second))
				if run.end == "FAILED" {
					t.Logf("again: make test-schedules SEED=%d FIRST=%d N=1 FAULTS=%s", seed, number, *scheduleFaults)
				}
			}()
			run.run()
		})
	}
}

// scheduleRun is one schedule under way.
type scheduleRun struct {
	t        *testing.T
	schedule *schedule
	dir      string
	work     *workload
	// program is what is started, with env. up is its present life, logs has those of earlier ones.
	program string
	env     []string
	up      *instance
	logs    strings.Builder
	// clock is the file of the fault of the same name.
	clock string
	// liar is an upstream that lies, if the schedule has one; broker is a broker of its own.
	liar   *liar.Liar
	broker *kafkatest.Broker
	// mayEnd says that a fault came after which the node ends by itself.
	mayEnd bool
	// damaged has the names by which a message can mean what was damaged.
	damaged []string
	// end says in words how the schedule ended, line is what told of damage.
	end, line string
	// took is from the last fault until nothing was left to do.
	took time.Duration
}

// lieMended is how long after the last fault an upstream's lies may still be in the registry.
const lieMended = 2 * time.Minute

// doneWithin is how long after the last fault the node may take until nothing is left to do.
const doneWithin = 3 * time.Minute

func (r *scheduleRun) run() {
	r.dir, r.work, r.program = filepath.Join(r.t.TempDir(), "data"), newWorkload(r.t, r.schedule.workload), binary
	r.prepare()
	r.begin()
	r.up.awaitUp()
	r.work.begin(r)
	for _, f := range r.schedule.faults {
		time.Sleep(f.after)
		faults[f.name].do(r, f)
		if r.end == endRefused {
			return
		}
		r.revive()
	}
	r.settle()
}

// settle waits until nothing is left to do and looks at what the node holds then.
func (r *scheduleRun) settle() {
	began := time.Now()
	last := r.work.finish(r)
	if !r.awaitDone(last) {
		return
	}
	r.took = time.Since(began)
	want, got := r.work.want(r, last), r.work.rows(r.up, last)
	for !reflect.DeepEqual(want, got) && r.liar != nil && time.Since(began) < lieMended {
		time.Sleep(time.Second)
		got = r.work.rows(r.up, last)
	}
	if !reflect.DeepEqual(want, got) {
		if r.end = "told"; r.told(r.up.damageTold()) || r.told(r.up.verify()) {
			return
		}
		r.end = "FAILED"
		requireEqualDumps(r.t, want, got)
		r.t.Fatalf("rows differ, and nothing tells why\n%s", r.log())
	}
	if len(r.damaged) == 0 {
		report := r.up.verify()
		require.NotRegexp(r.t, `(?i)differ|damaged`, report)
		require.Contains(r.t, report, "equal")
		r.requireImages()
	}
	require.Zero(r.t, r.up.stop(), r.up.log())
	r.end = "equal"
}

// requireImages asks for the images of tokens that have one, as a page does: each is there.
func (r *scheduleRun) requireImages() {
	r.t.Helper()
	count := 0
	for _, mint := range r.up.query("SELECT mint FROM mintlake.tokens WHERE logo_status = 'ok' ORDER BY mint LIMIT 20 FORMAT TSV") {
		if mint == "" {
			continue // there is none
		}
		require.Eventually(r.t, func() bool {
			response, err := http.Get(r.up.addresses["api"] + "/img/" + mint)
			if err != nil {
				return false
			}
			_ = response.Body.Close()
			return response.StatusCode == http.StatusOK && response.Header.Get("X-Logo-Status") == "ok"
		}, hang, 200*time.Millisecond, "the image of %s", mint)
		count++
	}
	r.t.Logf("schedule %d: %d images", r.schedule.number, count)
}

// begin starts the node's next life.
func (r *scheduleRun) begin() {
	if r.up != nil {
		r.logs.WriteString(r.up.log())
	}
	args := slices.Concat([]string{"up", "--data-dir", r.dir}, freePorts(), []string{"--rate-limits-enabled=false"}, r.work.flags)
	cmd := exec.Command(r.program, args...)
	cmd.Env = slices.Concat(os.Environ(), testSettings, r.env)
	r.up = watch(r.t, "up", cmd)
}

// log is that of all lives.
func (r *scheduleRun) log() string { return r.logs.String() + r.up.log() }

// revive starts the node again if it ended by itself, as a supervisor of services does. It may end
// only after a fault that it cannot live with.
func (r *scheduleRun) revive() {
	if !exited(r.up) {
		return
	}
	require.True(r.t, r.mayEnd, "the node ended by itself:\n%s", r.up.log())
	time.Sleep(time.Second)
	r.begin()
}

// told reports whether the text, or the node's log, names what was damaged.
func (r *scheduleRun) told(text string) (ok bool) {
	if len(r.damaged) > 0 {
		r.line, ok = damage.Told(strings.ReplaceAll(r.log()+text, r.dir, ""), r.damaged)
	}
	return ok
}

// awaitDone waits until the node is ready and all of the workload is visible. It returns false if
// the node tells of damage and gets no further.
func (r *scheduleRun) awaitDone(last uint64) bool {
	r.t.Helper()
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		r.revive()
		missing := r.missing(last)
		if missing == "" {
			return true
		}
		if waited := time.Since(began); waited > damagePatience && r.told(r.up.damageTold()) {
			r.end = "told, not done"
			return false
		} else if waited > doneWithin {
			r.t.Fatalf("%s after the last fault: %s\n%s", waited, missing, r.log())
		}
	}
}

// missing tells what is left to do; it is empty if nothing is.
func (r *scheduleRun) missing(last uint64) string {
	select {
	case <-r.up.up:
	default:
		return "not up"
	}
	code, body := fetch(r.up.addresses["api"] + "/status")
	var s status
	if code != http.StatusOK || json.Unmarshal(body, &s) != nil {
		return fmt.Sprintf("status %d %s", code, body)
	}
	if s.Pipeline.LagRecords == nil || *s.Pipeline.LagRecords != 0 || !r.work.read(&s, last) {
		return string(body)
	}
	if code, body = fetch(strings.TrimSuffix(r.up.addresses["metrics"], "/metrics") + "/readyz"); code != http.StatusOK {
		return string(body)
	}
	return ""
}
