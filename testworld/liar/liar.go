// Package liar is a JSON-RPC server that lies: a proxy in front of an honest one, which changes
// some of its answers.
//
// In: an honest server; a seed, and the share of answers to lie in. Out: an http.Handler.
// Guarantees: answers keep the shape that clients expect, so that nothing but what they say is
// wrong. The same seed and the same calls in the same order give the same lies. It never lies about
// methods that are not in lies, and never after Stop.
package liar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Behaviour says how a server lies.
type Behaviour struct {
	Seed uint64
	// Share of the answers to lie in, from 0 to 1.
	Share float64
	// Late is how long an answer may be held back. 0 is never.
	Late time.Duration
	// Client asks the honest server. Default http.DefaultClient.
	Client *http.Client
	// Only are the kinds of lies to tell; nil is all. See Kinds.
	Only []string
}

// Kinds of lies.
const (
	// Slots: context.slot, getSlot, and what getBlocks lists: far above, above, below, or none.
	Slots = "slots"
	// Parents and Times of blocks.
	Parents = "parents"
	Times   = "times"
	// Owners of accounts, and accounts that are said to be gone.
	Owners = "owners"
	// Amounts: supply, decimals and authorities inside of the data of accounts.
	Amounts = "amounts"
	// Supplies of all mints of an answer, and nothing else: a plausible lie. It is not in Kinds, as
	// Amounts has it.
	Supplies = "supplies"
	// Others: the account of another key in place of one.
	Others = "others"
	// Repeats: an earlier answer to the same method.
	Repeats = "repeats"
)

// Kinds returns all kinds of lies but Supplies.
func Kinds() []string { return []string{Slots, Parents, Times, Owners, Amounts, Others, Repeats} }

// Liar is the proxy. Make it with New.
type Liar struct {
	behaviour Behaviour
	target    string
	stopped   atomic.Bool
	lies      atomic.Int64

	mu   sync.Mutex
	rng  *rand.Rand
	last map[string]any // an earlier result, by method
}

// New returns a proxy of the honest server at a URL.
func New(target string, behaviour Behaviour) *Liar {
	if behaviour.Only == nil {
		behaviour.Only = Kinds()
	}
	if behaviour.Client == nil {
		behaviour.Client = http.DefaultClient
	}
	rng := rand.New(rand.NewPCG(behaviour.Seed, 1)) //nolint:gosec // the same seed has to tell the same lies
	return &Liar{behaviour: behaviour, target: target, rng: rng, last: map[string]any{}}
}

// Stop makes the server honest.
func (l *Liar) Stop() { l.stopped.Store(true) }

// Lies returns how many answers were changed.
func (l *Liar) Lies() int64 { return l.lies.Load() }

// maxBody bounds requests and answers.
const maxBody = 64 << 20

// ServeHTTP forwards a request, and lies in the answer.
func (l *Liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, status, err := l.ask(r, asked)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if !l.stopped.Load() {
		answer = l.change(asked, answer)
		if wait := l.wait(); wait > 0 {
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
			}
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(answer) //nolint:gosec // JSON of the test world; a client that is gone needs none
}

func (l *Liar) ask(r *http.Request, body []byte) (answer []byte, status int, err error) {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, l.target, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := l.behaviour.Client.Do(request) //nolint:gosec // a test names the server
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxBody))
	return answer, response.StatusCode, err
}

func (l *Liar) wait() time.Duration {
	if l.behaviour.Late <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rng.Float64() >= l.behaviour.Share {
		return 0
	}
	return time.Duration(l.rng.Int64N(int64(l.behaviour.Late)))
}

// change returns an answer, or a list of them, with lies.
func (l *Liar) change(asked, answer []byte) []byte {
	if bytes.HasPrefix(bytes.TrimSpace(asked), []byte("[")) {
		var questions, answers []json.RawMessage
		if json.Unmarshal(asked, &questions) != nil || json.Unmarshal(answer, &answers) != nil || len(questions) != len(answers) {
			return answer
		}
		for i := range answers {
			answers[i] = l.changeOne(questions[i], answers[i])
		}
		return encoded(answers, answer)
	}
	return l.changeOne(asked, answer)
}

func encoded(value any, otherwise []byte) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		return otherwise
	}
	return text
}

func (l *Liar) changeOne(asked, answer []byte) []byte {
	var question struct {
		Method string `json:"method"`
	}
	var whole map[string]any
	numbers := json.NewDecoder(bytes.NewReader(answer)) // slots must not become floats
	numbers.UseNumber()
	if json.Unmarshal(asked, &question) != nil || numbers.Decode(&whole) != nil || whole["result"] == nil {
		return answer
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	honest := whole["result"]
	// A lie changes the result in place: what is kept must be a copy.
	kept := copyOf(honest)
	lie, lied := l.lie(question.Method, honest)
	l.last[question.Method] = kept
	if !lied {
		return answer
	}
	l.lies.Add(1)
	whole["result"] = lie
	return encoded(whole, answer)
}

func copyOf(value any) (out any) {
	decoder := json.NewDecoder(bytes.NewReader(encoded(value, nil)))
	decoder.UseNumber()
	if decoder.Decode(&out) != nil {
		return nil
	}
	return out
}

// number returns a number as JSON has it.
func number(n uint64) json.Number { return json.Number(fmt.Sprint(n)) }
