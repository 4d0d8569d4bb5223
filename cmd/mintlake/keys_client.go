package main

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

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/gateway/admin"
)

// adminClient calls the admin API of a running node.
type adminClient struct {
	addr, token, actor string
}

// adminCommand adds the flags that say how to reach the admin API. run gets a client of it.
func adminCommand(cmd *cobra.Command, run func(cmd *cobra.Command, args []string, client *adminClient) error) *cobra.Command {
	cmd.Flags().String("admin-addr", defaults().Admin.Addr, "admin API of a node ($MINTLAKE_ADMIN_ADDR)")
	cmd.Flags().String("admin-token-file", "", "file that holds its token ($MINTLAKE_ADMIN_TOKEN_FILE; or the token in $MINTLAKE_ADMIN_TOKEN)")
	cmd.Flags().Bool("json", false, "print the API's answer as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		if cfg.Admin.Token == "" {
			return errors.New("the admin API's token is required: set MINTLAKE_ADMIN_TOKEN, here and where the node runs, or name a file with --admin-token-file")
		}
		return run(cmd, args, &adminClient{cfg.Admin.Addr, cfg.Admin.Token, actor()})
	}
	return cmd
}

// actor returns who runs the command, for the log of changes.
func actor() string {
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

// call makes a request. body and result may be nil.
func (c *adminClient) call(ctx context.Context, method, path string, body, result any) error {
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
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try makes one request. again is how long to wait before the next attempt; 0 means that there is
// none.
func (c *adminClient) try(ctx context.Context, method, path string, payload []byte, result any) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.addr+path, bytes.NewReader(payload))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(admin.ActorHeader, c.actor)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("no admin API answers at %s (%w): does mintlake up or mintlake gateway run there with MINTLAKE_ADMIN_TOKEN set? --admin-addr names another", c.addr, cause(err))
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, adminAnswer))
	if err != nil {
		return 0, fmt.Errorf("admin API at %s: %w", c.addr, err)
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
		return again, fmt.Errorf("admin API at %s: %d: %s", c.addr, response.StatusCode, failure.Message)
	}
	if result == nil {
		return 0, nil
	}
	if raw, ok := result.(*json.RawMessage); ok {
		*raw = answer
		return 0, nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return 0, fmt.Errorf("admin API at %s: its answer cannot be read: %w", c.addr, err)
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
