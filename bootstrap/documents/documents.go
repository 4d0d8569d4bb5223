// Package documents asks for the off-chain documents of tokens that a bootstrap read from accounts.
// A document is asked for when a transaction sets its URI; for these tokens no transaction was
// seen.
//
// In: the registry's rows. Out: enrichment requests, a few a minute. Guarantees: never faster than
// configured, and not at all while many requests wait for enrichment, so that other requests do not
// wait behind these; tokens that are used come first; after a kill some tokens are asked for twice,
// which does no harm.
package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Config is how fast and how often an Asker asks.
type Config struct {
	// PerMinute is the most requests a minute. Required.
	PerMinute int
	// StateFile keeps how far the walk has come. Required.
	StateFile string
	// page is how many tokens are read at once. Each read scans the whole table. Default 5,000.
	page int
	// maxWaiting is how many requests may wait for enrichment before this one waits too. Default
	// 100.
	maxWaiting int64
	// rest is the time between the end of a walk and the next one, which asks again for documents
	// that did not come. Default 12 hours.
	rest time.Duration
	// restShort is the time after a walk that found nothing to ask for, and after an error. Default
	// 5 minutes.
	restShort time.Duration
}

func (c Config) withDefaults() Config {
	c.page = cmp.Or(max(c.page, 0), 5000)
	c.maxWaiting = cmp.Or(max(c.maxWaiting, 0), 100)
	c.rest = cmp.Or(max(c.rest, 0), 12*time.Hour)
	c.restShort = cmp.Or(max(c.restShort, 0), 5*time.Minute)
	return c
}

// Cursor is a place in the walk. Tokens are walked by class, then by mint. It stands in the state
// file and in SQL, so the mint is base58; it is empty before the first token.
type Cursor struct {
	Class uint8  `json:"class"`
	Mint  string `json:"mint"`
}

// Wanted is a token with a URI and no document.
type Wanted struct {
	// Class is 0 for tokens with a known volume, 1 for other tokens that were seen in transactions,
	// 2 for the rest.
	Class uint8
	Mint  pubkey.Key
	URI   string
	// Slot is a slot at which the token had this URI.
	Slot uint64
}

// Cursor returns the place of the token in the walk.
func (w *Wanted) Cursor() Cursor { return Cursor{w.Class, w.Mint.String()} }

// Source lists tokens without a document after a cursor, in the order of the walk.
type Source interface {
	Wanted(ctx context.Context, after Cursor, limit int) ([]Wanted, error)
}

// Deps are the collaborators. Registerer may be nil.
type Deps struct {
	Source   Source
	Producer kafka.RecordProducer
	// Waiting returns how many requests wait for enrichment.
	Waiting    func(ctx context.Context) (int64, error)
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Asker is the component.
type Asker struct {
	config Config
	deps   Deps
	state  *bootstrap.StateFile
	asked  prometheus.Counter
	cursor Cursor
}

// New makes an Asker that does nothing until Run.
func New(config Config, deps Deps) (*Asker, error) {
	if config.PerMinute <= 0 || config.StateFile == "" {
		return nil, errors.New("documents: a rate and a state file are required")
	}
	if deps.Source == nil || deps.Producer == nil || deps.Waiting == nil || deps.Logger == nil {
		return nil, errors.New("documents: source, producer, waiting and logger are required")
	}
	asked := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "mintlake_bootstrap_documents_asked_total", Help: "Off-chain documents asked for of tokens that have a URI and no document.",
	})
	if deps.Registerer != nil {
		if err := deps.Registerer.Register(asked); err != nil {
			return nil, fmt.Errorf("documents: register metrics: %w", err)
		}
	}
	return &Asker{config: config.withDefaults(), deps: deps, state: bootstrap.NewStateFile(config.StateFile), asked: asked}, nil
}

// Run asks until ctx ends. Errors are logged, and it goes on after restShort.
func (a *Asker) Run(ctx context.Context) error {
	if _, err := a.state.Load(&a.cursor); err != nil {
		a.cursor = Cursor{} // half of it may have been read
		a.deps.Logger.Warn("the walk over documents begins anew", "err", err)
	}
	for ctx.Err() == nil {
		rest := time.Duration(0)
		done, err := a.page(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			a.deps.Logger.Warn("documents were not asked for", "err", err)
			rest = a.config.restShort
		case done && a.cursor == Cursor{}:
			rest = a.config.restShort
		case done:
			a.cursor, rest = Cursor{}, a.config.rest
		}
		_ = pause.For(ctx, rest) // the loop ends with ctx
	}
	return nil
}

// page asks for the documents of one page, and moves and saves the cursor; done is true if it was
// the last page.
func (a *Asker) page(ctx context.Context) (done bool, err error) {
	wanted, err := a.deps.Source.Wanted(ctx, a.cursor, a.config.page)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, a.state.Save(a.cursor)) }()
	for i := range wanted {
		if i%saveEvery == saveEvery-1 {
			if err := a.state.Save(a.cursor); err != nil {
				return false, err
			}
		}
		if err := a.awaitTurn(ctx); err != nil {
			return false, err
		}
		if err := a.ask(ctx, &wanted[i]); err != nil {
			return false, err
		}
		a.cursor = wanted[i].Cursor()
	}
	return len(wanted) < a.config.page, nil
}

// saveEvery is how many requests a kill may repeat.
const saveEvery = 50

// awaitTurn waits as long as the rate demands, and while more than maxWaiting requests wait.
func (a *Asker) awaitTurn(ctx context.Context) error {
	for {
		if err := pause.For(ctx, time.Minute/time.Duration(a.config.PerMinute)); err != nil {
			return err
		}
		waiting, err := a.deps.Waiting(ctx)
		if err != nil {
			return fmt.Errorf("look what waits for enrichment: %w", err)
		}
		if waiting <= a.config.maxWaiting {
			return nil
		}
	}
}

// ask writes one request. Its reason is that of a URI that is known, so that no account is read.
func (a *Asker) ask(ctx context.Context, w *Wanted) error {
	value, err := proto.Marshal(&eventspb.EnrichmentRequest{
		Mint: w.Mint[:], Reason: eventspb.RequestReason_REQUEST_REASON_METADATA_SET, Slot: w.Slot, Uri: []byte(w.URI),
	})
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	err = a.deps.Producer.Produce(ctx, kafka.Record{
		Topic: schemas.TopicEnrichmentRequests, Key: w.Mint.Append(nil), Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte("enrichment_request")},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
		},
	})
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	a.asked.Inc()
	return nil
}
