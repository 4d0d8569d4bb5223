// Package kafkatest gives tests a Kafka broker.
//
// In: a test, and MINTLAKE_TEST_KAFKA: unset or "embedded" for the embedded broker, "apache" for
// Apache Kafka (jars from tools/kafka/install.sh; needs Java 17 or later), "container" for Apache
// Kafka in containers (make test-containers).
//
// Out: the addresses of a broker that has no topics yet and belongs to this test alone.
//
// Guarantees: the broker and its data are removed when the test ends. If the test binary is killed,
// the broker ends too, but a data folder may stay. A broker that does not start fails the test with
// its log; nothing is skipped.
package kafkatest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/containers"
)

// startTimeout is long, for a Java virtual machine on a busy machine.
const startTimeout = 5 * time.Minute

// Apache reports whether tests run against Apache Kafka, in a process or in a container.
func Apache(t testing.TB) bool {
	t.Helper()
	switch kind := os.Getenv("MINTLAKE_TEST_KAFKA"); kind {
	case "", "embedded":
		return false
	case "apache":
		return true
	case "container":
		if !containers.Enabled() {
			t.Fatalf("MINTLAKE_TEST_KAFKA is %q without %s: run make test-containers", kind, containers.Env)
		}
		return true
	default:
		t.Fatalf("MINTLAKE_TEST_KAFKA is %q, must be embedded, apache or container", kind)
		return false
	}
}

// Start runs a broker until the test ends and returns its addresses. The embedded one runs in this
// process, which is fast. Use StartBroker for a broker that the test stops or kills.
func Start(t testing.TB) []string {
	t.Helper()
	if Apache(t) {
		return StartBroker(t).Brokers()
	}
	broker, err := embedded.New(embedded.Config{DataDir: t.TempDir(), Addr: "127.0.0.1:0"}, embedded.Deps{Logger: Logger(t)})
	if err != nil {
		t.Fatalf("start embedded kafka: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- broker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run embedded kafka: %v", err)
		}
	})
	wait, stop := context.WithTimeout(ctx, startTimeout)
	defer stop()
	if err := broker.WaitReady(wait); err != nil {
		t.Fatalf("start embedded kafka: %v", err)
	}
	return []string{broker.Addr()}
}

// waitAnswer waits until addr answers requests.
func waitAnswer(t testing.TB, addr string) {
	t.Helper()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{addr}}, kafka.Deps{})
	if err != nil {
		t.Fatalf("wait for kafka: %v", err)
	}
	defer admin.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := admin.Ping(ctx); err != nil {
		t.Fatalf("wait for kafka at %s: %v", addr, err)
	}
}

// Logger returns a logger that writes to standard error if tests run with -v, or else nowhere.
func Logger(t testing.TB) *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(testWriter{t: t}, nil))
}

// testWriter writes to standard error, because t.Log panics after the test has ended, when a broker
// may still log.
type testWriter struct{ t testing.TB }

// Write implements io.Writer.
func (w testWriter) Write(p []byte) (int, error) {
	return io.WriteString(os.Stderr, w.t.Name()+": "+string(p))
}
