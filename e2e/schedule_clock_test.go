package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// clockVariable names the file that has by how many seconds the wall clock is wrong.
const clockVariable = "MINTLAKE_TEST_CLOCK"

// clockSource goes into Go's package time. The monotonic clock stays right, as when a person or NTP
// sets the time.
const clockSource = `package time

import (
	"sync/atomic"
	"syscall"
)

var wrongBy atomic.Int64

func init() {
	name, found := syscall.Getenv("` + clockVariable + `")
	if !found {
		return
	}
	go func() {
		for ; ; Sleep(20 * Millisecond) {
			file, err := open(name)
			if err != nil {
				continue
			}
			var text [32]byte
			n, _ := read(file, text[:])
			closefd(file)
			seconds, sign := int64(0), int64(1)
			for _, c := range text[:max(n, 0)] {
				if c == '-' {
					sign = -1
				} else {
					seconds = 10*seconds + int64(c-'0')
				}
			}
			wrongBy.Store(sign * seconds)
		}
	}()
}
`

var (
	skewedOnce sync.Once
	skewedPath string
)

// skewedBinary makes the node run with a wall clock that can be set. The binary is built once,
// which takes some minutes: all that uses package time is built anew.
func skewedBinary(r *scheduleRun) {
	skewedOnce.Do(func() {
		dir := filepath.Dir(binary)
		goroot, err := exec.Command("go", "env", "GOROOT").Output()
		require.NoError(r.t, err)
		timeDir := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time")
		source, err := os.ReadFile(filepath.Join(timeDir, "time.go"))
		require.NoError(r.t, err)
		const now = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
		require.Equal(r.t, 1, strings.Count(string(source), now), "time.Now has another form in this version of Go")
		changed := strings.Replace(string(source), now, "\tsec, nsec, mono := runtimeNow()\n\tsec += wrongBy.Load()\n\tif mono == 0 {", 1)
		overlay := `{"Replace":{"` + timeDir + `/time.go":"` + dir + `/time.go","` + timeDir + `/wrong.go":"` + dir + `/wrong.go"}}`
		for name, text := range map[string]string{"time.go": changed, "wrong.go": clockSource, "overlay.json": overlay} {
			require.NoError(r.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		skewed := filepath.Join(dir, "mintlake-skewed")
		out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", skewed, "../cmd/mintlake").CombinedOutput()
		require.NoError(r.t, err, string(out))
		skewedPath = skewed
	})
	require.NotEmpty(r.t, skewedPath)
	r.program = skewedPath
	r.clock = filepath.Join(r.t.TempDir(), "clock")
	require.NoError(r.t, os.WriteFile(r.clock, []byte("0"), 0o600))
	r.env = append(r.env, clockVariable+"="+r.clock)
}

// jump sets the wall clock by up to six hours forwards or backwards, and back again.
func jump(r *scheduleRun, f scheduledFault) {
	seconds := int64(f.draw%(2*6*3600)) - 6*3600
	require.NoError(r.t, os.WriteFile(r.clock, []byte(strconv.FormatInt(seconds, 10)), 0o600))
	time.Sleep(f.hold)
	require.NoError(r.t, os.WriteFile(r.clock, []byte("0"), 0o600))
}
