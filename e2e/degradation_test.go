package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// searching asks over and over until stop; it returns how many answers came and which were no
// success.
func (i *instance) searching() (stop func() (answers int64, failed []string)) {
	var count atomic.Int64
	ended, done := make(chan struct{}), make(chan []string, 1)
	go func() {
		var failed []string
		for {
			select {
			case <-ended:
				done <- failed
				return
			default:
			}
			for _, path := range []string{"/tokens?limit=5&evidence=true", "/tokens?q=a&explain=true", "/readyz"} {
				answer, err := http.Get(i.addresses["api"] + path)
				if err == nil {
					answer.Body.Close()
				}
				if err != nil || answer.StatusCode != http.StatusOK {
					failed = append(failed, fmt.Sprint(path, " ", err, answer))
				}
				count.Add(1)
			}
		}
	}()
	return func() (int64, []string) {
		close(ended)
		failed := <-done
		return count.Load(), failed
	}
}

// children are the processes that a process has started.
func children(t testing.TB, process int) (ids []int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", process))
	require.NoError(t, err)
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for child := range strings.FieldsSeq(string(text)) {
			id, err := strconv.Atoi(child)
			require.NoError(t, err)
			ids = append(ids, id)
		}
	}
	return ids
}

// awaitHealth waits until /status says of Kafka or ClickHouse what is wanted.
func (i *instance) awaitHealth(backend string, ok bool) {
	i.t.Helper()
	want := fmt.Sprintf(`"%s":{"ok":%t`, backend, ok)
	for deadline := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
		_, body := i.get("/status")
		if strings.Contains(string(body), want) {
			return
		}
		require.True(i.t, time.Now().Before(deadline), "no %s in %s\n%s", want, body, i.log())
	}
}

// awaitMore waits until the registry has more tokens than before.
func (i *instance) awaitMore(tokens int) {
	i.t.Helper()
	for deadline := time.Now().Add(hang); i.status().Registry.Tokens <= tokens; time.Sleep(100 * time.Millisecond) {
		require.True(i.t, time.Now().Before(deadline), "no new tokens:\n%s", i.log())
	}
}

// TestSearchGoesOnWithoutBackends kills Kafka and ClickHouse under a searching user: every answer
// is a success, /status says what is away, and what happened meanwhile is there afterwards.
func TestSearchGoesOnWithoutBackends(t *testing.T) {
	broker := kafkatest.StartBroker(t)
	up := launch(t, t.TempDir(), "--kafka-brokers", strings.Join(broker.Brokers(), ","), "--source", "demo:?past=0&tps=50&tokens=200&seed=5", "--rate-limits-enabled=false")
	up.awaitMore(50)
	up.awaitHealth("kafka", true)
	up.awaitHealth("clickhouse", true)
	stop := up.searching()

	broker.Kill()
	up.awaitHealth("kafka", false)
	tokens := up.status().Registry.Tokens
	broker.Start()
	up.awaitHealth("kafka", true)
	up.awaitMore(tokens + 5)

	engines := children(t, up.cmd.Process.Pid)
	require.NotEmpty(t, engines, "the embedded ClickHouse is a child")
	for _, engine := range engines {
		require.NoError(t, syscall.Kill(engine, syscall.SIGKILL))
	}
	tokens = up.status().Registry.Tokens
	up.awaitMore(tokens + 5)
	up.awaitHealth("clickhouse", true)
	require.NotEmpty(t, up.query("SELECT mint FROM mintlake.tokens LIMIT 1 FORMAT TSV"))

	answers, failed := stop()
	require.Empty(t, failed, "of %d answers", answers)
	require.Positive(t, answers)
	require.Zero(t, up.stop(), up.log())
}
