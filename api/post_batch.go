package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/encode"
	"github.com/mintlake/mintlake/api/requests"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// maxBatch bounds the mints of POST /tokens/batch, from the specification.
const maxBatch = 500

// maxWait bounds wait_ms: behind it proxies and clients lose their patience.
const maxWait = 5000

// batchRequest is the body of POST /tokens/batch.
type batchRequest struct {
	mints  []string // each once, in the order asked
	states bool
	wait   time.Duration
}

// batchResponse is its answer.
type batchResponse struct {
	rows    []row
	write   rowWriter
	unknown []string
	states  []mintState // nil: not asked for
}

// mintState says what is up with a mint of a batch.
type mintState struct {
	mint, state, reason string
	// retryAfter is 0 where asking again is no use.
	retryAfter time.Duration
}

// States of a mint in a batch. They are part of the API.
const (
	stateReady    = "ready"
	stateQueued   = "queued"
	stateNotAMint = "not_a_mint"
	stateFailed   = "failed"
)

// postBatch is POST /tokens/batch: resolve up to 500 mints in the order asked, each once. Unknown mints are queued for enrichment, except
// for strings that cannot be one; with wait_ms the answer waits for them.
func (s *Server) postBatch(c *fiber.Ctx) error {
	shape, err := queryShape(c, false)
	if err != nil {
		return err
	}
	request, err := parseBatch(c.Body())
	if err != nil {
		return err
	}
	client := s.client(c)
	answers := map[string]requests.Answer{}
	var pending []string
	members := make([]member, len(request.mints))
	for i, mint := range request.mints {
		if members[i].id, members[i].is = s.replica.ID(mint); members[i].is {
			continue
		}
		key, ok := mintKey(mint)
		if !ok {
			continue
		}
		answers[mint] = s.requests.Ask(client, mint, key, eventspb.RequestReason_REQUEST_REASON_API_BATCH)
		if outcome := answers[mint].Outcome; outcome == requests.Queued || outcome == requests.Duplicate {
			pending = append(pending, mint)
		}
	}
	if request.wait > 0 && len(pending) > 0 {
		s.awaitMints(client, pending, request.wait, answers)
	}
	response := batchResponse{rows: make([]row, 0, len(request.mints)), write: rowWriter{shape: shape, index: s.evidence}, unknown: []string{}}
	s.findRows(request.mints, members, &shape)
	for i, mint := range request.mints {
		state := mintState{mint: mint, state: stateReady}
		if members[i].is {
			response.rows = append(response.rows, members[i].row)
		} else {
			response.unknown = append(response.unknown, mint)
			state = stateOf(mint, answers)
		}
		if request.states {
			response.states = append(response.states, state)
		}
	}
	return s.sendJSON(c, response)
}

// member is a mint of a batch: whether it is in the registry, and its row.
type member struct {
	id  uint32
	is  bool
	row row
}

// rowsOfACore are as many rows as are worth a goroutine: making one takes some five microseconds.
const rowsOfACore = 64

// findRows fills in the rows, on several cores where they are many. Mints that were not members are looked up again: they may have been waited for.
// A panic is the caller's, who answers for it: in a goroutine of its own it would end the process.
func (s *Server) findRows(mints []string, members []member, sh *shape) {
	size := max(rowsOfACore, (len(members)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	var failed atomic.Pointer[string]
	for from := 0; from < len(members); from += size {
		part, names := members[from:min(from+size, len(members))], mints[from:]
		find := func() {
			defer func() {
				if p := recover(); p != nil {
					text := fmt.Sprintf("%v\n%s", p, debug.Stack())
					failed.Store(&text)
				}
			}()
			for i := range part {
				m := &part[i]
				if !m.is {
					m.id, m.is = s.replica.ID(names[i])
				}
				if m.is {
					m.row, m.is = s.rowOf(m.id, sh)
				}
			}
		}
		if from+size < len(members) {
			group.Go(find)
		} else {
			find()
		}
	}
	group.Wait()
	if text := failed.Load(); text != nil {
		panic(*text)
	}
}

// awaitMints waits until the copy has the mints, or it is known that it never will, and renews what is known of them.
func (s *Server) awaitMints(client string, mints []string, wait time.Duration, answers map[string]requests.Answer) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	s.requests.Wait(ctx, client, mints, func(mint string) bool {
		answer, known := s.requests.Known(mint)
		if known {
			answers[mint] = answer
		}
		return s.replica.Lookup(mint) == nil && (!known || answer.Outcome == requests.Duplicate)
	})
}

// stateOf says why a mint is not there.
func stateOf(mint string, answers map[string]requests.Answer) mintState {
	answer, asked := answers[mint]
	state := mintState{mint: mint, retryAfter: answer.RetryAfter}
	switch {
	case !asked:
		state.state, state.reason = stateNotAMint, "no_address"
	case answer.Outcome == requests.NotAMint:
		state.state, state.reason = stateNotAMint, "no_mint_there"
	case answer.Outcome == requests.Failed:
		state.state, state.reason = stateFailed, "given_up"
	case answer.Outcome == requests.Capped:
		state.state, state.reason = stateFailed, "client_limit"
	case answer.Outcome == requests.Dropped:
		state.state, state.reason = stateFailed, "queue_full"
	default:
		state.state = stateQueued
	}
	return state
}

func appendStates(dst []byte, states []mintState) []byte {
	dst = append(dst, '[')
	for i, state := range states {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = encode.String(append(dst, `{"mint":`...), state.mint)
		dst = encode.String(append(dst, `,"state":`...), state.state)
		if state.reason != "" {
			dst = encode.String(append(dst, `,"reason":`...), state.reason)
		}
		dst = append(dst, `,"retry_after_ms":`...)
		if state.retryAfter > 0 {
			dst = strconv.AppendInt(dst, state.retryAfter.Milliseconds(), 10)
		} else {
			dst = append(dst, "null"...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// parseBatch reads {"mints": [string, …], "states": true, "wait_ms": 2000}. Other fields are ignored, and so is the content type: what is not JSON fails anyway.
func parseBatch(body []byte) (request batchRequest, err error) {
	const object = `must be a JSON object {"mints": […]}`
	var fields map[string]json.RawMessage
	if len(bytes.TrimSpace(body)) == 0 {
		return request, invalid("body", "empty", object)
	}
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return request, invalid("body", quoted(string(body[:min(len(body), 64)])), object)
	}
	if raw, given := fields["states"]; given && (string(raw) == "null" || json.Unmarshal(raw, &request.states) != nil) {
		return request, invalid("states", string(raw), "must be true or false")
	}
	if raw, given := fields["wait_ms"]; given {
		var ms float64 // 5.0 is a whole number too
		if json.Unmarshal(raw, &ms) != nil || string(raw) == "null" || !(ms >= 0 && ms <= maxWait) || ms != math.Trunc(ms) {
			return request, invalid("wait_ms", string(raw), fmt.Sprintf("must be a whole number from 0 to %d", maxWait))
		}
		request.wait = time.Duration(ms) * time.Millisecond
	}
	raw, ok := fields["mints"]
	if !ok {
		return request, invalid("mints", "absent", fmt.Sprintf("must be an array of 1 to %d strings", maxBatch))
	}
	request.mints, err = parseMints(raw)
	return request, err
}

// plainString is the text of a valid JSON string that has nothing to be unescaped or mended, as mints are.
func plainString(element []byte) (string, bool) {
	if element[0] != '"' {
		return "", false
	}
	text := element[1 : len(element)-1]
	for _, c := range text {
		if c == '\\' || c >= utf8.RuneSelf {
			return "", false
		}
	}
	return string(text), true
}

// parseMints reads the mints, each once.
func parseMints(raw json.RawMessage) ([]string, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil || elements == nil {
		return nil, invalid("mints", string(raw[:min(len(raw), 64)]), fmt.Sprintf("must be an array of 1 to %d strings", maxBatch))
	}
	if len(elements) < 1 || len(elements) > maxBatch {
		return nil, invalid("mints", fmt.Sprintf("an array of %d items", len(elements)), fmt.Sprintf("must have 1 to %d", maxBatch))
	}
	mints, seen := make([]string, 0, len(elements)), make(map[string]struct{}, len(elements))
	for i, element := range elements {
		mint, ok := plainString(element)
		if !ok && (element[0] != '"' || json.Unmarshal(element, &mint) != nil) {
			return nil, invalid(fmt.Sprintf("mints[%d]", i), string(element), "must be a string")
		}
		if _, again := seen[mint]; !again {
			seen[mint] = struct{}{}
			mints = append(mints, mint)
		}
	}
	return mints, nil
}
