package solana

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/solana/jsonwalk"
)

// Sizes of answers, after decompression.
const (
	// smallAnswer is how many bytes of an answer a call may read without a reservation in its
	// Budget.
	smallAnswer = 1 << 20
	// largeAnswer is how many bytes of an answer a call may read with a reservation of
	// mediumAnswers. Only one call at a time may read more.
	largeAnswer = 16 << 20
	// mediumAnswers bounds the bytes that are reserved at a time for answers between smallAnswer
	// and largeAnswer.
	mediumAnswers = 128 << 20
	// refusalBytes is how much is read of the body of an answer with a status other than 200.
	refusalBytes = 64 << 10
)

// Budget bounds the memory of all answers that are read at a time, by all clients that share it. An
// answer below 1 MiB needs no reservation, so a server that sends large answers never delays calls
// with small ones. A longer answer reserves 15 MiB. Only one answer at a time may be larger than 16
// MiB.
type Budget struct{ medium, large *semaphore.Weighted }

// NewBudget returns a budget of 128 MiB and one large answer.
func NewBudget() *Budget {
	return &Budget{semaphore.NewWeighted(mediumAnswers), semaphore.NewWeighted(1)}
}

// take reserves the memory to read on behind the first n bytes of an answer. It waits until the
// budget has that memory, or ctx ends. A call that holds the large semaphore never waits for the
// medium one, so calls cannot deadlock.
func (b *Budget) take(ctx context.Context, n int64) (release func(), err error) {
	from, weight := b.medium, int64(largeAnswer-smallAnswer)
	if n >= largeAnswer {
		from, weight = b.large, 1
	}
	if err := from.Acquire(ctx, weight); err != nil {
		return nil, &transportError{fmt.Errorf("%w: %w", errTurn, err)}
	}
	return func() { from.Release(weight) }, nil
}

// Upper bounds of answers and of their parts, in bytes. An account has at most 10 MiB of data
// (agave, MAX_PERMITTED_DATA_LENGTH).
const (
	accountData = 10 << 20
	// accountFrame is the most that an account takes in an answer beside its data: owner, lamports,
	// rent epoch, space, names and white space have some 250 bytes.
	accountFrame = 1 << 10
	// slotBytes is the most that a slot takes in a list: 20 digits, a comma and white space.
	slotBytes = 32
	// headerAnswer bounds a block without transactions and rewards.
	headerAnswer = smallAnswer
	// transactionAnswer bounds a transaction with its logs and inner instructions, of which 64 may
	// have 10 KiB each.
	transactionAnswer = 4 << 20
	// unbounded leaves an answer to Config.MaxBodyBytes.
	unbounded = 1 << 62
)

// accountsBytes bounds an answer with n accounts of up to length bytes in base64.
func accountsBytes(n int, length uint64) int64 {
	return smallAnswer/16 + int64(n)*(accountFrame+int64(min(length, accountData)+2)/3*4)
}

// boundOf returns the most bytes that an answer to Call may have, for any parameters of the method.
func boundOf(method string) int64 {
	switch method {
	case "getSlot", "getGenesisHash", "getLatestBlockhash", "getRecentPerformanceSamples", "getVersion", "getSignatureStatuses",
		"getEpochInfo":
		return smallAnswer
	case "getTransaction", "getSignaturesForAddress":
		return transactionAnswer
	case "getAccountInfo":
		// Twice base64: the caller may ask for jsonParsed, whose text may be longer.
		return 2 * accountsBytes(1, accountData)
	}
	return unbounded
}

// answer is a response of JSON-RPC: the texts of its two members, nil if they are absent.
type answer struct{ result, failure []byte }

// readAnswer finds the members of a response. They refer to data.
func readAnswer(data []byte) (a answer, err error) {
	r := jsonwalk.New(data)
	err = r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "result":
			a.result, err = r.Raw()
		case "error":
			a.failure, err = r.Raw()
		default:
			err = r.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return a, fmt.Errorf("%w: %w", ErrMalformed, err)
	case !r.End():
		return a, fmt.Errorf("%w: there is more behind the answer", ErrMalformed)
	case string(a.failure) == "null":
		a.failure = nil
	}
	return a, nil
}

// err returns the JSON-RPC error in the answer; nil if the answer has a result. An error that is
// not an object with a code, a text for example, becomes ErrMalformed.
func (a *answer) err() error {
	if a.failure == nil {
		if len(a.result) == 0 {
			return fmt.Errorf("%w: neither result nor error", ErrMalformed)
		}
		return nil
	}
	var told struct {
		Code    *int   `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(a.failure, &told); err != nil || told.Code == nil {
		return fmt.Errorf("%w: the error is %s", ErrMalformed, clip(string(a.failure), 300))
	}
	return &RPCError{Code: *told.Code, Message: clip(told.Message, 300)}
}

// result reads a response, passes the JSON-RPC result to r.use, and returns the result's size in
// bytes. For a status other than 200 it returns the error of Refused.
func (c *Client) result(ctx context.Context, e *endpoint, resp *http.Response, r request) (size int, err error) {
	if resp.StatusCode != http.StatusOK {
		return 0, Refused(resp)
	}
	data, release, err := c.readAll(ctx, resp, r.bound)
	defer release()
	var ans answer
	if err == nil {
		ans, err = readAnswer(data)
	}
	if err == nil {
		err = ans.err()
	}
	if err == nil {
		err = r.use(ans.result)
	}
	var told *RPCError
	if err != nil && !errors.As(err, &told) {
		err = fmt.Errorf("%s: %w", e.redacted, err)
	}
	return len(ans.result), err
}

// Refused returns the HTTPError of a response with a status other than 200. With status 400 it
// returns the JSON-RPC error in the body, if there is one: some servers send a node's errors with
// this status.
func Refused(resp *http.Response) error {
	refused := &HTTPError{Status: resp.StatusCode, RetryAfter: parseRetryAfter(resp.Header.Get("Retry-After"))}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, refusalBytes)) // the status says enough
	ans, err := readAnswer(body)
	if err != nil || !errors.As(ans.err(), &refused.Told) {
		return refused
	}
	if resp.StatusCode == http.StatusBadRequest {
		return refused.Told
	}
	return refused
}

// readAll reads the body, which may have limit bytes at most. The caller calls release, also after
// an error, when it no longer needs data: release returns what readAll reserved in the budget.
func (c *Client) readAll(ctx context.Context, resp *http.Response, limit int64) (data []byte, release func(), err error) {
	var held []func()
	release = func() {
		for _, free := range held {
			free()
		}
	}
	buf := bytes.NewBuffer(make([]byte, 0, max(0, min(resp.ContentLength, limit, smallAnswer))+bytes.MinRead))
	tiers := []int64{min(smallAnswer, limit+1), min(largeAnswer, limit+1), limit + 1}
	for i, upTo := range tiers {
		if _, err := buf.ReadFrom(io.LimitReader(resp.Body, upTo-int64(buf.Len()))); err != nil {
			return nil, release, &transportError{fmt.Errorf("read answer: %w", scrub(err))}
		}
		switch n := int64(buf.Len()); {
		case n > limit:
			return nil, release, fmt.Errorf("%w: an answer over the %d bytes that were asked for", ErrMalformed, limit)
		case n < upTo:
			return buf.Bytes(), release, nil
		}
		free, err := c.budget.take(ctx, upTo)
		if err != nil {
			return nil, release, err
		}
		held = append(held, free)
		// tiers[i+1] exists: the last tier is limit+1, and an answer above limit has returned an
		// error.
		buf.Grow(int(max(0, min(resp.ContentLength, tiers[i+1])-upTo)))
	}
	return buf.Bytes(), release, nil
}
