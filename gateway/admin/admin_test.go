package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
)

const token = "a-token-of-an-operator"

type fixture struct {
	*Server
	t    *testing.T
	log  *lockedBuffer
	live *keys.Live
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start serves the API over a Kafka of its own.
func start(t *testing.T, cfg Config) *fixture {
	t.Helper()
	brokers := kafkatest.Start(t)
	deps := kafka.Deps{Logger: kafkatest.Logger(t)}
	client, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, deps)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	for _, topic := range schemas.Topics() {
		if topic.Name == schemas.TopicGatewayKeys {
			require.NoError(t, client.EnsureTopics(t.Context(), []kafka.TopicSpec{{
				Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config(),
			}}))
		}
	}
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, deps)
	require.NoError(t, err)
	t.Cleanup(producer.Close)
	live, err := keys.NewLive(keys.Deps{Offsets: client, OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (keys.Tailer, error) {
		return kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: topics, Start: start, Name: "keys"}, deps)
	}})
	require.NoError(t, err)
	configured, err := keys.NewStatic(keys.Entry{ID: "static", Product: keys.RPC, Hash: keys.HashOf("static")})
	require.NoError(t, err)
	cfg.Addr, cfg.Token = "127.0.0.1:0", token
	log := &lockedBuffer{}
	s, err := New(cfg, Deps{Issuer: keys.NewIssuer(live, configured, producer), Live: live, Configured: configured, DeadLetters: letters{},
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{live.Run, s.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	<-live.Loaded()
	<-s.Ready()
	return &fixture{s, t, log, live}
}

// do makes a request. Headers are pairs and overrule the usual ones.
func (f *fixture) do(method, path, body string, headers ...string) (int, map[string]any) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), method, "http://"+f.Addr()+path, strings.NewReader(body))
	require.NoError(f.t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(ActorHeader, "ann@desk")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(f.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	answer := map[string]any{}
	if json.Unmarshal(text, &answer) != nil {
		answer["message"] = string(text)
	}
	return response.StatusCode, answer
}

// The life of a key by way of the API, from its making to the log of all that was done.
func TestTheLifeOfAKey(t *testing.T) {
	f := start(t, Config{})
	status, made := f.do("POST", "/v1/keys", `{"product":"rpc","name":"alice","environment":"live","origins":["https://app.example"],"streams":3}`)
	require.Equal(t, 201, status, made)
	key := made["key"].(string)
	require.True(t, strings.HasPrefix(key, "ml_rpc_live_"))
	require.Equal(t, "active", made["state"])
	_, err := f.live.Find(keys.HashOf(key))
	require.True(t, err)

	status, changed := f.do("PATCH", "/v1/keys/rpc/alice", `{"methods":["get*"],"streams":0,"expires_at":"2099-01-01T00:00:00Z"}`)
	require.Equal(t, 200, status, changed)
	require.Equal(t, map[string]any{"origins": []any{"https://app.example"}, "methods": []any{"get*"}, "expires_at": "2099-01-01T00:00:00Z"}, changed["rules"])
	status, same := f.do("PATCH", "/v1/keys/rpc/alice", `{"methods":["get*"]}`)
	require.Equal(t, 200, status)
	require.Equal(t, changed, same, "no change, and no line in the log of changes")
	status, rotated := f.do("POST", "/v1/keys/rpc/alice/rotate", `{"grace":"1h"}`)
	require.Equal(t, 200, status)
	require.NotEqual(t, key, rotated["key"])
	require.Len(t, rotated["secrets"], 2)
	status, shown := f.do("GET", "/v1/keys/rpc/alice", "")
	require.Equal(t, 200, status)
	require.NotContains(t, shown, "key")
	status, revoked := f.do("POST", "/v1/keys/rpc/alice/revoke", `{"reason":"leaked"}`)
	require.Equal(t, 200, status)
	require.Equal(t, "revoked", revoked["state"])
	status, _ = f.do("POST", "/v1/keys/rpc/alice/revoke", `{}`)
	require.Equal(t, 200, status, "revoking twice changes nothing")

	status, log := f.do("GET", "/v1/log?product=rpc&name=alice", "")
	require.Equal(t, 200, status)
	var what []any
	for _, line := range log["changes"].([]any) {
		what = append(what, line.(map[string]any)["change"])
		require.Equal(t, "ann@desk", line.(map[string]any)["by"])
	}
	require.Equal(t, []any{"created", "restricted", "rotated", "revoked"}, what)
	_, log = f.do("GET", "/v1/log?limit=2", "")
	require.Equal(t, "rotated", log["changes"].([]any)[0].(map[string]any)["change"], "the newest, the oldest of them first")

	status, list := f.do("GET", "/v1/keys", "")
	require.Equal(t, 200, status)
	require.Len(t, list["keys"], 2, "the configured one too")
	require.Equal(t, 4, strings.Count(f.log.String(), "api key changed"))
	for _, secret := range []string{key, rotated["key"].(string), token} {
		require.NotContains(t, f.log.String(), secret)
		require.NotContains(t, f.log.String(), strings.TrimPrefix(secret, "ml_rpc_live_"))
	}
}

func TestTheListHasPages(t *testing.T) {
	f := start(t, Config{})
	for _, name := range []string{"c", "a", "b"} {
		status, _ := f.do("POST", "/v1/keys", `{"product":"swap","name":"`+name+`"}`)
		require.Equal(t, 201, status)
	}
	var names []any
	for after := ""; ; {
		_, page := f.do("GET", "/v1/keys?product=swap&limit=1&after="+after, "")
		for _, k := range page["keys"].([]any) {
			names = append(names, k.(map[string]any)["name"])
		}
		next, more := page["next"].(string)
		if !more {
			break
		}
		after = next
	}
	require.Equal(t, []any{"a", "b", "c"}, names)
}

func TestWhatIsRefused(t *testing.T) {
	f := start(t, Config{wrongTokens: 1000})
	status, _ := f.do("POST", "/v1/keys", `{"product":"rpc","name":"taken"}`)
	require.Equal(t, 201, status)
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		message            string
	}{
		{"GET", "/v1/keys", "", []string{"Authorization", ""}, 401, "required"},
		{"GET", "/v1/keys", "", []string{"Authorization", "Bearer " + token + "x"}, 401, "wrong"},
		{"GET", "/v1/keys", "", []string{"Authorization", "Basic " + token}, 401, "required"},
		{"GET", "/v1/keys", "", []string{"Host", "evil.example"}, 403, "host"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"a"}`, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"a"}`, []string{"Content-Encoding", "gzip"}, 415, "Content-Encoding"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"` + strings.Repeat("a", maxBody) + `"}`, nil, 413, "bytes"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"a","strams":1}`, nil, 400, "strams"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"a"} {}`, nil, 400, "one JSON object"},
		{"POST", "/v1/keys", `[`, nil, 400, "JSON"},
		{"POST", "/v1/keys", `{"product":"nft","name":"a"}`, nil, 400, "rpc or swap"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"a b"}`, nil, 400, "name"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"a","origins":["app"],"streams":-1}`, nil, 400, "streams"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"a","expires_at":"soon"}`, nil, 400, "expires_at"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"taken"}`, nil, 409, "taken"},
		{"POST", "/v1/keys", `{"product":"rpc","name":"static"}`, nil, 409, "configuration"},
		{"POST", "/v1/keys/rpc/static/revoke", `{}`, nil, 409, "configuration"},
		{"POST", "/v1/keys/rpc/nobody/revoke", `{}`, nil, 404, "no such issued key"},
		{"POST", "/v1/keys/rpc/taken/rotate", `{"grace":"-1h"}`, nil, 400, "grace"},
		{"GET", "/v1/keys/rpc/nobody", "", nil, 404, "no such"},
		{"GET", "/v1/log?limit=100000000", "", nil, 400, "limit"},
		{"DELETE", "/v1/keys/rpc/taken", "", nil, 404, "docs/keys.md"},
		{"GET", "/", "", nil, 404, "docs/keys.md"},
	} {
		status, answer := f.do(c.method, c.path, c.body, c.headers...)
		require.Equal(t, c.status, status, "%s %s %.60s: %v", c.method, c.path, c.body, answer)
		require.Contains(t, answer["message"], c.message, "%s %s %.60s", c.method, c.path, c.body)
	}
	require.Len(t, f.live.Keys(), 1)
}

// After some wrong tokens, tokens are not looked at for a while, so that a guesser learns nothing;
// then the right one works again.
func TestWrongTokensAreThrottled(t *testing.T) {
	f := start(t, Config{wrongTokens: 3, wrongTokenEvery: time.Hour})
	for range 20 {
		status, _ := f.do("GET", "/v1/keys", "")
		require.Equal(t, 200, status, "right tokens cost nothing")
	}
	for range 3 {
		status, _ := f.do("GET", "/v1/keys", "", "Authorization", "Bearer guess")
		require.Equal(t, 401, status)
	}
	for _, presented := range []string{"guess", token} {
		status, answer := f.do("GET", "/v1/keys", "", "Authorization", "Bearer "+presented)
		require.Equal(t, 429, status, answer)
	}
	status, _ := f.do("GET", "/healthz", "", "Authorization", "")
	require.Equal(t, 200, status)
	f.tries.mu.Lock()
	f.tries.at = f.tries.at.Add(-2 * time.Hour)
	f.tries.mu.Unlock()
	status, _ = f.do("GET", "/v1/keys", "")
	require.Equal(t, 200, status)
}

func TestItServesLoopbackWithALongTokenOnly(t *testing.T) {
	live := &keys.Live{}
	for addr, secret := range map[string]string{"0.0.0.0:1": token, ":1": token, "10.0.0.1:1": token, "127.0.0.1": token, "127.0.0.1:1": "short"} {
		_, err := New(Config{Addr: addr, Token: secret}, Deps{Issuer: &keys.Issuer{}, Live: live, Configured: &keys.Static{}})
		require.Error(t, err, addr)
		require.NotContains(t, err.Error(), token)
	}
}

// Any body is refused or understood, and what is understood passes or fails the check of rules
// without a panic.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{`{"product":"rpc","name":"a","environment":"live","origins":["*.a.example"],"addresses":["10.0.0.0/8"],"methods":["get*"]}`,
		`{"expires_at":"2099-01-01T00:00:00Z"}`, `{"expires_at":""}`, `{"grace":"168h"}`, `{"reason":"x"}`, `{"streams":1e3}`, `null`, `[]`, `{"origins":[null]}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var create createBody
		if parseBody(body, &create) == nil {
			if rules, err := create.edit(keys.Rules{}); err == nil {
				_ = rules.Check()
			}
		}
		var grace graceBody
		if parseBody(body, &grace) == nil {
			if d, err := grace.duration(); err == nil && d < 0 {
				t.Fatalf("a negative grace: %s", d)
			}
		}
		_ = parseBody(body, &reasonBody{})
	})
}
