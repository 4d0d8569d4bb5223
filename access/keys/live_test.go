package keys

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/keystest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// patience is what anything may take before it counts as hanging: a machine may stand still for a
// while. The end-to-end test measures the second that a change may take.
const patience = time.Minute

func TestAKeyLivesAndEndsOnEveryNode(t *testing.T) {
	from := keystest.New()
	first, second := node(t, from), node(t, from)
	issuer := NewIssuer(first, nil, from)
	here, there := gateOf(t, Metered(first, &Static{}, nil)), gateOf(t, Metered(second, &Static{}, nil))
	require.True(t, here.Open(), "no key yet, on loopback")

	key, made, err := issuer.Create(t.Context(), "ann", RPC, "alice", "live", Rules{})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(key, "ml_rpc_live_"))
	require.Equal(t, "alice", made.ID)
	require.False(t, here.Open(), "the first key closes the gate")
	require.Equal(t, RuleMissing, ruleOf(here, Request{}))
	require.Equal(t, RuleUnknown, ruleOf(here, Request{Key: key + "x"}))
	require.Empty(t, ruleOf(here, Request{Key: key}))
	within(t, patience, "the other node knows the key", func() bool { return !there.Open() && ruleOf(there, Request{Key: key}) == "" })

	pass, refused := there.Admit(Request{Key: key})
	require.Nil(t, refused)
	lease, refused := pass.Open("Subscribe")
	require.Nil(t, refused)
	defer lease.Close()
	_, _, err = issuer.Revoke(t.Context(), "bob", RPC, "alice", "leaked")
	require.NoError(t, err)
	require.Equal(t, RuleRevoked, ruleOf(here, Request{Key: key}))
	select {
	case <-lease.Ended():
		require.Equal(t, RuleRevoked, lease.Why().Rule)
		require.Equal(t, -32403, lease.Why().RPCCode())
	case <-time.After(patience):
		t.Fatal("the open stream goes on")
	}
	require.Equal(t, RuleRevoked, ruleOf(there, Request{Key: key}))
	require.False(t, there.Open(), "revoking the last key opens nothing")

	// A node that starts later knows it all before it is loaded.
	third := node(t, from)
	require.Equal(t, RuleRevoked, ruleOf(gateOf(t, Metered(third, &Static{}, nil)), Request{Key: key}))
	for _, r := range from.Records() {
		require.NotContains(t, string(r.Value), key)
		require.NotContains(t, string(r.Value), key[len("ml_rpc_live_"):])
	}
}

func TestARotatedKeyOverlapsForItsGrace(t *testing.T) {
	from := keystest.New()
	live := node(t, from)
	issuer := NewIssuer(live, nil, from)
	// nothing runs beside the test, which sets its clock
	g, err := NewGate(Metered(live, &Static{}, nil), RPC, "127.0.0.1:1", "--rpc-keys")
	require.NoError(t, err)
	now := time.Now()
	issuer.now = func() time.Time { return now }
	g.now = func() time.Time { return now }
	first, _, err := issuer.Create(t.Context(), "ann", RPC, "alice", "", Rules{})
	require.NoError(t, err)
	second, key, err := issuer.Rotate(t.Context(), "ann", RPC, "alice", DefaultGrace)
	require.NoError(t, err)
	require.Len(t, key.Secrets, 2)
	require.NotEqual(t, first, second)
	for _, k := range []string{first, second} {
		require.Empty(t, ruleOf(g, Request{Key: k}))
	}
	now = now.Add(DefaultGrace - time.Second)
	require.Empty(t, ruleOf(g, Request{Key: first}))
	now = now.Add(time.Second)
	require.Equal(t, RuleRotated, ruleOf(g, Request{Key: first}))
	require.Empty(t, ruleOf(g, Request{Key: second}))

	// Grace 0 ends every earlier secret now, revoking ends a grace.
	third, _, err := issuer.Rotate(t.Context(), "ann", RPC, "alice", time.Hour)
	require.NoError(t, err)
	fourth, _, err := issuer.Rotate(t.Context(), "ann", RPC, "alice", 0)
	require.NoError(t, err)
	require.Equal(t, []string{RuleRotated, RuleRotated, ""}, []string{ruleOf(g, Request{Key: second}), ruleOf(g, Request{Key: third}), ruleOf(g, Request{Key: fourth})})
	fifth, _, err := issuer.Rotate(t.Context(), "ann", RPC, "alice", time.Hour)
	require.NoError(t, err)
	_, _, err = issuer.Revoke(t.Context(), "ann", RPC, "alice", "")
	require.NoError(t, err)
	for _, k := range []string{first, second, third, fourth, fifth} {
		require.Equal(t, RuleRevoked, ruleOf(g, Request{Key: k}))
	}
	_, _, err = issuer.Rotate(t.Context(), "ann", RPC, "alice", time.Hour)
	require.ErrorIs(t, err, ErrRevoked)
}

func TestEarlierSecretsAreBounded(t *testing.T) {
	from := keystest.New()
	live := node(t, from)
	issuer := NewIssuer(live, nil, from)
	first, _, err := issuer.Create(t.Context(), "", RPC, "a", "", Rules{})
	require.NoError(t, err)
	for range maxInGrace {
		_, _, err = issuer.Rotate(t.Context(), "", RPC, "a", time.Hour)
		require.NoError(t, err)
	}
	_, _, err = issuer.Rotate(t.Context(), "", RPC, "a", time.Hour)
	require.ErrorIs(t, err, ErrTooManySecrets)
	for range 2 * maxSecrets {
		_, key, err := issuer.Rotate(t.Context(), "", RPC, "a", 0)
		require.NoError(t, err)
		require.LessOrEqual(t, len(key.Secrets), maxSecrets)
	}
	require.Contains(t, []string{RuleUnknown, RuleRotated}, ruleOf(gateOf(t, Metered(live, &Static{}, nil)), Request{Key: first}))
}

// Of changes at the same time one holds, on every node the same; a revocation is never the one that
// is lost.
func TestOneOfTwoChangesAtTheSameTimeHolds(t *testing.T) {
	from := keystest.New()
	nodes := []*Live{node(t, from), node(t, from), node(t, from)}
	var made sync.Map
	var work sync.WaitGroup
	for i := range 12 {
		work.Go(func() {
			key, _, err := NewIssuer(nodes[i%3], nil, from).Create(context.Background(), "", RPC, "same", "", Rules{})
			if err == nil {
				made.Store(key, true)
			}
		})
	}
	work.Wait()
	var winners []string
	made.Range(func(key, _ any) bool { winners = append(winners, key.(string)); return true })
	require.Len(t, winners, 1)
	for i := range 12 {
		work.Go(func() {
			issuer := NewIssuer(nodes[i%3], nil, from)
			if i == 7 {
				_, _, err := issuer.Revoke(context.Background(), "", RPC, "same", "")
				require.NoError(t, err)
				return
			}
			_, _, _ = issuer.Restrict(context.Background(), "", RPC, "same", func(r Rules) (Rules, error) { r.Streams++; return r, nil })
		})
	}
	work.Wait()
	for _, n := range nodes {
		g := gateOf(t, Metered(n, &Static{}, nil))
		within(t, patience, "revoked on every node", func() bool { return ruleOf(g, Request{Key: winners[0]}) == RuleRevoked })
	}
	a, _ := nodes[0].Key(RPC, "same")
	b, _ := nodes[1].Key(RPC, "same")
	require.Equal(t, a.Rules, b.Rules)
}

func TestNothingIsKnownBeforeTheTopicWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := keystest.New()
		first := node(t, from)
		key, _, err := NewIssuer(first, nil, from).Create(t.Context(), "", RPC, "a", "", Rules{})
		require.NoError(t, err)
		from.SetAway(true)
		second := begin(t, from)
		select {
		case <-second.Loaded():
			t.Fatal("loaded without Kafka")
		case <-time.After(time.Minute):
		}
		// A node that has read the topic goes on without Kafka, and no change can be made.
		require.Empty(t, ruleOf(gateOf(t, Metered(first, &Static{}, nil)), Request{Key: key}))
		_, _, err = NewIssuer(first, nil, from).Revoke(t.Context(), "", RPC, "a", "")
		require.ErrorIs(t, err, ErrUnknownOutcome)
		from.SetAway(false)
		select {
		case <-second.Loaded():
		case <-time.After(patience):
			t.Fatal("not loaded after Kafka came back")
		}
		require.Empty(t, ruleOf(gateOf(t, Metered(second, &Static{}, nil)), Request{Key: key}))
		_, _, err = NewIssuer(first, nil, from).Revoke(t.Context(), "", RPC, "a", "")
		require.NoError(t, err)
	})
}

func TestWhatIsNoChangeIsLeftOut(t *testing.T) {
	from := keystest.New()
	live := node(t, from)
	issuer := NewIssuer(live, nil, from)
	key, _, err := issuer.Create(t.Context(), "", RPC, "a", "", Rules{})
	require.NoError(t, err)
	hash := HashOf("x")
	put := func(c *eventspb.KeyChange) {
		value, err := proto.Marshal(c)
		require.NoError(t, err)
		require.NoError(t, from.Produce(t.Context(), kafka.Record{Topic: schemas.TopicGatewayKeys, Value: value}))
	}
	require.NoError(t, from.Produce(t.Context(), kafka.Record{Value: []byte("garbage")}, kafka.Record{}))
	put(&eventspb.KeyChange{Product: "nft", Name: "a", Version: 2, Change: &eventspb.KeyChange_Revoked{}})
	put(&eventspb.KeyChange{Product: "rpc", Name: "a", Version: 2})
	put(&eventspb.KeyChange{Product: "rpc", Name: "b", Version: 1, Change: &eventspb.KeyChange_Created{Created: &eventspb.KeyCreated{Sha256: hash[:5]}}})
	put(&eventspb.KeyChange{Product: "rpc", Name: "b", Version: 1, Change: &eventspb.KeyChange_Created{}})
	// an old version
	put(&eventspb.KeyChange{Product: "rpc", Name: "a", Version: 1, Change: &eventspb.KeyChange_Revoked{Revoked: &eventspb.KeyRevoked{}}})
	// A rule of a newer version cannot be enforced here: the key is refused.
	rules := &eventspb.KeyRules{}
	rules.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	put(&eventspb.KeyChange{Product: "rpc", Name: "c", Version: 1, Change: &eventspb.KeyChange_Created{Created: &eventspb.KeyCreated{Sha256: hash[:], Rules: rules}}})
	g := gateOf(t, Metered(live, &Static{}, nil))
	within(t, patience, "the last record is read", func() bool { return ruleOf(g, Request{Key: "x"}) == RuleNewer })
	require.Empty(t, ruleOf(g, Request{Key: key}))
	require.Len(t, live.Keys(), 2)
}

func TestHistoryTellsWhoWhenAndWhat(t *testing.T) {
	from := keystest.New()
	live := node(t, from)
	issuer := NewIssuer(live, nil, from)
	_, _, err := issuer.Create(t.Context(), "ann\x1b[31m\n", RPC, "a", "", Rules{Methods: []string{"getSlot"}})
	require.NoError(t, err)
	_, _, err = issuer.Create(t.Context(), "ann", Swap, "a", "", Rules{})
	require.NoError(t, err)
	_, _, err = issuer.Restrict(t.Context(), "bob", RPC, "a", func(r Rules) (Rules, error) { r.Streams = 3; return r, nil })
	require.NoError(t, err)
	same, changed, err := issuer.Restrict(t.Context(), "carl", RPC, "a", func(r Rules) (Rules, error) { r.Methods = []string{"getSlot"}; return r, nil })
	require.NoError(t, err)
	require.False(t, changed, "nothing is written")
	require.Equal(t, 3, same.Rules.Streams)
	_, _, err = issuer.Rotate(t.Context(), "bob", RPC, "a", time.Hour)
	require.NoError(t, err)
	_, _, err = issuer.Revoke(t.Context(), "eve", RPC, "a", "left the company")
	require.NoError(t, err)
	again, changed, err := issuer.Revoke(t.Context(), "ann", RPC, "a", "again")
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, "left the company", again.RevokeReason)
	var lines []Change
	require.NoError(t, live.History(t.Context(), func(p Product, _ string) bool { return p == RPC }, func(c Change) { lines = append(lines, c) }))
	require.Len(t, lines, 4)
	for i, want := range []struct{ by, what string }{{"ann[31m", "created"}, {"bob", "restricted"}, {"bob", "rotated"}, {"eve", "revoked"}} {
		require.Equal(t, want.by, lines[i].By)
		require.Equal(t, want.what, lines[i].What)
		require.False(t, lines[i].Void)
		require.WithinDuration(t, time.Now(), lines[i].At, patience)
	}
	require.Equal(t, []string{"getSlot"}, lines[1].Rules.Methods)
	require.Equal(t, 3, lines[1].Rules.Streams)
	require.Equal(t, "left the company", lines[3].Reason)
}

// What the rules of a key refuse, and with which rule.
func TestRulesRefuse(t *testing.T) {
	from := keystest.New()
	live := node(t, from)
	issuer := NewIssuer(live, nil, from)
	g := gateOf(t, Metered(live, &Static{}, nil))
	expires := time.Now().Add(time.Hour)
	key, _, err := issuer.Create(t.Context(), "", RPC, "a", "", Rules{
		ExpiresAt: expires, Origins: []string{"https://app.example", "*.wild.example", "https://*.tls.example"},
		Addresses: []string{"203.0.113.9", "2001:db8::/48", "10.0.0.0/8"}, Methods: []string{"getSlot", "getA*", "slotSubscribe"},
		RequestsPerSecond: 2, Streams: 1, StreamAddresses: 5,
	})
	require.NoError(t, err)
	good := Request{Key: key, Origin: "https://app.example", Address: netip.MustParseAddr("203.0.113.9")}
	require.Empty(t, ruleOf(g, good))
	for origin, ok := range map[string]bool{
		"https://app.example:443": true, "HTTPS://APP.example": true, "http://app.example": false, "https://app.example:8443": false, "": false, "null": false,
		"http://a.wild.example:8080": true, "https://a.b.wild.example": true, "https://wild.example": false, "https://xwild.example": false,
		"https://a.wild.example.evil.example": false, "https://a.tls.example": true, "http://a.tls.example": false, "https://app.example/x": false,
	} {
		r := good
		r.Origin = origin
		require.Equal(t, ok, ruleOf(g, r) == "", origin)
	}
	for address, ok := range map[string]bool{
		"203.0.113.9": true, "::ffff:203.0.113.9": true, "203.0.113.8": false, "2001:db8::5": true, "2001:db8:1::5": false, "10.200.0.1": true, "11.0.0.1": false,
	} {
		r := good
		r.Address = netip.MustParseAddr(address)
		require.Equal(t, ok, ruleOf(g, r) == "", address)
	}
	require.Equal(t, RuleAddress, ruleOf(g, Request{Key: key, Origin: good.Origin}), "an unknown address is not on the list")

	pass, refused := g.Admit(good)
	require.Nil(t, refused)
	for method, ok := range map[string]bool{"getSlot": true, "getSlots": false, "getAccountInfo": true, "slotSubscribe": true, "slotUnsubscribe": true, "rootUnsubscribe": false} {
		require.Equal(t, ok, pass.Method(method) == nil, method)
	}
	lease, refused := pass.Open("Subscribe")
	require.Nil(t, refused)
	_, refused = pass.Open("Subscribe")
	require.Equal(t, RuleStreams, refused.Rule)
	require.Equal(t, -32429, refused.RPCCode())
	require.Nil(t, lease.Addresses(5))
	require.Equal(t, RuleAddresses, lease.Addresses(6).Rule)
	lease.Close()
	lease.Close()
	lease, refused = pass.Open("Subscribe")
	require.Nil(t, refused, "a closed stream counts no more")

	// New rules hold for the open stream too.
	_, _, err = issuer.Restrict(t.Context(), "", RPC, "a", func(r Rules) (Rules, error) { r.Addresses = []string{"1.1.1.1"}; return r, nil })
	require.NoError(t, err)
	select {
	case <-lease.Ended():
		require.Equal(t, RuleAddress, lease.Why().Rule)
	case <-time.After(patience):
		t.Fatal("the stream goes on")
	}
	lease.Close()
	late, err := NewGate(Metered(live, &Static{}, nil), RPC, "127.0.0.1:1", "--rpc-keys")
	require.NoError(t, err)
	late.now = func() time.Time { return expires }
	require.Equal(t, RuleExpired, ruleOf(late, good))
}

func TestRequestsASecond(t *testing.T) {
	var m meter
	now := time.Unix(1000, 0)
	budget, ok := m.take(3, 5, now)
	require.True(t, ok)
	require.Equal(t, Budget{Limit: 5, Remaining: 2, Reset: 600 * time.Millisecond}, budget)
	budget, ok = m.take(3, 5, now)
	require.False(t, ok)
	require.Equal(t, Budget{Limit: 5, Remaining: 2, Reset: 200 * time.Millisecond}, budget)
	_, ok = m.take(3, 5, now.Add(200*time.Millisecond))
	require.True(t, ok)
	// A batch of 20 passes when the bucket is full, and is paid for.
	now = now.Add(time.Minute)
	_, ok = m.take(20, 5, now)
	require.True(t, ok)
	budget, ok = m.take(1, 5, now)
	require.False(t, ok)
	require.Equal(t, 0, budget.Remaining)
	require.Equal(t, 3200*time.Millisecond, budget.Reset)
	_, ok = m.take(1, 5, now.Add(-time.Hour))
	require.False(t, ok, "a clock that goes back gives nothing")
	_, ok = m.take(1, 5, now.Add(3200*time.Millisecond))
	require.True(t, ok)

	refused := refuse(429, RuleRequests, "x")
	refused.Budget = Budget{Limit: 5, Reset: 1200 * time.Millisecond}
	headers := map[string]string{}
	refused.Headers(func(name, value string) { headers[name] = value })
	require.Equal(t, map[string]string{"Retry-After": "2", "RateLimit-Limit": "5", "RateLimit-Remaining": "0", "RateLimit-Reset": "2"}, headers)
}

func TestNamesAndRulesAreChecked(t *testing.T) {
	from := keystest.New()
	live := node(t, from)
	static, err := NewStatic(Entry{"configured", RPC, HashOf("c")})
	require.NoError(t, err)
	issuer := NewIssuer(live, static, from)
	for name, want := range map[string]error{"": ErrInvalid, "a b": ErrInvalid, "..": ErrInvalid, "configured": ErrConfigured} {
		_, _, err := issuer.Create(t.Context(), "", RPC, name, "", Rules{})
		require.ErrorIs(t, err, want, name)
	}
	_, _, err = issuer.Create(t.Context(), "", RPC, "a", "LIVE", Rules{})
	require.ErrorContains(t, err, "environment")
	_, _, err = issuer.Revoke(t.Context(), "", RPC, "configured", "")
	require.ErrorIs(t, err, ErrConfigured)
	_, _, err = issuer.Revoke(t.Context(), "", RPC, "nobody", "")
	require.ErrorIs(t, err, ErrNoSuchKey)
	_, _, err = issuer.Create(t.Context(), "", RPC, "a", "", Rules{ExpiresAt: time.Now().Add(-time.Hour)})
	require.ErrorContains(t, err, "in the future")
	for rule, bad := range map[string]Rules{
		"origins":             {Origins: []string{"app.example"}},
		"stream_addresses":    {StreamAddresses: -1},
		"requests_per_second": {RequestsPerSecond: maxRateNumber + 1},
		"streams":             {Streams: -1},
		"methods":             {Methods: []string{"get*Slot"}},
		"addresses":           {Addresses: []string{"10.0.0.0/33"}},
		"101 entries":         {Origins: make([]string, 101)},
	} {
		require.ErrorContains(t, bad.Check(), rule)
	}
	err = Rules{Origins: []string{"https://x/", "*"}, Methods: []string{"?"}}.Check()
	require.Len(t, strings.Split(err.Error(), "\n"), 3, "all problems at once")
	require.Empty(t, from.Records(), "nothing was written")
	require.False(t, bytes.Contains([]byte(err.Error()), []byte("\x00")))
}
