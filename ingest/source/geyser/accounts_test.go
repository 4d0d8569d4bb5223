package geyser

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// withAccounts sends, before each block, the mint accounts that its transactions wrote, and those
// of a fork that never came to be.
func withAccounts(c sourcetest.Chain) func(i int) []any {
	return func(i int) (messages []any) {
		for _, b := range []*sourcetest.Block{c[i], sourcetest.NewBlock(c[i].Slot, &sourcetest.Block{Slot: c[i].Parent}, "lost")} {
			for _, u := range b.AccountUpdates() {
				messages = append(messages, u)
			}
		}
		return append(messages, c[i].Update())
	}
}

func TestAccountUpdatesComeWithTheirBlock(t *testing.T) {
	c := sourcetest.NewChain(1000, 30)
	f := &fake{chain: c, every: withAccounts(c)}
	metrics := prometheus.NewRegistry()
	synctest.Test(t, func(t *testing.T) {
		sink := follow(t, f, nil, c, 0, func(_ *Config, d *Deps) { d.Registerer = metrics })
		sourcetest.RequireChain(t, c, sink.Blocks())
		for i, b := range sink.Blocks() {
			c[i].RequireAccounts(t, b)
		}
	})
	require.Len(t, f.subs[0].req.Accounts, 3)
	require.InDelta(t, 1, gauge(t, metrics, "mintlake_source_account_updates_on"), 0)
	require.InDelta(t, 0, gauge(t, metrics, "mintlake_source_account_updates_refused_total"), 0)
}

func TestAccountUpdatesCanBeTurnedOff(t *testing.T) {
	c := sourcetest.NewChain(1000, 3)
	f := &fake{chain: c}
	synctest.Test(t, func(t *testing.T) {
		follow(t, f, nil, c, 0, func(cfg *Config, _ *Deps) { cfg.NoAccountUpdates = true })
	})
	require.Empty(t, f.subs[0].req.Accounts)
}

// Whatever the code with which a server refuses account updates, the stream goes on without them,
// and says so once.
func TestServerThatRefusesAccountUpdates(t *testing.T) {
	for _, code := range []codes.Code{codes.InvalidArgument, codes.PermissionDenied, codes.Unimplemented, codes.Internal, codes.ResourceExhausted} {
		t.Run(code.String(), func(t *testing.T) {
			c := sourcetest.NewChain(1000, 20)
			f := &fake{chain: c}
			f.script = []func(*sub) error{
				func(*sub) error { return status.Error(code, "Accounts subscription is not allowed") },
				func(s *sub) error {
					s.n = 0 // from the beginning, as if it were the first
					return s.live(5)
				},
			}
			metrics, told := prometheus.NewRegistry(), &log{}
			synctest.Test(t, func(t *testing.T) {
				sink := follow(t, f, nil, c, 0, func(_ *Config, d *Deps) {
					d.Registerer, d.Logger = metrics, slog.New(slog.NewTextHandler(told, nil))
				})
				sourcetest.RequireChain(t, c, sink.Blocks())
			})
			require.Len(t, f.subs[0].req.Accounts, 3)
			for _, s := range f.subs[1:] {
				require.Empty(t, s.req.Accounts, "not asked again so soon")
			}
			require.Equal(t, 1, strings.Count(told.String(), "refuses account updates"))
			require.InDelta(t, 0, gauge(t, metrics, "mintlake_source_account_updates_on"), 0)
			require.InDelta(t, 1, gauge(t, metrics, "mintlake_source_account_updates_refused_total"), 0)
		})
	}
}

// A server that fails with and without them has another reason: they are asked for again.
func TestFailureForAnotherReasonIsNoRefusal(t *testing.T) {
	c := sourcetest.NewChain(1000, 20)
	f := &fake{chain: c, every: withAccounts(c)}
	broken := func(*sub) error { return status.Error(codes.Internal, "broken") }
	f.script = []func(*sub) error{broken, broken, func(s *sub) error {
		s.n = 0
		return s.live(-1)
	}}
	told := &log{}
	synctest.Test(t, func(t *testing.T) {
		sink := follow(t, f, nil, c, 0, func(_ *Config, d *Deps) { d.Logger = slog.New(slog.NewTextHandler(told, nil)) })
		for i, b := range sink.Blocks() {
			c[i].RequireAccounts(t, b)
		}
	})
	require.Empty(t, f.subs[1].req.Accounts)
	require.Len(t, f.subs[2].req.Accounts, 3)
	require.NotContains(t, told.String(), "refuses account updates")
}

func gauge(t *testing.T, metrics prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			m := family.GetMetric()[0]
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	require.Fail(t, "no metric "+name)
	return 0
}

// log keeps what is logged.
type log struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}
