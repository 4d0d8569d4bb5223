package jsonrpc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/solana/slottime"
	"github.com/mintlake/mintlake/solana/txwire"
)

// mood is how a simulated upstream behaves for a while.
type mood int

const (
	honest mood = iota
	// lagging is honest, but lag slots behind.
	lagging
	// frozen says the same old slot for ever.
	frozen
	// boasting says a slot of a far future, in answers and polls.
	boasting
	// hanging says nothing.
	hanging
	// limiting answers 429.
	limiting
	// failing answers 503, and may have done what it was asked for.
	failing
	// truncating breaks off within the first bytes, having done what it was asked for.
	truncating
	// halving ends an answer early as if it were whole, having done what it was asked for.
	halving
	// dying breaks a long answer off in the middle.
	dying
	// closed refuses connections.
	closed
	// sick calls itself unhealthy.
	sick
	// losing takes a transaction and closes the connection without a word.
	losing
	moods
)

// phase is a mood from a time on.
type phase struct {
	from time.Duration
	mood mood
}

// simulated is an upstream in a synctest bubble.
type simulated struct {
	chain  *simulatedChain
	mu     sync.Mutex
	phases []phase
	delay  time.Duration
	lag    uint64
	asked  map[string]int // by method, without polls
}

// behave sets the moods, and how many slots the upstream is behind in all of them but honest and
// losing.
func (s *simulated) behave(lag uint64, phases ...phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag, s.phases = lag, phases
}

// wait sets the time that an answer needs.
func (s *simulated) wait(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = delay
}

// simulatedChain has a slot each slotTime, 200 ms unless a test sets another one at its beginning.
type simulatedChain struct {
	began     time.Time
	slotTime  time.Duration
	mu        sync.Mutex
	upstreams map[string]*simulated
	// landed are the transactions that an upstream took, with the time.
	landed   map[string]time.Time
	airdrops map[string]int
	// statuses are the confirmation statuses of transactions that are in a block.
	statuses map[string]string
}

const firstSlot = 1_000_000

func (c *simulatedChain) slot(level commitment, lag uint64) uint64 {
	return firstSlot + uint64(time.Since(c.began)/c.slotTime) - lag - [...]uint64{0, 2, 32}[level]
}

// now is the mood, the time until an answer and the lag.
func (s *simulated) now() (m mood, delay time.Duration, lag uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.chain.began)
	for _, p := range s.phases {
		if now >= p.from {
			m = p.mood
		}
	}
	if m == honest || m == losing {
		return m, s.delay, 0
	}
	return m, s.delay, s.lag
}

func (s *simulated) calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

// RoundTrip implements http.RoundTripper for all upstreams of the chain.
func (c *simulatedChain) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s := c.upstreams[r.URL.Host]
	m, wait, _ := s.now()
	if m == closed {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	if m == hanging {
		wait = time.Hour
	}
	select {
	case <-time.After(wait):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if m == limiting {
		return respond(http.StatusTooManyRequests, "slow down", nil), nil
	}
	if m == sick {
		return respond(http.StatusOK, `{"jsonrpc":"2.0","error":{"code":-32005,"message":"Node is behind","data":{"numSlotsBehind":200}},"id":1}`, nil), nil
	}
	return s.spoil(s.answer(body, m), m)
}

// spoil does to an answer what the mood makes of it.
func (s *simulated) spoil(text string, m mood) (*http.Response, error) {
	if m == failing {
		return respond(http.StatusServiceUnavailable, "no server is available", nil), nil
	}
	if m == losing {
		return nil, io.EOF
	}
	if m == truncating {
		return respond(http.StatusOK, text[:len(text)/2], io.ErrUnexpectedEOF), nil
	}
	if m == halving {
		return respond(http.StatusOK, text[:len(text)/2], nil), nil
	}
	if m == dying && len(text) > peekBytes {
		return respond(http.StatusOK, text[:peekBytes+(len(text)-peekBytes)/2], io.ErrUnexpectedEOF), nil
	}
	return respond(http.StatusOK, text, nil), nil
}

// respond is an answer whose body ends with end, nil for a proper one.
func respond(status int, text string, end error) *http.Response {
	var body io.Reader = strings.NewReader(text)
	if end != nil {
		body = io.MultiReader(body, ender{end})
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(body), Header: http.Header{}}
}

type ender struct{ err error }

func (e ender) Read([]byte) (int, error) { return 0, e.err }

func (s *simulated) answer(body []byte, m mood) string {
	if body[0] != '[' {
		var c message.Call
		_ = json.Unmarshal(body, &c)
		return s.one(&c, m)
	}
	var calls []message.Call
	_ = json.Unmarshal(body, &calls)
	answers := make([]string, len(calls))
	for i := range calls {
		answers[i] = s.one(&calls[i], m)
	}
	return "[" + strings.Join(answers, ",") + "]"
}

func (s *simulated) one(c *message.Call, m mood) string {
	if !isPoll(string(c.ID)) {
		s.mu.Lock()
		s.asked[c.Method]++
		s.mu.Unlock()
	}
	result := func(v string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","result":%s,"id":%s}`, v, c.ID) }
	level, least := wants(methodOf(c.Method), c.Params)
	_, _, lag := s.now()
	slot := s.chain.slot(level, lag)
	if m == frozen {
		slot = firstSlot - 100 - uint64(level)
	}
	if m == boasting {
		slot += 10_000_000
	}
	if slot < least && m != frozen && m != boasting { // liars ignore it
		return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":-32016,"message":"Minimum context slot has not been reached","data":{"contextSlot":%d}},"id":%s}`, slot, c.ID)
	}
	withContext := func(v string) string {
		return result(fmt.Sprintf(`{"context":{"apiVersion":"3.0.0","slot":%d},"value":%s}`, slot, v))
	}
	switch c.Method {
	case "getHealth":
		return result(`"ok"`)
	case "getSlot":
		return result(utoa(slot))
	case "getBlockHeight":
		return result(utoa(slot - 500))
	case "getEpochInfo":
		return result(fmt.Sprintf(`{"absoluteSlot":%d,"blockHeight":%d}`, slot, slot-500))
	case "getBalance":
		return withContext("7")
	case "getMultipleAccounts":
		return withContext(`"` + strings.Repeat("a", 70_000) + `"`)
	case "getSignatureStatuses":
		return withContext(s.chain.statusesOf(c.Params))
	case "sendTransaction":
		return s.take(c, result)
	case "requestAirdrop":
		s.chain.mu.Lock()
		defer s.chain.mu.Unlock()
		s.chain.airdrops[string(c.Params)]++
		return result(`"airdropped"`)
	}
	return result(`"` + c.Method + `"`)
}

// gossip is the time after which every upstream knows a transaction.
const gossip = 100 * time.Millisecond

func (s *simulated) take(c *message.Call, result func(string) string) string {
	s.chain.mu.Lock()
	defer s.chain.mu.Unlock()
	signature := signatureOf(c.Params)
	if at, ok := s.chain.landed[signature]; ok && time.Since(at) > gossip {
		return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":-32002,"message":"Transaction simulation failed: This transaction has already been processed","data":{"err":"AlreadyProcessed"}},"id":%s}`, c.ID)
	} else if !ok {
		s.chain.landed[signature] = time.Now()
	}
	return result(`"` + signature + `"`)
}

func (c *simulatedChain) hasLanded(signature string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.landed[signature]
	return ok
}

// world is a gateway over simulated upstreams, named a, b, c….
type world struct {
	*Gateway
	*simulatedChain
	names []string
}

// simulate runs a test in a bubble. Its upstreams are honest until the test says otherwise; time
// passes only while everybody waits.
func simulate(t *testing.T, cfg Config, upstreams int, run func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &simulatedChain{began: time.Now(), slotTime: slottime.Default, upstreams: map[string]*simulated{}, landed: map[string]time.Time{}, airdrops: map[string]int{}, statuses: map[string]string{}}
		w := &world{simulatedChain: c}
		for i := range upstreams {
			name := string(rune('a' + i))
			w.names = append(w.names, name)
			c.upstreams[name] = &simulated{chain: c, delay: 5 * time.Millisecond, asked: map[string]int{}}
			cfg.Upstreams = append(cfg.Upstreams, "http://"+name)
		}
		cfg.Addr = "127.0.0.1:0"
		g, err := New(cfg, Deps{Keys: &keys.Static{}, Transport: c})
		require.NoError(t, err)
		w.Gateway = g
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			time.Sleep(time.Millisecond) // the test says first how the upstreams are
			g.poll(ctx)
			close(done)
		}()
		defer func() {
			cancel()
			g.stop()
			<-done
			time.Sleep(time.Minute) // transactions on their way to a second upstream
		}()
		run(t, w)
	})
}

// reply is what a client got: broken says that the connection broke off.
type reply struct {
	status int
	body   string
	broken bool
}

// ask posts a body.
func (w *world) post(body string, headers ...string) (r reply) {
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	defer func() {
		if recover() != nil {
			r = reply{broken: true}
		}
	}()
	w.ServeHTTP(recorder, req)
	return reply{status: recorder.Code, body: recorder.Body.String()}
}

// call makes one call.
func (w *world) call(method, params string, headers ...string) reply {
	return w.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), headers...)
}

// transaction is a signed transaction in params of sendTransaction, and its signature: of version 1
// in base64 if n is odd, otherwise a legacy one in base58.
func transaction(n int) (params, signature string) {
	id := make([]byte, txwire.SignatureSize)
	copy(id, fmt.Sprintf("signature %d of a transaction", n))
	tx := &txwire.Transaction{
		Version: txwire.Legacy, Signatures: [][]byte{id}, Header: txwire.Header{Signers: 1, ReadonlyOthers: 1}, Keys: [][]byte{make([]byte, 32), id[:32]},
		Lifetime: make([]byte, 32), Instructions: []txwire.Instruction{{Program: 1, Accounts: []byte{0}, Data: []byte{1, 2}}},
	}
	if n%2 == 1 {
		tx.Version = txwire.V1
		tx.Instructions[0].Data = make([]byte, 3000) // more than older versions may have
	}
	raw, err := tx.Append(nil)
	if err != nil {
		panic(err)
	}
	if n%2 == 1 {
		return fmt.Sprintf(`[%q,{"encoding":"base64"}]`, base64.StdEncoding.EncodeToString(raw)), base58.Encode(id)
	}
	return fmt.Sprintf(`[%q]`, base58.Encode(raw)), base58.Encode(id)
}

func (r *reply) slot(t *testing.T) uint64 {
	t.Helper()
	var parsed struct {
		Result json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(r.body), &parsed), r.body)
	told := slotOfResult(table["getBalance"], parsed.Result)
	if !told.hasSlot {
		told = slotOfResult(table["getSlot"], parsed.Result)
	}
	require.True(t, told.hasSlot, r.body)
	return told.slot
}

func (r *reply) code() int {
	var parsed struct {
		Error struct{ Code int }
	}
	_ = json.Unmarshal([]byte(r.body), &parsed)
	return parsed.Error.Code
}
