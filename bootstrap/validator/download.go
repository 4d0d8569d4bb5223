package validator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/pause"
)

const (
	// headerPatience is how long a server may take to answer.
	headerPatience = time.Minute
	// silence is how long a server may send nothing within an answer.
	silence = time.Minute
	// maxFailures is how many requests may fail, without a byte in between, before the download is
	// given up.
	maxFailures = 8
	// maxArchive bounds an archive: those of mainnet-beta have some 100 GB.
	maxArchive = 16 << 40
)

// remote identifies a file of a server. It differs for the next file that the server has under the
// same URL.
type remote struct {
	// Name is the file's name after redirects: validators redirect snapshot.tar.bz2 to
	// snapshot-SLOT-HASH.tar.zst.
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	ETag     string `json:"etag"`
	Modified string `json:"modified"`
}

// downloader fetches one URL into one file.
type downloader struct {
	address *url.URL
	file    *os.File
	saving  *saving
	note    string // the path of the file in which saving.remote is kept
}

// saveURL begins to fetch a URL to target. It goes on where an earlier run has stopped, if that run
// has fetched the same file.
func saveURL(ctx context.Context, address *url.URL, target string) (*saving, error) {
	file, err := os.OpenFile(target, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("save the snapshot: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &downloader{address: address, file: file, saving: newSaving(cancel), note: target + ".json"}
	body, err := d.begin(ctx)
	if err != nil {
		cancel()
		_ = file.Close()
		return nil, err
	}
	d.saving.ended.Go(func() {
		defer func() { _ = file.Close() }()
		d.saving.end(d.run(ctx, body))
	})
	return d.saving, nil
}

// begin makes the first request. It asks only for the rest of the file if an earlier run has saved
// its beginning, and the server still has the same file, by the note.
func (d *downloader) begin(ctx context.Context) (io.ReadCloser, error) {
	at, err := d.file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, &diskError{err}
	}
	raw, err := os.ReadFile(d.note)
	if err != nil || json.Unmarshal(raw, &d.saving.remote) != nil || at > d.saving.remote.Size {
		at, d.saving.remote = 0, remote{}
	}
	if at > 0 && at == d.saving.remote.Size {
		d.saving.written = at
		return http.NoBody, nil
	}
	d.saving.written = at
	body, err := d.request(ctx)
	if errors.Is(err, errChanged) || errors.Is(err, errNoRanges) {
		d.saving.written, d.saving.remote = 0, remote{}
		body, err = d.request(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err = d.file.Truncate(d.saving.written); err == nil {
		_, err = d.file.Seek(d.saving.written, io.SeekStart)
	}
	if err == nil {
		raw, _ := json.Marshal(&d.saving.remote) // no error: it has four plain fields
		err = durable.Replace(d.note, raw)
	}
	if err != nil {
		_ = body.Close()
		return nil, &diskError{err}
	}
	return body, nil
}

// run saves the body to the file. If the body ends early, run asks for the rest.
func (d *downloader) run(ctx context.Context, body io.ReadCloser) error {
	delays := backoff.NewExponentialBackOff()
	failures := 0
	for {
		before := d.saving.written
		err := d.saving.copy(d.file, io.LimitReader(body, d.saving.remote.Size-before))
		_ = body.Close()
		if disk := new(diskError); errors.As(err, &disk) {
			return err
		}
		if d.saving.written == d.saving.remote.Size {
			return nil
		}
		if d.saving.written > before {
			failures = 0
			delays.Reset()
		} else if failures++; failures >= maxFailures {
			return fmt.Errorf("download: %s ends its answers before the first byte", d.address.Host)
		}
		if body, err = d.again(ctx, delays, &failures); err != nil {
			return fmt.Errorf("download: %w", err)
		}
	}
}

// again asks for the rest until the server sends it, or has failed too often.
func (d *downloader) again(ctx context.Context, delays *backoff.ExponentialBackOff, failures *int) (io.ReadCloser, error) {
	for {
		if err := pause.For(ctx, delays.NextBackOff()); err != nil {
			return nil, err
		}
		body, err := d.request(ctx)
		if err == nil {
			return body, nil
		}
		*failures++
		if errors.Is(err, errChanged) || errors.Is(err, errNoRanges) || *failures >= maxFailures {
			return nil, err
		}
	}
}

// errChanged is in the error of a file that is not the one that the download began with.
var errChanged = errors.New("the server has another file now: begin anew with --restart")

// errNoRanges is in the error of a server that sends only whole files.
var errNoRanges = errors.New("the server has no ranges, so what broke off cannot be taken up")

// request asks for the part of the file that is not saved yet.
func (d *downloader) request(ctx context.Context) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(headerPatience, func() { cancel(errors.New("the server is silent")) })
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.address.String(), http.NoBody)
	if err != nil {
		cancel(nil)
		return nil, errors.New("the URL of the snapshot cannot be asked for")
	}
	at := d.saving.written
	if at > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", at))
	}
	response, err := http.DefaultClient.Do(request) //nolint:bodyclose // patient closes it
	if err != nil {
		cancel(nil)
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("%s: %w", d.address.Host, withoutURL(err))
	}
	body := &patient{ReadCloser: response.Body, timer: timer, cancel: cancel}
	if err := d.accept(response, at); err != nil {
		_ = body.Close()
		return nil, fmt.Errorf("%s: %w", d.address.Host, err)
	}
	return body, nil
}

// withoutURL takes the URL out of an error, because it may have a key in it.
func withoutURL(err error) error {
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// accept checks that an answer has the rest of the file, from byte at on.
func (d *downloader) accept(response *http.Response, at int64) error {
	told := remote{
		Name: path.Base(response.Request.URL.Path), ETag: response.Header.Get("ETag"), Modified: response.Header.Get("Last-Modified"),
	}
	switch {
	case response.StatusCode == http.StatusOK && at == 0:
		told.Size = response.ContentLength
	case response.StatusCode == http.StatusPartialContent && at > 0:
		var first, last int64
		_, err := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &told.Size)
		if err != nil || first != at || last != told.Size-1 {
			return fmt.Errorf("it answers a range from %d with %.100q", at, response.Header.Get("Content-Range"))
		}
	case response.StatusCode == http.StatusOK:
		return errNoRanges
	default:
		return fmt.Errorf("status %d", response.StatusCode)
	}
	if told.Size <= 0 || told.Size > maxArchive {
		return errors.New("it does not say the file's length")
	}
	if d.saving.remote == (remote{}) {
		d.saving.remote = told
	}
	if d.saving.remote != told {
		return errChanged
	}
	return nil
}

// patient is the body of an answer. It cancels the request when silence has passed since the last
// Read began.
type patient struct {
	io.ReadCloser
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func (p *patient) Read(to []byte) (int, error) {
	p.timer.Reset(silence)
	n, err := p.ReadCloser.Read(to)
	return n, err
}

func (p *patient) Close() error {
	p.timer.Stop()
	p.cancel(nil)
	return p.ReadCloser.Close()
}

// isURL reports whether where is a URL, not a path.
func isURL(where string) bool {
	return strings.HasPrefix(where, "http://") || strings.HasPrefix(where, "https://")
}
