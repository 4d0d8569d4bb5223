// Package adminapi asks the admin API of a running node, as the commands about keys do, and formats
// its answers for a terminal.
//
// In: an address and a token. Out: answers, as JSON or as lines of a table. Guarantees: each
// request has a timeout, and each answer a bound; only a throttled request is sent again.
package adminapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/gateway/admin"
	"github.com/mintlake/mintlake/internal/pause"
)

// Client calls the admin API at Addr, host:port. Actor is who makes the calls, for the log of
// changes.
type Client struct{ Addr, Token, Actor string }

// Actor returns who runs the command, as user@host, for the log of changes.
func Actor() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

const (
	// adminPatience is the timeout of one request.
	adminPatience = time.Minute
	// adminTries is how often a throttled request is sent, and adminAnswer bounds a response in
	// bytes.
	adminTries  = 5
	adminAnswer = 64 << 20
)

// Call makes a request. body and result may be nil; a *json.RawMessage takes the answer as it is. A
// throttled request is sent again.
func (c *Client) Call(ctx context.Context, method, path string, body, result any) error {
	payload := []byte{}
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for try := 1; ; try++ {
		again, err := c.try(ctx, method, path, payload, result)
		if err == nil || again == 0 || try == adminTries {
			return err
		}
		if err := pause.For(ctx, again); err != nil {
			return err
		}
	}
}

// try makes one request. again is how long to wait before the next attempt; 0 means that no attempt
// may follow.
func (c *Client) try(ctx context.Context, method, path string, payload []byte, result any) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.Addr+path, bytes.NewReader(payload))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(admin.ActorHeader, c.Actor)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("no admin API answers at %s (%w): does mintlake up or mintlake gateway run there with MINTLAKE_ADMIN_TOKEN set? --admin-addr names another", c.Addr, cause(err))
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, adminAnswer))
	if err != nil {
		return 0, fmt.Errorf("admin API at %s: %w", c.Addr, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		var failure struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(answer, &failure) != nil || failure.Message == "" {
			failure.Message = "it is no admin API of Mintlake"
		}
		if response.StatusCode == http.StatusTooManyRequests {
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			again = time.Duration(max(1, min(seconds, 10))) * time.Second
		}
		return again, fmt.Errorf("admin API at %s: %d: %s", c.Addr, response.StatusCode, failure.Message)
	}
	if result == nil {
		return 0, nil
	}
	if raw, ok := result.(*json.RawMessage); ok {
		*raw = answer
		return 0, nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return 0, fmt.Errorf("admin API at %s: its answer cannot be read: %w", c.Addr, err)
	}
	return 0, nil
}

// cause returns an HTTP client's error without the URL.
func cause(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
