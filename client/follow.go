package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mintlake/mintlake/client/rest"
)

// Kinds of an Event.
const (
	EventNew     = "new"     // Token is new in the registry
	EventChanged = "changed" // Token has changed; this is its present state
	EventRemoved = "removed" // Token.Mint is no longer in the registry
	EventReset   = "reset"   // changes were lost: read the whole registry again
	EventCursor  = "cursor"  // Cursor is where to continue after a restart
)

// Event is one event of the change feed.
type Event struct {
	Kind string
	// Token is set for new and changed. For removed only its Mint is set.
	Token rest.Token
	// Data is the event's JSON as it was sent; empty for cursor.
	Data json.RawMessage
	// Reason and Message are set for reset. Message is for people.
	Reason, Message string
	// Cursor is set for cursor. Save it once the events before it are stored.
	Cursor string
}

// longestPause bounds the pause between two attempts to connect.
const longestPause = 30 * time.Second

// Follow calls handle for every event of GET /tokens/stream, one after the other. handle may take
// hours, for example to read the whole registry after an EventReset. If the stream ends, Follow
// connects again with the last cursor; some events may come twice. If the node no longer has the
// events after the cursor, an EventReset comes. The EventReset comes again if the connection ends
// before there is a new cursor. Follow returns the error of handle, of ctx, of a request that the
// API refuses for good (a status below 500 without a Retry-After), or of a response that is no
// feed.
func (c *Client) Follow(ctx context.Context, params *rest.StreamTokensParams, handle func(Event) error) error {
	next := rest.StreamTokensParams{}
	if params != nil {
		next = *params
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = longestPause
	var lost *Event
	for ctx.Err() == nil {
		f := &follower{handle: handle, alive: pauses.Reset, cursor: next.Cursor, lost: lost}
		err := c.followOnce(ctx, &next, f)
		var refusal *Error
		var handled *handlerError
		switch {
		case errors.As(err, &handled):
			return handled.error
		case errors.As(err, &refusal) && refusal.RetryAfter == 0 && refusal.Status < http.StatusInternalServerError:
			return err
		}
		if f.cursor != nil || f.lost != nil { // else the cursor of the request still is the last
			next.Cursor, next.LastEventID = f.cursor, nil
		}
		lost = f.lost
		pause := max(pauses.NextBackOff(), f.retry)
		if refusal != nil {
			pause = max(pause, refusal.RetryAfter)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// handlerError wraps an error that Follow must return instead of connecting again.
type handlerError struct{ error }

// followOnce reads the events of one connection until it ends.
func (c *Client) followOnce(ctx context.Context, params *rest.StreamTokensParams, f *follower) error {
	request, err := rest.NewStreamTokensRequest(c.cfg.URL, params)
	if err != nil {
		return &handlerError{err}
	}
	handle := f.handle
	return c.stream(ctx, request, func(quiet *time.Timer, body io.Reader) error {
		f.handle = func(event Event) error { return unhurried(quiet, func() error { return handle(event) }) }
		if f.lost != nil { // the changes since the last connection are lost, too
			if err := f.handle(*f.lost); err != nil {
				return &handlerError{err}
			}
		}
		return readEvents(body, func() { quiet.Reset(quietLimit) }, func(pause time.Duration) { f.retry = pause }, f.dispatch)
	})
}

// follower handles the events of one connection.
type follower struct {
	handle func(Event) error
	alive  func()        // called for each event that has a kind or an id
	cursor *string       // of the next connection; nil: it begins at the present
	lost   *Event        // the reset after which no cursor has come yet; nil if there is none
	retry  time.Duration // the pause before a new connection that the server asks for
}

// dispatch reads an event of the stream and gives it to handle.
func (f *follower) dispatch(e serverEvent) error {
	if e.kind != "" || e.id != nil {
		f.alive()
	}
	event := Event{Kind: e.kind, Data: json.RawMessage(e.data)}
	switch e.kind {
	case EventNew, EventChanged, EventRemoved:
		if err := json.Unmarshal(event.Data, &event.Token); err != nil {
			return &handlerError{fmt.Errorf("read an event of the feed: %w", err)}
		}
	case EventReset:
		var reset struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal(event.Data, &reset); err != nil {
			return &handlerError{fmt.Errorf("read an event of the feed: %w", err)}
		}
		event.Reason, event.Message = reset.Reason, reset.Message
		f.cursor, f.lost = nil, &event // the old cursor is not valid any more
	default: // the event "end", and those of later versions
		event.Kind = ""
	}
	if event.Kind != "" {
		if err := f.handle(event); err != nil {
			return &handlerError{err}
		}
	}
	if e.id == nil {
		return nil
	}
	f.cursor, f.lost = e.id, nil
	if err := f.handle(Event{Kind: EventCursor, Cursor: *e.id}); err != nil {
		return &handlerError{err}
	}
	return nil
}
