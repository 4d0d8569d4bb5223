package limits

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// patient is a node that waits long for Redis: what is proved is not how fast the machine is.
func patient(url string) SharedConfig {
	return SharedConfig{URL: url, Timeout: 30 * time.Second, Retry: time.Millisecond}
}

// testing.TB has what rapid.T has not.
type tester interface {
	require.TestingT
	Cleanup(func())
	Helper()
}

func newShared(t tester, cfg SharedConfig, rules []Rule, deps SharedDeps) *Shared {
	t.Helper()
	local, err := New(rules, 1024, Networks{})
	require.NoError(t, err)
	deps.Local = local
	s, err := NewShared(cfg, deps)
	require.NoError(t, err)
	return s
}

// TestSharedEqualsModel: two nodes on one Redis decide together what the brute-force model decides
// alone.
func TestSharedEqualsModel(t *testing.T) {
	server := miniredis.RunT(t)
	rapid.Check(t, func(t *rapid.T) {
		server.FlushAll()
		micro := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(1, 50).Draw(t, name)) * time.Microsecond
		}
		rules := []Rule{{rapid.IntRange(1, 9).Draw(t, "limit 0"), micro("window 0")}, {rapid.IntRange(1, 9).Draw(t, "limit 1"), micro("window 1")}}
		var nodes []*Shared
		for range 2 {
			node := newShared(t, patient("redis://"+server.Addr()), rules, SharedDeps{})
			defer func() { _ = node.client.Close() }()
			node.up.Store(true)
			nodes = append(nodes, node)
		}
		m := &model{rules: rules, passed: map[string][][]time.Time{}}
		now := time.Unix(1_000, 0)
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 10).Draw(t, "pause")) * time.Microsecond)
			server.SetTime(now)
			client := rapid.SampledFrom([]string{"203.0.113.9", "2001:db8::/64"}).Draw(t, "client")
			windows := rapid.SampledFrom([][]int{{0}, {1}, {0, 1}}).Draw(t, "windows")
			allowed, retry := m.take(client, now, windows)
			decision := nodes[rapid.IntRange(0, 1).Draw(t, "node")].Take(client, now, windows...)
			require.Equal(t, allowed, decision.Allowed)
			if allowed {
				require.Zero(t, decision.RetryAfter)
			} else { // a node that refuses by itself may not know of a second full window
				require.Positive(t, decision.RetryAfter)
				require.LessOrEqual(t, decision.RetryAfter, retry)
			}
			if allowed {
				fewest := 1 << 30
				for _, w := range windows {
					fewest = min(fewest, rules[w].Limit-len(m.counted(client, w, now)))
				}
				require.Equal(t, fewest, decision.Remaining)
			}
		}
	})
}

// TestRefusedClientsCostRedisNothing: once a window is known to be full, Redis is not asked about
// it.
func TestRefusedClientsCostRedisNothing(t *testing.T) {
	server := miniredis.RunT(t)
	now := time.Unix(1_000, 0)
	server.SetTime(now)
	rules := []Rule{{3, time.Minute}}
	one, two := newShared(t, patient("redis://"+server.Addr()), rules, SharedDeps{}), newShared(t, patient("redis://"+server.Addr()), rules, SharedDeps{})
	one.up.Store(true)
	two.up.Store(true)
	for range 3 {
		require.True(t, one.Take("a", now, 0).Allowed)
	}
	require.False(t, two.Take("a", now, 0).Allowed, "what one node counted, the other knows")
	asked := server.CommandCount()
	for range 100 {
		for _, node := range []*Shared{one, two} {
			d := node.Take("a", now.Add(time.Second), 0)
			require.False(t, d.Allowed)
			require.Equal(t, 59*time.Second, d.RetryAfter)
			require.Equal(t, 3, d.Limit)
		}
	}
	require.Equal(t, asked, server.CommandCount())
	server.SetTime(now.Add(time.Minute))
	require.True(t, two.Take("a", now.Add(time.Minute), 0).Allowed)
	require.Equal(t, 2, two.Take("b", now.Add(time.Minute), 0).Remaining)
}

// TestWindowsExpire: a client that stays away leaves nothing in Redis.
func TestWindowsExpire(t *testing.T) {
	server := miniredis.RunT(t)
	node := newShared(t, patient("redis://"+server.Addr()), []Rule{{3, time.Minute}, {9, time.Minute}}, SharedDeps{})
	node.up.Store(true)
	now := time.Now()
	for i := range 50 {
		require.True(t, node.Take(fmt.Sprint(i), now, 0, 1).Allowed)
	}
	require.Len(t, server.Keys(), 100)
	server.FastForward(time.Minute + 2*time.Millisecond)
	require.Empty(t, server.Keys())
}

// buffer is a log that several goroutines write.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) count(part string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), part)
}

// run runs the node until the test ends.
func run(t *testing.T, s *Shared) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context()) }()
	t.Cleanup(func() { require.NoError(t, <-done) })
}

// hang is what anything may take before it counts as hanging. A node pauses up to ten seconds
// between two attempts, and a Sentinel that was suspended does nothing for thirty.
const hang = 3 * time.Minute

func await(t *testing.T, s *Shared, up bool) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Up() == up }, hang, time.Millisecond)
}

// TestAnOutageIsWaitedOut: with Redis away the node decides alone, by what it knows; back, Redis
// decides again. One line each.
func TestAnOutageIsWaitedOut(t *testing.T) {
	server := miniredis.RunT(t)
	var log buffer
	s := newShared(t, patient("redis://"+server.Addr()), []Rule{{3, time.Hour}}, SharedDeps{
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: prometheus.NewRegistry(),
	})
	now := time.Now()
	require.True(t, s.Take("a", now, 0).Allowed, "before Redis was reached")
	run(t, s)
	await(t, s, true)
	require.Equal(t, 2, s.Take("a", now, 0).Remaining, "Redis knows nothing of what was before")
	server.SetError("LOADING")
	require.Equal(t, 0, s.Take("a", now, 0).Remaining, "the node has counted all three")
	require.False(t, s.Take("a", now, 0).Allowed)
	require.Equal(t, 1, log.count("rate limits are not shared"))
	server.SetError("")
	await(t, s, true)
	require.Equal(t, 2, log.count("rate limits are shared"))
	server.Close()
	require.True(t, s.Take("b", now, 0).Allowed)
	require.False(t, s.Up())
	require.NoError(t, server.Restart())
	await(t, s, true)
	require.Equal(t, 2, log.count("rate limits are not shared"))
	require.Equal(t, 3, log.count("rate limits are shared"))
}

func TestSharedRefusesNonsense(t *testing.T) {
	local, err := New([]Rule{{1, time.Minute}}, 64, Networks{})
	require.NoError(t, err)
	for _, cfg := range []SharedConfig{{}, {URL: "http://x:secret@y", Timeout: 1, Retry: 1}, {URL: "redis://x", Retry: 1}, {URL: "redis://x", Timeout: 1}} {
		_, err := NewShared(cfg, SharedDeps{Local: local})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err = NewShared(patient("redis://x"), SharedDeps{})
	require.Error(t, err)
}

// TestRedisItselfEqualsModel: by the times that Redis gave the requests, each decision is the
// model's.
func TestRedisItselfEqualsModel(t *testing.T) {
	url, _ := realRedis(t)
	// The short windows pass many times. The long one refuses however slow the machine is.
	rules := []Rule{{20, 30 * time.Millisecond}, {45, 100 * time.Millisecond}, {100, time.Minute}}
	s := newShared(t, patient(url), rules, SharedDeps{})
	m := &model{rules: rules, passed: map[string][][]time.Time{}}
	refused := 0
	for i := range 5_000 {
		client := []string{"a", "b"}[i%2]
		windows := [][]int{{0}, {0, 1}, {1}, {1, 2}, {0, 1, 2}}[i%5]
		var keys []string
		var args []any
		for _, w := range windows {
			keys = append(keys, fmt.Sprintf("{%s}:%d", client, w))
			args = append(args, rules[w].Limit, rules[w].Window.Microseconds())
		}
		values, err := s.script.Run(t.Context(), s.client, keys, args...).Int64Slice()
		require.NoError(t, err)
		now := time.UnixMicro(values[1])
		allowed, _ := m.take(client, now, windows)
		require.Equal(t, allowed, values[0] == 1, "request %d", i)
		for j, w := range windows {
			require.Len(t, m.counted(client, w, now), int(values[2+2*j]))
		}
		if !allowed {
			refused++
		}
	}
	require.Positive(t, refused)
}

// TestRedisItselfSharesBetweenNodes: of many requests at once at three nodes exactly the limit
// passes.
func TestRedisItselfSharesBetweenNodes(t *testing.T) {
	url, server := realRedis(t)
	rules := []Rule{{100, time.Hour}, {150, time.Hour}}
	var passed atomic.Int64
	var group sync.WaitGroup
	var nodes []*Shared
	for range 3 {
		s := newShared(t, patient(url), rules, SharedDeps{})
		run(t, s)
		await(t, s, true)
		nodes = append(nodes, s)
	}
	for i := range 12 {
		group.Go(func() {
			for range 50 {
				if nodes[i%3].Take("a", time.Now(), 0, 1).Allowed {
					passed.Add(1)
				}
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 100, passed.Load())

	hasty := newShared(t, SharedConfig{URL: url, Timeout: 20 * time.Millisecond, Retry: time.Millisecond}, rules, SharedDeps{})
	run(t, hasty)
	await(t, hasty, true)
	server.freeze()
	require.Eventually(t, func() bool { return hasty.Take("b", time.Now(), 1).Allowed && !hasty.Up() }, hang, time.Millisecond,
		"a slow Redis is as good as none")
	server.thaw()
	await(t, hasty, true)
}
