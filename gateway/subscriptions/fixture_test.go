package subscriptions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// patience is what anything may take before it counts as hanging.
const patience = 3 * time.Minute

// broker stands in for Kafka: a channel for each topic.
type broker struct {
	opened chan string
	topics map[string]chan kafka.Record
}

func newBroker() *broker {
	return &broker{make(chan string, 100), map[string]chan kafka.Record{
		schemas.TopicSlots: make(chan kafka.Record, 1000), schemas.TopicTransactions: make(chan kafka.Record, 1000),
	}}
}

func (b *broker) EndOffsets(_ context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	return map[kafka.TopicPartition]int64{{Topic: topics[0]}: 7}, nil
}

func (b *broker) open(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
	if start[kafka.TopicPartition{Topic: topics[0]}] != 7 {
		return nil, errors.New("not from the end")
	}
	b.opened <- topics[0]
	return tailer{b.topics[topics[0]]}, nil
}

type tailer struct{ records chan kafka.Record }

func (t tailer) FetchBatch(ctx context.Context, _ int, _ time.Duration) ([]kafka.Record, error) {
	select {
	case r := <-t.records:
		return []kafka.Record{r}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (tailer) Close() {}

// upstream answers by what the test has set.
type upstream struct {
	mu       sync.Mutex
	statuses map[string]string // JSON by signature
	tips     map[string]uint64 // by commitment
	skipped  map[uint64]bool
	account  string // JSON
	away     bool
	buggy    bool // panics at getAccountInfo
	asked    map[string]int
}

func newUpstream() *upstream {
	return &upstream{statuses: map[string]string{}, tips: map[string]uint64{}, skipped: map[uint64]bool{}, asked: map[string]int{}}
}

func (u *upstream) set(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
}

func (u *upstream) count(method string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked[method]
}

func (u *upstream) Call(_ context.Context, method string, params []any, result any) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked[method]++
	if u.away {
		return errors.New("away")
	}
	var answer string
	commitment := func(i int) uint64 {
		raw, _ := json.Marshal(params[i])
		var o struct{ Commitment string }
		_ = json.Unmarshal(raw, &o)
		return u.tips[o.Commitment]
	}
	switch method {
	case "getSignatureStatuses":
		var list []string
		for _, s := range params[0].([]string) {
			if u.statuses[s] == "" {
				list = append(list, "null")
			} else {
				list = append(list, u.statuses[s])
			}
		}
		answer = `{"context":{"slot":1},"value":[` + strings.Join(list, ",") + `]}`
	case "getSlot":
		answer = strconv.FormatUint(commitment(0), 10)
	case "getBlocks":
		var list []string
		for slot := params[0].(uint64); slot <= params[1].(uint64); slot++ {
			if !u.skipped[slot] {
				list = append(list, strconv.FormatUint(slot, 10))
			}
		}
		answer = "[" + strings.Join(list, ",") + "]"
	case "getAccountInfo":
		if u.buggy {
			panic("a bug")
		}
		answer = u.account
	default:
		return errors.New("no such method")
	}
	return json.Unmarshal([]byte(answer), result)
}

type fixture struct {
	*Server
	broker *broker
	url    string
	stop   func()
}

func start(t *testing.T, cfg Config, rpc *upstream, changes ...func(*socket.Timings)) *fixture {
	t.Helper()
	// No time is short unless the test says so: a machine may stand still for a while.
	for _, limit := range []*time.Duration{&cfg.stopTimeout, &cfg.feedPatience} {
		if *limit == 0 {
			*limit = patience
		}
	}
	if cfg.pollInterval == 0 {
		cfg.pollInterval = 5 * time.Millisecond
	}
	b := newBroker()
	deps := Deps{Offsets: b, OpenTail: b.open, Registerer: prometheus.NewRegistry()}
	if rpc != nil {
		deps.RPC, deps.Accounts = rpc, rpc
	}
	s, err := New(cfg, deps)
	require.NoError(t, err)
	s.timings = socket.Timings{RefusalsPerSecond: 1000, PingInterval: patience, WriteTimeout: patience, GoodbyeTimeout: patience}
	for _, change := range changes {
		change(&s.timings)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.Serve(w, r, r.URL.Query().Get("client"), nil) }))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(patience):
			t.Error("it did not stop")
		}
	})
	t.Cleanup(stop)
	return &fixture{s, b, "ws" + strings.TrimPrefix(server.URL, "http"), stop}
}

type client struct {
	*websocket.Conn
	t *testing.T
}

func (f *fixture) dial(t *testing.T) client {
	t.Helper()
	return f.dialAs(t, "a")
}

func (f *fixture) dialAs(t *testing.T, name string) client {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), f.url+"/?client="+name, nil)
	require.NoError(t, err)
	t.Cleanup(func() { conn.CloseNow() })
	return client{conn, t}
}

func (c client) read() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, message, err := c.Read(ctx)
	require.NoError(c.t, err)
	return string(message)
}

func (c client) send(message string) {
	c.t.Helper()
	require.NoError(c.t, c.Write(c.t.Context(), websocket.MessageText, []byte(message)))
}

// call sends a call with id 1 and returns the answer.
func (c client) call(method, params string) string {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
	return c.read()
}

// number is the subscription's number in an answer.
func (c client) subscribe(method, params string) string {
	c.t.Helper()
	var a struct {
		Result *uint64
		ID     int
	}
	text := c.call(method, params)
	require.NoError(c.t, json.Unmarshal([]byte(text), &a), text)
	require.NotNil(c.t, a.Result, text)
	require.Equal(c.t, 1, a.ID)
	return strconv.FormatUint(*a.Result, 10)
}

func signature(n byte) string {
	raw := make([]byte, 64)
	raw[0], raw[63] = n, 1
	return base58.Encode(raw)
}

var ofTransaction = []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeTransaction)}}

func transactionRecord(n byte, slot uint64, failure []byte) kafka.Record {
	meta := &pb.TransactionStatusMeta{}
	if failure != nil {
		meta.Err = &pb.TransactionError{Err: failure}
	}
	raw, _ := base58.Decode(signature(n))
	value, err := proto.Marshal(&pb.SubscribeUpdateTransaction{Slot: slot, Transaction: &pb.SubscribeUpdateTransactionInfo{Signature: raw, Meta: meta}})
	if err != nil {
		panic(err)
	}
	return kafka.Record{Topic: schemas.TopicTransactions, Key: strconv.AppendUint(nil, slot, 10), Value: value, Headers: ofTransaction}
}

func slotRecord(slot, parent uint64, status eventspb.SlotStatus) kafka.Record {
	value, err := proto.Marshal(&eventspb.SlotRecord{Slot: slot, ParentSlot: &parent, Status: status})
	if err != nil {
		panic(err)
	}
	return kafka.Record{Topic: schemas.TopicSlots, Key: strconv.AppendUint(nil, slot, 10), Value: value}
}

func landedStatus(slot uint64, failure, commitment string) string {
	return `{"slot":` + strconv.FormatUint(slot, 10) + `,"confirmations":1,"err":` + failure + `,"status":{"Ok":null},"confirmationStatus":"` + commitment + `"}`
}
