package kafka_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

const candidateEnv = "MINTLAKE_KAFKA_TEST_CANDIDATE"

// officeSession is for tests that wait for its end. It is the shortest that Apache Kafka allows,
// and longer than a busy machine stands still.
const officeSession = 6 * time.Second

func officeConfig(session time.Duration, brokers ...string) kafka.CandidateConfig {
	return kafka.CandidateConfig{Brokers: brokers, Group: "office", Topic: "office", SessionTimeout: session}.
		WithHeartbeatInterval(100 * time.Millisecond)
}

func newCandidate(t *testing.T, session time.Duration, brokers []string) *kafka.Candidate {
	t.Helper()
	c, err := kafka.NewCandidate(officeConfig(session, brokers...), deps(t))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// leading calls Lead in the background.
func leading(t *testing.T, c *kafka.Candidate) <-chan *kafka.Term {
	t.Helper()
	won := make(chan *kafka.Term, 1)
	ctx := testContext(t)
	go func() {
		if term, err := c.Lead(ctx); err == nil {
			won <- term
		}
	}()
	return won
}

func isOver(term *kafka.Term) bool {
	select {
	case <-term.Done():
		return true
	default:
		return false
	}
}

// TestOneCandidateLeads: whoever joins, the leader stays in office; when it leaves, another one
// leads at once.
func TestOneCandidateLeads(t *testing.T) {
	brokers := kafkatest.Start(t)
	makeTopic(t, brokers, "office", 1)
	ctx := testContext(t)
	first := newCandidate(t, longSession(t), brokers)
	term, err := first.Lead(ctx)
	require.NoError(t, err)

	// With so many, half of the names come before the leader's.
	var others []*kafka.Candidate
	won := make(chan *kafka.Term, 6)
	for range 6 {
		c := newCandidate(t, longSession(t), brokers)
		others = append(others, c)
		go func() {
			if term, err := c.Lead(ctx); err == nil {
				won <- term
			}
		}()
		for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			require.False(t, isOver(term), "a new candidate takes no office")
			require.NoError(t, term.Await(ctx), "and does not stop the leader")
		}
	}
	require.Empty(t, won)

	start := time.Now()
	first.Close()
	require.True(t, isOver(term))
	require.ErrorIs(t, term.Await(ctx), kafka.ErrNotLeader)
	_, err = first.Lead(ctx)
	require.ErrorIs(t, err, kafka.ErrClosed)
	second := <-won
	t.Logf("a leader that leaves is followed after %s", time.Since(start).Round(time.Millisecond))
	require.Less(t, time.Since(start), longSession(t), "nobody waits for the session of one that left")
	require.NoError(t, second.Await(ctx))
	time.Sleep(time.Second)
	require.Empty(t, won, "one of the six leads")
	for _, c := range others {
		c.Close()
	}
}

// TestCandidateProcess is no test: it is the leader that TestALeaderThatStandsStill stops and
// wakes.
func TestCandidateProcess(t *testing.T) {
	broker := os.Getenv(candidateEnv)
	if broker == "" {
		t.Skip("only runs as a child of other tests")
	}
	c, err := kafka.NewCandidate(officeConfig(officeSession, broker), kafka.Deps{})
	require.NoError(t, err)
	term, err := c.Lead(context.Background())
	require.NoError(t, err)
	for err == nil {
		if err = term.Await(context.Background()); err == nil {
			_, _ = fmt.Println("writes", time.Now().UnixNano())
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, _ = fmt.Println("ended", err)
	_, _ = c.Lead(context.Background())
	_, _ = fmt.Println("leads again")
	select {}
}

// TestALeaderThatStandsStill: when the leader is frozen another one leads after its session. Woken
// up, it sees before its next write that it leads no longer, and it follows when its follower is
// gone.
func TestALeaderThatStandsStill(t *testing.T) {
	brokers := kafkatest.Start(t)
	makeTopic(t, brokers, "office", 1)
	cmd := exec.Command(os.Args[0], "-test.run=^TestCandidateProcess$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), candidateEnv+"="+brokers[0])
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := make(chan string, 1<<16)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	require.Contains(t, <-lines, "writes")

	second := newCandidate(t, officeSession, brokers)
	won := leading(t, second)
	time.Sleep(time.Second)
	require.Empty(t, won)
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	stopped := time.Now()
	term := <-won
	t.Logf("a leader that stands still is followed after %s", time.Since(stopped).Round(time.Millisecond))
	followed := time.Now()

	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	writes := 0
	for line := range lines {
		if at, ok := strings.CutPrefix(line, "writes "); ok {
			var nanos int64
			_, err := fmt.Sscan(at, &nanos)
			require.NoError(t, err)
			if time.Unix(0, nanos).After(followed) {
				writes++
			}
			continue
		}
		require.Contains(t, line, "ended")
		require.Contains(t, line, kafka.ErrNotLeader.Error())
		break
	}
	require.LessOrEqual(t, writes, 1, "what it had looked at before it was stopped, at most")
	require.False(t, isOver(term))
	second.Close()
	require.Equal(t, "leads again", <-lines)
}

// TestALeaderOutlivesItsBroker: while the broker is away the lease is in doubt and nobody may
// write; when it is back the leader goes on in the same term.
func TestALeaderOutlivesItsBroker(t *testing.T) {
	broker := kafkatest.StartBroker(t)
	makeTopic(t, broker.Brokers(), "office", 1)
	ctx := testContext(t)
	candidate := newCandidate(t, officeSession, broker.Brokers())
	term, err := candidate.Lead(ctx)
	require.NoError(t, err)
	broker.Pause()
	require.Eventually(t, func() bool {
		within, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		return term.Await(within) != nil
	}, time.Minute, 10*time.Millisecond, "the lease ends")
	require.False(t, isOver(term), "nobody said that another one leads")
	broker.Resume()
	for {
		if err := term.Await(ctx); err == nil {
			return
		}
		// The broker may have counted the pause against the member: then it leads anew.
		term, err = candidate.Lead(ctx)
		require.NoError(t, err)
	}
}
