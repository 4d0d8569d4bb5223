package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxValidator is the longest ETag or Last-Modified that is kept, in bytes: a server could send
// kilobytes.
const maxValidator = 256

// Fetch gets what uri points to. Every error is an *Error. If several gateways failed, the error is
// that of one of them: a retryable one if there is any.
func (f *Fetcher) Fetch(ctx context.Context, uri string) (*Response, error) {
	return f.Do(ctx, Request{URI: uri})
}

// Do is like Fetch, with the options of a Request. Every error is an *Error.
func (f *Fetcher) Do(ctx context.Context, request Request) (*Response, error) {
	started := time.Now()
	if request.Accept == "" {
		request.Accept = "*/*"
	}
	response, err := f.fetchURI(ctx, &request)
	f.metrics.count(err, response, time.Since(started))
	return response, err
}

// fetchURI returns the payload of a data URI. For any other URI it asks the URLs, all within
// Config.Timeout. If ctx has ended, the error is ctx's, whatever failed last.
func (f *Fetcher) fetchURI(ctx context.Context, request *Request) (*Response, error) {
	found, err := f.resolve(request.URI)
	if err != nil {
		return nil, err
	}
	if found.data != nil {
		response := &Response{Body: found.data.body, ContentType: found.data.contentType, Status: http.StatusOK}
		return response, check(request.Check, response)
	}
	whole, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	response, failed := f.race(whole, &found, request)
	switch {
	case failed == nil:
		return response, nil
	case ctx.Err() != nil:
		return nil, &Error{Class: ClassOf(ctx.Err()), Err: ctx.Err()}
	}
	failed.Gateway = found.gateway
	return nil, failed
}

func check(accept func(*Response) error, response *Response) error {
	if accept == nil {
		return nil
	}
	return accept(response)
}

// outcome is the result of the attempt at one URL.
type outcome struct {
	response *Response
	failed   *Error
}

// race asks the first URL. It asks the next one whenever one has failed, or hedgeDelay after it
// asked the last one. The first good response wins, and the other requests are canceled. If all
// URLs fail, race returns the last retryable error, or else the last error.
func (f *Fetcher) race(ctx context.Context, found *target, request *Request) (*Response, *Error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	urls := f.health.sorted(found.urls)
	results := make(chan outcome, len(urls)) // buffered: a loser must not block
	next, running := 0, 0
	begin := func() {
		u := urls[next]
		next++
		running++
		go func() {
			response, failed := f.try(ctx, u, found, request)
			results <- outcome{response, failed}
		}()
	}
	begin()
	hedge := time.NewTimer(f.cfg.hedgeDelay)
	defer hedge.Stop()
	var kept *Error
	for {
		select {
		case <-hedge.C:
			if next < len(urls) {
				begin()
				hedge.Reset(f.cfg.hedgeDelay)
			}
		case out := <-results:
			if running--; out.failed == nil {
				return out.response, nil
			}
			out.failed.Gateway = found.gateway
			if kept == nil || Retryable(out.failed) || !Retryable(kept) {
				kept = out.failed
			}
			switch {
			case next < len(urls) && ctx.Err() == nil:
				begin()
				hedge.Reset(f.cfg.hedgeDelay)
			case running == 0:
				return nil, kept
			}
		}
	}
}

// try fetches one URL of the target, unless its host must not be asked now. If the target has
// several URLs, each may take TryTimeout at most.
func (f *Fetcher) try(ctx context.Context, u *url.URL, found *target, request *Request) (*Response, *Error) {
	host, url := hostPort(u), u.String()
	if failed := f.health.refuse(host, url); failed != nil {
		return nil, failed
	}
	bounded := ctx
	if len(found.urls) > 1 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, f.cfg.TryTimeout)
		defer cancel()
	}
	response, failed := f.get(bounded, u, found, request)
	// A request that lost the race and was canceled, or was not admitted, says nothing about its
	// host.
	if failed == nil || failed.Class != ClassHostBusy && !errors.Is(ctx.Err(), context.Canceled) {
		f.health.report(host, url, failed)
	}
	return response, failed
}

// get makes one request, then reads and checks the response.
func (f *Fetcher) get(ctx context.Context, u *url.URL, found *target, request *Request) (*Response, *Error) {
	outgoing, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, failure(ClassBadURL, "not a URL")
	}
	outgoing.Header.Set("User-Agent", userAgent)
	outgoing.Header.Set("Accept", request.Accept)
	if request.ETag != "" {
		outgoing.Header.Set("If-None-Match", request.ETag)
	}
	if request.LastModified != "" {
		outgoing.Header.Set("If-Modified-Since", request.LastModified)
	}
	answer, err := f.client.Do(outgoing)
	if err != nil {
		return nil, classify(ctx, stripURL(err))
	}
	defer func() { _ = answer.Body.Close() }()
	response := &Response{
		Status: answer.StatusCode, ContentType: answer.Header.Get("Content-Type"),
		ETag: validator(answer.Header, "Etag"), LastModified: validator(answer.Header, "Last-Modified"),
	}
	switch {
	case answer.StatusCode == http.StatusNotModified && request.ETag+request.LastModified != "":
		response.NotModified = true
		return response, nil
	case answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNonAuthoritativeInfo:
		return nil, &Error{Class: ClassHTTPStatus, Status: answer.StatusCode, RetryAfter: retryAfter(answer.Header, time.Now())}
	}
	var failed *Error
	if response.Body, failed = f.read(ctx, answer); failed != nil {
		return nil, failed
	}
	if failed := found.verify(response); failed != nil {
		return nil, failed
	}
	if err := check(request.Check, response); err != nil {
		return nil, classify(ctx, err)
	}
	return response, nil
}

// validator returns a header's value. It returns "" if the value is over maxValidator bytes or has
// other characters than printable ASCII.
func validator(header http.Header, name string) string {
	value := header.Get(name)
	if len(value) > maxValidator || strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return ""
	}
	return value
}

// stripURL takes the URL out of net/http's error text: it may carry a secret, and whoever wrote it
// on the chain chose its length.
func stripURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// read reads and decompresses the body. A body of more than MaxBytes is an error.
func (f *Fetcher) read(ctx context.Context, answer *http.Response) ([]byte, *Error) {
	if answer.ContentLength > f.cfg.MaxBytes {
		return nil, failure(ClassTooLarge, "body over %d bytes", f.cfg.MaxBytes)
	}
	reader, coded, failed := content(answer, f.cfg.MaxBytes)
	if failed != nil {
		return nil, failed
	}
	body, err := f.readAll(ctx, io.LimitReader(reader, f.cfg.MaxBytes+1))
	if err != nil {
		failed := classify(ctx, err)
		// The body is decompressed while we read. An error that is not the network's is bad data.
		if (answer.Uncompressed || coded) && failed.Class == ClassConnection && !errors.Is(err, io.ErrUnexpectedEOF) {
			failed.Class = ClassBadEncoding
		}
		return nil, failed
	}
	if int64(len(body)) > f.cfg.MaxBytes {
		return nil, failure(ClassTooLarge, "body over %d bytes", f.cfg.MaxBytes)
	}
	return body, nil
}

// smallBody is how many bytes of a body are read without a place. A longer body waits for one of
// the Config.Large places before the rest is read.
const smallBody = 64 << 10

// readAll reads a body. It holds one of the Config.Large places while it reads what comes after
// smallBody bytes.
func (f *Fetcher) readAll(ctx context.Context, reader io.Reader) ([]byte, error) {
	if f.large == nil {
		return io.ReadAll(reader)
	}
	head, err := io.ReadAll(io.LimitReader(reader, smallBody))
	if err != nil || len(head) < smallBody {
		return head, err
	}
	if err := f.large.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer f.large.Release(1)
	rest, err := io.ReadAll(reader)
	return append(head, rest...), err
}

// maxRetryAfter is the longest pause that a server's Retry-After is granted.
const maxRetryAfter = time.Hour

// retryAfter returns the wait that the header Retry-After asks for, in seconds or as a date. It is
// at most maxRetryAfter, and 0 if the header is missing or malformed.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 0 {
		return 0
	}
	// Bounded as seconds, because a huge number would overflow a Duration.
	seconds = min(seconds, int(maxRetryAfter/time.Second))
	return time.Duration(seconds) * time.Second
}
