package status

import (
	"context"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/clickhouse/parts"
)

// Health says whether a backend answers.
type Health struct {
	// OK is nil until it was asked.
	OK *bool `json:"ok"`
	// SinceMS is when OK became what it is, epoch milliseconds by this node's clock.
	SinceMS *int64 `json:"since_ms"`
	// Error is what does not work, nil when all does.
	Error *string `json:"error"`
}

// ClickHouse is its Health with the parts of its tables that are damaged.
type ClickHouse struct {
	Health
	// DamagedParts are at most maxDamaged; nil where nobody looks: on a node that runs the API
	// alone, and before the first look.
	DamagedParts []DamagedPart `json:"damaged_parts"`
	// DamageCount counts all of them.
	DamageCount *int `json:"damage_count"`
}

// DamagedPart is what a user may read of a damaged part.
type DamagedPart struct {
	Table  string  `json:"table"`
	Part   string  `json:"part"`
	Damage string  `json:"damage"`
	Rows   *uint64 `json:"rows"`
}

// maxDamaged bounds the document.
const maxDamaged = 100

// WithDamage adds what a watch knows; it is nil where there is none.
func (h Health) WithDamage(look func() ([]parts.Damage, bool)) *ClickHouse {
	all := &ClickHouse{Health: h}
	if look == nil {
		return all
	}
	damage, known := look()
	if !known {
		return all
	}
	count := len(damage)
	all.DamageCount, all.DamagedParts = &count, make([]DamagedPart, 0, min(count, maxDamaged))
	for _, d := range damage[:min(count, maxDamaged)] {
		all.DamagedParts = append(all.DamagedParts, DamagedPart{Table: d.Table, Part: d.Part, Damage: d.Kind, Rows: d.Rows})
	}
	return all
}

// see notes what was seen. Values are replaced and never written to: documents that were given away
// hold them.
func (h *Health) see(now time.Time, ok bool, why *string) {
	if h.OK == nil || *h.OK != ok {
		ms := now.UnixMilli()
		h.OK, h.SinceMS = &ok, &ms
	}
	h.Error = why
}

// probeEvery is how old the answer of a probe may be.
const probeEvery = 2 * time.Second

// probe asks a backend when somebody wants to know, not more often than that.
type probe struct {
	asking sync.Mutex // held while it is asked

	mu     sync.Mutex
	health Health
	at     time.Time
}

// ClickHouse is whether ClickHouse answers ask, as of two seconds ago at most, or as of the last
// time while it is being asked.
func (c *Collector) ClickHouse(ctx context.Context, ask func(ctx context.Context) error) Health {
	p := &c.clickhouse
	if health, fresh := p.peek(c.now()); fresh || !p.asking.TryLock() {
		return health
	}
	defer p.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := ask(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	var why *string
	if err != nil {
		text := "clickhouse does not answer" // what a user may read; the rest is for the log
		why = &text
		if p.health.OK == nil || *p.health.OK {
			c.logger.Warn("clickhouse does not answer", "err", err)
		}
	}
	p.health.see(c.now(), err == nil, why)
	p.at = c.now()
	return p.health
}

func (p *probe) peek(now time.Time) (Health, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health, p.health.OK != nil && now.Sub(p.at) < probeEvery
}
