package jsonrpc

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/gateway/message"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

// documented are the error codes that docs/gateway-reference.md names; the calls of this test are
// valid, and no limit is reached.
var documented = map[int]bool{message.CodeUnavailable: true, codeMinContextSlot: true, codeUnknown: true}

// TestClientsSeeOnlyWhatIsDocumented: upstreams behave badly at random times, in all ways at once,
// and clients see documented errors only; no slot goes back within a session; no transaction that
// landed is told as failed, and no airdrop is made twice.
func TestClientsSeeOnlyWhatIsDocumented(t *testing.T) {
	answered, asked := 0, 0
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		// each has minutes of schedule; -rapid.checks=1000 looks longer
		require.NoError(t, checks.Value.Set("30"))
	}
	rapid.Check(t, func(rt *rapid.T) {
		cfg := Config{
			attemptTimeout: 3 * time.Second, timeout: 8 * time.Second,
			SendUpstreams: rapid.IntRange(1, 3).Draw(rt, "send to"), HedgeShare: rapid.SampledFrom([]float64{0, 0.05, 0.5}).Draw(rt, "hedge share"),
			ShareReads: rapid.Bool().Draw(rt, "share"), CacheBytes: rapid.SampledFrom([]int{0, 1 << 20}).Draw(rt, "cache"),
		}
		upstreams := rapid.IntRange(1, 4).Draw(rt, "upstreams")
		var schedules [][]phase
		var delays, lags []int
		for i := range upstreams {
			var phases []phase
			for range rapid.IntRange(0, 6).Draw(rt, "phases") {
				phases = append(phases, phase{
					time.Duration(rapid.IntRange(0, 8_000).Draw(rt, "from")) * time.Millisecond,
					mood(rapid.IntRange(0, int(moods)-1).Draw(rt, fmt.Sprintf("mood of %d", i))),
				})
			}
			schedules = append(schedules, phases)
			delays = append(delays, rapid.IntRange(1, 200).Draw(rt, "delay"))
			lags = append(lags, rapid.IntRange(1, 100).Draw(rt, "lag"))
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		var f findings
		simulate(t, cfg, upstreams, func(_ *testing.T, w *world) {
			for i, name := range w.names {
				w.upstreams[name].behave(uint64(lags[i]), schedules[i]...)
				w.upstreams[name].wait(time.Duration(delays[i]) * time.Millisecond)
			}
			var all sync.WaitGroup
			for i := range uint64(3) {
				c := &client{world: w, findings: &f, random: rand.New(rand.NewPCG(seed, i)), session: fmt.Sprint(i / 2), number: int(i)}
				all.Go(c.run)
			}
			all.Wait()
			for call, made := range w.airdrops {
				if made > 1 {
					f.add("the airdrop %s was made %d times", call, made)
				}
			}
		})
		answered, asked = answered+f.answered, asked+f.asked
		if len(f.all) > 0 {
			rt.Fatal(strings.Join(f.all, "\n"))
		}
	})
	if answered < asked/2 {
		t.Fatalf("only %d of %d calls had an answer: the test shows nothing", answered, asked)
	}
}

// findings are what clients saw that must not be.
type findings struct {
	mu              sync.Mutex
	all             []string
	asked, answered int
	// slots and heights are the highest that each session was shown, by session, commitment and
	// kind.
	seen map[string]uint64
}

func (f *findings) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, fmt.Sprintf(format, args...))
}

func (f *findings) count(answered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if answered {
		f.answered++
	}
}

func (f *findings) highest(key string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[key]
}

func (f *findings) saw(key string, n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[string]uint64{}
	}
	f.seen[key] = max(f.seen[key], n)
}

// client makes calls one after the other. Two of them have a session in common.
type client struct {
	*world
	*findings
	random  *rand.Rand
	session string
	number  int
}

func (c *client) run() {
	for i := range 12 {
		time.Sleep(time.Duration(c.random.IntN(1000)) * time.Millisecond)
		level := commitment(c.random.IntN(int(commitments)))
		switch kind := c.random.IntN(10); kind {
		case 0:
			c.sends(100*c.number + i)
		case 1:
			c.judge("requestAirdrop", c.call("requestAirdrop", fmt.Sprintf(`["x",%d]`, 100*c.number+i)))
		case 2:
			c.batch(level)
		default:
			method := []string{"getSlot", "getBalance", "getEpochInfo", "getBlockHeight", "getMultipleAccounts", "getTransaction", "getBlock"}[c.random.IntN(7)]
			before := c.before(level)
			got := c.call(method, paramsFor(method, level), SessionHeader, c.session)
			c.judge(method, got)
			if !got.broken {
				c.compare(method, level, json.RawMessage(got.body), before)
			}
		}
	}
}

func paramsFor(method string, level commitment) string {
	config := fmt.Sprintf(`{"commitment":%q}`, level.String())
	if table[method].config == 0 {
		return "[" + config + "]"
	}
	return `["x",` + config + "]"
}

// before is what the session was shown by now.
func (c *client) before(level commitment) [2]uint64 {
	return [2]uint64{c.highest(c.key("slot", level)), c.highest(c.key("height", level))}
}

func (c *client) key(kind string, level commitment) string {
	return c.session + " " + level.String() + " " + kind
}

// compare holds an answer against what the session was shown before the call began.
func (c *client) compare(method string, level commitment, body json.RawMessage, before [2]uint64) {
	var parsed struct{ Result json.RawMessage }
	if json.Unmarshal(body, &parsed) != nil || parsed.Result == nil {
		return
	}
	told := slotOfResult(table[method], parsed.Result)
	if told.hasSlot {
		if told.slot < before[0] {
			c.add("%s at %s: slot %d after %d", method, level, told.slot, before[0])
		}
		c.saw(c.key("slot", level), told.slot)
	}
	if told.hasHeight {
		if told.height < before[1] {
			c.add("%s at %s: height %d after %d", method, level, told.height, before[1])
		}
		c.saw(c.key("height", level), told.height)
	}
}

// judge checks that an answer is whole JSON with a result or a documented error. Only long answers
// may break off.
func (c *client) judge(method string, got reply) {
	if got.broken {
		if method != "getMultipleAccounts" && method != "batch" {
			c.add("%s: the connection broke off", method)
		}
		c.count(false)
		return
	}
	var parsed struct {
		Version string `json:"jsonrpc"`
		ID      json.RawMessage
		Result  json.RawMessage
		Error   *message.Error
	}
	err := json.Unmarshal([]byte(got.body), &parsed)
	switch {
	case err != nil || parsed.Version != "2.0" || string(parsed.ID) == "":
		c.add("%s: no JSON-RPC answer: %.200s", method, got.body)
	case parsed.Error == nil && (got.status != 200 || parsed.Result == nil):
		c.add("%s: %d and no error: %.200s", method, got.status, got.body)
	case parsed.Error != nil && !documented[parsed.Error.Code]:
		c.add("%s: undocumented error: %.200s", method, got.body)
	}
	c.count(parsed.Error == nil)
}

func (c *client) sends(n int) {
	params, signature := transaction(n)
	got := c.call("sendTransaction", params, SessionHeader, c.session)
	c.judge("sendTransaction", got)
	switch code := got.code(); {
	case code == 0 && !c.hasLanded(signature):
		c.add("sendTransaction: success, and nobody took it")
	case code == codeUnknown && !strings.Contains(got.body, signature):
		c.add("sendTransaction: unknown without signature: %s", got.body)
	case code != 0 && code != codeUnknown && c.hasLanded(signature):
		c.add("sendTransaction: told as failed, and it landed: %s", got.body)
	}
}

func (c *client) batch(level commitment) {
	methods := []string{"getBalance", "getMultipleAccounts", "getSlot", "getBalance"}
	var calls []string
	for i, method := range methods {
		calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, paramsFor(method, level)))
	}
	before := c.before(level)
	got := c.post("["+strings.Join(calls, ",")+"]", SessionHeader, c.session)
	var answers []json.RawMessage
	if got.broken {
		c.judge("batch", got)
		return
	}
	if err := json.Unmarshal([]byte(got.body), &answers); err != nil || len(answers) != len(methods) {
		c.add("batch: %d answers to %d calls: %.200s", len(answers), len(methods), got.body)
		return
	}
	for i, answer := range answers {
		c.judge(methods[i], reply{status: got.status, body: string(answer)})
		if !strings.Contains(string(answer), fmt.Sprintf(`"id":%d`, i)) {
			c.add("batch: answer %d is that of another call: %.200s", i, answer)
		}
		c.compare(methods[i], level, answer, before)
	}
}
