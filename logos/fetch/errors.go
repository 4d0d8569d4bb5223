package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Class says why a fetch failed. The set is finite: it is a metric label.
type Class string

// Classes of failure.
const (
	// ClassBadURL is a URI that cannot be fetched because of its scheme, host, port, credentials or
	// CID, or a malformed data URI.
	ClassBadURL Class = "bad_url"
	// ClassRefusedAddress is a host whose addresses are private, loopback, link-local or otherwise
	// not on the public internet.
	ClassRefusedAddress Class = "refused_address"
	// ClassDNS is a host name that does not resolve.
	ClassDNS Class = "dns"
	// ClassConnection is a connection that could not be made, or broke.
	ClassConnection Class = "connection"
	// ClassTLS is a handshake or a certificate that failed.
	ClassTLS Class = "tls"
	// ClassTimeout is a fetch that took longer than its limit.
	ClassTimeout Class = "timeout"
	// ClassRedirects is too many redirects, or one without a target.
	ClassRedirects Class = "redirects"
	// ClassHTTPStatus is an answer with another status than 200 or 203. A 304 that the request
	// asked for is no failure either.
	ClassHTTPStatus Class = "http_status"
	// ClassTooLarge is a body, after decompression, or a header over its limit.
	ClassTooLarge Class = "too_large"
	// ClassBadEncoding is a body that does not decompress.
	ClassBadEncoding Class = "bad_encoding"
	// ClassNotJSON is a body that is no JSON document.
	ClassNotJSON Class = "not_json"
	// ClassErrorBody is a JSON document that only reports an error, served as 200.
	ClassErrorBody Class = "error_body"
	// ClassNotImage is a body that is no image of a known kind: an HTML page, a challenge, nothing
	// at all.
	ClassNotImage Class = "not_image"
	// ClassBadImage is a body that begins like an image and does not decode as one.
	ClassBadImage Class = "bad_image"
	// ClassImageBounds is an image with more pixels, frames, scans or parts than allowed.
	ClassImageBounds Class = "image_bounds"
	// ClassImageBudget is an image that takes more time or memory to decode than its budget.
	ClassImageBudget Class = "image_budget"
	// ClassDecoder is an image that could not be decoded because the machine was too busy: it says
	// nothing about the image.
	ClassDecoder Class = "decoder"
	// ClassWrongContent is a body that is not what its content identifier names.
	ClassWrongContent Class = "wrong_content"
	// ClassHostPaused is a fetch that made no request: the host had asked for a pause, by 429 or
	// Retry-After, and the pause is not over.
	ClassHostPaused Class = "host_paused"
	// ClassHostDown is a fetch that made no request: the host failed several times in a row and its
	// next trial is not due.
	ClassHostDown Class = "host_down"
	// ClassHostBusy is a fetch that was not admitted, at its first request or at a redirect: the
	// host's domain or address already has its share of the fetches under way.
	ClassHostBusy Class = "host_busy"
	// ClassCanceled is a fetch whose caller went away; it says nothing about the URI.
	ClassCanceled Class = "canceled"
	// ClassOK is the class of a fetch that did not fail, ClassOf(nil).
	ClassOK Class = "ok"
)

// Classes lists every class, ClassOK included.
func Classes() []Class {
	return []Class{
		ClassOK, ClassBadURL, ClassRefusedAddress, ClassDNS, ClassConnection, ClassTLS, ClassTimeout, ClassRedirects, ClassHTTPStatus,
		ClassTooLarge, ClassBadEncoding, ClassNotJSON, ClassErrorBody, ClassNotImage, ClassBadImage, ClassImageBounds, ClassImageBudget, ClassDecoder, ClassWrongContent,
		ClassHostPaused, ClassHostDown, ClassHostBusy, ClassCanceled,
	}
}

// Error is a failed fetch. Its text names hosts and no more of a URL: paths and queries can carry
// secrets.
type Error struct {
	Class Class
	// Status of the answer when Class is ClassHTTPStatus, else 0.
	Status int
	// RetryAfter is how long the server asked us to wait; 0 if it did not. For ClassHostPaused,
	// ClassHostDown and ClassHostBusy it is how long the host must not be asked yet.
	RetryAfter time.Duration
	// DownFor is how long the host has been failing when Class is ClassHostDown. When it is
	// ClassHostPaused, DownFor is how long the host has answered nothing but requests for a pause.
	DownFor time.Duration
	// Gateway is true if the content is fetched through a gateway, which may find it later: then a
	// 404 is not final.
	Gateway bool
	// Err is the cause; may be nil.
	Err error
}

func (e *Error) Error() string {
	text := string(e.Class)
	if e.Status != 0 {
		text = fmt.Sprintf("%s %d", text, e.Status)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func failure(class Class, format string, args ...any) *Error {
	return &Error{Class: class, Err: fmt.Errorf(format, args...)}
}

// ClassOf is the class of a fetch's outcome: ClassOK for nil. Of the errors that are not this
// package's, those of an ended context are ClassCanceled or ClassTimeout, and all others
// ClassConnection.
func ClassOf(err error) Class {
	var failed *Error
	switch {
	case err == nil:
		return ClassOK
	case errors.As(err, &failed):
		return failed.Class
	case errors.Is(err, context.Canceled):
		return ClassCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return ClassTimeout
	default:
		return ClassConnection
	}
}

// Unasked reports whether the failure says nothing of the content and passes soon, because no
// request was made: the host asked for a pause, is busy, or is down for less than patience.
func (e *Error) Unasked(patience time.Duration) bool {
	return e.Class == ClassHostPaused || e.Class == ClassHostBusy || e.Class == ClassHostDown && e.DownFor < patience
}

// Retryable reports whether the same fetch may succeed soon without anyone changing anything.
func Retryable(err error) bool {
	var failed *Error
	if !errors.As(err, &failed) {
		return false
	}
	switch failed.Class {
	case ClassDNS:
		var dns *net.DNSError
		return !errors.As(failed.Err, &dns) || !dns.IsNotFound
	case ClassConnection, ClassTimeout, ClassBadEncoding, ClassHostPaused, ClassHostDown, ClassHostBusy, ClassDecoder:
		return true
	case ClassHTTPStatus:
		return retryableStatus(failed.Status, failed.Gateway)
	case ClassNotJSON, ClassErrorBody, ClassNotImage, ClassBadImage, ClassWrongContent:
		// A gateway may have sent a challenge or an error page with status 200, or only a part of
		// the content.
		return failed.Gateway
	case ClassOK, ClassBadURL, ClassRefusedAddress, ClassTLS, ClassRedirects, ClassTooLarge, ClassImageBounds, ClassImageBudget, ClassCanceled:
		return false
	}
	return false
}

// Final reports whether the content itself is at fault: the same bytes would be refused again, so
// it is useless to fetch them again soon.
func (c Class) Final() bool { return c == ClassImageBounds || c == ClassImageBudget }

// retryableStatus reports whether a fetch that got this HTTP status may succeed soon. viaGateway is
// Error.Gateway: a gateway of IPFS or Arweave may find content later that it does not find now.
func retryableStatus(status int, viaGateway bool) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotFound, http.StatusGone:
		return viaGateway
	}
	return status >= 500
}

// classify turns what net/http returned into an Error. An *Error within err is returned as it is.
// parent is the context of the request: if it has ended, the class is that of its error.
func classify(parent context.Context, err error) *Error {
	var failed *Error
	if errors.As(err, &failed) {
		return failed
	}
	if parent.Err() != nil {
		return &Error{Class: ClassOf(parent.Err()), Err: parent.Err()}
	}
	return &Error{Class: classOfCause(err), Err: err}
}

func classOfCause(err error) Class {
	var (
		dns    *net.DNSError
		netErr net.Error
	)
	switch {
	case errors.As(err, &dns) && !dns.IsTimeout:
		return ClassDNS
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return ClassTimeout
	default:
		return ClassConnection
	}
}
