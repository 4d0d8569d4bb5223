package solana

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/jsonwalk"
)

// ProgramOptions say which accounts of a program to read, and how.
type ProgramOptions struct {
	AccountOptions
	Filters []Filter
}

const (
	// listingHead is the number of bytes at the start of a response within which the result must
	// begin.
	listingHead = 4 << 10
	// listingElement is the most bytes that one account of a response may take.
	listingElement = 64 << 10
)

// ProgramAccounts calls use with each account of a program while the response arrives, so the
// response may be larger than the memory. data is valid until use returns. ProgramAccounts makes
// one attempt at one endpoint and never retries, because use may have taken accounts before an
// error. An error of use ends the call and is returned. Only ctx bounds the time of the whole call.
func (c *Client) ProgramAccounts(ctx context.Context, program pubkey.Key, o ProgramOptions, use func(address pubkey.Key, data []byte) error) error {
	const method = "getProgramAccounts"
	wire := o.wire()
	wire.Filters = o.Filters
	body, err := encode(method, []any{program.String(), wire})
	if err != nil {
		return err
	}
	if err := c.calls.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.calls.Release(1)
	if err := pause.Await(ctx, c.rate); err != nil {
		return err
	}
	e, _ := c.pool.pick(time.Now(), nil)
	if e == nil {
		return fmt.Errorf("%s: %w", method, errExcluded)
	}
	var useErr error // the error of use, which says nothing about the endpoint
	err = c.attempt(ctx, e, method, func() (int, error) {
		read, err := c.list(ctx, e, body, func(address pubkey.Key, data []byte) error {
			useErr = use(address, data)
			return useErr
		})
		if useErr != nil {
			return read, nil
		}
		return read, err
	})
	if err = cmp.Or(useErr, err); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// list posts the request body and reads the response. It fails if the response does not begin
// within listingWait, or if then nothing more arrives for Config.Timeout. The first wait is longer,
// because a server makes the whole response before it sends the first byte.
func (c *Client) list(ctx context.Context, e *endpoint, body []byte, use func(pubkey.Key, []byte) error) (read int, err error) {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.cfg.listingWait, func() { cancel(context.DeadlineExceeded) })
	defer idle.Stop()
	counted := &countingReader{idle: idle, patience: c.cfg.Timeout}
	err = c.post(within, e, body, func(resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return Refused(resp)
		}
		counted.Reader = resp.Body
		return readListing(counted, use)
	})
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), context.DeadlineExceeded) {
		err = &transportError{fmt.Errorf("%s: the listing stands still: %w", e.redacted, context.DeadlineExceeded)}
	}
	return counted.count, err
}

// countingReader counts the bytes read. The timer idle runs only during a Read, and ends the
// request if the Read takes longer than patience.
type countingReader struct {
	io.Reader
	count    int
	idle     *time.Timer
	patience time.Duration
}

func (r *countingReader) Read(b []byte) (int, error) {
	r.idle.Reset(r.patience)
	defer r.idle.Stop()
	n, err := r.Reader.Read(b)
	r.count += n
	return n, err
}

// readListing reads the response of getProgramAccounts.
func readListing(r io.Reader, use func(pubkey.Key, []byte) error) error {
	in := bufio.NewReaderSize(r, listingElement)
	head, err := in.Peek(listingHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return &transportError{fmt.Errorf("read answer: %w", scrub(err))}
	}
	_, after, found := bytes.Cut(head, []byte(`"result":`))
	if !found {
		return refusedListing(in)
	}
	if _, err := in.Discard(len(head) - len(after)); err != nil {
		return err
	}
	if c, err := skipSpace(in); err != nil || c != '[' {
		return fmt.Errorf("%w: the result is no array", ErrMalformed)
	}
	var data []byte
	for first := true; ; first = false {
		c, err := skipSpace(in)
		if err == nil && c == ',' && !first {
			c, err = skipSpace(in)
		}
		switch {
		case err != nil:
			return &transportError{fmt.Errorf("read answer: %w", scrub(err))}
		case c == ']':
			return nil
		case c != '{' || in.UnreadByte() != nil:
			return fmt.Errorf("%w: found %q in place of an account", ErrMalformed, c)
		}
		var address pubkey.Key
		var size int
		if address, data, size, err = nextAccount(in, data); err != nil {
			return err
		}
		if err := use(address, data); err != nil {
			return err
		}
		if _, err := in.Discard(size); err != nil {
			return err
		}
	}
}

// refusedListing returns the JSON-RPC error of a response without a result. It returns ErrMalformed
// if the response has no such error.
func refusedListing(in io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(in, listingElement))
	if err != nil {
		return &transportError{fmt.Errorf("read answer: %w", scrub(err))}
	}
	ans, err := readAnswer(text)
	if err == nil {
		err = ans.err()
	}
	return cmp.Or(err, ErrMalformed)
}

// skipSpace returns the next byte that is no white space.
func skipSpace(in *bufio.Reader) (byte, error) {
	for {
		switch c, err := in.ReadByte(); {
		case err != nil:
			return 0, err
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			return c, nil
		}
	}
}

// nextAccount reads the account at the reader's place without consuming it. size is the length of
// its text. data is decoded into buf, which grows if it is too small.
func nextAccount(in *bufio.Reader, buf []byte) (address pubkey.Key, data []byte, size int, err error) {
	for window := 1 << 10; ; window *= 2 {
		text, ended := in.Peek(window)
		if address, data, size, err = listedAccount(text, buf); err == nil {
			return address, data, size, nil
		}
		switch {
		case ended != nil && !errors.Is(ended, io.EOF):
			return address, nil, 0, &transportError{fmt.Errorf("read answer: %w", scrub(ended))}
		case ended != nil || window >= listingElement: // no larger window would show more
			return address, nil, 0, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
}

// listedAccount reads the account at the start of text. size is the length of its text. data is
// decoded into buf, which grows if it is too small.
func listedAccount(text, buf []byte) (address pubkey.Key, data []byte, size int, err error) {
	r := jsonwalk.New(text)
	begin, found := *r, 0
	err = r.Object(func(key []byte) error {
		switch string(key) {
		case "pubkey":
			text, err := r.String()
			if err == nil {
				found++
				address, err = pubkey.Parse(text)
			}
			return err
		case "account":
			return r.Object(func(key []byte) error {
				if string(key) != "data" {
					return r.Skip()
				}
				return r.Array(func(i int) error {
					if i > 0 {
						return r.Skip()
					}
					text, err := r.String()
					if err == nil {
						found++
						data, err = base64.StdEncoding.AppendDecode(buf[:0], text)
					}
					return err
				})
			})
		}
		return r.Skip()
	})
	if err == nil && found != 2 {
		err = errors.New("an account without pubkey or data")
	}
	return address, data, len(begin.Since(r)), err
}
