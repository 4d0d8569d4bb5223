package accounts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/bulk"
)

// childEnv makes the test binary a bootstrap with its broker, as the command is: "folder url".
const childEnv = "MINTLAKE_TEST_BOOTSTRAP"

func TestMain(m *testing.M) {
	if arguments := os.Getenv(childEnv); arguments != "" {
		folder, url, _ := strings.Cut(arguments, " ")
		if err := child(folder, url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(chtest.Main(m))
}

// child fills the log in folder from url, as the command does.
func child(folder, url string) error {
	return withBroker(folder, func(ctx context.Context, brokers []string) error {
		producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
		if err != nil {
			return err
		}
		defer producer.Close()
		reader, err := accounts.New(accounts.Config{Endpoints: []string{url}, StateFile: filepath.Join(folder, "bootstrap.json")},
			accounts.Deps{Producer: producer, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		summary, err := reader.Run(ctx)
		if accounts.Complete(err) {
			err = nil
		}
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(summary)
	})
}

// withBroker runs the embedded broker in folder around work.
func withBroker(folder string, work func(ctx context.Context, brokers []string) error) error {
	broker, err := embedded.New(embedded.Config{DataDir: filepath.Join(folder, "kafka"), Addr: "127.0.0.1:0"},
		embedded.Deps{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(ctx) }()
	defer func() { stop(); <-ended }()
	if err := broker.WaitReady(ctx); err != nil {
		return err
	}
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	if err != nil {
		return err
	}
	defer admin.Close()
	var specs []kafka.TopicSpec
	for _, topic := range schemas.Topics() {
		if topic.Name == schemas.TopicEnrichments {
			specs = append(specs, kafka.TopicSpec{Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config()})
		}
	}
	if err := admin.EnsureTopics(ctx, specs); err != nil {
		return err
	}
	return work(ctx, []string{broker.Addr()})
}

func childCommand(folder, url string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+folder+" "+url)
	cmd.Stderr = os.Stderr
	return cmd
}

// readLog folds all that lies in the log of folder.
func readLog(t testing.TB, folder string, each func(record *kafka.Record)) {
	require.NoError(t, withBroker(folder, func(ctx context.Context, brokers []string) error {
		tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: []string{schemas.TopicEnrichments}}, kafka.Deps{})
		if err != nil {
			return err
		}
		defer tailer.Close()
		for {
			records, err := tailer.FetchBatch(ctx, 10_000, 10*time.Millisecond)
			if err != nil {
				return err
			}
			for i := range records {
				each(&records[i])
			}
			if lag, known := tailer.Lag(); known && lag == 0 {
				return nil
			}
		}
	}))
}

func TestKilledAtAnyMomentEndsWithTheSameRegistry(t *testing.T) {
	mints, kills := 30_000, 8
	if testing.Short() {
		mints, kills = 8_000, 3
	}
	c := bulk.NewChain(mints, 123)
	fake := &bulk.Server{Chain: c}
	url := serve(t, fake)
	folder := t.TempDir()
	random := rand.New(rand.NewPCG(testkit.Seed(t), 3))
	killed := 0
	for killed < kills {
		cmd := childCommand(folder, url)
		require.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			require.NoError(t, err)
			t.Logf("done after %d kills, %d requests", killed, fake.Requests.Load())
			kills = killed
			continue
		case <-time.After(100*time.Millisecond + time.Duration(random.IntN(900))*time.Millisecond):
		}
		_ = cmd.Process.Kill()
		<-ended
		killed++
	}
	out, err := childCommand(folder, url).Output()
	require.NoError(t, err)
	var summary accounts.Summary
	require.NoError(t, json.Unmarshal(out, &summary))
	t.Logf("%d kills, %d requests, %d accounts sent for %d", killed, fake.Requests.Load(), fake.Served.Load(), summary.Accounts)

	states := map[pubkey.Key]*registry.State{}
	readLog(t, folder, func(record *kafka.Record) { require.NoError(t, foldRecord(states, record)) })
	require.Equal(t, want(t, c), states)
}

// BenchmarkBootstrap fills the log of a broker of its own from a simulated server in this process.
// MINTLAKE_BOOTSTRAP_MINTS sets the mints, 200,000 unless set.
func BenchmarkBootstrap(b *testing.B) {
	if testing.Short() {
		b.Skip("takes minutes")
	}
	mints := 200_000
	if text := os.Getenv("MINTLAKE_BOOTSTRAP_MINTS"); text != "" {
		_, err := fmt.Sscan(text, &mints)
		require.NoError(b, err)
	}
	fake := &bulk.Server{Chain: bulk.NewChain(mints, 123)}
	url := serve(b, fake)
	for b.Loop() {
		folder := b.TempDir()
		cmd := childCommand(folder, url)
		began := time.Now()
		out, err := cmd.Output()
		require.NoError(b, err)
		took := time.Since(began)
		var summary accounts.Summary
		require.NoError(b, json.Unmarshal(out, &summary))
		usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		b.ReportMetric(float64(summary.Records), "records")
		b.ReportMetric(took.Seconds(), "s/bootstrap")
		b.ReportMetric(float64(summary.Records)/took.Seconds(), "records/s")
		b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MiB")
		b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s")
	}
}
