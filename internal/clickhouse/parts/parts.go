// Package parts finds parts of ClickHouse's tables that are lost or damaged. A part is a folder of
// rows. ClickHouse itself gives no error when one is gone.
//
// In: system.parts, system.detached_parts, the files of parts or CHECK TABLE, and a manifest, which
// is a file with the parts of the last look. Out: the list of damage, log lines and metrics.
// Guarantees: it only reads ClickHouse's data. A part of the manifest that no active part covers is
// reported as lost, also if it went while nothing ran. Every active part is compared with its
// checksums once a day, at a bounded rate. A part that cannot be checked in time is reported too,
// and does not delay the others. A part that comes and goes between two looks is not noticed:
// `mintlake verify` compares with the log.
package parts

import (
	"cmp"
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

	"github.com/mintlake/mintlake/internal/durable"
)

// Kinds of damage.
const (
	// Lost: the part was there before, and no active part has its rows.
	Lost = "lost"
	// Detached: ClickHouse has put the part aside, because it was broken at its start or by a
	// command. Queries do not see its rows.
	Detached = "detached"
	// Broken: the part is in use, but its files differ from their checksums. Queries that read it
	// fail.
	Broken = "broken"
	// Unchecked: the check did not end in time, or failed twice although ClickHouse answers other
	// queries. The part may be damaged.
	Unchecked = "unchecked"
)

func kinds() []string { return []string{Lost, Detached, Broken, Unchecked} }

// Damage is one damaged part.
type Damage struct {
	Table string `json:"table"`
	Part  string `json:"part"`
	// Kind is Lost, Detached, Broken or Unchecked.
	Kind string `json:"kind"`
	// Reason says what is wrong with the part; empty for a lost one.
	Reason string `json:"reason,omitempty"`
	// Rows is the number of rows; nil if it is not known.
	Rows *uint64 `json:"rows"`
}

// checkEvery is the time between two checks of one part's checksums.
const checkEvery = 24 * time.Hour

// Config is the configuration of a Watch.
type Config struct {
	// Database is the database whose tables are watched.
	Database string
	// Manifest is the file that keeps the parts between two runs. If it is empty, lost parts are
	// not found. It is empty on a cluster, where each query may meet another replica.
	Manifest string
	// every is the time between two looks at the list of parts. Default 10 s.
	every time.Duration
	// checkBytesPerSecond bounds how fast the checks read. Default 8 MiB.
	checkBytesPerSecond int64
	// checkLimit is how long the check of one part may take, in addition to the time that its bytes
	// take at checkBytesPerSecond. Default 1 minute.
	checkLimit time.Duration
}

// Deps are the collaborators; Registerer may be nil.
type Deps struct {
	Conn       driver.Conn
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Watch reports the damaged parts of a database's tables.
type Watch struct {
	cfg     Config
	deps    Deps
	metrics *metrics

	mu       sync.Mutex
	manifest *manifest
	active   []part              // at the last look
	found    map[partKey]finding // the bad results of checks; a good part is not in it
	damage   []Damage            // at the last look
	known    bool                // there was a look, so damage is valid
}

// finding is a bad result of a check. kind is Broken or Unchecked.
type finding struct{ kind, reason string }

// New makes a watch that does nothing until Run.
func New(cfg Config, deps Deps) (*Watch, error) {
	if deps.Conn == nil || deps.Logger == nil || cfg.Database == "" {
		return nil, errors.New("parts: connection, logger and database are required")
	}
	cfg.every = cmp.Or(max(cfg.every, 0), 10*time.Second)
	cfg.checkBytesPerSecond = cmp.Or(max(cfg.checkBytesPerSecond, 0), 8<<20)
	cfg.checkLimit = cmp.Or(max(cfg.checkLimit, 0), time.Minute)
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("parts: %w", err)
	}
	return &Watch{cfg: cfg, deps: deps, metrics: m, found: map[partKey]finding{}}, nil
}

// Damage returns the damaged parts, sorted. known is false before the first look.
func (w *Watch) Damage() (damage []Damage, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.damage), w.known
}

// Run looks for lost parts and checks the others until ctx ends; then it returns nil. It goes on if
// ClickHouse does not answer. A damaged manifest is put aside and made anew. The only error of Run
// is that it cannot be put aside.
func (w *Watch) Run(ctx context.Context) error {
	if w.cfg.Manifest != "" {
		kept, damaged, err := loadManifest(w.cfg.Manifest)
		if err != nil {
			return fmt.Errorf("parts: %w", err)
		}
		if damaged != nil {
			w.metrics.failures.Inc()
			w.deps.Logger.Error("the manifest of clickhouse's parts is damaged and made anew: whether a part was lost while nothing ran, `mintlake verify` says",
				"file", w.cfg.Manifest, "aside", w.cfg.Manifest+durable.Aside, "err", damaged)
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

// Look compares the active parts with the manifest once, and updates the list that Damage returns.
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
	w.publish(append(found, w.foundParts(active)...))
	return nil
}

// foundParts returns what the checks found of active parts, and forgets the findings of other
// parts.
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

// publish replaces the list of damage and updates the metrics. It logs each damage that was not in
// the old list.
func (w *Watch) publish(found []Damage) {
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

// quiet returns a context whose queries use one thread, so that they leave the machine to others.
func quiet(ctx context.Context) context.Context {
	return ch.Context(ctx, ch.WithSettings(ch.Settings{"max_threads": 1}))
}
