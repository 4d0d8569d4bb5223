package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/testworld/bulk"
)

// nodeEnv makes the test binary a simulated node with so many mints, so that its memory is not the
// registry's.
const nodeEnv = "MINTLAKE_TEST_NODE_MINTS"

// serveNode never returns in a process that is a simulated node. It prints its address.
func serveNode() {
	mints, err := strconv.Atoi(os.Getenv(nodeEnv))
	if err != nil {
		return
	}
	node := &bulk.Server{Chain: bulk.NewChain(mints, 123)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Println("http://" + listener.Addr().String())
		err = http.Serve(listener, node)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func startNode(b *testing.B, mints int) (url string) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeEnv+"="+strconv.Itoa(mints))
	stdout, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	_, err = fmt.Fscan(stdout, &url)
	require.NoError(b, err)
	return url
}

// meter samples the memory of processes and their children.
type meter struct {
	mu        sync.Mutex
	processes []int
	// parent and child say which processes count: those that were given, and their children.
	parent, child bool
	peak          int64 // bytes
	stop          chan struct{}
	done          sync.WaitGroup
}

func newMeter(processes ...int) *meter {
	return newMeterOf(true, true, processes...)
}

func newMeterOf(parent, child bool, processes ...int) *meter {
	m := &meter{processes: processes, parent: parent, child: child, stop: make(chan struct{})}
	m.done.Go(func() {
		for {
			select {
			case <-m.stop:
				return
			case <-time.After(200 * time.Millisecond):
				m.sample()
			}
		}
	})
	return m
}

func (m *meter) add(process int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.processes = append(m.processes, process)
}

func (m *meter) sample() {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := int64(0)
	for _, process := range m.processes {
		if m.parent {
			sum += resident(process)
		}
		if !m.child {
			continue
		}
		children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", process))
		for _, file := range children {
			text, _ := os.ReadFile(file)
			for _, child := range strings.Fields(string(text)) {
				if id, err := strconv.Atoi(child); err == nil {
					sum += resident(id)
				}
			}
		}
	}
	m.peak = max(m.peak, sum)
}

// resident is 0 for a process that is gone.
func resident(process int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", process))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func (m *meter) peakMiB() float64 {
	close(m.stop)
	m.done.Wait()
	return float64(m.peak) / (1 << 20)
}

// BenchmarkBootstrap is the whole way of a registry that starts empty: from a simulated node over
// Kafka into the rows of tokens, then out by a snapshot and into a second registry, which must be
// equal. MINTLAKE_TEST_BOOTSTRAP_MINTS sets the mints, 2,000,000 unless set. Peaks are of all
// processes together: up with its broker, ClickHouse, and the command beside it.
func BenchmarkBootstrap(b *testing.B) {
	mints := mintsToFill(b, 2_000_000)
	url := startNode(b, mints)
	for b.Loop() {
		first, second := b.TempDir(), b.TempDir()
		up := launch(b, first, "--source", "none", "--rooms", "projector")
		live := watchLive(b, up)
		loadTimed(b, up, "bootstrap", up.command(b.TempDir(), "bootstrap", "rpc", "--rpc-upstream", url))
		slowest, events := live()
		b.ReportMetric(slowest.Seconds(), "s/slowest-live-event")
		b.ReportMetric(float64(events), "live-events")
		want := up.digest()
		b.ReportMetric(float64(mints), "mints")

		folder := filepath.Join(b.TempDir(), "snapshot")
		export := exec.Command(binary, "export", "--to", folder, "--clickhouse-dsn", up.addresses["clickhouse"])
		timed(b, up, "export", export)
		require.Zero(b, up.stop())

		up = launch(b, second, "--source", "none", "--rooms", "projector")
		loadTimed(b, up, "import", up.command(b.TempDir(), "import", "--from", folder, "--insecure"))
		require.Equal(b, want, up.digest(), "the imported registry")
		require.Zero(b, up.stop())
	}
}

// mintsToFill is MINTLAKE_TEST_BOOTSTRAP_MINTS.
func mintsToFill(b *testing.B, mints int) int {
	b.Helper()
	if text := os.Getenv("MINTLAKE_TEST_BOOTSTRAP_MINTS"); text != "" {
		_, err := fmt.Sscan(text, &mints)
		require.NoError(b, err)
	}
	return mints
}

// watchLive creates a token every other second, as live ingestion would, and looks for its row. The
// function it returns ends that and tells how long the slowest took, and how many there were.
func watchLive(b *testing.B, up *instance) (end func() (time.Duration, int)) {
	b.Helper()
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{up.addresses["kafka"]}}, kafka.Deps{})
	require.NoError(b, err)
	program, err := base58.Decode(schemas.ProgramToken)
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	var slowest time.Duration
	events := 0
	var done sync.WaitGroup
	done.Go(func() {
		for ; ctx.Err() == nil; events++ {
			key := sha256.Sum256([]byte("live " + strconv.Itoa(events)))
			mint := base58.Encode(key[:])
			value, _ := proto.Marshal(&eventspb.TokenEvent{
				Position: &eventspb.Position{Slot: uint64(1000 + events)}, Signature: make([]byte, 64), ProgramId: program, Mint: key[:],
				Payload: &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{Decimals: 6}},
			})
			began := time.Now()
			if producer.Produce(ctx, kafka.Record{Topic: schemas.TopicTokenEvents, Key: []byte(mint), Value: value}) != nil {
				return
			}
			for ctx.Err() == nil && len(up.query("SELECT 1 FROM mintlake.tokens WHERE mint = '"+mint+"' FORMAT TSV")) == 0 {
				time.Sleep(50 * time.Millisecond)
			}
			slowest = max(slowest, time.Since(began))
			time.Sleep(2 * time.Second)
		}
	})
	return func() (time.Duration, int) {
		cancel()
		done.Wait()
		producer.Close()
		return slowest, events
	}
}

// digest is a registry in two lines: root, and number and hash of the rows of tokens.
func (i *instance) digest() []string {
	i.t.Helper()
	rows := i.query("SELECT count(), sum(cityHash64(formatRowNoNewline('TSV', *))) FROM mintlake.tokens FORMAT TSV")
	return append(rows, i.rootOfLog())
}

// loadTimed runs a command that fills the log, and waits until the projector is done.
func loadTimed(b *testing.B, up *instance, name string, cmd *exec.Cmd) {
	b.Helper()
	began, m := time.Now(), newMeter(up.cmd.Process.Pid)
	require.NoError(b, cmd.Start())
	m.add(cmd.Process.Pid)
	require.NoError(b, cmd.Wait())
	b.ReportMetric(time.Since(began).Seconds(), "s/"+name+"-log")
	up.awaitProjected(time.Hour)
	b.ReportMetric(time.Since(began).Seconds(), "s/"+name)
	b.ReportMetric(m.peakMiB(), "MiB/"+name)
}

func timed(b *testing.B, up *instance, name string, cmd *exec.Cmd) {
	b.Helper()
	began, m := time.Now(), newMeter(up.cmd.Process.Pid)
	require.NoError(b, cmd.Start())
	m.add(cmd.Process.Pid)
	require.NoError(b, cmd.Wait())
	b.ReportMetric(time.Since(began).Seconds(), "s/"+name)
	b.ReportMetric(m.peakMiB(), "MiB/"+name)
}
