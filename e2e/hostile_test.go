package e2e

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests whose names begin with TestHostile are the attack suite (`make test-hostile`). Each
// attacks a running system as an outsider can, while another user goes on searching. A bounded form
// runs with the other tests.

// hostileFull says whether the whole suite runs, which takes some minutes, or the bounded form.
func hostileFull() bool { return os.Getenv("MINTLAKE_TEST_HOSTILE") == "full" }

// most is n in the whole suite, and few in the bounded form.
func most(n, few int) int {
	if hostileFull() {
		return n
	}
	return few
}

// adminToken opens the admin API of a system under attack.
const adminToken = "0123456789abcdef0123456789abcdef"

// attacked are the surfaces that a system under attack has; httpPorts are those of them that speak
// HTTP, webSockets those that take a WebSocket at /.
var (
	attacked   = append([]string{"admin", "rpc_ws"}, surfaces...)
	httpPorts  = []string{"api", "swap", "rpc", "rpc_ws", "stream", "admin", "metrics", "clickhouse"}
	webSockets = []string{"stream", "rpc", "rpc_ws"}
)

// attackers have an address of their own on loopback, so that bounds per client do not hit the
// other users.
var attackers = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}

// attack opens a connection to a surface. Everything on it ends after patience.
func (i *instance) attack(t testing.TB, surface string, patience time.Duration) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: attackers, Timeout: hang}).Dial("tcp", i.hostPort(surface))
	require.NoError(t, err, surface)
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// hostPort is the address of a surface without a scheme.
func (i *instance) hostPort(surface string) string {
	address := i.addresses[surface]
	if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	return address
}

var peakMemory = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB`)

// peakMemory is the most memory that the process and its children have had resident, in MiB.
func (i *instance) peakMemory() (mib int) {
	i.t.Helper()
	for _, process := range append(children(i.t, i.cmd.Process.Pid), i.cmd.Process.Pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
		if err != nil {
			continue // it has ended since
		}
		if match := peakMemory.FindSubmatch(text); match != nil {
			kib, err := strconv.Atoi(string(match[1]))
			require.NoError(i.t, err)
			mib += kib >> 10
		}
	}
	return mib
}

// descriptors is how many files and connections the process has open.
func (i *instance) descriptors() int {
	i.t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", i.cmd.Process.Pid))
	require.NoError(i.t, err)
	return len(entries)
}

// underAttack starts a system with a live demo chain, and a user who searches it. The user must not
// notice what the test does: at its end every search was answered, the process is the same, and its
// memory stayed below limit MiB.
func underAttack(t *testing.T, limit int, flags ...string) *instance {
	t.Helper()
	return underAttackAt(t, 50, limit, flags...)
}

// underAttackAt has so many transactions a second.
func underAttackAt(t *testing.T, tps, limit int, flags ...string) *instance {
	t.Helper()
	source := fmt.Sprintf("demo:?past=0&tps=%d&tokens=100&seed=8", tps)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(adminToken), 0o600))
	up := launch(t, t.TempDir(), append([]string{
		"--source", source, "--rate-limits-enabled=false", "--admin-token-file", token, "--admin-addr", "127.0.0.1:0", "--rpc-ws-addr", "127.0.0.1:0",
	}, flags...)...)
	up.awaitMore(50)
	open := up.descriptors()
	stop := up.searching()
	t.Cleanup(func() {
		answers, failed := stop()
		require.Empty(t, failed, "of %d answers", answers)
		require.Positive(t, answers)
		require.False(t, exited(up), up.log())
		t.Logf("peak memory %d MiB, descriptors %d before and %d after", up.peakMemory(), open, up.descriptors())
		require.Less(t, up.peakMemory(), limit, "MiB")
		require.NotContains(t, up.log(), "panic")
		require.Zero(t, up.stop(), up.log())
	})
	return up
}

// status line and header of an HTTP/1.1 answer; empty if the connection ended without one.
func firstLine(answer string) string {
	line, _, _ := strings.Cut(answer, "\r\n")
	return line
}
