package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxLine bounds a line of a stream, and the data of an event, in bytes. A row has a few KB.
	maxLine = 4 << 20
	// quietLimit is how long a connection may be silent before it is closed, the time until the
	// response included. A stream sends a line at least every 15 s.
	quietLimit = 45 * time.Second
)

var errQuiet = fmt.Errorf("the node said nothing for %s: it stands still, or the network is gone", quietLimit)

// stream sends a request for Server-Sent Events and calls read with the body of the response. The
// connection ends with errQuiet when the timer quiet fires, so read must reset it.
func (c *Client) stream(ctx context.Context, request *http.Request, read func(quiet *time.Timer, body io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(quietLimit, func() { cancel(errQuiet) })
	defer quiet.Stop()
	err := c.events(request.WithContext(ctx), func(body io.Reader) error { return read(quiet, body) })
	if err != nil && errors.Is(context.Cause(ctx), errQuiet) {
		return errQuiet
	}
	return err
}

// events sends a request for Server-Sent Events and calls read with the body of the response.
func (c *Client) events(request *http.Request, read func(body io.Reader) error) error {
	request.Header.Set("Accept", "text/event-stream")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errorOf(response)
	}
	defer func() { _ = response.Body.Close() }()
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return &handlerError{fmt.Errorf("the answer is %.60q, no event stream: this is no token API of Mintlake", kind)}
	}
	return read(response.Body)
}

// unhurried calls handle, and stops the timer quiet meanwhile: nothing is read while handle runs,
// so the silence is not the server's.
func unhurried(quiet *time.Timer, handle func() error) error {
	quiet.Stop()
	defer quiet.Reset(quietLimit)
	return handle()
}

// serverEvent is one event of a stream. id is nil if the event has none.
type serverEvent struct {
	kind, data string
	id         *string
}

// readEvents reads Server-Sent Events until the stream ends:
// https://html.spec.whatwg.org/multipage/server-sent-events.html. It calls line for each line,
// retry for each pause that the server asks for, and event at the empty line after each event.
func readEvents(body io.Reader, line func(), retry func(time.Duration), event func(serverEvent) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	var e serverEvent
	for lines.Scan() {
		line()
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			e.data = strings.TrimSuffix(e.data, "\n")
			if err := event(e); err != nil {
				return err
			}
			e = serverEvent{}
		case name == "event":
			e.kind = value
		case name == "data":
			if e.data += value + "\n"; len(e.data) > maxLine {
				return errors.New("an event of the stream is too long")
			}
		case name == "id":
			e.id = &value
		case name == "retry":
			if ms, err := strconv.Atoi(value); err == nil {
				retry(min(max(0, time.Duration(ms)*time.Millisecond), longestPause))
			}
		}
	}
	return lines.Err()
}
