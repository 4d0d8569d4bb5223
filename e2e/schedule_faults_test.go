package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/internal/testkit/damage"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/testworld/liar"
)

// fault is something that goes wrong.
type fault struct {
	// portable says that each machine can do it, as any user, and at once. Damage could be too, but
	// TestHostileDamage has that.
	portable bool
	// prepare, if set, is called before the node's first life.
	prepare func(r *scheduleRun)
	// do lets it happen, and returns when it is over.
	do func(r *scheduleRun, f scheduledFault)
}

// faults by name. The names are in the lines that repeat a schedule.
var faults = map[string]fault{
	"kill":           {portable: true, do: killNode},
	"stop":           {portable: true, do: stopNode},
	"freeze":         {portable: true, do: freezeNode},
	"kill-child":     {portable: true, do: killChild},
	"slow-tables":    {portable: true, do: slowTables},
	"no-stream":      {portable: true, do: func(r *scheduleRun, f scheduledFault) { away(r.work.geyser, f.hold) }},
	"no-rpc":         {portable: true, do: func(r *scheduleRun, f scheduledFault) { away(r.work.rpc, f.hold) }},
	"damage":         {do: damageFile},
	"disk-full":      {prepare: smallDisk, do: fillDisk},
	"no-space":       {do: inject("write,pwrite64,fallocate", "ENOSPC")},
	"failing-writes": {do: inject("write,pwrite64", "EIO")},
	"failing-syncs":  {do: inject("fsync,fdatasync", "EIO")},
	"clock":          {prepare: skewedBinary, do: jump},
	"liar":           {portable: true, prepare: askLiar, do: stopLiar},
	"no-broker":      {prepare: ownBroker, do: loseBroker},
}

// allowedFaults are those that -schedules.faults names.
func allowedFaults(t *testing.T) (names []string) {
	t.Helper()
	if *scheduleFaults != "all" && *scheduleFaults != "portable" {
		names = strings.Split(*scheduleFaults, ",")
		for _, name := range names {
			require.Contains(t, faults, name)
		}
		return names
	}
	for name := range faults {
		if *scheduleFaults == "all" || faults[name].portable {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// prepare makes ready what the schedule's faults need.
func (r *scheduleRun) prepare() {
	for name := range faults {
		if faults[name].prepare != nil && r.schedule.has(name) {
			faults[name].prepare(r)
		}
	}
}

// killNode is kill -9 of the node with all its processes, and a new life after it.
func killNode(r *scheduleRun, f scheduledFault) {
	r.up.kill()
	time.Sleep(f.hold / 5)
	r.begin()
}

// stopNode ends the node as a supervisor of services does, and starts it again. In its first
// milliseconds the node does not handle signals yet: then SIGTERM itself ends it. (SIGINT would be
// lost in this time where the tests run in the background of a shell, which ignores it for them.)
func stopNode(r *scheduleRun, f scheduledFault) {
	if !exited(r.up) && r.signal(syscall.SIGTERM) {
		code := r.up.end()
		notBegun := r.up.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() && r.up.log() == ""
		require.True(r.t, code == 0 || notBegun || r.mayEnd, "exit code %d\n%s", code, r.up.log())
	}
	time.Sleep(f.hold / 5)
	r.begin()
}

func freezeNode(r *scheduleRun, f scheduledFault) {
	if r.signal(syscall.SIGSTOP) {
		time.Sleep(f.hold)
		r.signal(syscall.SIGCONT)
	}
}

// signal sends a signal to the node. It returns false if the node has ended by itself, as it may
// after some faults.
func (r *scheduleRun) signal(s os.Signal) bool {
	err := r.up.cmd.Process.Signal(s)
	if r.mayEnd && errors.Is(err, os.ErrProcessDone) {
		return false
	}
	require.NoError(r.t, err)
	return true
}

// killChild kills one process that the node has started: ClickHouse, or a decoder of images.
func killChild(r *scheduleRun, f scheduledFault) {
	if child := r.child(f.draw); child != 0 {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}

// child is one of the node's processes; 0 if it has none.
func (r *scheduleRun) child(draw uint64) int {
	if exited(r.up) {
		return 0
	}
	all := children(r.t, r.up.cmd.Process.Pid)
	if len(all) == 0 {
		return 0
	}
	return all[draw%uint64(len(all))]
}

// slowTables lets ClickHouse run for a tenth of the time only.
func slowTables(r *scheduleRun, f scheduledFault) {
	child := r.child(f.draw)
	if child == 0 {
		return
	}
	for end := time.Now().Add(2 * f.hold); time.Now().Before(end); {
		_ = syscall.Kill(child, syscall.SIGSTOP)
		time.Sleep(90 * time.Millisecond)
		_ = syscall.Kill(child, syscall.SIGCONT)
		time.Sleep(10 * time.Millisecond)
	}
}

// ownBroker gives the node a Kafka broker in a process of its own, which can die without it.
func ownBroker(r *scheduleRun) {
	r.broker = kafkatest.StartBroker(r.t)
	r.work.kafka = strings.Join(r.broker.Brokers(), ",")
	r.work.flags = append(r.work.flags, "--kafka-brokers", r.work.kafka)
}

// loseBroker kills the broker, or freezes it, for a while.
func loseBroker(r *scheduleRun, f scheduledFault) {
	lose, back := r.broker.Kill, r.broker.Start
	if f.draw%2 == 0 {
		lose, back = r.broker.Pause, r.broker.Resume
	}
	lose()
	time.Sleep(f.hold)
	back()
}

func away(g *gate, hold time.Duration) {
	if g == nil {
		return
	}
	g.shut()
	time.Sleep(hold)
	g.lift()
}

// damageFile stops the node, damages a file, and starts the node again. A node that refuses to
// start names what is damaged, and starts after mintlake repair, or tells that only a person can go
// on.
func damageFile(r *scheduleRun, f scheduledFault) {
	var tables map[string]string
	if r.missing(0) != "not up" {
		if code, _ := fetch(r.up.addresses["api"] + "/readyz"); code == 200 {
			r.up.refused = new(strings.Builder) // a query may meet ClickHouse as it starts
			tables = r.up.tableUUIDs()
			r.up.refused = nil
		}
	}
	if f.draw%2 == 0 {
		r.up.kill()
	} else if !exited(r.up) {
		r.up.stop()
	}
	act, err := damage.Random(rand.New(rand.NewPCG(f.draw, 0)), r.dir, nil)
	require.NoError(r.t, err)
	r.t.Logf("schedule %d: %s", r.schedule.number, act)
	r.damaged, r.mayEnd = append(r.damaged, act.Names(tables)...), true
	require.NoError(r.t, act.Do(r.dir))
	r.begin()
	if r.awaitLife() {
		return
	}
	require.True(r.t, r.told(""), "after %q the message names nothing that is damaged:\n%s", act, r.up.log())
	out, err := exec.Command(binary, "repair", "--data-dir", r.dir).CombinedOutput()
	r.t.Logf("schedule %d: repair: %v: %s", r.schedule.number, err, out)
	r.begin()
	if !r.awaitLife() {
		r.end = endRefused
	}
}

// endRefused is the end of a schedule whose node names what is damaged and does not start.
const endRefused = "told, does not start"

// awaitLife waits until the node is up, and returns false if it ends before.
func (r *scheduleRun) awaitLife() bool {
	select {
	case <-r.up.up:
		return true
	case <-r.up.exited:
		return false
	case <-time.After(hang):
		r.t.Fatalf("neither up nor an error:\n%s", r.up.log())
		return false
	}
}

// askLiar adds two upstreams, of which one lies from the beginning.
func askLiar(r *scheduleRun) {
	if !r.work.grows {
		return
	}
	i := slices.IndexFunc(r.schedule.faults, func(f scheduledFault) bool { return f.name == "liar" })
	share := []float64{0.05, 0.3, 0.9}[r.schedule.faults[i].draw%3]
	for _, b := range []liar.Behaviour{{}, {Seed: r.schedule.faults[i].draw, Share: share, Late: time.Second}} {
		r.liar = liar.New("http://"+r.work.rpc.server, b)
		server := httptest.NewServer(r.liar)
		r.t.Cleanup(server.Close)
		r.work.flags = append(r.work.flags, "--rpc-upstream", server.URL)
	}
}

func stopLiar(r *scheduleRun, f scheduledFault) {
	time.Sleep(f.hold)
	if r.liar != nil {
		r.liar.Stop()
		r.t.Logf("schedule %d: %d lies", r.schedule.number, r.liar.Lies())
	}
}

// smallDisk puts the data folder onto a file system of its own.
func smallDisk(r *scheduleRun) {
	disk := filepath.Dir(r.dir)
	require.NoError(r.t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=900m"), "disk-full mounts a small file system, which takes root")
	r.t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
}

func fillDisk(r *scheduleRun, f scheduledFault) {
	ballast := filepath.Join(filepath.Dir(r.dir), "ballast")
	file, err := os.Create(ballast)
	require.NoError(r.t, err)
	for chunk := make([]byte, 1<<20); err == nil; {
		_, err = file.Write(chunk)
	}
	require.ErrorIs(r.t, err, unix.ENOSPC)
	time.Sleep(f.hold)
	require.NoError(r.t, file.Close())
	require.NoError(r.t, os.Remove(ballast))
	r.mayEnd = true
}

// inject lets system calls of the node or of its ClickHouse fail for a while.
func inject(calls, failure string) func(r *scheduleRun, f scheduledFault) {
	return func(r *scheduleRun, f scheduledFault) {
		if exited(r.up) {
			return
		}
		process := r.up.cmd.Process.Pid
		if child := r.child(f.draw >> 1); f.draw%2 == 0 && child != 0 {
			process = child
			// A table that it could not write whole is named when it is opened.
			r.damaged = append(r.damaged, "a part of a clickhouse table")
		}
		r.mayEnd = true
		// Writes to sockets fail too: -P would need the name of each file before it is opened.
		trace := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "-p", strconv.Itoa(process), "-e", "trace="+calls,
			"-e", fmt.Sprintf("inject=%s:error=%s:when=%d+%d", calls, failure, 1+f.draw%20, 1+f.draw%7))
		require.NoError(r.t, trace.Start())
		time.Sleep(f.hold)
		_ = trace.Process.Signal(os.Interrupt)
		_ = trace.Wait()
	}
}
