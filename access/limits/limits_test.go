package limits

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

// model keeps every passed request for ever and counts anew each time.
type model struct {
	rules  []Rule
	passed map[string][][]time.Time
}

func (m *model) counted(client string, w int, now time.Time) []time.Time {
	var inside []time.Time
	if rings := m.passed[client]; rings != nil {
		for _, at := range rings[w] {
			if at.After(now.Add(-m.rules[w].Window)) {
				inside = append(inside, at)
			}
		}
	}
	return inside
}

func (m *model) take(client string, now time.Time, windows []int) (bool, time.Duration) {
	allowed, retry := true, time.Duration(0)
	for _, w := range windows {
		if inside := m.counted(client, w, now); len(inside) >= m.rules[w].Limit {
			allowed = false
			retry = max(retry, inside[0].Add(m.rules[w].Window).Sub(now))
		}
	}
	if allowed {
		if m.passed[client] == nil {
			m.passed[client] = make([][]time.Time, len(m.rules))
		}
		for _, w := range windows {
			m.passed[client][w] = append(m.passed[client][w], now)
		}
	}
	return allowed, retry
}

func TestLimiterEqualsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := []Rule{
			{rapid.IntRange(1, 9).Draw(t, "limit 0"), time.Duration(rapid.IntRange(1, 50).Draw(t, "window 0"))},
			{rapid.IntRange(1, 9).Draw(t, "limit 1"), time.Duration(rapid.IntRange(1, 50).Draw(t, "window 1"))},
		}
		limiter, err := New(rules, 64*8, Networks{})
		require.NoError(t, err)
		m := &model{rules: rules, passed: map[string][][]time.Time{}}
		now := time.Unix(1_000, 0)
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 10).Draw(t, "pause")))
			if rapid.IntRange(0, 20).Draw(t, "sweep") == 0 {
				limiter.Sweep(now)
			}
			client := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "client")
			windows := rapid.SampledFrom([][]int{{0}, {1}, {0, 1}}).Draw(t, "windows")
			allowed, retry := m.take(client, now, windows)
			decision := limiter.Take(client, now, windows...)
			require.Equal(t, allowed, decision.Allowed)
			require.Equal(t, retry, decision.RetryAfter)
			fewest := 1 << 30
			for _, w := range windows {
				fewest = min(fewest, rules[w].Limit-len(m.counted(client, w, now)))
			}
			require.Equal(t, fewest, decision.Remaining)
		}
	})
}

func TestRetryAfterIsEnoughAndNotTooMuch(t *testing.T) {
	limiter, err := New([]Rule{{60, time.Minute}}, 1024, Networks{})
	require.NoError(t, err)
	now := time.Unix(1_000, 0)
	for i := range 60 {
		d := limiter.Take("a", now.Add(time.Duration(i)*time.Millisecond), 0)
		require.True(t, d.Allowed)
		require.Equal(t, 59-i, d.Remaining)
	}
	d := limiter.Take("a", now.Add(time.Second), 0)
	require.False(t, d.Allowed)
	require.Equal(t, 59*time.Second, d.RetryAfter)
	require.False(t, limiter.Take("a", now.Add(time.Second+d.RetryAfter-1), 0).Allowed)
	require.True(t, limiter.Take("a", now.Add(time.Second+d.RetryAfter), 0).Allowed)
	require.True(t, limiter.Take("b", now.Add(time.Second), 0).Allowed, "another client has its own window")
}

func TestMemoryIsBounded(t *testing.T) {
	limiter, err := New([]Rule{{600, time.Minute}}, 640, Networks{})
	require.NoError(t, err)
	now := time.Unix(1_000, 0)
	for i := range 100_000 {
		limiter.Take(fmt.Sprint(i), now, 0)
	}
	require.LessOrEqual(t, limiter.Stats().Clients, 640)
	limiter.Sweep(now.Add(time.Minute))
	require.Zero(t, limiter.Stats().Clients)
}

func TestNewRefusesNonsense(t *testing.T) {
	for _, rules := range [][]Rule{nil, {{0, time.Minute}}, {{1, 0}}, make([]Rule, 17)} {
		_, err := New(rules, 1024, Networks{})
		require.Error(t, err)
	}
	_, err := New([]Rule{{1, time.Minute}}, 1, Networks{})
	require.Error(t, err)
}

func TestClient(t *testing.T) {
	trusted, err := ParseProxies([]string{"10.0.0.0/8", "192.0.2.7", "2001:db8:ffff::/48"})
	require.NoError(t, err)
	cases := []struct{ peer, forwarded, want string }{
		{"198.51.100.1", "", "198.51.100.1"},
		// not a trusted peer: not believed
		{"198.51.100.1", "203.0.113.9", "198.51.100.1"},
		{"10.1.2.3", "203.0.113.9", "203.0.113.9"}, // one proxy
		// what the client made up is left of the truth
		{"10.1.2.3", "1.1.1.1, 203.0.113.9, 192.0.2.7", "203.0.113.9"},
		{"10.1.2.3", "10.9.9.9", "10.9.9.9"}, // all trusted: the farthest
		{"10.1.2.3", "nonsense", "10.1.2.3"},
		{"10.1.2.3", "1.1.1.1,nonsense", "10.1.2.3"},
		{"10.1.2.3", "203.0.113.9:5555", "203.0.113.9"},
		{"10.1.2.3", "[2001:db8::1]:5555", "2001:db8::/64"},
		{"::ffff:10.1.2.3", "203.0.113.9", "203.0.113.9"},
		{"2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"},
		{"2001:db8:ffff::1", "2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"},
		{"fe80::1%eth0", "", "fe80::/64"},
		// What hostile clients put to the left of the truth, or send as the whole of it past no
		// proxy at all.
		{"10.1.2.3", ",,,,203.0.113.9", "203.0.113.9"},
		{"10.1.2.3", "203.0.113.9,", "10.1.2.3"},
		{"10.1.2.3", "203.0.113.9,,", "10.1.2.3"},
		{"10.1.2.3", "unknown", "10.1.2.3"},
		{"10.1.2.3", "_hidden, 203.0.113.9", "203.0.113.9"},
		{"10.1.2.3", strings.Repeat("1.1.1.1, ", 1_500) + "203.0.113.9", "203.0.113.9"},
		{"10.1.2.3", strings.Repeat("10.0.0.1, ", 1_500) + "10.0.0.2", "10.0.0.1"},
		{"10.1.2.3", "::ffff:203.0.113.9", "203.0.113.9"},
		{"10.1.2.3", "[::ffff:203.0.113.9]:80", "203.0.113.9"},
		{"10.1.2.3", "2001:db8:1:2::1%evil", "2001:db8:1:2::/64"},
		{"10.1.2.3", "203.0.113.009", "10.1.2.3"},
		{"10.1.2.3", "3405803785", "10.1.2.3"},
		{"10.1.2.3", "203.0.113.9:99999", "10.1.2.3"},
		{"10.1.2.3", "203.0.113.9\x00", "10.1.2.3"},
		{"198.51.100.1", "127.0.0.1, 10.0.0.1", "198.51.100.1"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, trusted.Client(netip.MustParseAddr(c.peer), c.forwarded), "%+v", c)
	}
	_, err = ParseProxies([]string{"10.0.0.0/8", "proxy.local"})
	require.ErrorContains(t, err, `"proxy.local"`)
}

func FuzzClient(f *testing.F) {
	trusted, err := ParseProxies([]string{"0.0.0.0/0", "::/0"})
	require.NoError(f, err)
	f.Add("203.0.113.9, [::1]:80, x")
	f.Fuzz(func(t *testing.T, forwarded string) {
		require.NotEmpty(t, trusted.Client(netip.MustParseAddr("10.0.0.1"), forwarded))
	})
}

func BenchmarkTake(b *testing.B) {
	limiter, err := New([]Rule{{600, time.Minute}}, 65_536, Networks{})
	require.NoError(b, err)
	now := time.Unix(1_000, 0)
	i := 0
	for b.Loop() {
		i++
		limiter.Take("203.0.113.9", now.Add(time.Duration(i)*time.Millisecond), 0)
	}
}

// TestAFloodFreesNobody: addresses without end cannot make the limiter forget a client that has
// used its limit, nor one that used a quarter.
func TestAFloodFreesNobody(t *testing.T) {
	limiter, err := New([]Rule{{60, time.Minute}, {20, time.Minute}}, 64*16, Networks{})
	require.NoError(t, err)
	now := time.Unix(1_000, 0)
	for range 60 {
		require.True(t, limiter.Take("full", now, 0).Allowed)
	}
	for range 15 {
		require.True(t, limiter.Take("quarter", now, 0).Allowed)
	}
	for i := range 100_000 {
		require.True(t, limiter.Take(fmt.Sprint("flood ", i), now.Add(time.Duration(i)), i%2).Allowed, "there is room for who asks seldom")
	}
	require.LessOrEqual(t, limiter.Stats().Clients, 64*16)
	require.Positive(t, limiter.Stats().Forgotten)
	require.Zero(t, limiter.Stats().TurnedAway)
	later := now.Add(time.Minute - 1)
	require.False(t, limiter.Take("full", later, 0).Allowed)
	require.Equal(t, 60-15-1, limiter.Take("quarter", later, 0).Remaining)
	require.True(t, limiter.Take("full", later.Add(1), 0).Allowed)
}

// TestAFullHouseTurnsAway: when all who are remembered have used a quarter or more, new clients are
// refused rather than old ones freed, and let in as soon as the old ones' windows empty.
func TestAFullHouseTurnsAway(t *testing.T) {
	limiter, err := New([]Rule{{4, time.Minute}}, 64*4, Networks{})
	require.NoError(t, err)
	now := time.Unix(1_000, 0)
	in := 0
	for i := range 10_000 {
		if limiter.Take(fmt.Sprint(i), now, 0).Allowed {
			in++
		}
	}
	require.Equal(t, 64*4, in)
	require.EqualValues(t, 10_000-64*4, limiter.Stats().TurnedAway)
	d := limiter.Take("new", now, 0)
	require.Equal(t, Decision{Limit: 4, Reset: time.Second, RetryAfter: time.Second}, d)
	require.True(t, limiter.Take("new", now.Add(time.Minute), 0).Allowed)
	limiter.Sweep(now.Add(2 * time.Minute))
	require.Zero(t, limiter.Stats().Clients)
}

// TestLightClientsBecomeHeavyAndLightAgain: what a client asks decides whether it can be forgotten,
// at any time.
func TestLightClientsBecomeHeavyAndLightAgain(t *testing.T) {
	limiter, err := New([]Rule{{8, time.Minute}}, 64, Networks{})
	require.NoError(t, err)
	now := time.Unix(1_000, 0)
	for range 2 {
		limiter.Take("a", now, 0)
	}
	s := limiter.shard("a")
	require.Equal(t, 1, s.tables[0].heavy.Len())
	limiter.Take("a", now.Add(59*time.Second), 0)
	limiter.Sweep(now.Add(time.Minute))
	require.Equal(t, []int{1, 0}, []int{s.tables[0].light.Len(), s.tables[0].heavy.Len()}, "one request is left")
	limiter.Take("a", now.Add(time.Minute), 0)
	require.Equal(t, []int{0, 1}, []int{s.tables[0].light.Len(), s.tables[0].heavy.Len()})
}
