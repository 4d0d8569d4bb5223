package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxAnswer bounds a response in bytes. A batch of 500 with all fields has less than 2 MB.
	maxAnswer = 64 << 20
	// maxTries is how often a request is sent at most. The last refusal is returned.
	maxTries = 5
)

// doer makes the requests of the generated client.
type doer struct{ c *Client }

// Do sends a request. It returns every error status as an *Error. If the response has a
// Retry-After, Do waits that long and sends the request again, within Config.MaxWait and maxTries.
func (d doer) Do(request *http.Request) (*http.Response, error) {
	left := d.c.cfg.MaxWait
	for try := 1; ; try++ {
		response, err := d.c.http.Do(request) //nolint:gosec // the caller names the server
		if err != nil {
			return nil, err
		}
		if response.StatusCode < http.StatusBadRequest {
			response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
			return response, nil
		}
		refusal := errorOf(response)
		if refusal.RetryAfter == 0 || refusal.RetryAfter > left || try == maxTries {
			return nil, refusal
		}
		left -= refusal.RetryAfter
		select {
		case <-time.After(refusal.RetryAfter):
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
		if request.GetBody == nil {
			continue
		}
		if request.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
}

// errorOf reads a response with an error status, and closes its body.
func errorOf(response *http.Response) *Error {
	defer func() { _ = response.Body.Close() }()
	refusal := &Error{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-ID")}
	var body struct {
		Message string `json:"message"`
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil || json.Unmarshal(raw, &body) != nil || body.Message == "" {
		body.Message = fmt.Sprintf("%s, and no error as Mintlake answers: is this the address of its API?", http.StatusText(response.StatusCode))
	}
	refusal.Message = body.Message
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable {
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 && seconds < 1<<20 {
			refusal.RetryAfter = time.Duration(seconds) * time.Second
		}
	}
	return refusal
}
