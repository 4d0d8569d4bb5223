// Package decoder decodes pictures in child processes that can be killed.
//
// In: pictures that anyone may have made. Out: what package picture says of them, and variants.
// Guarantees: no picture is decoded in this process. A picture that takes more processor time or
// memory than its budget costs one child process and nothing else; the caller gets
// picture.ErrBudget, and the picture is not decoded again. A decoder is this same executable
// started again, without our environment and file descriptors, and with limits that the kernel
// enforces. It ends with its parent. After a picture a decoder waits for the next one. It is ended
// when it waits too long, and replaced after some use.
//
// Call MaybeRunChild first thing in main, and in TestMain of tests that use a Pool.
package decoder

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/logos/picture"
)

// ErrUnavailable says that no decoder could be started, or that the machine was too busy to let it
// finish. The picture may be good.
var ErrUnavailable = errors.New("no decoder is available")

// Config of a Pool. Zero values take the default.
type Config struct {
	// Processes is how many decoders run at most; they are started when they are needed. Default
	// GOMAXPROCS + 1.
	Processes int
	// CPU is the processor time that a picture may take, and CPUPerMegapixel what it may take more
	// for each million pixels. Default 2 s and 0.5 s: ten times what the slowest kind takes.
	CPU, CPUPerMegapixel time.Duration
	// Wall is the longest that a picture may take on a busy machine. Default 2 min.
	Wall time.Duration
	// memoryBytes is what one decoder may use besides its program. Default 1 GiB: a picture of
	// 16,777,216 pixels at 16 bits a channel needs half of it.
	memoryBytes uint64
	// idle is how long a decoder waits for the next picture before it is ended. Default 2 min.
	idle time.Duration
	// Limits bound the structure of pictures: see package picture.
	Limits picture.Limits
}

// A decoder is replaced after maxUses pictures, or after maxCPU of processor time in all.
const (
	maxUses = 5_000
	maxCPU  = 2 * time.Minute
)

// refusedPictures is how many pictures that exceeded their budget are remembered by their hash.
const refusedPictures = 100_000

func (c Config) withDefaults() Config {
	c.Processes = cmp.Or(max(c.Processes, 0), runtime.GOMAXPROCS(0)+1)
	c.CPU = cmp.Or(c.CPU, 2*time.Second)
	c.CPUPerMegapixel = cmp.Or(c.CPUPerMegapixel, 500*time.Millisecond)
	c.Wall = cmp.Or(c.Wall, 2*time.Minute)
	c.memoryBytes = cmp.Or(c.memoryBytes, 1<<30)
	c.idle = cmp.Or(c.idle, 2*time.Minute)
	return c
}

// Deps are the collaborators; all may be nil.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Pool keeps the decoders of one process. Any number of goroutines may use it.
type Pool struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	running *semaphore.Weighted                   // bounds the decoders that work
	refused *lru.Cache[[sha256.Size]byte, string] // why a picture exceeded its budget, by its hash

	mu     sync.Mutex
	idle   []*process // the last used at the end
	closed bool
}

// New checks that this program can be started as a decoder, and registers the metrics. It starts
// nothing.
func New(cfg Config, deps Deps) (*Pool, error) {
	if !mainCalled.Load() {
		return nil, errors.New("decoder: call decoder.MaybeRunChild first in main, or in TestMain")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	cfg = cfg.withDefaults()
	refused, err := lru.New[[sha256.Size]byte, string](refusedPictures)
	if err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	p := &Pool{cfg: cfg, log: deps.Logger, running: semaphore.NewWeighted(int64(cfg.Processes)), refused: refused}
	p.metrics, err = newMetrics(deps.Registerer)
	return p, err
}

// Inspect says what a picture is, see picture.Inspect. An error wraps one of package picture, wraps
// ErrUnavailable, or is the context's. The context only bounds the time to wait for a decoder.
func (p *Pool) Inspect(ctx context.Context, body []byte) (picture.Info, error) {
	given, _, err := p.ask(ctx, &request{Ask: askInspect, Limits: p.cfg.Limits}, body)
	return given.Info, err
}

// Make makes a variant of the picture in body, which is of the given kind. It returns the bytes and
// the kind of the variant, see picture.Make. Errors are those of Inspect.
func (p *Pool) Make(ctx context.Context, body []byte, kind string, variant picture.Variant) (made []byte, madeKind string, err error) {
	answer, made, err := p.ask(ctx, &request{Ask: askMake, Kind: kind, Variant: variant, Limits: p.cfg.Limits}, body)
	// A hostile picture may have taken over the decoder's process, so its answer is checked.
	if err == nil && picture.Sniff(made) != answer.Kind {
		return nil, "", fmt.Errorf("%w: the decoder made something else", picture.ErrBroken)
	}
	return made, answer.Kind, err
}

// Close ends the idle decoders. Each busy one ends after its picture.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, child := range idle {
		child.idle.Stop()
		p.end(child, endClosed)
	}
}

// ask lets a decoder answer a request. It refuses a picture without a decoder if the structure is
// out of bounds, or if the picture has exceeded its budget before.
func (p *Pool) ask(ctx context.Context, asked *request, body []byte) (reply, []byte, error) {
	budget, err := p.budget(body)
	if err != nil {
		p.metrics.pictures.WithLabelValues(outcomeRefused).Inc()
		return reply{}, nil, err
	}
	key := sha256.Sum256(body)
	if reason, known := p.refused.Get(key); known {
		p.metrics.pictures.WithLabelValues(outcomeRefused).Inc()
		return reply{}, nil, fmt.Errorf("%w: %s", picture.ErrBudget, reason)
	}
	if err := p.running.Acquire(ctx, 1); err != nil {
		return reply{}, nil, err
	}
	defer p.running.Release(1)
	given, made, err := p.attempts(asked, body, budget)
	if err != nil {
		if errors.Is(err, picture.ErrBudget) {
			p.refused.Add(key, err.Error())
			p.metrics.pictures.WithLabelValues(outcomeBudget).Inc()
			p.log.Warn("a picture takes too much to decode", "bytes", len(body), "err", err)
			return reply{}, nil, err
		}
		p.metrics.pictures.WithLabelValues(outcomeUnavailable).Inc()
		p.log.Warn("a picture was not decoded", "err", err)
		return reply{}, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if given.Failure != "" {
		p.metrics.pictures.WithLabelValues(outcomeRefused).Inc()
		cause, known := failures[given.Failure]
		if !known {
			cause = picture.ErrBroken
		}
		return reply{}, nil, fmt.Errorf("%w: %.200q", cause, given.Text)
	}
	p.metrics.pictures.WithLabelValues(outcomeOK).Inc()
	return given, made, nil
}

// budget returns the processor time for a picture, by the number of pixels that its structure
// declares.
func (p *Pool) budget(body []byte) (time.Duration, error) {
	pixels, err := picture.Survey(body, p.cfg.Limits)
	if err != nil {
		return 0, err
	}
	return p.cfg.CPU + time.Duration(float64(p.cfg.CPUPerMegapixel)*float64(pixels)/1e6), nil
}

// attempts asks a decoder. If that ends without an answer, attempts asks a second one: the kernel
// may have ended the first because the machine had no memory left. If both end, the picture is the
// cause.
func (p *Pool) attempts(asked *request, body []byte, budget time.Duration) (reply, []byte, error) {
	var last error
	for range 2 {
		child, err := p.take()
		if err != nil {
			return reply{}, nil, err
		}
		given, made, err := child.exchange(asked, body, budget, p.cfg.Wall)
		switch {
		case err == nil:
			p.put(child)
			return given, made, nil
		case errors.Is(err, errCPU):
			p.ended(endCPU)
			return reply{}, nil, fmt.Errorf("%w: %w", picture.ErrBudget, err)
		case errors.Is(err, errWall):
			p.ended(endWall)
			return reply{}, nil, err
		}
		p.ended(endDied)
		last = err
	}
	return reply{}, nil, fmt.Errorf("%w: %w", picture.ErrBudget, last)
}

// take returns an idle decoder, or starts a new one.
func (p *Pool) take() (*process, error) {
	for {
		p.mu.Lock()
		last := len(p.idle) - 1
		if last < 0 {
			p.mu.Unlock()
			break
		}
		child := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		if child.idle.Stop(); child.alive() {
			return child, nil
		}
		p.end(child, endDied)
	}
	child, err := startProcess(childSpec{Parent: os.Getpid(), MemoryBytes: p.cfg.memoryBytes})
	if err == nil {
		p.metrics.processes.Inc()
	}
	return child, err
}

// put keeps a decoder for the next picture, or ends it after much use.
func (p *Pool) put(child *process) {
	if child.uses >= maxUses || child.cpu() > maxCPU {
		p.end(child, endReplaced)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		go p.end(child, endClosed) // not here: end waits for the child, and mu is held
		return
	}
	child.idle = time.AfterFunc(p.cfg.idle, func() { p.expire(child) })
	p.idle = append(p.idle, child)
}

// expire ends a decoder that has been idle for too long, unless it was taken meanwhile.
func (p *Pool) expire(child *process) {
	p.mu.Lock()
	i := slices.Index(p.idle, child)
	if i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		p.end(child, endIdle)
	}
}

// end kills a decoder, waits for its end and counts it.
func (p *Pool) end(child *process, reason string) {
	child.kill()
	p.ended(reason)
}

// ended counts a decoder that is already gone.
func (p *Pool) ended(reason string) {
	p.metrics.processes.Dec()
	p.metrics.ends.WithLabelValues(reason).Inc()
}
