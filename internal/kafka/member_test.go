package kafka_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

const memberEnv = "MINTLAKE_KAFKA_TEST_MEMBER"

// session is how long the broker waits for a silent member. A dead dynamic one holds its group up
// for as long, so it is about the shortest that the broker allows. Nobody waits for a static one:
// its session is so long that a wait would show.
func session(t *testing.T, instance string) time.Duration {
	switch {
	case instance != "":
		return 3 * time.Minute
	case kafkatest.Apache(t):
		return 6 * time.Second
	default:
		return 2 * time.Second
	}
}

// TestMemberProcess is no test: it is the member that TestKilledMember starts as a process of its
// own. It applies a record by printing it.
func TestMemberProcess(t *testing.T) {
	spec := os.Getenv(memberEnv)
	if spec == "" {
		t.Skip("only runs as a child of other tests")
	}
	broker, instance, _ := strings.Cut(spec, ",")
	registry := prometheus.NewRegistry()
	consumer, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{
		Brokers: []string{broker}, Group: "killed", Topics: []string{"killed"}, InstanceID: instance, SessionTimeout: session(t, instance),
	}, kafka.Deps{Registerer: registry})
	require.NoError(t, err)
	joined := 0.0
	for applied := 0; applied < memberStops; {
		batch, err := consumer.FetchBatch(context.Background(), maxBatch, time.Millisecond)
		require.NoError(t, err)
		for ; joined < counter(t, registry, "mintlake_kafka_rebalances_total"); joined++ {
			_, _ = fmt.Println("joined")
		}
		for _, r := range batch {
			_, _ = fmt.Printf("applied %s/%d\n", r.Key, number(r))
		}
		require.NoError(t, consumer.Commit(context.Background(), batch))
		applied += len(batch)
		time.Sleep(time.Millisecond)
	}
	select {} // leave something for the members to come, however late the kill
}

const (
	// maxBatch is how many records a member takes at once.
	maxBatch = 7
	// memberKilled and memberStops are how many records a member has applied when it is killed, and
	// at most.
	memberKilled, memberStops = 100, 150
)

// runMember runs a member until it has applied some records, kills it and returns what it applied,
// and how often it joined: more than once when the machine stood still for a session.
func runMember(t *testing.T, broker, instance string) (applied []string, joined int, untilFirst time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemberProcess$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), memberEnv+"="+broker+","+instance)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	start := time.Now()
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line cut by the kill was not applied
		}
		if line == "joined\n" {
			joined++
		}
		record, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "applied ")
		if !ok {
			continue
		}
		if len(applied) == 0 {
			untilFirst = time.Since(start)
		}
		if applied = append(applied, record); len(applied) == memberKilled {
			require.NoError(t, cmd.Process.Kill()) // and read what it said until then
		}
	}
	require.GreaterOrEqual(t, len(applied), memberKilled)
	return applied, joined, untilFirst
}

// TestKilledMember: members that are killed without a word lose nothing, and the next one goes on
// where they committed. With a dynamic member the group waits for the dead one's session; a static
// one comes back at once.
func TestKilledMember(t *testing.T) {
	for _, instance := range []string{"", "static-1"} {
		t.Run("instance="+instance, func(t *testing.T) {
			brokers := kafkatest.Start(t)
			ctx := testContext(t)
			admin := makeTopic(t, brokers, "killed", 2)
			const total = 600
			var records []kafka.Record
			for n := range total {
				records = append(records, numbered("killed", fmt.Sprintf("k%d", n%5), n/5))
			}
			require.NoError(t, newProducer(t, brokers).Produce(ctx, records...))
			seen, generations := make(map[string]int), 0
			for round := range 3 {
				applied, joined, untilFirst := runMember(t, brokers[0], instance)
				generations += joined
				for _, record := range applied {
					seen[record]++
				}
				t.Logf("member %d: first record after %s", round, untilFirst.Round(time.Millisecond))
				if instance != "" {
					require.Less(t, untilFirst, session(t, instance), "a static member does not wait for its own session")
				}
			}
			lag, err := admin.Lag(ctx, "killed", []string{"killed"})
			require.NoError(t, err)
			require.LessOrEqual(t, lag, int64(total-3*memberKilled+generations*maxBatch), "the members committed on the way")

			consumer, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{
				Brokers: brokers, Group: "killed", Topics: []string{"killed"}, InstanceID: instance, SessionTimeout: longSession(t),
			}, deps(t))
			require.NoError(t, err)
			defer consumer.Close()
			rest := fetchUntil(t, consumer, atLeast(int(lag)))
			require.Len(t, rest, int(lag))
			for _, r := range rest {
				seen[fmt.Sprintf("%s/%d", r.Key, number(r))]++
			}
			require.Len(t, seen, total, "every record was applied at least once")
			repeated := 0
			for _, n := range seen {
				repeated += n - 1
			}
			require.LessOrEqual(t, repeated, generations*maxBatch, "the end of a membership repeats at most one uncommitted batch")
		})
	}
}

// TestRestartOfEverything measures how long a group stands still when the process that held both
// the broker and its members is killed: from the start of the new process to the first record of a
// new member. It is what a single machine feels.
func TestRestartOfEverything(t *testing.T) {
	if kafkatest.Apache(t) {
		t.Skip("broker and members share a process only with the embedded broker")
	}
	broker := kafkatest.StartBroker(t)
	makeTopic(t, broker.Brokers(), "all", 4)
	ctx := testContext(t)
	for _, end := range []struct {
		name string
		stop func()
	}{{"kill", broker.Kill}, {"stop", broker.Stop}} {
		producer := newProducer(t, broker.Brokers())
		var records []kafka.Record
		for n := range 1000 {
			records = append(records, numbered("all", fmt.Sprintf("k%d", n%50), n))
		}
		require.NoError(t, producer.Produce(ctx, records...))
		old := newConsumer(t, broker.Brokers(), "all", "all")
		batch, err := old.FetchBatch(ctx, 100, 0)
		require.NoError(t, err)
		require.NoError(t, old.Commit(ctx, batch))
		end.stop()
		old.Close() // the broker is away: it cannot leave, as if it had been killed
		producer.Close()

		start := time.Now()
		broker.Start()
		answered := time.Since(start)
		member := newConsumer(t, broker.Brokers(), "all", "all")
		batch, err = member.FetchBatch(ctx, 100, 0)
		require.NoError(t, err)
		require.NotEmpty(t, batch)
		first := time.Since(start)
		t.Logf("after a %s: broker answers in %s, first record in %s", end.name, answered.Round(time.Millisecond), first.Round(time.Millisecond))
		require.Less(t, first, 2*time.Minute)
		member.Close()
	}
}

// TestLiveMembersResume: a producer, a member and a tailer that lived through the broker's absence
// go on soon after its return.
func TestLiveMembersResume(t *testing.T) {
	broker := kafkatest.StartBroker(t)
	makeTopic(t, broker.Brokers(), "resume", 2)
	ctx := testContext(t)
	producer := newProducer(t, broker.Brokers())
	consumer, tailer := newConsumer(t, broker.Brokers(), "resume", "resume"), newTailer(t, broker.Brokers(), nil, "resume")
	require.NoError(t, producer.Produce(ctx, numbered("resume", "k", 0)))
	for _, f := range []fetcher{consumer, tailer} {
		batch, err := f.FetchBatch(ctx, 1, 0)
		require.NoError(t, err)
		if f == consumer {
			require.NoError(t, consumer.Commit(ctx, batch))
		}
	}
	broker.Kill()
	time.Sleep(3 * time.Second) // long enough for every back-off to be at its longest
	broker.Start()
	start := time.Now()
	require.NoError(t, producer.Produce(ctx, numbered("resume", "k", 1)))
	written := time.Since(start)
	var tailed, grouped time.Duration
	for f, took := range map[fetcher]*time.Duration{tailer: &tailed, consumer: &grouped} {
		batch, err := f.FetchBatch(ctx, 1, 0)
		require.NoError(t, err)
		require.Equal(t, 1, number(batch[0]))
		*took = time.Since(start)
	}
	batchStart := time.Now()
	require.NoError(t, producer.Produce(ctx, numbered("resume", "k", 2)))
	batch, err := consumer.FetchBatch(ctx, 1, 0)
	require.NoError(t, err)
	require.NoError(t, consumer.Commit(ctx, batch))
	t.Logf("after the broker answers: written %s, tailed %s, read by the group %s, committed %s", written.Round(time.Millisecond),
		tailed.Round(time.Millisecond), grouped.Round(time.Millisecond), (time.Since(batchStart) + max(tailed, grouped)).Round(time.Millisecond))
	require.Less(t, max(written, tailed, grouped), 2*time.Minute)
}
