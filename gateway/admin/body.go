package admin

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/httpjson"
)

// publicError is an error whose status and message are sent to the caller.
type publicError struct {
	status  int
	message string
}

func (e *publicError) Error() string { return e.message }

func invalid(format string, args ...any) error {
	return &publicError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// fail answers a request with an error. If the error is meant for the caller, fail sends its
// message with a fitting status. Any other error is logged, and the caller is told to look into the
// log. ErrUnknownOutcome is logged, and sent to the caller as well.
func (s *Server) fail(w http.ResponseWriter, err error) {
	var public *publicError
	status := http.StatusInternalServerError
	switch {
	case errors.As(err, &public):
		status = public.status
	case errors.Is(err, keys.ErrInvalid):
		status = http.StatusBadRequest
	case errors.Is(err, keys.ErrNoSuchKey):
		status = http.StatusNotFound
	case errors.Is(err, keys.ErrExists), errors.Is(err, keys.ErrConfigured), errors.Is(err, keys.ErrRevoked), errors.Is(err, keys.ErrConflict),
		errors.Is(err, keys.ErrTooManySecrets):
		status = http.StatusConflict
	case errors.Is(err, keys.ErrUnknownOutcome):
		s.deps.Logger.Warn("a change of an api key is uncertain", "err", err)
		w.Header().Set("Retry-After", "5")
		httpjson.WriteError(w, http.StatusServiceUnavailable, "Kafka did not answer in time; "+keys.ErrUnknownOutcome.Error())
		return
	default:
		s.deps.Logger.Error("admin request failed", "err", err)
		httpjson.WriteError(w, status, "the request could not be answered; the node's log says why")
		return
	}
	httpjson.WriteError(w, status, err.Error())
}

// readBody reads one JSON object without unknown members. An empty body counts as an empty object.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	// Before a page may send application/json, its browser asks the server (a CORS preflight), and
	// this server never agrees. So pages of other origins cannot send a body.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &publicError{http.StatusUnsupportedMediaType, "Content-Type must be application/json"}
	}
	if framing.Coded(r.Header.Get("Content-Encoding")) {
		return &publicError{http.StatusUnsupportedMediaType, "Content-Encoding must not be set: a body must be sent as it is"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &publicError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is over %d bytes", maxBody)}
	case err != nil:
		return invalid("the body could not be read")
	}
	return parseBody(body, into)
}

// createBody is the body of POST /v1/keys.
type createBody struct {
	Product     string `json:"product"`
	Name        string `json:"name"`
	Environment string `json:"environment"`
	rulesBody
}

// rulesBody are the rules in a request. A member that is absent or null leaves its rule as it is.
// An empty list, 0 or "" removes the rule.
type rulesBody struct {
	// ExpiresAt is a time in RFC 3339.
	ExpiresAt         *string   `json:"expires_at,omitempty"`
	Origins           *[]string `json:"origins,omitempty"`
	Addresses         *[]string `json:"addresses,omitempty"`
	Methods           *[]string `json:"methods,omitempty"`
	RequestsPerSecond *int      `json:"requests_per_second,omitempty"`
	Streams           *int      `json:"streams,omitempty"`
	StreamAddresses   *int      `json:"stream_addresses,omitempty"`
}

// edit returns rules with the changes of the members that are present.
func (b *rulesBody) edit(rules keys.Rules) (keys.Rules, error) {
	set(&rules.Origins, b.Origins)
	set(&rules.Addresses, b.Addresses)
	set(&rules.Methods, b.Methods)
	set(&rules.RequestsPerSecond, b.RequestsPerSecond)
	set(&rules.Streams, b.Streams)
	set(&rules.StreamAddresses, b.StreamAddresses)
	switch {
	case b.ExpiresAt == nil:
	case *b.ExpiresAt == "":
		rules.ExpiresAt = time.Time{}
	default:
		at, err := time.Parse(time.RFC3339, *b.ExpiresAt)
		if err != nil || at.UnixMilli() <= 0 {
			return rules, invalid(`expires_at: %.50q: must be a time like 2027-01-31T00:00:00Z, or "" for never`, *b.ExpiresAt)
		}
		rules.ExpiresAt = at
	}
	return rules, nil
}

// set sets a rule, unless the value is absent.
func set[T any](rule, value *T) {
	if value != nil {
		*rule = *value
	}
}

// graceBody is the body of a rotation. Grace is how long the earlier secrets go on working, as a
// duration like 168h. The default is keys.DefaultGrace.
type graceBody struct {
	Grace *string `json:"grace"`
}

func (b *graceBody) duration() (time.Duration, error) {
	if b.Grace == nil {
		return keys.DefaultGrace, nil
	}
	grace, err := time.ParseDuration(*b.Grace)
	if err != nil || grace < 0 {
		return 0, invalid("grace: %.50q: must be a time like 168h, or 0s to end the earlier secrets now", *b.Grace)
	}
	return grace, nil
}

// reasonBody is the body of a revocation.
type reasonBody struct {
	Reason string `json:"reason"`
}
