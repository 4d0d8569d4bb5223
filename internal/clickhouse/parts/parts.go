// Package parts looks after the parts of ClickHouse's tables: a part is a folder of rows, and
// ClickHouse itself is silent when one is gone.
//
// In: system.parts, system.detached_parts, the files of parts or CHECK TABLE; a manifest file of
// the parts that were there. Out: the list of what is damaged, log lines and metrics. Guarantees:
// it only reads; a part that the manifest names and no active part covers is lost, also when it
// went while nothing ran; every active part is read and compared with its checksums once a day, at
// a bounded rate; a part that cannot be checked in time is told too, and holds up no check of
// another. What was inserted less than Config.Every before a part went is not in the manifest:
// `mintlake verify` compares with the log.
package parts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
)

// Kinds of damage.
const (
	// Lost: the part was there, and neither it nor one that it was merged into is.
	Lost = "lost"
	// Detached: ClickHouse put the part aside, as broken at its start or by a command. Its rows are
	// in no answer.
	Detached = "detached"
	// Broken: the part is in use, and its files differ from their checksums. Reads of it fail.
	Broken = "broken"
	// Unchecked: the check did not end in time, or failed twice while ClickHouse answered
	// otherwise. The part may be damaged.
	Unchecked = "unchecked"
)

func kinds() []string { return []string{Lost, Detached, Broken, Unchecked} }

// Damage is one damaged part.
type Damage struct {
	Table string `json:"table"`
	Part  string `json:"part"`
	// Kind is Lost, Detached, Broken or Unchecked.
	Kind string `json:"kind"`
	// Reason says what is wrong with it; empty for what is lost.
	Reason string `json:"reason,omitempty"`
	// Rows of the part; nil where they are not known.
	Rows *uint64 `json:"rows"`
}

// Config says what is looked at and how often.
type Config struct {
	// Database of the tables.
	Database string
	// Manifest is the file that remembers the parts between two runs. Empty: none is kept and
	// nothing is known to be lost, as on a cluster, where each query may meet another replica.
	Manifest string
	// every is the time between two looks. Default 10 s.
	every time.Duration
	// checkEvery is the time between two checks of one part's checksums. Default 24 h.
	checkEvery time.Duration
	// checkBytesPerSecond bounds what the checks read. Default 8 MiB.
	checkBytesPerSecond int64
	// checkLimit is how long the check of one part may take, besides the time for its bytes at that
	// rate. Default 1 minute.
	checkLimit time.Duration
}

// Deps are the collaborators; Registerer may be nil.
type Deps struct {
	Conn       driver.Conn
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Watch is the component.
type Watch struct {
	cfg     Config
	deps    Deps
	metrics *metrics

	mu       sync.Mutex
	manifest *manifest
	active   []part
	found    map[partKey]finding // what the checks found
	damage   []Damage
	known    bool
}

// finding is what a check found of a part: Broken or Unchecked.
type finding struct{ kind, reason string }

// New makes a watch that does nothing until Run.
func New(cfg Config, deps Deps) (*Watch, error) {
	if deps.Conn == nil || deps.Logger == nil || cfg.Database == "" {
		return nil, errors.New("parts: connection, logger and database are required")
	}
	if cfg.every <= 0 {
		cfg.every = 10 * time.Second
	}
	if cfg.checkEvery <= 0 {
		cfg.checkEvery = 24 * time.Hour
	}
	if cfg.checkBytesPerSecond <= 0 {
		cfg.checkBytesPerSecond = 8 << 20
	}
	if cfg.checkLimit <= 0 {
		cfg.checkLimit = time.Minute
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("parts: register metrics: %w", err)
	}
	return &Watch{cfg: cfg, deps: deps, metrics: m, found: map[partKey]finding{}}, nil
}

// Damage lists what is damaged, sorted; known is false before the first look.
func (w *Watch) Damage() (damage []Damage, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.damage), w.known
}

// Run looks until ctx ends; then it returns nil. A ClickHouse that does not answer is asked again.
// An error is a manifest that cannot be read.
func (w *Watch) Run(ctx context.Context) error {
	if w.cfg.Manifest != "" {
		kept, err := loadManifest(w.cfg.Manifest)
		if err != nil {
			return fmt.Errorf("parts: %w", err)
		}
		w.manifest = kept
	}
	checks := make(chan struct{})
	go func() {
		defer close(checks)
		w.checkAll(ctx)
	}()
	defer func() { <-checks }()
	ticker := time.NewTicker(w.cfg.every)
	defer ticker.Stop()
	for {
		if err := w.Look(ctx); err != nil && ctx.Err() == nil {
			w.metrics.failures.Inc()
			w.deps.Logger.Warn("parts of clickhouse cannot be looked at", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Look compares the parts that are there with the manifest, once.
func (w *Watch) Look(ctx context.Context) error {
	tables, err := w.tables(ctx)
	if err != nil {
		return err
	}
	active, err := w.activeParts(ctx, tables)
	if err != nil {
		return err
	}
	detached, err := w.detachedParts(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = active
	found := detached
	if w.manifest != nil {
		lost, changed := w.manifest.compare(tables, active)
		found = append(found, lost...)
		if changed {
			if err := w.manifest.save(w.cfg.Manifest); err != nil {
				return err
			}
		}
	}
	w.tell(append(found, w.foundParts(active)...))
	return nil
}

// foundParts are what the checks found of the parts that are still in use.
func (w *Watch) foundParts(active []part) (list []Damage) {
	still := map[partKey]finding{}
	for _, p := range active {
		if f, ok := w.found[p.key()]; ok {
			still[p.key()] = f
			list = append(list, Damage{Table: p.Table, Part: p.Name, Kind: f.kind, Reason: f.reason, Rows: &p.Rows})
		}
	}
	w.found = still
	return list
}

// tell takes over the list of damage: what is new is logged once.
func (w *Watch) tell(found []Damage) {
	slices.SortFunc(found, func(a, b Damage) int {
		return strings.Compare(a.Table+"\x00"+a.Part+"\x00"+a.Kind, b.Table+"\x00"+b.Part+"\x00"+b.Kind)
	})
	before := map[string]bool{}
	for _, d := range w.damage {
		before[d.Table+d.Part+d.Kind] = true
	}
	counts := map[string]float64{}
	for _, d := range found {
		counts[d.Kind]++
		if before[d.Table+d.Part+d.Kind] {
			continue
		}
		rows := int64(-1)
		if d.Rows != nil {
			rows = int64(*d.Rows)
		}
		log := w.deps.Logger.With("table", d.Table, "part", d.Part, "damage", d.Kind, "rows", rows, "reason", d.Reason)
		if d.Kind == Unchecked {
			log.Error("a part of a clickhouse table cannot be checked: it may be damaged, and queries that read it may not end; `mintlake verify` says what to rebuild")
		} else {
			log.Error("a part of a clickhouse table is damaged: answers lack its rows; `mintlake verify` says what to rebuild")
		}
	}
	if len(found) == 0 && len(w.damage) > 0 {
		w.deps.Logger.Info("no part of a clickhouse table is damaged any more")
	}
	for _, kind := range kinds() {
		w.metrics.damaged.WithLabelValues(kind).Set(counts[kind])
	}
	w.damage, w.known = found, true
}

// quiet bounds what one of these queries may take: they run beside everything else.
func quiet(ctx context.Context) context.Context {
	return ch.Context(ctx, ch.WithSettings(ch.Settings{"max_threads": 1}))
}
