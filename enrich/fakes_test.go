package enrich

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/layout"
)

const fakePartitions = 3

// broker keeps requests, committed offsets and everything produced, over restarts of the Enricher.
type broker struct {
	mu        sync.Mutex
	requests  [fakePartitions][]kafka.Record
	committed [fakePartitions]int64
	produced  []kafka.Record
	arrived   chan struct{}
	// fail, when not nil, answers Produce and Commit.
	fail func(call string) error
}

func newBroker() *broker { return &broker{arrived: make(chan struct{})} }

func (b *broker) request(t testing.TB, request *eventspb.EnrichmentRequest) {
	t.Helper()
	value, err := proto.Marshal(request)
	require.NoError(t, err)
	key := request.GetMint()
	if len(key) == 0 {
		key = request.GetMetadataAccount()
	}
	b.raw([]byte(pubkey.Key(key).String()), value)
}

func (b *broker) raw(key, value []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(key, value)
}

// add adds a request. The caller holds the lock.
func (b *broker) add(key, value []byte) {
	partition := kafka.PartitionOf(append([]byte{0}, key...), fakePartitions)
	b.requests[partition] = append(b.requests[partition], kafka.Record{
		Topic: schemas.TopicEnrichmentRequests, Partition: partition, Offset: int64(len(b.requests[partition])), Key: key, Value: value, Time: time.Now(),
	})
	close(b.arrived)
	b.arrived = make(chan struct{})
}

func (b *broker) Produce(ctx context.Context, records ...kafka.Record) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		if err := b.fail("produce"); err != nil {
			return err
		}
	}
	for i := range records {
		if len(records[i].Key)+len(records[i].Value) > kafka.DefaultMaxRecordBytes {
			return kafka.ErrRecordTooLarge
		}
	}
	for i := range records {
		if records[i].Topic == schemas.TopicEnrichmentRequests {
			b.add(records[i].Key, records[i].Value)
			continue
		}
		record := records[i]
		record.Time = cmp.Or(record.Time, time.Now())
		b.produced = append(b.produced, record)
	}
	return nil
}

func (b *broker) lag() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	lag := 0
	for p := range b.requests {
		lag += len(b.requests[p]) - int(b.committed[p])
	}
	return lag
}

func (b *broker) records(topic string) []kafka.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []kafka.Record
	for _, record := range b.produced {
		if record.Topic == topic {
			out = append(out, record)
		}
	}
	return out
}

func (b *broker) facts(t testing.TB) []*eventspb.Enrichment {
	t.Helper()
	var out []*eventspb.Enrichment
	for _, record := range b.records(schemas.TopicEnrichments) {
		fact := &eventspb.Enrichment{}
		require.NoError(t, proto.Unmarshal(record.Value, fact))
		out = append(out, fact)
	}
	return out
}

func (b *broker) deadLetters(t testing.TB) []*eventspb.DeadLetter {
	t.Helper()
	var out []*eventspb.DeadLetter
	for _, record := range b.records(schemas.TopicDeadLetters) {
		letter := &eventspb.DeadLetter{}
		require.NoError(t, proto.Unmarshal(record.Value, letter))
		out = append(out, letter)
	}
	return out
}

// member is one life of a consumer: it begins at the committed offsets.
type member struct {
	b    *broker
	next [fakePartitions]int64
}

func (b *broker) member() *member {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &member{b: b, next: b.committed}
}

func (m *member) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	for {
		m.b.mu.Lock()
		var out []kafka.Record
		for p := range m.next {
			for len(out) < limit && m.next[p] < int64(len(m.b.requests[p])) {
				out = append(out, m.b.requests[p][m.next[p]])
				m.next[p]++
			}
		}
		arrived := m.b.arrived
		m.b.mu.Unlock()
		if len(out) > 0 {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-arrived:
		}
	}
}

func (m *member) Commit(ctx context.Context, records []kafka.Record) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	if m.b.fail != nil {
		if err := m.b.fail("commit"); err != nil {
			return err
		}
	}
	for _, record := range records {
		m.b.committed[record.Partition] = max(m.b.committed[record.Partition], record.Offset+1)
	}
	return nil
}

// ledger is the RPC server: accounts at a slot.
type ledger struct {
	mu       sync.Mutex
	slot     uint64
	accounts map[pubkey.Key]*solana.Account
	calls    [][]pubkey.Key
	fail     func(keys []pubkey.Key) error
}

func newLedger() *ledger {
	l := &ledger{slot: 1000, accounts: map[pubkey.Key]*solana.Account{}}
	wrapped, _ := pubkey.Parse(schemas.MintWrappedSOL)
	l.accounts[wrapped] = mintAccount(9)
	return l
}

func (l *ledger) GetMultipleAccounts(ctx context.Context, keys []pubkey.Key, opts solana.AccountOptions) (uint64, []*solana.Account, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, keys)
	if ctx.Err() != nil {
		return 0, nil, ctx.Err()
	}
	if l.fail != nil {
		if err := l.fail(keys); err != nil {
			return 0, nil, err
		}
	}
	out := make([]*solana.Account, len(keys))
	for i, key := range keys {
		if account := l.accounts[key]; account != nil {
			cut := *account
			if opts.DataSlice != nil {
				cut.Data = cut.Data[:min(uint64(len(cut.Data)), opts.DataSlice.Length)]
			}
			out[i] = &cut
		}
	}
	return l.slot, out, nil
}

func (l *ledger) callCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls)
}

// web answers Document.
type web struct {
	mu    sync.Mutex
	count map[string]int
	serve func(ctx context.Context, uri string) ([]byte, error)
}

func newWeb() *web {
	return &web{count: map[string]int{}, serve: func(context.Context, string) ([]byte, error) {
		return []byte(`{"name":"Lake","image":"https://img.test/x.png","twitter":"https://x.com/lake"}`), nil
	}}
}

func (w *web) Document(ctx context.Context, uri string) (*fetch.Response, error) {
	w.mu.Lock()
	w.count[uri]++
	serve := w.serve
	w.mu.Unlock()
	body, err := serve(ctx, uri)
	if err != nil {
		return nil, err
	}
	return &fetch.Response{Body: body}, nil
}

func (w *web) Host(uri string) string {
	_, rest, _ := strings.Cut(uri, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// Groups has the last two labels of the host.
func (w *web) Groups(uri string) []string {
	labels := strings.Split(w.Host(uri), ".")
	return []string{"domain " + strings.Join(labels[max(len(labels)-2, 0):], ".")}
}

func (w *web) fetched(uri string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count[uri]
}

func mintAccount(decimals byte) *solana.Account {
	data := layout.Mint{Decimals: decimals}
	return &solana.Account{Owner: tokenaccount.ProgramToken, Lamports: 1, Data: data.Bytes()}
}

// padded is a name as a Metaplex account has it.
func padded(name string) string {
	return name + strings.Repeat("\x00", layout.MetaplexNameLen-len(name))
}

func metaplexAccount(mint pubkey.Key, name, uri string) *solana.Account {
	data := layout.Metaplex{Mint: mint, MetaplexData: layout.MetaplexData{Name: name, Symbol: "SYM", URI: uri}, Mutable: true, Standard: layout.StandardFungible}
	return &solana.Account{Owner: tokenaccount.ProgramMetaplex, Lamports: 1, Data: data.Bytes()}
}

func (l *ledger) putMint(mint pubkey.Key, name, uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accounts[mint] = mintAccount(6)
	if name != "" {
		address, _ := tokenaccount.MetaplexAddress(mint)
		l.accounts[address] = metaplexAccount(mint, name, uri)
	}
}

func mintKey(i int) pubkey.Key {
	var key pubkey.Key
	copy(key[:], fmt.Sprintf("mint-%06d-of-a-test-xxxxxxxxxxxx", i))
	return key
}

// hang is what anything may take before it counts as hanging.
const hang = 3 * time.Minute

// fastConfig has the defaults' shape with a hundredth of their times, but for those after which
// something is given up: a machine may stand still for a while.
func fastConfig() Config {
	return Config{
		OffchainEnabled: true, batchWindow: 2 * time.Millisecond, patience: 2 * hang, hostPatience: 2 * hang, retryDelay: 2 * time.Millisecond, grace: hang,
		maxRetryDelay: 10 * time.Millisecond, commitInterval: time.Millisecond, Sockets: 8, perHost: 2,
	}
}

type world struct {
	*broker
	rpc  *ledger
	web  *web
	cfg  Config
	deps Deps
}

func newWorld() *world {
	return &world{broker: newBroker(), rpc: newLedger(), web: newWeb(), cfg: fastConfig()}
}

// start runs an Enricher until stop; stop returns what Run returned.
func (w *world) start(t testing.TB) (e *Enricher, stop func() error) {
	t.Helper()
	deps := w.deps
	deps.Consumer, deps.Producer, deps.Registerer = w.member(), w.broker, prometheus.NewRegistry()
	if w.rpc != nil && deps.RPC == nil {
		deps.RPC = w.rpc
	}
	if deps.Fetcher == nil {
		deps.Fetcher = w.web
	}
	e, err := New(w.cfg, deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	var once sync.Once
	var result error
	stop = func() error {
		once.Do(func() { cancel(); result = <-done })
		return result
	}
	t.Cleanup(func() { _ = stop() })
	return e, stop
}

func (w *world) drained(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool { return w.lag() == 0 }, hang, time.Millisecond, "every request is answered and committed")
}

func counted(t testing.TB, counter prometheus.Counter) int {
	t.Helper()
	var metric dto.Metric
	require.NoError(t, counter.Write(&metric))
	return int(metric.GetCounter().GetValue())
}

var (
	errRefused = &solana.RPCError{Code: -32602, Message: "invalid params"}
	errAway    = &solana.HTTPError{Status: 503}
	errDisk    = errors.New("disk on fire")
)

func failed(class fetch.Class, status int) error { return &fetch.Error{Class: class, Status: status} }

// slowRPC is an RPC whose calls go through around.
type slowRPC struct {
	RPC
	around func(call func())
}

func rpcFunc(around func(call func()), rpc RPC) RPC { return &slowRPC{RPC: rpc, around: around} }

func (s *slowRPC) GetMultipleAccounts(ctx context.Context, keys []pubkey.Key, opts solana.AccountOptions) (slot uint64, accounts []*solana.Account, err error) {
	s.around(func() { slot, accounts, err = s.RPC.GetMultipleAccounts(ctx, keys, opts) })
	return slot, accounts, err
}

func marshalled(t testing.TB, message proto.Message) []byte {
	t.Helper()
	value, err := proto.Marshal(message)
	require.NoError(t, err)
	return value
}
